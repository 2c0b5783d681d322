package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/topology"
)

// Reasons why a host does not allow a run. The error says the rest in one line.
var (
	ErrNoDevice    = errors.New("nothing to probe")
	ErrIdleUnknown = errors.New("the host's idle state cannot be read")
	ErrBusy        = errors.New("the host is busy")
	ErrInhibited   = errors.New("probing is inhibited")
)

// ErrSelection is a selection that chooses no device at all.
var ErrSelection = errors.New("nothing selected")

// Mode says which paths a run shall touch.
type Mode string

// Modes. ModeAuto decides by the host's idle state.
const (
	ModeAuto Mode = "auto"
	ModeIdle Mode = "idle"
	ModeBusy Mode = "busy"
)

// Options is what the caller asks of a run.
type Options struct {
	Tool       report.Tool
	Trigger    string
	Mode       Mode
	RNICs      engine.Selector
	GPUs       engine.Selector
	Thresholds analyzer.Thresholds
	// History is what the runs before said, as their last report has it (report.Report.Past).
	History analyzer.History
	Events  func(engine.Event) // may be nil
}

// Execute makes one run on the host. An error means that nothing was probed:
// one of the reasons above, engine.ErrLocked or engine.ErrLockUnavailable. A
// run that was cut short is a report, not an error.
func Execute(ctx context.Context, host Host, opts Options) (report.Report, error) {
	if err := Probeable(host.Topology, opts.RNICs); err != nil {
		return report.Report{}, err
	}
	if host.InhibitPath != "" {
		if inhibited, why := engine.Inhibited(host.InhibitPath); inhibited {
			return report.Report{}, fmt.Errorf("%w: %s", ErrInhibited, why)
		}
	}
	if host.LockPath != "" {
		release, err := engine.Lock(host.LockPath)
		if err != nil {
			return report.Report{}, err
		}
		defer release()
	}

	idle, sources := host.Monitor.Read(ctx)
	var buses []monitor.BusUtilization
	var congestion []monitor.Congestion
	if host.Traffic != nil {
		buses, congestion = host.Traffic(ctx)
	}
	mode, err := decideMode(opts.Mode, idle)
	if err != nil {
		return report.Report{}, err
	}
	plan := engine.NewPlan(host.Topology, host.Baselines, engine.PlanOptions{
		Mode: mode, RNICs: opts.RNICs, GPUs: opts.GPUs, Limits: host.Limits,
	})
	if len(plan.Steps) == 0 {
		return report.Report{}, fmt.Errorf("%w: %s", ErrNoDevice, plan)
	}

	facts := analyzer.Input{
		Topology: host.Topology, Baselines: host.Baselines, Busy: mode == engine.ModeBusy,
		Idle: idle, RNICConfig: host.RNICConfig, P2P: host.P2P,
		Buses: buses, Congestion: congestion, History: opts.History, Thresholds: opts.Thresholds,
		Unselected: report.Unselected(host.Topology, unplanned(plan)),
	}
	around := engine.Options{Events: opts.Events, InhibitPath: host.InhibitPath, Now: host.Now}
	if mode == engine.ModeIdle {
		around.IdleCheck = host.Monitor.StillIdle
	}
	probesOver := func() {}
	if host.Probing != nil {
		probesOver = host.Probing()
	}
	measured := engine.Run(ctx, plan, host.Prober, analyzer.NewJudge(facts), around)
	probesOver()

	facts.Outcomes = measured.Outcomes
	result := analyzer.Analyze(facts)
	result.Findings = append(host.Findings[:len(host.Findings):len(host.Findings)], result.Findings...)
	return report.Build(report.Input{
		Tool: opts.Tool,
		Host: report.Host{Name: host.Name, Platform: host.Platform},
		Run: report.Run{
			ID: newID(measured.Started), Trigger: opts.Trigger, Mode: string(mode), Backend: host.Backend,
			StartedAt: measured.Started, FinishedAt: measured.Finished,
			DurationMs:  float64(measured.Finished.Sub(measured.Started)) / float64(time.Millisecond),
			Interrupted: measured.Interrupted, EndReason: endReason(measured),
			Thresholds: report.ThresholdsOf(opts.Thresholds),
		},
		Topology:   host.Topology,
		Baselines:  host.Baselines,
		Outcomes:   measured.Outcomes,
		Unplanned:  unplanned(plan),
		Result:     result,
		RNICConfig: host.RNICConfig,
		P2P:        host.P2P,
		Buses:      buses,
		Congestion: congestion,
		Sources:    sources,
		Idle:       idle,
	}), nil
}

// Probeable refuses a host, or a selection of its RNICs, that leaves none to
// probe: the error is ErrNoDevice or ErrSelection.
func Probeable(t topology.Topology, rnics engine.Selector) error {
	if len(t.RNICs) == 0 {
		return fmt.Errorf("%w: the host has no RDMA device", ErrNoDevice)
	}
	var selected, usable int
	var names []string
	var why string
	for _, r := range t.RNICs {
		names = append(names, r.ID)
		if !rnics.Match(r.ID, r.Name, r.PCI) {
			continue
		}
		selected++
		if r.Usable {
			usable++
		} else if why == "" {
			why = r.ID + ": " + r.Reason
		}
	}
	switch {
	case selected == 0:
		return fmt.Errorf("%w: no RNIC matches; this host has %s", ErrSelection, strings.Join(names, ", "))
	case usable == 0:
		return fmt.Errorf("%w: no RDMA device can be probed (%s)", ErrNoDevice, why)
	}
	return nil
}

// decideMode fails closed: a host of which nothing is known is not probed.
func decideMode(asked Mode, idle monitor.Reading) (engine.Mode, error) {
	why := strings.Join(idle.Reasons, "; ")
	switch {
	case idle.State == monitor.Busy && asked == ModeIdle:
		return "", fmt.Errorf("%w: %s; a busy run touches close endpoints only", ErrBusy, why)
	case asked == ModeBusy && idle.State != monitor.Unknown, idle.State == monitor.Busy:
		return engine.ModeBusy, nil
	case idle.State == monitor.Idle:
		return engine.ModeIdle, nil
	default:
		return "", fmt.Errorf("%w: %s", ErrIdleUnknown, why)
	}
}

func endReason(r engine.Result) string {
	if !r.Interrupted {
		return ""
	}
	if r.EndDetail == "" {
		return string(r.EndReason)
	}
	return r.EndDetail
}

func unplanned(plan engine.Plan) []report.Unmeasured {
	var left []report.Unmeasured
	for _, u := range plan.Unplanned {
		left = append(left, report.Unmeasured{
			RNIC: u.Path.RNIC, Endpoint: u.Path.Endpoint, Reason: string(u.Reason), Detail: u.Detail,
		})
	}
	return left
}

// newID names a run: its start, so that names sort by time, and four random
// bytes, so that two hosts' reports never collide.
func newID(started time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, says its documentation
	return started.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(random[:])
}
