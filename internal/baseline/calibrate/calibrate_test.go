package calibrate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/baseline/calibrate"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// readiness is a monitor that says what the test wants, the longer it is asked.
type readiness struct {
	state     monitor.IdleState
	busyAfter int // reads; 0 is never
	reads     int
}

func (m *readiness) Read(context.Context) (monitor.Reading, []monitor.Source) {
	if m.reads++; m.busyAfter > 0 && m.reads > m.busyAfter {
		return monitor.Reading{State: monitor.Busy, Reasons: []string{"rnic2: busy for 40 %"}}, nil
	}
	return monitor.Reading{State: m.state, Reasons: []string{"the reason"}}, nil
}
func (m *readiness) StillIdle(context.Context) error { return nil }

// prober changes what the simulated host reads.
type prober struct {
	engine.Prober
	change func(probe.Request, probe.Reading, error) (probe.Reading, error)
}

func (p prober) Probe(ctx context.Context, req probe.Request) (probe.Reading, error) {
	reading, err := p.Prober.Probe(ctx, req)
	return p.change(req, reading, err)
}

func host(t *testing.T, faults ...sim.Fault) run.Host {
	t.Helper()
	topo := sim.Fig2()
	expected := baseline.Defaults(topo)
	baseline.MarkClose(&topo, expected)
	simulated, err := sim.New(topo, sim.Options{Seed: 1, Faults: faults})
	require.NoError(t, err)
	return run.Host{Backend: "sim", Name: "host", Topology: topo, Baselines: expected, Prober: simulated, Monitor: &readiness{state: monitor.Idle}}
}

func options() calibrate.Options {
	return calibrate.Options{
		Run:    run.Options{Tool: report.Tool{Version: "v", Revision: "r"}, Thresholds: analyzer.DefaultThresholds()},
		Rounds: 3,
	}
}

func TestCalibratesAHealthyHost(t *testing.T) {
	var told []int
	opts := options()
	opts.Round = func(n int) { told = append(told, n) }
	got, err := calibrate.Host(t.Context(), host(t), opts)
	require.NoError(t, err)
	require.NoError(t, got.File.Validate())
	require.Equal(t, []int{1, 2, 3}, told)
	require.Len(t, got.File.Entries, 6, "two classes of memory and four of GPUs")
	require.Empty(t, got.BelowDefault)
	require.Zero(t, got.ToolLimited)
	require.GreaterOrEqual(t, got.Reads, 3*40)
	about := got.File.Calibrations[0]
	require.Equal(t, "host", about.Host)
	require.Equal(t, baseline.Tool{Version: "v", Revision: "r"}, about.Tool)
	require.Equal(t, 3, about.Rounds)
	require.Empty(t, about.AcceptedAsymmetry)
	require.False(t, about.StartedAt.IsZero())
	reads := 0
	for _, e := range got.File.Entries {
		reads += e.Measured[0].Bandwidth.Samples
	}
	require.Equal(t, got.Reads, reads, "every read counts, re-reads included")
}

// Comparing like parts shows every fault that some of them do not share.
func TestRefusesASickHost(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"an RNIC's link":                {Kind: "rnic_pcie", Target: "rnic0", Severity: 0.4},
		"a GPU's link":                  {Kind: "gpu_pcie", Target: "gpu2", Severity: 0.4},
		"memory that half of all cross": {Kind: "memory", Target: "mem0", Severity: 0.3},
		"a root port":                   {Kind: "root_port", Target: "rp0", Severity: 0.4},
		"a switch":                      {Kind: "switch", Target: "low1", Severity: 0.4},
		"ACS of one switch":             {Kind: "acs", Target: "up0", Severity: 1},
		"ACS of all switches":           {Kind: "acs", Target: "all", Severity: 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := calibrate.Host(t.Context(), host(t, fault), options())
			require.ErrorIs(t, err, calibrate.ErrAsymmetric)
			require.NotContains(t, err.Error(), "\n")
			accepting := options()
			accepting.AcceptAsymmetric = true
			got, err := calibrate.Host(t.Context(), host(t, fault), accepting)
			require.NoError(t, err)
			require.NotEmpty(t, got.File.Calibrations[0].AcceptedAsymmetry, "the file says so")
			require.NoError(t, got.File.Validate())
		})
	}
	t.Run("what all share is told, not refused", func(t *testing.T) {
		got, err := calibrate.Host(t.Context(), host(t, sim.Fault{Kind: "inter_socket", Target: "0-1", Severity: 0.6}), options())
		require.NoError(t, err)
		require.Len(t, got.BelowDefault, 2)
		require.Contains(t, got.BelowDefault[0], "mem_remote")
	})
}

func TestReadsThatTheToolLimitedAreLeftOut(t *testing.T) {
	h := host(t)
	h.Prober = prober{h.Prober, func(req probe.Request, r probe.Reading, err error) (probe.Reading, error) {
		r.ToolLimited = req.Path.Class == topology.ClassSys
		return r, err
	}}
	got, err := calibrate.Host(t.Context(), h, options())
	require.NoError(t, err)
	require.GreaterOrEqual(t, got.ToolLimited, 3*16)
	require.Len(t, got.File.Entries, 5, "class sys has no figure")
}

func TestFails(t *testing.T) {
	failing := func(fails func(rnic string) bool) func(*run.Host) {
		return func(h *run.Host) {
			h.Prober = prober{h.Prober, func(req probe.Request, r probe.Reading, err error) (probe.Reading, error) {
				if fails(req.Path.RNIC) {
					return r, &probe.Failure{Reason: probe.ReasonLostCompletion, Detail: "gone"}
				}
				return r, err
			}}
		}
	}
	for name, c := range map[string]struct {
		change func(*run.Host)
		opts   func(*calibrate.Options)
		want   error
		says   string
	}{
		"busy":                {change: func(h *run.Host) { h.Monitor = &readiness{state: monitor.Busy} }, want: run.ErrBusy, says: "the reason"},
		"idle unknown":        {change: func(h *run.Host) { h.Monitor = &readiness{state: monitor.Unknown} }, want: run.ErrIdleUnknown, says: "the reason"},
		"busy later":          {change: func(h *run.Host) { h.Monitor = &readiness{state: monitor.Idle, busyAfter: 2} }, want: run.ErrBusy, says: "round 3 of 3"},
		"a mute RNIC":         {change: failing(func(rnic string) bool { return rnic == "rnic1" }), want: calibrate.ErrAsymmetric, says: "rnic1→mem0 could not be measured in 3 of 3 rounds (lost_completion)"},
		"every RNIC is mute":  {change: failing(func(string) bool { return true }), want: calibrate.ErrNothingRead, says: "lost_completion"},
		"too few rounds":      {opts: func(o *calibrate.Options) { o.Rounds = 2 }, says: "2 rounds: a calibration has 3 to 100"},
		"no RNIC is selected": {opts: func(o *calibrate.Options) { o.Run.RNICs, _ = engine.ParseSelector("mlx5_*") }, want: run.ErrSelection},
	} {
		t.Run(name, func(t *testing.T) {
			h, opts := host(t), options()
			if c.change != nil {
				c.change(&h)
			}
			if c.opts != nil {
				c.opts(&opts)
			}
			_, err := calibrate.Host(t.Context(), h, opts)
			require.Error(t, err)
			require.ErrorContains(t, err, c.says)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		opts := options()
		opts.Round = func(n int) {
			if n == 2 {
				cancel()
			}
		}
		_, err := calibrate.Host(ctx, host(t), opts)
		require.True(t, errors.Is(err, calibrate.ErrCutShort), "%v", err)
	})
}
