package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/sim"
)

// fakeMonitor says what the test wants, and counts how often it was asked.
type fakeMonitor struct {
	reading   monitor.Reading
	stillIdle func(asked int) error
	asked     int
}

func (m *fakeMonitor) Read(context.Context) (monitor.Reading, []monitor.Source) {
	return m.reading, []monitor.Source{{Name: "rnic_port", State: monitor.SourceOK}}
}

func (m *fakeMonitor) StillIdle(context.Context) error {
	m.asked++
	if m.stillIdle == nil {
		return nil
	}
	return m.stillIdle(m.asked)
}

var started = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func hostOf(t *testing.T, m *fakeMonitor) run.Host {
	t.Helper()
	topo := sim.Fig2()
	expected := baseline.Defaults(topo)
	baseline.MarkClose(&topo, expected)
	prober, err := sim.New(topo, sim.Options{Seed: 1})
	require.NoError(t, err)
	now := started
	return run.Host{
		Backend: "sim", Name: "host", Topology: topo, Baselines: expected, Prober: prober, Monitor: m,
		Now: func() time.Time { now = now.Add(time.Second); return now },
	}
}

func options(mode run.Mode) run.Options {
	return run.Options{
		Tool: report.Tool{Version: "v", Revision: "r"}, Trigger: "manual", Mode: mode, Thresholds: analyzer.DefaultThresholds(),
	}
}

func TestModeFollowsTheHost(t *testing.T) {
	for name, c := range map[string]struct {
		state monitor.IdleState
		asked run.Mode
		mode  string
		err   error
	}{
		"idle, auto":    {monitor.Idle, run.ModeAuto, "idle", nil},
		"idle, idle":    {monitor.Idle, run.ModeIdle, "idle", nil},
		"idle, busy":    {monitor.Idle, run.ModeBusy, "busy", nil},
		"busy, auto":    {monitor.Busy, run.ModeAuto, "busy", nil},
		"busy, idle":    {monitor.Busy, run.ModeIdle, "", run.ErrBusy},
		"busy, busy":    {monitor.Busy, run.ModeBusy, "busy", nil},
		"unknown, auto": {monitor.Unknown, run.ModeAuto, "", run.ErrIdleUnknown},
		"unknown, idle": {monitor.Unknown, run.ModeIdle, "", run.ErrIdleUnknown},
		"unknown, busy": {monitor.Unknown, run.ModeBusy, "", run.ErrIdleUnknown},
		"no state":      {"", run.ModeAuto, "", run.ErrIdleUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			m := &fakeMonitor{reading: monitor.Reading{State: c.state, Reasons: []string{"the reason"}}}
			r, err := run.Execute(t.Context(), hostOf(t, m), options(c.asked))
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.ErrorContains(t, err, "the reason")
				require.Zero(t, m.asked, "nothing was probed")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.mode, r.Run.Mode)
			require.Equal(t, c.mode == "idle", m.asked > 0, "only an idle run asks again")
		})
	}
}

func TestReportTellsTheRun(t *testing.T) {
	host := hostOf(t, &fakeMonitor{reading: monitor.Reading{State: monitor.Idle}})
	host.Findings = []diagnosis.Finding{{Code: "topology_unreadable", Summary: "discovery noticed something"}}
	host.RNICConfig = map[string]analyzer.RNICConfig{"rnic0": {SlowStart: new(false)}}
	host.P2P = analyzer.P2PSettings{ATS: map[string]bool{"rnic1": true}}
	r, err := run.Execute(t.Context(), host, options(run.ModeAuto))
	require.NoError(t, err)
	require.Equal(t, report.SchemaID, r.Schema)
	require.Regexp(t, regexp.MustCompile(`^20260304T050608Z-[0-9a-f]{8}$`), r.Run.ID)
	require.Equal(t, started.Add(time.Second), r.Run.StartedAt)
	require.Equal(t, 1000.0, r.Run.DurationMs)
	require.Equal(t, []string{"manual", "sim", "host", "v", "r"}, []string{r.Run.Trigger, r.Run.Backend, r.Host.Name, r.Tool.Version, r.Tool.Revision})
	require.Equal(t, diagnosis.Code("topology_unreadable"), r.Findings[0].Code)
	require.Len(t, host.Findings, 1, "the host's own list is left alone")
	require.Equal(t, []report.RNICConfig{{RNIC: "rnic0", SlowStart: new(false)}}, r.Monitor.RNICConfig)
	require.Equal(t, []report.Setting{{ID: "rnic1", On: true}}, r.Monitor.ATS)
	require.Len(t, r.Sources, 1)
}

func TestHostThatTurnsBusyEndsTheRun(t *testing.T) {
	m := &fakeMonitor{reading: monitor.Reading{State: monitor.Idle}, stillIdle: func(asked int) error {
		if asked > 5 {
			return errors.New("rnic3: busy for 40 % of line rate")
		}
		return nil
	}}
	r, err := run.Execute(t.Context(), hostOf(t, m), options(run.ModeIdle))
	require.NoError(t, err)
	require.True(t, r.Run.Interrupted)
	require.Contains(t, r.Run.EndReason, "rnic3: busy")
	require.Equal(t, report.Inconclusive, r.Outcome())
	require.Len(t, r.Measurements, 5)
	require.Equal(t, "host_busy", r.Unmeasured[0].Reason)
}

func TestGuards(t *testing.T) {
	idle := func() *fakeMonitor { return &fakeMonitor{reading: monitor.Reading{State: monitor.Idle}} }
	t.Run("an inhibited host is not even looked at", func(t *testing.T) {
		host := hostOf(t, idle())
		host.InhibitPath = filepath.Join(t.TempDir(), "inhibit")
		require.NoError(t, os.WriteFile(host.InhibitPath, nil, 0o644))
		_, err := run.Execute(t.Context(), host, options(run.ModeAuto))
		require.ErrorIs(t, err, run.ErrInhibited)
	})
	t.Run("one prober at a time", func(t *testing.T) {
		host := hostOf(t, idle())
		host.LockPath = filepath.Join(t.TempDir(), "probe.lock")
		release, err := engine.Lock(host.LockPath)
		require.NoError(t, err)
		_, err = run.Execute(t.Context(), host, options(run.ModeAuto))
		require.ErrorIs(t, err, engine.ErrLocked)
		release()
		_, err = run.Execute(t.Context(), host, options(run.ModeAuto))
		require.NoError(t, err)
		_, err = run.Execute(t.Context(), host, options(run.ModeAuto))
		require.NoError(t, err, "a run releases its lock")
	})
	t.Run("a selection of nothing", func(t *testing.T) {
		opts := options(run.ModeAuto)
		var err error
		opts.RNICs, err = engine.ParseSelector("mlx5_*")
		require.NoError(t, err)
		_, err = run.Execute(t.Context(), hostOf(t, idle()), opts)
		require.ErrorIs(t, err, run.ErrSelection)
	})
	t.Run("no RNIC is usable", func(t *testing.T) {
		host := hostOf(t, idle())
		for i := range host.Topology.RNICs {
			host.Topology.RNICs[i].Usable, host.Topology.RNICs[i].Reason = false, "port is DOWN"
		}
		_, err := run.Execute(t.Context(), host, options(run.ModeAuto))
		require.ErrorIs(t, err, run.ErrNoDevice)
		require.ErrorContains(t, err, "port is DOWN")
	})
}
