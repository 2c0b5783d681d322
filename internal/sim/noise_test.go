package sim

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// readAll reads every path three times, in the order given, several at a time.
func readAll(t *testing.T, seed uint64, order []topology.Path, parallel int) map[topology.PathKey][]probe.Reading {
	h, err := New(Fig2(), Options{Seed: seed})
	require.NoError(t, err)
	var mu sync.Mutex
	all := map[topology.PathKey][]probe.Reading{}
	for range 3 {
		var wait sync.WaitGroup
		slots := make(chan struct{}, parallel)
		for _, p := range order {
			slots <- struct{}{}
			wait.Go(func() {
				r, err := h.Probe(t.Context(), probe.Request{Path: p})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					all[p.Key()] = append(all[p.Key()], r)
				}
				<-slots
			})
		}
		wait.Wait()
	}
	require.Len(t, all, len(order))
	return all
}

func TestSameSeedSameFiguresInAnyOrder(t *testing.T) {
	forth := Fig2().Paths
	back := make([]topology.Path, 0, len(forth))
	for i := range forth {
		back = append(back, forth[len(forth)-1-i])
	}
	want := readAll(t, 1, forth, 1)
	require.Equal(t, want, readAll(t, 1, forth, 1), "same order")
	require.Equal(t, want, readAll(t, 1, back, 1), "reverse order")
	require.Equal(t, want, readAll(t, 1, back, 8), "eight at a time")
	require.NotEqual(t, want, readAll(t, 2, forth, 1), "another seed")
	for key, reads := range want {
		require.NotEqual(t, reads[0], reads[1], "%v: reads differ", key)
	}
}

func TestNoiseHasItsStatistics(t *testing.T) {
	const reads = 100_000
	path := topology.PathKey{RNIC: "rnic0", Endpoint: "mem0"}
	for _, c := range []struct {
		noise        Noise
		spread, slow float64
	}{
		{NoiseTypical, 0.025, 0.001},
		{NoiseHarsh, 0.04, 0.01},
	} {
		t.Run(string(c.noise), func(t *testing.T) {
			var sum, squares float64
			var slow, n int
			for i := range reads {
				r := c.noise.read(figure{bandwidthGbps: 1, latencyUs: 2}, 1, path, uint64(i))
				if r.BandwidthGbps < 1-5.5*c.spread { // out of reach for the spread alone
					slow++
					require.Greater(t, r.Latency.P50Us, 2.0, "what slows the bandwidth delays as well")
					continue
				}
				n++
				sum += r.BandwidthGbps
				squares += r.BandwidthGbps * r.BandwidthGbps
			}
			mean := sum / float64(n)
			require.InDelta(t, 1, mean, 0.001)
			require.InDelta(t, c.spread, math.Sqrt(squares/float64(n)-mean*mean), 0.1*c.spread)
			// Of U(0.5, 0.9) all is counted but what lies above the limit.
			counted := min(1, (1-5.5*c.spread-slowFrom)/(slowTo-slowFrom))
			expected := c.slow * counted * reads
			require.InDelta(t, expected, slow, 5*math.Sqrt(expected), "slow reads")
		})
	}
}

func TestLatencyIsInOrder(t *testing.T) {
	for _, noise := range Noises() {
		for i := range 1000 {
			l := noise.read(figure{bandwidthGbps: 195, latencyUs: 2}, 1, topology.PathKey{}, uint64(i)).Latency
			require.True(t, 0 < l.MinUs && l.MinUs <= l.P50Us && l.P50Us <= l.P99Us && l.P99Us <= l.MaxUs, "%s: %+v", noise, l)
		}
	}
}
