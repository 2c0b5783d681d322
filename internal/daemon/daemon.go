// Package daemon is the loop of the hostping service: when to look whether
// the host is idle, when to run, and how to stop.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
)

// Options is what the operator asks of the daemon.
type Options struct {
	Log *slog.Logger
	// Run is what every run is made with; Trigger and Mode are the daemon's own.
	Run run.Options
}

// Daemon watches one host.
type Daemon struct {
	open func(context.Context) (run.Host, error)
	opts Options
}

// New makes a daemon over the host that open returns. The host is opened anew
// for each run, so that a device that came or went is seen.
func New(open func(context.Context) (run.Host, error), opts Options) *Daemon {
	return &Daemon{open: open, opts: opts}
}

// Serve makes one run if the host is idle, then waits. It returns nil when
// ctx ends, and at once with an error when the host cannot be opened at all or
// has nothing to probe (run.ErrNoDevice, run.ErrSelection).
func (d *Daemon) Serve(ctx context.Context) error {
	host, err := d.open(ctx)
	if err != nil {
		return err
	}
	if err := run.Probeable(host.Topology, d.opts.Run.RNICs); err != nil {
		return errors.Join(err, closeHost(host))
	}
	d.opts.Log.Info("started", "backend", host.Backend, "host", host.Name, "rnics", len(host.Topology.RNICs), "paths", len(host.Topology.Paths))
	d.idleRun(ctx, host)
	if err := closeHost(host); err != nil {
		d.opts.Log.Warn("host not closed cleanly", "error", err)
	}
	<-ctx.Done()
	d.opts.Log.Info("stopped")
	return nil
}

func closeHost(host run.Host) error {
	if host.Close == nil {
		return nil
	}
	return host.Close()
}

// idleRun is one idle check: a full-mesh run if the host is idle, a note of
// what was busy if not.
func (d *Daemon) idleRun(ctx context.Context, host run.Host) {
	opts := d.opts.Run
	opts.Trigger, opts.Mode = "idle", run.ModeIdle
	result, err := run.Execute(ctx, host, opts)
	switch {
	case errors.Is(err, run.ErrBusy), errors.Is(err, run.ErrIdleUnknown), errors.Is(err, run.ErrInhibited), errors.Is(err, engine.ErrLocked):
		d.opts.Log.Info("idle check skipped", "reason", err)
	case err != nil:
		d.opts.Log.Error("run failed", "error", err)
	default:
		logReport(d.opts.Log, result)
	}
}

func logReport(log *slog.Logger, r report.Report) {
	log.Info("run finished", "id", r.Run.ID, "trigger", r.Run.Trigger, "mode", r.Run.Mode, "outcome", r.Outcome(),
		"measured", len(r.Measurements), "unmeasured", len(r.Unmeasured), "diagnoses", len(r.Diagnoses),
		"duration", time.Duration(r.Run.DurationMs*float64(time.Millisecond)).Round(time.Millisecond))
	for _, d := range r.Diagnoses {
		level := slog.LevelWarn
		if d.Severity == diagnosis.Critical {
			level = slog.LevelError
		}
		log.Log(context.Background(), level, "diagnosis", "run", r.Run.ID, "code", d.Code, "component", d.Component,
			"severity", d.Severity, "confidence", d.Confidence, "summary", d.Summary)
	}
}
