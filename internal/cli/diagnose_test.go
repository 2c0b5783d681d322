package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiled, err := compiler.Compile("../../docs/" + name)
	require.NoError(t, err)
	return compiled
}

func requireValid(t *testing.T, s *jsonschema.Schema, text string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, s.Validate(value))
}

func TestDiagnoseSimulated(t *testing.T) {
	valid := schema(t, "report.schema.json")
	for name, c := range map[string]struct {
		line     string
		code     int
		mode     string
		measured int
	}{
		"healthy":                  {"--sim", 0, "idle", 40},
		"faulty":                   {"--sim --fault memory:mem0", 1, "idle", 40},
		"two faults":               {"--sim --fault memory:mem0 --fault gpu_pcie:gpu5", 1, "idle", 40},
		"two faults in one flag":   {"--sim --fault memory:mem0,gpu_pcie:gpu5", 1, "idle", 40},
		"selected RNICs":           {"--sim --rnic rnic0,rnic2", 0, "idle", 20},
		"excluded RNIC":            {"--sim --rnic !rnic2", 0, "idle", 30},
		"excluded by PCI address":  {"--sim --rnic !0000:06:00.0", 0, "idle", 30},
		"selected GPU":             {"--sim --gpu gpu0", 0, "idle", 12},
		"no GPU":                   {"--sim --gpu !*", 0, "idle", 8},
		"busy decides the mode":    {"--sim --busy rnic2", 0, "busy", 16},
		"busy by wish":             {"--sim --mode busy", 0, "busy", 16},
		"idle by a high threshold": {"--sim --busy rnic2=0.1 --rnic-idle-threshold 0.5 --mode idle", 0, "idle", 40},
		"a blind threshold":        {"--sim --fault memory:mem0 --path-threshold 0.9", 0, "idle", 40},
	} {
		t.Run(name, func(t *testing.T) {
			got := hostpingctl(t, "diagnose --format json "+c.line)
			require.Equal(t, c.code, got.code, "%s%s", got.stderr, got.stdout)
			require.Empty(t, got.stderr)
			requireValid(t, valid, got.stdout)
			r := parseReport(t, got.stdout)
			require.Equal(t, c.mode, r.Run.Mode)
			require.Equal(t, "sim", r.Run.Backend)
			require.Equal(t, "manual", r.Run.Trigger)
			require.Equal(t, report.Tool{Version: "1.2.3", Revision: "abcdef"}, r.Tool)
			require.Len(t, r.Measurements, c.measured)
			require.Len(t, r.Unmeasured, 40-c.measured)
			for _, u := range r.Unmeasured {
				require.False(t, u.Planned)
			}

			text := hostpingctl(t, "diagnose "+c.line)
			require.Equal(t, c.code, text.code)
			answer := map[int]string{0: "HEALTHY", 1: "DIAGNOS"}[c.code]
			first, _, _ := strings.Cut(text.stdout, "\n")
			require.Contains(t, first, answer, "the answer comes first")
		})
	}
}

func TestBusyHostRefusesAnIdleRun(t *testing.T) {
	got := hostpingctl(t, "diagnose --sim --busy rnic2 --mode idle")
	requireOneLine(t, got, 3)
	require.Contains(t, got.stderr, "rnic2")
	require.Contains(t, got.stderr, "say --mode busy")
	got = hostpingctl(t, "calibrate --sim --busy rnic2 --out "+filepath.Join(t.TempDir(), "baseline.json"))
	requireOneLine(t, got, 3)
	require.Contains(t, got.stderr, "stop what loads the host, then calibrate")
}

func TestSimulatedTopologyFile(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "host.json")
	require.Equal(t, result{}, hostpingctl(t, "topology --sim --format json --output "+saved))
	text, err := os.ReadFile(saved)
	require.NoError(t, err)
	requireValid(t, schema(t, "topology.schema.json"), string(text))

	again := hostpingctl(t, "topology --format json --sim-topology "+saved)
	require.Equal(t, string(text), again.stdout, "a saved topology reads back as it was")
	require.Equal(t, hostpingctl(t, "faults").stdout, hostpingctl(t, "faults --sim-topology "+saved).stdout)
	require.Equal(t, 1, hostpingctl(t, "diagnose --fault gpu_pcie:gpu3 --sim-topology "+saved).code)
}

func TestFaultsListsWhatFaultTakes(t *testing.T) {
	text := hostpingctl(t, "faults --sim")
	require.Equal(t, 0, text.code)
	kinds, err := sim.Targets(sim.Fig2())
	require.NoError(t, err)
	for _, kind := range kinds {
		require.Contains(t, text.stdout, kind.Kind+":TARGET")
		require.Contains(t, strings.Join(strings.Fields(text.stdout), " "), strings.Join(kind.Targets, " "))
	}
	require.Contains(t, hostpingctl(t, "faults --format json").stdout, `"schema": "hostping.faults/v1"`)
}

// liveHost is the simulated host behind the live door, as far as tests need
// one: its probes can take time, and its monitor can say anything.
type liveHost struct {
	topo      topology.Topology
	probeTime time.Duration
	prober    engine.Prober
	idle      monitor.Reading
	inhibit   string
	lock      string
	faults    []sim.Fault
}

func (h liveHost) open(context.Context, cli.LiveOptions) (run.Host, error) {
	topo := h.topo
	if topo.Schema == "" {
		topo = sim.Fig2()
	}
	expected := baseline.Defaults(topo)
	baseline.MarkClose(&topo, expected)
	prober := h.prober
	if prober == nil {
		simulated, err := sim.New(topo, sim.Options{ProbeTime: h.probeTime, Seed: 1, Faults: h.faults})
		if err != nil {
			return run.Host{}, err
		}
		prober = simulated
	}
	idle := h.idle
	if idle.State == "" {
		idle.State = monitor.Idle
	}
	return run.Host{
		Backend: "live", Name: "node17", Topology: topo, Baselines: expected, Prober: prober,
		Monitor: fixedMonitor{idle}, LockPath: h.lock, InhibitPath: h.inhibit,
	}, nil
}

type fixedMonitor struct{ reading monitor.Reading }

func (m fixedMonitor) Read(context.Context) (monitor.Reading, []monitor.Source) {
	return m.reading, []monitor.Source{{Name: "rnic_port", State: monitor.SourceOK}}
}
func (m fixedMonitor) StillIdle(context.Context) error { return nil }

// deafProber never returns.
type deafProber struct{}

func (deafProber) Probe(context.Context, probe.Request) (probe.Reading, error) { select {} }

func TestEnvironmentDoesNotAllowARun(t *testing.T) {
	dir := t.TempDir()
	inhibit, lock := filepath.Join(dir, "inhibit"), filepath.Join(dir, "probe.lock")
	require.NoError(t, os.WriteFile(inhibit, []byte("job 4711 runs\n"), 0o644))
	release, err := engine.Lock(lock)
	require.NoError(t, err)
	defer release()
	down := sim.Fig2()
	for i := range down.RNICs {
		down.RNICs[i].Usable, down.RNICs[i].Reason = false, "port is DOWN"
	}

	for name, c := range map[string]struct {
		host liveHost
		line string
		says []string
	}{
		"no RDMA device":   {liveHost{topo: topology.Topology{Schema: topology.SchemaID}}, "", []string{"no RDMA device"}},
		"none is usable":   {liveHost{topo: down}, "", []string{"rnic0", "port is DOWN"}},
		"idle unknown":     {liveHost{idle: monitor.Reading{State: monitor.Unknown, Reasons: []string{"rnic0: counters/port_xmit_data: permission denied"}}}, "", []string{"idle state", "port_xmit_data"}},
		"unknown and busy": {liveHost{idle: monitor.Reading{State: monitor.Unknown, Reasons: []string{"rnic0: no counters"}}}, "--mode busy", []string{"idle state", "no counters"}},
		"busy":             {liveHost{idle: monitor.Reading{State: monitor.Busy, Reasons: []string{"rnic2: busy for 40 %"}}}, "--mode idle", []string{"busy", "rnic2"}},
		"inhibited":        {liveHost{inhibit: inhibit}, "", []string{"inhibited", "job 4711 runs"}},
		"locked":           {liveHost{lock: lock}, "", []string{"another prober", fmt.Sprint(os.Getpid())}},
	} {
		t.Run(name, func(t *testing.T) {
			got := call{args: strings.Fields("diagnose " + c.line), live: c.host.open}.run(t.Context())
			requireOneLine(t, got, 3)
			for _, text := range c.says {
				require.Contains(t, got.stderr, text)
			}
		})
	}
	t.Run("cannot be opened", func(t *testing.T) {
		live := func(context.Context, cli.LiveOptions) (run.Host, error) {
			return run.Host{}, errors.New("first\nsecond")
		}
		got := call{args: []string{"diagnose"}, live: live}.run(t.Context())
		requireOneLine(t, got, 3)
		require.Equal(t, "hostpingctl: first second\n", got.stderr)
	})
}

func TestLiveOptionsReachTheHost(t *testing.T) {
	var seen cli.LiveOptions
	live := func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
		seen = opts
		return liveHost{}.open(ctx, opts)
	}
	got := call{args: strings.Fields("diagnose --software-rnics --rnic-idle-threshold 0.07"), live: live}.run(t.Context())
	require.Equal(t, 0, got.code, got.stderr)
	require.Contains(t, got.stdout, "node17 (live)")
	want := monitor.DefaultThresholds()
	want.RNIC = 0.07
	require.Equal(t, cli.LiveOptions{SoftwareRNICs: true, Idle: want}, seen)
}

// An interrupted run prints what it measured: inconclusive, unless a
// diagnosis stands already. A prober that does not listen does not matter.
func TestInterrupt(t *testing.T) {
	valid := schema(t, "report.schema.json")
	for name, c := range map[string]struct {
		host  liveHost
		after time.Duration
		code  int
	}{
		"while the first paths are read": {liveHost{probeTime: 50 * time.Millisecond}, 300 * time.Millisecond, 4},
		"before anything was read":       {liveHost{probeTime: time.Hour}, 100 * time.Millisecond, 4},
		"by a prober that hangs":         {liveHost{prober: deafProber{}}, 100 * time.Millisecond, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var cancelled time.Time
			time.AfterFunc(c.after, func() { cancelled = time.Now(); cancel() })
			got := call{args: []string{"diagnose", "--format", "json"}, live: c.host.open}.run(ctx)
			require.Less(t, time.Since(cancelled), 2*time.Second, "a run ends within 2 s of the interrupt")
			require.Equal(t, c.code, got.code, got.stderr)
			requireValid(t, valid, got.stdout)
			r := parseReport(t, got.stdout)
			require.True(t, r.Run.Interrupted)
			require.Len(t, r.Unmeasured, 40-len(r.Measurements))
			require.NotEmpty(t, r.Unmeasured)
		})
	}
}

// A path that is sick enough to be settled when the run is cut short keeps
// its diagnosis, and with it exit status 1.
func TestInterruptWithADiagnosis(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := liveHost{faults: []sim.Fault{{Kind: "rnic_pcie", Target: "rnic0", Severity: 0.6}}}
	live := func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
		opened, err := host.open(ctx, opts)
		// All but the very last re-read is done when the user interrupts.
		opened.Prober = &cancelAfter{Prober: opened.Prober, reads: 40 + 2*10 - 1, cancel: cancel}
		return opened, err
	}
	got := call{args: []string{"diagnose", "--format", "json"}, live: live}.run(ctx)
	require.Equal(t, 1, got.code, got.stdout+got.stderr)
	r := parseReport(t, got.stdout)
	require.True(t, r.Run.Interrupted)
	require.Equal(t, "rnic_pcie:rnic0", r.Diagnoses[0].Component)
}

// cancelAfter interrupts once so many reads were made.
type cancelAfter struct {
	engine.Prober
	reads  int
	cancel func()
}

func (p *cancelAfter) Probe(ctx context.Context, req probe.Request) (probe.Reading, error) {
	reading, err := p.Prober.Probe(ctx, req)
	if p.reads--; p.reads == 0 {
		p.cancel()
	}
	return reading, err
}

func TestOutput(t *testing.T) {
	write := func(t *testing.T, path, text string, mode os.FileMode) string {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	t.Run("a new file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "report.json")
		require.Equal(t, result{code: 1}, hostpingctl(t, "diagnose --sim --fault memory:mem0 --format json --output "+path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Len(t, parseReport(t, string(text)).Diagnoses, 1)
		requireAlone(t, path)
	})
	t.Run("replaces a file and keeps its mode", func(t *testing.T) {
		path := write(t, filepath.Join(t.TempDir(), "report.txt"), "old", 0o600)
		require.Equal(t, result{}, hostpingctl(t, "diagnose --sim --output "+path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "HEALTHY"))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
		requireAlone(t, path)
	})
	t.Run("follows a link", func(t *testing.T) {
		real, link := write(t, filepath.Join(t.TempDir(), "real"), "old", 0o644), filepath.Join(t.TempDir(), "link")
		require.NoError(t, os.Symlink(real, link))
		require.Equal(t, result{}, hostpingctl(t, "diagnose --sim --output "+link))
		text, err := os.ReadFile(real)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "HEALTHY"))
		requireAlone(t, real)
	})
	t.Run("a device stays a device", func(t *testing.T) {
		require.Equal(t, result{}, hostpingctl(t, "diagnose --sim --output "+os.DevNull))
		info, err := os.Stat(os.DevNull)
		require.NoError(t, err)
		require.False(t, info.Mode().IsRegular())
	})
	t.Run("a refused run leaves the old file", func(t *testing.T) {
		path := write(t, filepath.Join(t.TempDir(), "report.txt"), "old", 0o644)
		requireOneLine(t, hostpingctl(t, "diagnose --sim --busy rnic0 --mode idle --output "+path), 3)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "old", string(text))
		requireAlone(t, path)
	})
	t.Run("is checked before probing", func(t *testing.T) {
		probed := false
		live := func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
			probed = true
			return liveHost{}.open(ctx, opts)
		}
		got := call{args: []string{"diagnose", "--output", "/nowhere/report.json"}, live: live}.run(t.Context())
		requireOneLine(t, got, 2)
		require.False(t, probed)
	})
	t.Run("a full disk", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("no /dev/full on this system")
		}
		require.NoError(t, err)
		defer full.Close()
		requireOneLine(t, hostpingctl(t, "diagnose --sim --output /dev/full"), 2)
		written := filepath.Join(t.TempDir(), "baseline.json")
		for line, says := range map[string]string{
			"diagnose --sim":                   "hostpingctl: the result cannot be written to stdout: ",
			"--help":                           "hostpingctl: the result cannot be written to stdout: ",
			"help topology":                    "hostpingctl: the result cannot be written to stdout: ",
			"--version":                        "hostpingctl: the result cannot be written to stdout: ",
			"completion zsh":                   "hostpingctl: the result cannot be written to stdout: ",
			"calibrate --sim --out " + written: "hostpingctl: " + written + " was written, but the result cannot be written to stdout: ",
		} {
			var stderr bytes.Buffer
			env := call{}.environment(nil, &stderr)
			env.Stdout = full
			require.Equal(t, 2, cli.Hostpingctl(t.Context(), env, strings.Fields(line)), line)
			require.Equal(t, says+syscall.ENOSPC.Error()+"\n", stderr.String(), line)
		}
		require.FileExists(t, written)
	})
}

// requireAlone fails when anything half-written lies beside the file.
func requireAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
