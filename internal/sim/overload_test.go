package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

func TestOverloadLeavesWhatItSays(t *testing.T) {
	mem0, bus := topology.HopID(topology.HopMemory, "mem0"), topology.HopID(topology.HopInterSocket, "0-1")
	for _, c := range []struct {
		name           string
		faults         []string
		busy           []Busy
		rnic, endpoint string
		gbps           float64
		hop            string
		utilization    float64
	}{
		{"memory, idle host", []string{"memory_overload:mem0"}, nil, "rnic1", "mem0", 120, mem0, 1480.0 / 1600},
		{"memory, severe", []string{"memory_overload:mem0=0.6"}, nil, "rnic1", "mem0", 80, mem0, 1520.0 / 1600},
		// Service traffic of two RNICs takes 15 each of what is left.
		{"memory, busy host", []string{"memory_overload:mem0"}, []Busy{{"rnic0", 0.3}, {"rnic2", 0.3}}, "rnic1", "mem0", 90, mem0, 1510.0 / 1600},
		{"bus, idle host", []string{"inter_socket_overload:0-1"}, nil, "rnic1", "mem1", 120, bus, 0.88},
		{"bus, other memory", []string{"inter_socket_overload:0-1"}, nil, "rnic1", "mem0", 195, bus, 0.88},
		{"a fault is no load", []string{"memory:mem0"}, nil, "rnic1", "mem0", 120, mem0, 0},
		{"a healthy bus under service", nil, []Busy{{"rnic0", 0.4}}, "rnic1", "mem1", 195, bus, 0.02},
	} {
		t.Run(c.name, func(t *testing.T) {
			topo := Fig2()
			h := quiet(t, topo, Options{Busy: c.busy, Faults: faults(t, topo, c.faults...)})
			require.InDelta(t, c.gbps, read(t, h, c.rnic, c.endpoint).BandwidthGbps, 1e-6)
			found := false
			for _, b := range h.Buses() {
				if b.Hop() == c.hop {
					found = true
					require.InDelta(t, c.utilization, *b.Utilization, 1e-9)
				}
			}
			require.True(t, found)
		})
	}
}

// On hosts with faster RNICs shared buses are wider, so that an overload is one there too.
func TestOverloadOfAFasterHost(t *testing.T) {
	topo := host(t, 400, 32, true)
	h := quiet(t, topo, Options{Faults: faults(t, topo, "inter_socket_overload:0-1")})
	for _, b := range h.Buses() {
		if b.Kind == topology.HopInterSocket {
			require.InDelta(t, 0.88, *b.Utilization, 1e-9)
		}
	}
}

func TestPausesFollowWhatDoesNotGetThrough(t *testing.T) {
	topo := Fig2()
	h := quiet(t, topo, Options{Busy: []Busy{{"rnic0", 0.6}, {"rnic1", 0.6}}, Faults: faults(t, topo, "rnic_pcie:rnic0=0.6")})
	got := map[string]float64{}
	for _, c := range h.Congestion() {
		got[c.RNIC] = *c.PauseRatio
		require.Zero(t, *c.Drops)
	}
	require.InDelta(t, 1-80.0/120, got["rnic0"], 1e-9)
	require.InDelta(t, 0, got["rnic1"], 1e-9)
	require.Len(t, got, 4)
}

func TestFlappingComesAndGoes(t *testing.T) {
	topo := Fig2()
	h := quiet(t, topo, Options{Faults: faults(t, topo, "flapping:memory:mem0", "gpu_pcie:gpu7")})
	perSecond := int(time.Second / readTime)
	for second := range 6 {
		for range perSecond {
			want := 195.0
			if second%2 == 0 {
				want = 120
			}
			require.InDelta(t, want, read(t, h, "rnic3", "mem0").BandwidthGbps, 1e-6, "second %d", second)
		}
	}
	require.InDelta(t, 120, read(t, h, "rnic3", "gpu7").BandwidthGbps, 1e-6, "the fault that stays")
	for range perSecond {
		read(t, h, "rnic0", "gpu0")
	}
	require.InDelta(t, 120, read(t, h, "rnic3", "gpu7").BandwidthGbps, 1e-6, "a second later as well")
}
