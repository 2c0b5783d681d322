// Package engine turns a topology into a plan of probes and runs it: which
// paths, in which order, what may run side by side, what it costs, when to
// stop, and which paths to read again.
//
// It owns the Prober interface; internal/live and internal/sim implement it.
package engine

import (
	"context"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Prober measures one path once. It returns within the plan's per-probe
// deadline or soon after ctx ends, with a reading or a *probe.Failure.
// Probe is called from several goroutines, for paths that share no hop.
type Prober interface {
	Probe(ctx context.Context, req probe.Request) (probe.Reading, error)
}

// Judge decides, from all outcomes so far, which paths need another read
// before their verdict may be reported. It is pure; internal/analyzer
// implements it.
type Judge interface {
	Unsettled(outcomes []probe.Outcome) []topology.PathKey
}

// Mode says which paths a run touches.
type Mode string

// Modes. ModeIdle is the full mesh; ModeBusy touches close endpoints only.
const (
	ModeIdle Mode = "idle"
	ModeBusy Mode = "busy"
)
