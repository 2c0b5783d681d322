// Package calibrate measures a healthy host several times and makes a
// baseline file of what it read. It probes by way of internal/run, so an idle
// host, the lock and every deadline are what they are for any other run.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/topology"
)

// Why a host was not calibrated, beside the reasons of run.Execute.
var (
	// ErrAsymmetric: like parts do not perform alike, so some of them are sick.
	ErrAsymmetric = errors.New("like parts of this host do not perform alike")
	// ErrCutShort: a round ended before it had read every path.
	ErrCutShort = errors.New("the calibration was cut short")
	// ErrNothingRead: no path gave a figure that is not the probe's own limit.
	ErrNothingRead = errors.New("no path gave a figure to calibrate with")
)

// Bounds of Options.Rounds: a median needs three values, and a hundred full
// meshes are load enough.
const (
	MinRounds     = 3
	MaxRounds     = 100
	DefaultRounds = 5
)

// Options is what the caller asks of a calibration.
type Options struct {
	// Run is what each round is made with; Trigger and Mode are our own.
	Run    run.Options
	Rounds int
	// AcceptAsymmetric calibrates a host whose like parts differ. The file says so.
	AcceptAsymmetric bool
	// Round is told before each round, from 1; may be nil.
	Round func(number int)
}

// Result is a calibration.
type Result struct {
	File baseline.File
	// BelowDefault lists the kinds of path that stay below the default
	// expectation as a whole: the platform's limit, or a fault that all share.
	BelowDefault []string
	// ToolLimited counts the reads that were left out because the probe
	// itself was their limit, of Reads.
	ToolLimited, Reads int
}

// Host measures an idle host in Options.Rounds rounds. It fails when a round
// does, and with ErrAsymmetric when the host is visibly sick.
func Host(ctx context.Context, host run.Host, opts Options) (Result, error) {
	if opts.Rounds < MinRounds || opts.Rounds > MaxRounds {
		return Result{}, fmt.Errorf("%d rounds: a calibration has %d to %d", opts.Rounds, MinRounds, MaxRounds)
	}
	c := collection{samples: map[topology.PathKey]baseline.Samples{}, failed: map[topology.PathKey]*failure{}}
	opts.Run.Trigger, opts.Run.Mode = "manual", run.ModeIdle
	var about baseline.Calibration
	for number := 1; number <= opts.Rounds; number++ {
		if opts.Round != nil {
			opts.Round(number)
		}
		r, err := run.Execute(ctx, host, opts.Run)
		switch {
		case err != nil && number > 1:
			return Result{}, fmt.Errorf("round %d of %d: %w", number, opts.Rounds, err)
		case err != nil:
			return Result{}, err
		case r.Run.Interrupted:
			return Result{}, fmt.Errorf("%w in round %d of %d: %s", ErrCutShort, number, opts.Rounds, r.Run.EndReason)
		}
		if number == 1 {
			about.StartedAt = r.Run.StartedAt.UTC()
		}
		about.FinishedAt = r.Run.FinishedAt.UTC()
		c.add(r)
	}

	hardware := baseline.Hardware{Backend: host.Backend, Platform: host.Platform, Topology: host.Topology}
	failures := c.failures(host.Topology, opts.Rounds)
	if len(c.samples) == 0 {
		return Result{}, fmt.Errorf("%w: %s", ErrNothingRead, few(append(failures, c.limits()...)))
	}
	asymmetries := append(failures, baseline.Asymmetries(hardware, c.samples, opts.Run.Thresholds.Path)...)
	if len(asymmetries) > 0 && !opts.AcceptAsymmetric {
		return Result{}, fmt.Errorf("%w: %s", ErrAsymmetric, few(asymmetries))
	}
	about.Host, about.Rounds, about.AcceptedAsymmetry = host.Name, opts.Rounds, asymmetries
	about.Tool = baseline.Tool{Version: opts.Run.Tool.Version, Revision: opts.Run.Tool.Revision}
	file, err := baseline.FromSamples(hardware, about, c.samples)
	if err != nil {
		return Result{}, fmt.Errorf("the figures of this host make no baseline: %w", err)
	}
	return Result{
		File:         file,
		BelowDefault: baseline.BelowDefault(hardware, c.samples, opts.Run.Thresholds.Path),
		ToolLimited:  c.toolLimited,
		Reads:        c.reads,
	}, nil
}

// collection is what the rounds so far have read.
type collection struct {
	samples            map[topology.PathKey]baseline.Samples
	failed             map[topology.PathKey]*failure
	reads, toolLimited int
}

// failure is a path that some rounds could not measure.
type failure struct {
	rounds int
	reason string // of the last one
}

// add takes every read of a round, except the bandwidths that were the tool's own limit.
func (c *collection) add(r report.Report) {
	for _, m := range r.Measurements {
		key := topology.PathKey{RNIC: m.RNIC, Endpoint: m.Endpoint}
		s := c.samples[key]
		for _, read := range m.Reads {
			c.reads++
			if read.ToolLimited {
				c.toolLimited++
				continue
			}
			s.BandwidthGbps = append(s.BandwidthGbps, read.BandwidthGbps)
			s.LatencyUs = append(s.LatencyUs, read.LatencyUs.P50Us)
		}
		if len(s.BandwidthGbps) > 0 {
			c.samples[key] = s
		}
	}
	for _, u := range r.Unmeasured {
		if !u.Planned {
			continue
		}
		key := topology.PathKey{RNIC: u.RNIC, Endpoint: u.Endpoint}
		if c.failed[key] == nil {
			c.failed[key] = &failure{}
		}
		c.failed[key].rounds++
		c.failed[key].reason = u.Reason
	}
}

// failures lists the paths that could not be measured while others could, in
// the topology's order.
func (c *collection) failures(t topology.Topology, rounds int) []string {
	var lines []string
	for _, p := range t.Paths {
		if f := c.failed[p.Key()]; f != nil {
			lines = append(lines, fmt.Sprintf("%v could not be measured in %d of %d rounds (%s)", p.Key(), f.rounds, rounds, f.reason))
		}
	}
	return lines
}

// limits says how many reads the tool itself limited, if any.
func (c *collection) limits() []string {
	if c.toolLimited == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d reads went up with more queue pairs, so the probe was their limit", c.toolLimited, c.reads)}
}

// maxShown bounds the paths that an error names.
const maxShown = 4

func few(lines []string) string {
	if more := len(lines) - maxShown; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(lines[:maxShown], "; "), more)
	}
	return strings.Join(lines, "; ")
}
