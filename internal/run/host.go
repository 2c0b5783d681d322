// Package run executes one run: is the host idle, what is the plan, what did
// the probes read, what does it mean, and the report of it all. The daemon
// and the command line share it; live and simulated hosts differ only in the
// Host that they hand in.
package run

import (
	"context"
	"time"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

// Monitor says whether a host may be probed. monitor.Monitor is that of
// live hosts.
type Monitor interface {
	// Read samples the host's load, and says how each source is doing.
	Read(context.Context) (monitor.Reading, []monitor.Source)
	// StillIdle is asked before each probe of an idle run, while none is
	// running; an error says in one line what is busy or unknown.
	StillIdle(context.Context) error
}

// Sampler reads what the hardware did since it was last asked. monitor.Monitor
// is that of live hosts.
type Sampler interface {
	Sample(context.Context) monitor.Sample
}

// Host is a host as a run needs it. Fields without a note must be set.
type Host struct {
	Backend   string // "live" or "sim"
	Name      string // of the machine
	Platform  string // family of its CPUs, by discover.Platform; "" is unknown
	Topology  topology.Topology
	Baselines baseline.Set
	Prober    engine.Prober
	Monitor   Monitor
	// RNICConfig and P2P are settings that explain slow paths; empty where unreadable.
	RNICConfig map[string]analyzer.RNICConfig
	P2P        analyzer.P2PSettings
	// Traffic reads, when a run begins, how much of the shared buses is in use
	// and how congested the RNICs are; nil where nothing tells.
	Traffic func(context.Context) ([]monitor.BusUtilization, []monitor.Congestion)
	// Sampler shows the hardware to who watches it; a run does not need it.
	Sampler Sampler
	// Probing is told when probes begin, and calls done when they are over;
	// nil where probes leave no load behind.
	Probing func() (done func())
	// Findings are what discovery noticed about the host; may be nil.
	Findings []diagnosis.Finding
	// Limits bound the cost; the zero value takes the engine's defaults.
	Limits engine.Limits
	// LockPath and InhibitPath guard a live host; "" on a simulated one.
	LockPath, InhibitPath string
	// Now stamps the run; nil is time.Now.
	Now func() time.Time
	// Close frees what the host holds; nil if nothing.
	Close func() error
}
