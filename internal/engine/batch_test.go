package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// randomHost is a full mesh whose paths take random hops from a shared stock;
// some paths name no hop at all.
func randomHost(random *rand.Rand) topology.Topology {
	var topo topology.Topology
	rnics, endpoints, hops := 1+random.IntN(6), 1+random.IntN(8), 1+random.IntN(20)
	for e := range endpoints {
		topo.MemoryNodes = append(topo.MemoryNodes, topology.MemoryNode{ID: fmt.Sprintf("mem%d", e)})
	}
	for r := range rnics {
		// Two ports of one device share its name.
		topo.RNICs = append(topo.RNICs, topology.RNIC{ID: fmt.Sprintf("rnic%d", r), Name: fmt.Sprintf("device%d", r/(1+random.IntN(2))), Usable: true})
		for e := range endpoints {
			path := topology.Path{RNIC: fmt.Sprintf("rnic%d", r), Endpoint: fmt.Sprintf("mem%d", e)}
			for range random.IntN(4) {
				path.Hops = append(path.Hops, fmt.Sprintf("hop%d", random.IntN(hops)))
			}
			topo.Paths = append(topo.Paths, path)
		}
	}
	return topo
}

func shareHop(a, b Step) bool {
	for _, x := range a.Request.Path.Hops {
		for _, y := range b.Request.Path.Hops {
			if x == y {
				return true
			}
		}
	}
	return false
}

// Goal: on any host, a round reads every path once, never two together that
// share a hop or a device, never more than allowed, and leaves no room unused.
func TestBatchesHoldOnRandomHosts(t *testing.T) {
	together := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		plan := NewPlan(randomHost(random), nil, PlanOptions{Limits: Limits{Parallel: 1 + random.IntN(6)}})
		read := map[int]int{}
		batches := plan.Batches()
		for b, batch := range batches {
			require.NotEmpty(t, batch)
			require.LessOrEqual(t, len(batch), plan.Limits.Parallel, "seed %d", seed)
			for i, x := range batch {
				read[x]++
				for _, y := range batch[i+1:] {
					together++
					require.False(t, shareHop(plan.Steps[x], plan.Steps[y]), "seed %d: %v and %v share a hop", seed, x, y)
					require.NotEqual(t, plan.Steps[x].Device, plan.Steps[y].Device, "seed %d", seed)
					require.False(t, Conflict(plan.Steps[x], plan.Steps[y]))
				}
			}
			if len(batch) == plan.Limits.Parallel {
				continue
			}
			for _, later := range batches[b+1:] {
				for _, step := range later {
					fits := true
					for _, x := range batch {
						fits = fits && !Conflict(plan.Steps[x], plan.Steps[step])
					}
					require.False(t, fits, "seed %d: step %d waits though it could run in batch %d", seed, step, b)
				}
			}
		}
		require.Len(t, read, len(plan.Steps), "seed %d", seed)
		for step, times := range read {
			require.Equal(t, 1, times, "seed %d: step %d", seed, step)
		}
		require.Equal(t, batches, plan.Batches(), "seed %d: deterministic", seed)
	}
	assert.Positive(t, together, "some probes did run side by side")
}

func TestConflict(t *testing.T) {
	step := func(device string, hops ...string) Step {
		s := Step{Device: device}
		s.Request.Path.Hops = hops
		return s
	}
	cases := []struct {
		name string
		a, b Step
		want bool
	}{
		{"disjoint", step("a", "rnic_pcie:a", "memory:mem0"), step("b", "rnic_pcie:b", "memory:mem1"), false},
		{"one shared hop", step("a", "rnic_pcie:a", "memory:mem0"), step("b", "rnic_pcie:b", "memory:mem0"), true},
		{"one device, no hop known", step("a"), step("a"), true},
		{"two devices, no hop known", step("a"), step("b"), false},
		{"two ways to one port", Step{Device: "a", PortPeers: []string{"b"}}, Step{Device: "b", PortPeers: []string{"a"}}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, Conflict(c.a, c.b))
			assert.Equal(t, c.want, Conflict(c.b, c.a), "symmetric")
		})
	}
}

func TestBatchesLetDevicesTakeTurns(t *testing.T) {
	plan := NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle})
	order := []string{}
	for _, batch := range plan.Batches() {
		require.Len(t, batch, 1, "one at a time by default")
		order = append(order, plan.Steps[batch[0]].Request.Path.Key().String())
	}
	assert.Equal(t, []string{
		"mlx5_0→mem0", "mlx5_1→mem1", "mlx5_0→mem1", "mlx5_1→gpu0",
		"mlx5_0→gpu0", "mlx5_1→gpu1", "mlx5_0→gpu1", "mlx5_1→mem0",
	}, order)
}

// BenchmarkBatches plans a round on hosts of two sizes, to show how it grows.
func BenchmarkBatches(b *testing.B) {
	for _, size := range []struct{ rnics, endpoints int }{{8, 40}, {16, 80}} {
		for _, parallel := range []int{1, size.rnics} {
			var topo topology.Topology
			for e := range size.endpoints {
				topo.MemoryNodes = append(topo.MemoryNodes, topology.MemoryNode{ID: fmt.Sprintf("mem%d", e)})
			}
			for r := range size.rnics {
				rnic := fmt.Sprintf("rnic%d", r)
				topo.RNICs = append(topo.RNICs, topology.RNIC{ID: rnic, Name: rnic, Usable: true})
				for e := range size.endpoints {
					end := fmt.Sprintf("mem%d", e)
					topo.Paths = append(topo.Paths, topology.Path{RNIC: rnic, Endpoint: end, Hops: []string{"rnic_pcie:" + rnic, "memory:" + end}})
				}
			}
			plan := NewPlan(topo, nil, PlanOptions{Limits: Limits{Parallel: parallel}})
			b.Run(fmt.Sprintf("paths=%d/parallel=%d", len(plan.Steps), parallel), func(b *testing.B) {
				for b.Loop() {
					plan.Batches()
				}
			})
		}
	}
}
