package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// smallHost has two RNICs, each under its own root port with one GPU, and one
// memory node on each of two sockets.
func smallHost() topology.Topology {
	path := func(rnic, endpoint string, close bool, hops ...string) topology.Path {
		return topology.Path{RNIC: rnic, Endpoint: endpoint, Close: close, Hops: append([]string{"rnic_pcie:" + rnic}, hops...)}
	}
	return topology.Topology{
		RNICs: []topology.RNIC{
			{ID: "mlx5_0", Name: "mlx5_0", PCI: "0000:17:00.0", RateGbps: new(200.0), Usable: true},
			{ID: "mlx5_1", Name: "mlx5_1", PCI: "0000:a7:00.0", RateGbps: new(200.0), Usable: true},
		},
		GPUs: []topology.GPU{
			{ID: "gpu0", PCI: "0000:18:00.0", Usable: true},
			{ID: "gpu1", PCI: "0000:a8:00.0", Usable: true},
		},
		MemoryNodes: []topology.MemoryNode{{ID: "mem0"}, {ID: "mem1"}},
		Paths: []topology.Path{
			path("mlx5_0", "mem0", true, "root_port:rp0", "memory:mem0"),
			path("mlx5_0", "mem1", true, "root_port:rp0", "inter_socket:0-1", "memory:mem1"),
			path("mlx5_0", "gpu0", true, "gpu_pcie:gpu0"),
			path("mlx5_0", "gpu1", false, "root_port:rp0", "inter_socket:0-1", "root_port:rp1", "gpu_pcie:gpu1"),
			path("mlx5_1", "mem0", true, "root_port:rp1", "inter_socket:0-1", "memory:mem0"),
			path("mlx5_1", "mem1", true, "root_port:rp1", "memory:mem1"),
			path("mlx5_1", "gpu0", false, "root_port:rp1", "inter_socket:0-1", "root_port:rp0", "gpu_pcie:gpu0"),
			path("mlx5_1", "gpu1", true, "gpu_pcie:gpu1"),
		},
	}
}

func selector(t *testing.T, list string) Selector {
	t.Helper()
	s, err := ParseSelector(list)
	require.NoError(t, err)
	return s
}

func TestNewPlanChoosesPaths(t *testing.T) {
	all := []string{
		"mlx5_0→mem0", "mlx5_0→mem1", "mlx5_0→gpu0", "mlx5_0→gpu1",
		"mlx5_1→mem0", "mlx5_1→mem1", "mlx5_1→gpu0", "mlx5_1→gpu1",
	}
	cases := []struct {
		name    string
		change  func(*topology.Topology)
		opts    PlanOptions
		planned []string
		left    map[string]probe.Reason
	}{
		{
			name:    "an idle run is the full mesh",
			opts:    PlanOptions{Mode: ModeIdle},
			planned: all,
		}, {
			name:    "a busy run touches close endpoints only",
			opts:    PlanOptions{Mode: ModeBusy},
			planned: []string{"mlx5_0→mem0", "mlx5_0→mem1", "mlx5_0→gpu0", "mlx5_1→mem0", "mlx5_1→mem1", "mlx5_1→gpu1"},
			left:    map[string]probe.Reason{"mlx5_0→gpu1": ReasonFarOnBusy, "mlx5_1→gpu0": ReasonFarOnBusy},
		}, {
			name: "an unusable RNIC is left alone",
			change: func(topo *topology.Topology) {
				topo.RNICs[1].Usable, topo.RNICs[1].Reason = false, "port is DOWN"
			},
			opts:    PlanOptions{Mode: ModeIdle},
			planned: all[:4],
			left: map[string]probe.Reason{
				"mlx5_1→mem0": probe.ReasonUnusable, "mlx5_1→mem1": probe.ReasonUnusable,
				"mlx5_1→gpu0": probe.ReasonUnusable, "mlx5_1→gpu1": probe.ReasonUnusable,
			},
		}, {
			name: "an unusable GPU is left alone",
			change: func(topo *topology.Topology) {
				topo.GPUs[0].Usable, topo.GPUs[0].Reason = false, "no libcuda.so.1"
			},
			opts:    PlanOptions{Mode: ModeIdle},
			planned: []string{"mlx5_0→mem0", "mlx5_0→mem1", "mlx5_0→gpu1", "mlx5_1→mem0", "mlx5_1→mem1", "mlx5_1→gpu1"},
			left:    map[string]probe.Reason{"mlx5_0→gpu0": probe.ReasonUnusable, "mlx5_1→gpu0": probe.ReasonUnusable},
		}, {
			name:    "RNICs are selected by name",
			opts:    PlanOptions{Mode: ModeIdle, RNICs: selector(t, "mlx5_*,!mlx5_1")},
			planned: all[:4],
			left: map[string]probe.Reason{
				"mlx5_1→mem0": ReasonExcluded, "mlx5_1→mem1": ReasonExcluded,
				"mlx5_1→gpu0": ReasonExcluded, "mlx5_1→gpu1": ReasonExcluded,
			},
		}, {
			name:    "GPUs are selected by PCI address, memory is not touched by it",
			opts:    PlanOptions{Mode: ModeIdle, GPUs: selector(t, "0000:18:*")},
			planned: []string{"mlx5_0→mem0", "mlx5_0→mem1", "mlx5_0→gpu0", "mlx5_1→mem0", "mlx5_1→mem1", "mlx5_1→gpu0"},
			left:    map[string]probe.Reason{"mlx5_0→gpu1": ReasonExcluded, "mlx5_1→gpu1": ReasonExcluded},
		}, {
			name:    "a path of an RNIC that the topology lacks",
			change:  func(topo *topology.Topology) { topo.RNICs = topo.RNICs[:1]; topo.Paths = topo.Paths[3:5] },
			opts:    PlanOptions{Mode: ModeIdle},
			planned: []string{"mlx5_0→gpu1"},
			left:    map[string]probe.Reason{"mlx5_1→mem0": probe.ReasonUnusable},
		}, {
			name:    "a path to an endpoint that the topology lacks",
			change:  func(topo *topology.Topology) { topo.MemoryNodes = topo.MemoryNodes[:1]; topo.Paths = topo.Paths[:2] },
			opts:    PlanOptions{Mode: ModeIdle},
			planned: []string{"mlx5_0→mem0"},
			left:    map[string]probe.Reason{"mlx5_0→mem1": probe.ReasonUnusable},
		}, {
			name:    "no paths",
			change:  func(topo *topology.Topology) { topo.Paths = nil },
			opts:    PlanOptions{Mode: ModeIdle},
			planned: []string{},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			topo := smallHost()
			if c.change != nil {
				c.change(&topo)
			}
			plan := NewPlan(topo, nil, c.opts)
			planned := []string{}
			for _, step := range plan.Steps {
				planned = append(planned, step.Request.Path.Key().String())
			}
			left := map[string]probe.Reason{}
			for _, unplanned := range plan.Unplanned {
				left[unplanned.Path.Key().String()] = unplanned.Reason
				assert.NotEmpty(t, unplanned.Detail)
			}
			if c.left == nil {
				c.left = map[string]probe.Reason{}
			}
			assert.Equal(t, c.planned, planned)
			assert.Equal(t, c.left, left)
			assert.Equal(t, plan, NewPlan(topo, nil, c.opts), "planning is deterministic")
		})
	}
}

func TestPlanCarriesExpectations(t *testing.T) {
	key := topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem0"}
	plan := NewPlan(smallHost(), baseline.Set{key: {BandwidthGbps: new(195.0)}}, PlanOptions{Mode: ModeIdle})

	require.NotNil(t, plan.Steps[0].Request.ExpectedGbps)
	assert.Equal(t, 195.0, *plan.Steps[0].Request.ExpectedGbps)
	assert.Nil(t, plan.Steps[1].Request.ExpectedGbps, "no baseline, no expectation")
}

func TestPlanHoldsProbersToTheirCost(t *testing.T) {
	plan := NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle, Limits: Limits{ProbeBytes: 1 << 20, ProbeDuration: time.Second, QueuePairs: 2, PinnedBytes: 1 << 16}})
	for _, step := range plan.Steps {
		want := probe.Budget{Bytes: 1 << 20, Duration: time.Second, QueuePairs: 2, PinnedBytes: 1 << 16}
		assert.Equal(t, want, step.Request.Budget)
		assert.Equal(t, want.Bytes, step.Cost.Bytes, "what is declared is what is allowed")
		assert.Equal(t, want.QueuePairs, step.Cost.QueuePairs)
		assert.Equal(t, want.PinnedBytes, step.Cost.PinnedBytes)
	}
}

func TestCostOfOneRead(t *testing.T) {
	hops := []string{"rnic_pcie:mlx5_0", "memory:mem0"}
	path := topology.Path{RNIC: "mlx5_0", Endpoint: "mem0", Hops: hops}
	limits := Limits{ProbeBytes: 1 << 30, ProbeDuration: 100 * time.Millisecond, QueuePairs: 16, PinnedBytes: 1 << 20}.withDefaults()
	cases := []struct {
		name         string
		rnic         topology.RNIC
		expectedGbps *float64
		bytes        int64
		duration     time.Duration // within a millisecond
		queuePairs   int
	}{
		{"a fast path ends at its bytes", topology.RNIC{RateGbps: new(200.0)}, new(200.0), 1 << 30, probeOverhead + 43*time.Millisecond, 4},
		{"a slow path ends at its time", topology.RNIC{RateGbps: new(10.0)}, new(8.0), 100e6, probeOverhead + 100*time.Millisecond, 4},
		{"without expectation the line rate counts", topology.RNIC{RateGbps: new(2.5)}, nil, 31.25e6, probeOverhead + 100*time.Millisecond, 4},
		{"a software RNIC takes longer", topology.RNIC{RateGbps: new(2.5), Role: topology.RoleSoftware}, nil, 156.25e6, probeOverhead + 500*time.Millisecond, 4},
		{"nothing known: the limits themselves", topology.RNIC{}, nil, 1 << 30, probeOverhead + 100*time.Millisecond, 16},
		{"an expectation of nothing: the limits themselves", topology.RNIC{RateGbps: new(200.0)}, new(0.0), 1 << 30, probeOverhead + 100*time.Millisecond, 4},
		{"400 Gb/s takes two connections", topology.RNIC{RateGbps: new(400.0)}, new(400.0), 1 << 30, probeOverhead + 21*time.Millisecond, 8},
		{"a LAG takes one connection a port", topology.RNIC{RateGbps: new(200.0), LAGPorts: new(2)}, new(200.0), 1 << 30, probeOverhead + 43*time.Millisecond, 8},
		{"queue pairs stay below the limit", topology.RNIC{RateGbps: new(1600.0)}, new(1600.0), 1 << 30, probeOverhead + 5*time.Millisecond, 16},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := cost(path, c.rnic, c.expectedGbps, limits)
			assert.Equal(t, c.bytes, got.Bytes)
			assert.InDelta(t, c.duration, got.Duration, float64(time.Millisecond))
			assert.Equal(t, c.queuePairs, got.QueuePairs)
			assert.EqualValues(t, 1<<20, got.PinnedBytes)
			assert.Equal(t, hops, got.Hops)
		})
	}
}

func TestTotalAddsUp(t *testing.T) {
	for _, parallel := range []int{1, 2} {
		plan := NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle, Limits: Limits{Parallel: parallel}})
		var bytes int64
		var alone time.Duration
		for _, step := range plan.Steps {
			bytes += step.Cost.Bytes
			alone += step.Cost.Duration
		}
		total := plan.Total()
		assert.Equal(t, bytes, total.Bytes, "bytes do not depend on what runs side by side")
		assert.Equal(t, parallel*plan.Steps[0].Cost.QueuePairs, total.QueuePairs)
		assert.Equal(t, int64(parallel)*plan.Steps[0].Cost.PinnedBytes, total.PinnedBytes)
		assert.Equal(t, []string{
			"gpu_pcie:gpu0", "gpu_pcie:gpu1", "inter_socket:0-1", "memory:mem0", "memory:mem1",
			"rnic_pcie:mlx5_0", "rnic_pcie:mlx5_1", "root_port:rp0", "root_port:rp1",
		}, total.Hops)
		if parallel == 1 {
			assert.Equal(t, alone, total.Duration)
		} else {
			assert.Less(t, total.Duration, alone, "disjoint paths save time")
		}
	}
	assert.Zero(t, NewPlan(topology.Topology{}, nil, PlanOptions{}).Total().Bytes, "an empty plan costs nothing")
}

func TestRunDeadlineFollowsThePlan(t *testing.T) {
	chosen := NewPlan(smallHost(), nil, PlanOptions{Limits: Limits{RunDeadline: time.Minute}})
	assert.Equal(t, time.Minute, chosen.Limits.RunDeadline)

	derived := NewPlan(smallHost(), nil, PlanOptions{})
	allReads := time.Duration(derived.Limits.MaxReads) * derived.Total().Duration
	assert.Greater(t, derived.Limits.RunDeadline, allReads+2*derived.Limits.ProbeDeadline,
		"leaves room for every read and a hang of each device")
	assert.Positive(t, NewPlan(topology.Topology{}, nil, PlanOptions{}).Limits.RunDeadline)
}

func TestPlanString(t *testing.T) {
	cases := []struct {
		name string
		opts PlanOptions
		want string
	}{
		{"idle", PlanOptions{Mode: ModeIdle, Limits: Limits{RunDeadline: time.Minute}},
			"idle run of 8 paths over 9 hops: about 800ms, 10.0 GB written, at most 4 queue pairs and 16 MiB pinned at a time, deadline 1m0s"},
		{"busy, one GPU excluded", PlanOptions{Mode: ModeBusy, GPUs: Selector{exclude: []string{"gpu1"}}, Limits: Limits{RunDeadline: time.Minute}},
			"busy run of 5 paths over 8 hops: about 500ms, 6.2 GB written, at most 4 queue pairs and 16 MiB pinned at a time, deadline 1m0s; left out: 2 excluded, 1 far_on_a_busy_run"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, NewPlan(smallHost(), nil, c.opts).String())
		})
	}
}

func TestDefaultParallel(t *testing.T) {
	for cpus, want := range map[int]int{0: 1, 1: 1, 2: 1, 5: 1, 6: 2, 8: 2, 96: 32} {
		assert.Equal(t, want, DefaultParallel(cpus), "%d CPUs", cpus)
	}
}

func TestSelector(t *testing.T) {
	cases := []struct {
		list  string
		names []string
		want  bool
	}{
		{"", []string{"mlx5_0"}, true},
		{"mlx5_0", []string{"mlx5_0"}, true},
		{"mlx5_0", []string{"mlx5_1"}, false},
		{"mlx5_*", []string{"mlx5_10", "0000:17:00.0"}, true},
		{"0000:17:*", []string{"mlx5_10", "0000:17:00.0"}, true},
		{"mlx5_*,!mlx5_4", []string{"mlx5_4"}, false},
		{"mlx5_*,!0000:17:00.0", []string{"mlx5_4", "0000:17:00.0"}, false},
		{"!mlx5_4", []string{"mlx5_5"}, true},
		{" mlx5_0 , mlx5_1 ", []string{"mlx5_1"}, true},
		{"*", []string{"rxe0", ""}, true},
		{"*", []string{""}, false},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, selector(t, c.list).Match(c.names...), "%q on %q", c.list, c.names)
	}
	for _, malformed := range []string{"mlx5_[", "mlx5_0,,mlx5_1", "!", "mlx5_0,", `mlx5\`} {
		_, err := ParseSelector(malformed)
		if assert.Error(t, err, malformed) {
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}
