package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/run"
)

// sampler gives one sample after the other, then the last one for ever.
type sampler struct {
	samples []monitor.Sample
	next    int
	after   func(sampled int) // may be nil
}

func (s *sampler) Sample(context.Context) monitor.Sample {
	sample := s.samples[min(s.next, len(s.samples)-1)]
	s.next++
	if s.after != nil {
		s.after(s.next)
	}
	return sample
}

// watching is a call of monitor on a live host.
func watching(s *sampler, closed *bool, line string) call {
	return call{args: strings.Fields(line), watch: func(context.Context, cli.LiveOptions) (run.Sampler, func() error, error) {
		return s, func() error { *closed = true; return nil }, nil
	}}
}

// odd is a sample in which much is unknown and something hurts.
func odd() monitor.Sample {
	return monitor.Sample{
		At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), ElapsedMs: new(1000.0),
		Idle: monitor.Reading{State: monitor.Unknown, Reasons: []string{"gpu0: no library (source gpu)"}, RNICs: []monitor.Utilization{}, GPUs: []monitor.Utilization{}},
		RNICs: []monitor.RNICSample{
			{ID: "mlx5_0", State: "ACTIVE", RateGbps: new(200.0), OutBytesPerSecond: new(12.5e9), InBytesPerSecond: new(0.0), Utilization: new(0.5),
				TxPauseRatio: new(0.12), Drops: new(3.0), Errors: []monitor.Increment{{Name: "link_downed", By: 1}, {Name: "cnps_sent", By: 0}}},
			{ID: "mlx5_1", TxPauseRatioLimit: new(0.04), Errors: []monitor.Increment{}},
		},
		GPUs: []monitor.GPUSample{{ID: "gpu0", ComputeMode: "default", MIG: new(true)}},
		Links: []monitor.LinkSample{
			{Hop: "rnic_pcie:mlx5_0", SpeedGTs: new(16.0), Width: new(8), ExpectedSpeedGTs: new(16.0), ExpectedWidth: new(16)},
			{Hop: "rnic_pcie:mlx5_1", SpeedGTs: new(16.0), Width: new(16), ExpectedSpeedGTs: new(16.0), ExpectedWidth: new(16)},
		},
		Buses:    []monitor.BusUtilization{{Kind: "memory", Component: "mem0"}},
		Sources:  []monitor.Source{{Name: "rnic_port", State: monitor.SourceOK}, {Name: "gpu", State: monitor.SourceUnavailable, Reason: "gpu0: no library"}},
		Troubles: []monitor.Trouble{{Source: "gpu", Device: "gpu0", State: monitor.SourceUnavailable, Reason: "no library"}},
	}
}

func TestMonitorOnce(t *testing.T) {
	t.Parallel()
	var closed bool
	s := &sampler{samples: []monitor.Sample{{}, odd()}}
	r := watching(s, &closed, "monitor --once").run(t.Context())
	require.Zero(t, r.code, r.stderr)
	assert.True(t, closed)
	assert.Equal(t, 2, s.next, "rates need two looks")
	for _, line := range []string{
		"05:06:07  host: unknown",
		"  gpu0: no library (source gpu)",
		"mlx5_0  ACTIVE  200   100.0     0.0      50.0 %  ?     12.0 %    3      link_downed +1  congested",
		"mlx5_1  ?       ?     ?         ?        ?       ?     <= 4.0 %  ?      ?",
		"gpu0  ?     ?         ?        ?        ?         default, MIG",
		"memory:mem0  ?",
		"rnic_pcie:mlx5_0  16 GT/s x8  16 GT/s x16  ?            ?         ?",
		"  gpu unavailable: gpu0: no library",
		"  ok: rnic_port",
	} {
		assert.Contains(t, r.stdout, line+"\n")
	}
	assert.NotContains(t, r.stdout, "rnic_pcie:mlx5_1", "a link that is well is for JSON")
}

func TestMonitorGoesOnUntilItIsStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var closed bool
	s := &sampler{samples: []monitor.Sample{odd()}, after: func(sampled int) {
		if sampled == 4 {
			stop()
		}
	}}
	r := watching(s, &closed, "monitor --format json").run(ctx)
	require.Zero(t, r.code, "Ctrl-C is how it ends")
	assert.Empty(t, r.stderr)
	assert.True(t, closed)
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	assert.Len(t, lines, 2, "the sample that was cut short is not shown")
	for _, line := range lines {
		var document map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &document), "one document a line")
	}
}

func TestMonitorJSON(t *testing.T) {
	t.Parallel()
	valid := schema(t, "monitor.schema.json")
	var closed bool
	for name, c := range map[string]call{
		"odd":       watching(&sampler{samples: []monitor.Sample{odd()}}, &closed, "monitor --once --format json"),
		"simulated": {args: strings.Fields("monitor --sim --busy rnic0 --once --format json")},
		"overload":  {args: strings.Fields("monitor --sim --busy rnic0 --fault memory_overload:mem0 --once --format json")},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.run(t.Context())
			require.Zero(t, r.code, r.stderr)
			requireValid(t, valid, r.stdout)
		})
	}
}

func TestMonitorOfTheSimulatedHost(t *testing.T) {
	t.Parallel()
	r := hostpingctl(t, "monitor --sim --busy rnic0=0.9 --fault memory_overload:mem0 --fault rnic_pcie:rnic0=0.6 --once --format json --gpu-idle-threshold 0.5")
	require.Zero(t, r.code, r.stderr)
	var document monitor.Sample
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &document))
	assert.Equal(t, monitor.Busy, document.Idle.State)
	require.Len(t, document.Idle.Reasons, 1, "the GPUs' share of the traffic is below the threshold")
	assert.Greater(t, *document.RNICs[0].TxPauseRatio, 0.03)
	assert.Zero(t, *document.RNICs[1].OutBytesPerSecond)
	assert.Greater(t, *document.Buses[0].Utilization, 0.8)
	var names []string
	for _, s := range document.Sources {
		names = append(names, s.Name)
	}
	assert.Equal(t, monitor.SourceNames(), names, "both kinds of host list the same sources")
}

func TestMonitorPassesOnWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	var got cli.LiveOptions
	c := call{
		args: strings.Fields("monitor --once --rnic-idle-threshold 0.1 --memory-bus-capacity 1638.4 --software-rnics"),
		env:  map[string]string{"HOSTPING_GPU_IDLE_THRESHOLD": "0.2", "HOSTPING_INTER_SOCKET_CAPACITY": "1000"},
		watch: func(_ context.Context, opts cli.LiveOptions) (run.Sampler, func() error, error) {
			got = opts
			return nil, nil, errors.New("enough")
		},
	}
	requireOneLine(t, c.run(t.Context()), 3)
	assert.Equal(t, cli.LiveOptions{
		SoftwareRNICs: true, Idle: monitor.Thresholds{RNIC: 0.1, GPU: 0.2}, MemoryBusCapacityGbps: 1638.4, InterSocketCapacityGbps: 1000,
	}, got)
}

func TestMonitorRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		says []string
	}{
		"an argument":               {"monitor rnic0", []string{"takes no arguments"}},
		"a fault of a live host":    {"monitor --fault memory:mem0", []string{"--fault changes a simulated host", "--sim"}},
		"a capacity in simulation":  {"monitor --sim --memory-bus-capacity 100", []string{"--memory-bus-capacity is about a real host"}},
		"a capacity of nothing":     {"monitor --memory-bus-capacity 0", []string{"a number of Gb/s above 0"}},
		"a capacity with its unit":  {"monitor --inter-socket-capacity 100GB", []string{"a number of Gb/s above 0"}},
		"a threshold beyond all":    {"monitor --gpu-idle-threshold 5", []string{"above 0 and below 1"}},
		"a misspelt format":         {"monitor --format jsn", []string{"json"}},
		"a misspelt flag":           {"monitor --onec", []string{"did you mean --once?"}},
		"a capture":                 {"monitor --sysfs ../../testdata/captures/lab.capture", nil},
		"a tree that is not there":  {"monitor --sysfs /nonexistent", []string{"--sysfs /nonexistent cannot be read"}},
		"a flag of other commands":  {"monitor --path-threshold 0.3", []string{"unknown flag --path-threshold"}},
		"a diagnosis in simulation": {"diagnose --sim --inter-socket-capacity 100", []string{"--inter-socket-capacity is about a real host"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := hostpingctl(t, c.line)
			requireOneLine(t, r, 2)
			for _, words := range c.says {
				assert.Contains(t, r.stderr, words)
			}
		})
	}
}

// A host that is busy by its GPUs alone, and the threshold that says so.
func TestGPUIdleThreshold(t *testing.T) {
	t.Parallel()
	busy := hostpingctl(t, "diagnose --sim --busy rnic0 --mode idle --rnic-idle-threshold 0.5")
	requireOneLine(t, busy, 3)
	assert.Contains(t, busy.stderr, "gpu0: busy")
	idle := hostpingctl(t, "diagnose --sim --busy rnic0 --mode idle --rnic-idle-threshold 0.5 --gpu-idle-threshold 0.5")
	assert.NotEqual(t, 3, idle.code, "it runs, whatever it finds: %s", idle.stderr)
	assert.NotEmpty(t, idle.stdout)
}

func TestMonitorRedrawsATerminal(t *testing.T) {
	terminal, screen := openTerminal(t, 100)
	ctx, stop := context.WithCancel(t.Context())
	var closed bool
	long := odd()
	for range 80 {
		long.RNICs = append(long.RNICs, monitor.RNICSample{ID: "mlx5_9", Errors: []monitor.Increment{}})
	}
	s := &sampler{samples: []monitor.Sample{odd(), odd(), long}, after: func(sampled int) {
		if sampled == 4 {
			stop()
		}
	}}
	c := watching(s, &closed, "monitor")
	env := c.environment(&bytes.Buffer{}, &bytes.Buffer{})
	env.Stdout = terminal
	require.Zero(t, cli.Hostpingctl(ctx, env, c.args))
	text := screen()
	assert.True(t, strings.HasPrefix(text, "\x1b[2J\x1b[H05:06:07"), "%q", text[:min(40, len(text))])
	samples := strings.Split(text, "\x1b[H")[1:]
	require.Len(t, samples, 2)
	for _, sample := range samples {
		assert.True(t, strings.HasSuffix(sample, "\x1b[J"))
		assert.LessOrEqual(t, strings.Count(sample, "\n"), 49, "it never scrolls a terminal of 50 lines")
	}
	assert.Contains(t, samples[1], "more lines: a taller terminal, or --once, shows them)")
}
