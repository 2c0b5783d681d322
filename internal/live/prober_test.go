package live

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/native"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

func testTopology() topology.Topology {
	return topology.Topology{
		RNICs: []topology.RNIC{
			{ID: "mlx5_0", Name: "mlx5_0", Port: 1, RateGbps: new(200.0), NUMANode: new(0), Usable: true},
			{ID: "mlx5_1", Name: "mlx5_1", Port: 1, RateGbps: new(400.0), Usable: true},
			{ID: "mlx5_2", Name: "mlx5_2", Port: 1, Reason: "port DOWN"},
			{ID: "mlx5_bond_0", Name: "mlx5_bond_0", Port: 1, RateGbps: new(200.0), LAGPorts: new(2), Usable: true},
		},
		MemoryNodes: []topology.MemoryNode{{ID: "mem1", NUMANode: 1}},
	}
}

func request(rnic, endpoint string) probe.Request {
	return probe.Request{Path: topology.Path{RNIC: rnic, Endpoint: endpoint, Hops: []string{"rnic_pcie:" + rnic, "root_port:0000:00:01.0", "memory:mem1"}}}
}

// good is what a healthy 200 Gb/s path returns.
func good() native.LoopbackResult {
	return native.LoopbackResult{
		Small:               native.LatencySummary{Count: 1000, Min: 1900, P50: 2000, P99: 2500, Max: 9000},
		PaperBytesPerSecond: new(uint64(20e9)),
		Sustained:           native.Throughput{Bytes: 24_375_000_000, Duration: time.Second, Connections: 1, Window: 16},
		GIDIndex:            new(uint64(3)),
		SelfNoiseP50:        25,
		MTUBytes:            4096,
		Hops: []native.HopReading{{
			Before: native.LinkReading{SpeedMTs: new(uint64(2500)), WidthLanes: new(uint64(16))},
			During: native.LinkReading{SpeedMTs: new(uint64(16000)), WidthLanes: new(uint64(16))},
		}},
	}
}

func TestReadingKeepsFiguresAndUnits(t *testing.T) {
	var asked native.LoopbackConfig
	p := NewProber(testTopology(), map[string]string{"root_port:0000:00:01.0": "/sys/x"}, func(_ context.Context, c native.LoopbackConfig) (native.LoopbackResult, error) {
		asked = c
		return good(), nil
	})
	got, err := p.Probe(t.Context(), request("mlx5_0", "mem1"))
	require.NoError(t, err)

	require.Equal(t, "mlx5_0", asked.Device)
	require.Equal(t, 1, *asked.MemoryNode)
	require.Equal(t, 0, *asked.RNICNode)
	require.Equal(t, []string{"/sys/x"}, asked.HopDirs)

	require.InDelta(t, 195, got.BandwidthGbps, 1e-9)
	require.InDelta(t, 160, *got.PaperBandwidthGbps, 1e-9)
	require.Equal(t, probe.Latency{P50Us: 2, P99Us: 2.5, MinUs: 1.9, MaxUs: 9, Samples: 1000}, got.Latency)
	require.InDelta(t, 25, *got.SelfNoiseNs, 1e-9)
	require.Equal(t, 3, *got.Setup.GIDIndex)
	require.Equal(t, 2, got.Setup.QueuePairs)
	// The idle reading of 2.5 GT/s is no evidence; the one under load is.
	require.Equal(t, []probe.LinkSample{{Hop: "root_port:0000:00:01.0", SpeedGTs: new(16.0), Width: new(16)}}, got.Links)
}

func TestToolLimitedFigureIsReplacedByTheBetterOne(t *testing.T) {
	p := NewProber(testTopology(), nil, func(context.Context, native.LoopbackConfig) (native.LoopbackResult, error) {
		r := good()
		r.ToolCheck = native.ToolCheckToolLimited
		r.Sustained.Bytes = 12_000_000_000
		r.Repeat = &native.Throughput{Bytes: 24_000_000_000, Duration: time.Second, Connections: 2, Window: 16}
		return r, nil
	})
	got, err := p.Probe(t.Context(), request("mlx5_0", "mem1"))
	require.NoError(t, err)
	require.True(t, got.ToolLimited)
	require.InDelta(t, 192, got.BandwidthGbps, 1e-9)
	require.Equal(t, 4, got.Setup.QueuePairs)
}

func TestConfigureStaysWithinTheBudget(t *testing.T) {
	topo := testTopology()
	memory := topo.MemoryNodes[0]
	for name, tc := range map[string]struct {
		rnic   topology.RNIC
		req    probe.Request
		expect func(t *testing.T, c native.LoopbackConfig)
	}{
		"200G, no budget": {topo.RNICs[0], probe.Request{ExpectedGbps: new(195.0)}, func(t *testing.T, c native.LoopbackConfig) {
			require.Equal(t, 128<<10, c.MessageBytes)
			require.Equal(t, 1, c.Connections)
			require.InDelta(t, 0.85*195e9/8, float64(c.ToolCheckBelowBytesPerSecond), 1)
		}},
		"400G scales message and connections": {topo.RNICs[1], probe.Request{}, func(t *testing.T, c native.LoopbackConfig) {
			require.Equal(t, 256<<10, c.MessageBytes)
			require.Equal(t, 2, c.Connections)
			require.Zero(t, c.ToolCheckBelowBytesPerSecond, "nothing expected, nothing to check")
		}},
		"LAG has a connection per port": {topo.RNICs[3], probe.Request{}, func(t *testing.T, c native.LoopbackConfig) {
			require.Equal(t, 2, c.Connections)
		}},
		"every limit holds": {topo.RNICs[3], probe.Request{Budget: probe.Budget{Bytes: 1000, Duration: time.Millisecond, QueuePairs: 4, PinnedBytes: 1 << 20}}, func(t *testing.T, c native.LoopbackConfig) {
			require.EqualValues(t, 1000, c.BandwidthBytesMax)
			require.Equal(t, time.Millisecond, c.BandwidthBudget)
			require.Equal(t, 1, c.Connections)
			require.Equal(t, 512<<10, c.RegionBytes)
		}},
	} {
		t.Run(name, func(t *testing.T) { tc.expect(t, configure(tc.rnic, memory, tc.req)) })
	}
}

func TestFailuresAreNamed(t *testing.T) {
	boom := func(err error) Loopback {
		return func(context.Context, native.LoopbackConfig) (native.LoopbackResult, error) {
			return native.LoopbackResult{}, err
		}
	}
	for name, tc := range map[string]struct {
		rnic, endpoint string
		err            error
		reason         probe.Reason
	}{
		"lost completion":        {"mlx5_0", "mem1", &native.Error{Status: native.StatusCompletionLost, Text: "x"}, probe.ReasonLostCompletion},
		"device gone":            {"mlx5_0", "mem1", &native.Error{Status: native.StatusDeviceRemoved, Text: "x"}, probe.ReasonDeviceRemoved},
		"memlock":                {"mlx5_0", "mem1", &native.Error{Status: native.StatusMemlockLimit, Text: "x"}, probe.ReasonMemlockLimit},
		"no permission":          {"mlx5_0", "mem1", &native.Error{Status: native.StatusPermissionDenied, Text: "x"}, probe.ReasonNotPermitted},
		"a bare status":          {"mlx5_0", "mem1", native.StatusAbandoned, probe.ReasonDeadline},
		"our own mistake":        {"mlx5_0", "mem1", &native.Error{Status: native.StatusInvalidArgument, Text: "x"}, probe.ReasonInternal},
		"no status at all":       {"mlx5_0", "mem1", errors.New("x"), probe.ReasonInternal},
		"unknown RNIC":           {"mlx5_9", "mem1", nil, probe.ReasonUnusable},
		"RNIC known to be down":  {"mlx5_2", "mem1", nil, probe.ReasonUnusable},
		"endpoint that is a GPU": {"mlx5_0", "gpu0", nil, probe.ReasonUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewProber(testTopology(), nil, boom(tc.err)).Probe(t.Context(), request(tc.rnic, tc.endpoint))
			var failure *probe.Failure
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tc.reason, failure.Reason)
			require.NotEmpty(t, failure.Detail)
		})
	}
}

func TestEveryNativeStatusHasAReason(t *testing.T) {
	ours := map[native.Status]bool{native.StatusOK: true, native.StatusInvalidArgument: true, native.StatusStructSizeMismatch: true}
	for status := native.StatusOK; status <= native.StatusAbandoned; status++ {
		_, mapped := reasons[status]
		require.NotEqual(t, ours[status], mapped, "%s: give it a probe.Reason", status)
	}
}

func TestCancelledProbeIsNotStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewProber(testTopology(), nil, nil).Probe(ctx, request("mlx5_0", "mem1"))
	var failure *probe.Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, probe.ReasonCancelled, failure.Reason)
}

func TestLivePlansLeaveGPUsAlone(t *testing.T) {
	topo := topology.Topology{GPUs: []topology.GPU{{ID: "gpu0", Usable: true}, {ID: "gpu1", Reason: "bound to vfio-pci"}}}
	leaveGPUsAlone(&topo)
	require.False(t, topo.GPUs[0].Usable)
	require.Contains(t, topo.GPUs[0].Reason, "host memory only")
	require.Equal(t, "bound to vfio-pci", topo.GPUs[1].Reason, "an earlier reason stands")
}
