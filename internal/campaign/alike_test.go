package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/sim"
)

// galleries are shared by the tests: to paint one takes longer than to look at it.
var galleries sync.Map

func galleryOf(t *testing.T, name string, mode engine.Mode, busy ...sim.Busy) *gallery {
	t.Helper()
	key := fmt.Sprint(name, mode, busy)
	if g, ok := galleries.Load(key); ok {
		return g.(*gallery)
	}
	g, err := newGallery(hostsOf(t, name)[0], mode, busy)
	require.NoError(t, err)
	galleries.Store(key, g)
	return g
}

// faultsOf reads faults between blanks.
func faultsOf(t *testing.T, g *gallery, text string) (faults []sim.Fault) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		f, err := sim.ParseFault(word, g.host.topo)
		require.NoError(t, err)
		faults = append(faults, f)
	}
	return faults
}

// rightOf names the explanations, their causes joined by +.
func rightOf(t *testing.T, g *gallery, faults string) []string {
	t.Helper()
	v, err := g.view(faultsOf(t, g, faults))
	require.NoError(t, err)
	names := []string{}
	for _, e := range v.told().right {
		var causes []string
		for _, c := range e {
			causes = append(causes, c.String())
		}
		names = append(names, strings.Join(causes, " + "))
	}
	return names
}

func TestWhatLooksTheSame(t *testing.T) {
	idle := galleryOf(t, "fig2", engine.ModeIdle)
	serving := galleryOf(t, "fig2", engine.ModeBusy, sim.Busy{RNIC: "rnic0", Share: 0.3})
	sharing := galleryOf(t, "dgx-a100", engine.ModeBusy, sim.Busy{RNIC: "mlx5_0", Share: 0.6})
	tests := []struct {
		name, faults string
		seenBy       *gallery
		want         []string
	}{
		{"too slight to be seen", "rnic_pcie:rnic0=0.1", idle, []string{""}},
		{"a link", "gpu_pcie:gpu3=0.6", idle, []string{"gpu_pcie_failure@gpu_pcie:gpu3"}},
		{"a link below another slow one is hidden by it", "rnic_pcie:rnic0=0.4 root_port:rp0=0.3", idle,
			[]string{"rnic_pcie_failure@rnic_pcie:rnic0"}},
		{"a deeper fault behind a slight one shows", "rnic_pcie:rnic0=0.3 gpu_pcie:gpu0=0.9", idle,
			[]string{"gpu_pcie_failure@gpu_pcie:gpu0 + rnic_pcie_failure@rnic_pcie:rnic0",
				"gpu_pcie_failure@gpu_pcie:gpu0 + switch_link_failure@switch:low0"}},
		{"two links of which one may be another", "gpu_pcie:gpu1=0.3 root_port:rp0=0.3", idle,
			[]string{"switch_link_failure@switch:low0"}},
		{"a setting that can be read stands for the link", "slow_start:rnic1=0.3 rnic_pcie:rnic1=0.6", idle,
			[]string{"rnic_slow_start@rnic_pcie:rnic1"}},
		{"two settings of which either would do", "slow_start:rnic1=0.4 tx_window:rnic1=0.4", idle,
			[]string{"rnic_slow_start@rnic_pcie:rnic1", "rnic_tx_window@rnic_pcie:rnic1"}},
		{"a detour is late", "acs:low0", idle, []string{"p2p_misconfiguration@gpu_pcie:gpu0"}},
		{"a detour of an RNIC's GPUs", "ats:rnic1", idle,
			[]string{"p2p_misconfiguration@gpu_pcie:gpu2 + p2p_misconfiguration@gpu_pcie:gpu3"}},
		{"a detour over a slow link", "acs:low0 switch:low0=0.6", idle,
			[]string{"p2p_misconfiguration@gpu_pcie:gpu0 + switch_link_failure@switch:low0"}},
		{"under load nothing tells a detour from a slow link", "acs:low0", serving,
			[]string{"gpu_pcie_failure@gpu_pcie:gpu0"}},
		{"nobody knows what an RNIC in service could carry", "rnic_pcie:rnic0=0.6", serving, []string{""}},
		{"but it pauses when the service does not get through", "rnic_pcie:rnic0=0.9", serving, []string{"rnic_pcie_failure@rnic_pcie:rnic0"}},
		{"what an RNIC in service carried clears what they share", "rnic_pcie:mlx5_1=0.9", sharing,
			[]string{"rnic_pcie_failure@rnic_pcie:mlx5_1", "switch_link_failure@switch:0000:0d:00.0"}},
		{"one out of service is judged as ever", "rnic_pcie:rnic1=0.6", serving, []string{"rnic_pcie_failure@rnic_pcie:rnic1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.ElementsMatch(t, tt.want, rightOf(t, tt.seenBy, tt.faults))
		})
	}
}

// TestHalfHiddenPairs pins how often two faults of links look like one on
// Fig. 2 when both are slight: one pair in eight.
func TestHalfHiddenPairs(t *testing.T) {
	g := galleryOf(t, "fig2", engine.ModeIdle)
	var links []sim.Fault
	for _, s := range g.suspects {
		if f := s.faults[0]; !s.read {
			f.Severity = 0.4
			links = append(links, f)
		}
	}
	pairs, single := 0, 0
	for i, a := range links {
		for _, b := range links[:i] {
			v, err := g.view([]sim.Fault{a, b})
			require.NoError(t, err)
			pairs++
			if len(v.right[0]) == 1 {
				single++
			}
		}
	}
	require.Equal(t, 253, pairs)
	require.InDelta(t, 1.0/8, float64(single)/float64(pairs), 0.005)
}

// TestPairsAddUp: what the search for pairs relies on. Two faults of links or
// RNICs show the lower of both figures everywhere.
func TestPairsAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{fig2, "rome-nps4"} {
		t.Run(name, func(t *testing.T) {
			g := galleryOf(t, name, engine.ModeIdle)
			draw := func() (sim.Fault, look) {
				for {
					s := g.suspects[random.IntN(len(g.suspects))]
					if i := random.IntN(len(s.faults)); !s.onOff {
						return s.faults[i], s.looks[i]
					}
				}
			}
			for range 30 {
				a, looksA := draw()
				b, looksB := draw()
				both, err := g.look(a, b)
				require.NoError(t, err)
				require.Equal(t, both.gbps, looksA.and(looksB).gbps, "%v and %v", a, b)
			}
		})
	}
}

// TestTruthExplainsItself: whatever the faults are, one of the right
// explanations is no larger than they are, and where none is smaller they are
// among them.
func TestTruthExplainsItself(t *testing.T) {
	for _, r := range rowsOf(hostsOf(t, "fig2", "rome-nps4")) {
		c, err := newCases(r)
		require.NoError(t, err)
		if r.group == healthy || !c.exist() {
			continue
		}
		g := galleryOf(t, r.host.name, r.mode, c.busy[0]...)
		for n := range uint64(10) {
			faults := c.scene(2, n).faults
			v, err := g.view(faults)
			require.NoError(t, err)
			require.NotEmpty(t, v.right, "%v: %v", r, faults)
			for _, e := range v.right {
				require.LessOrEqual(t, len(e), max(len(v.truth), 8), "%v: %v", r, faults)
			}
			if len(v.right[0]) == len(v.truth) && !v.edge {
				require.Contains(t, v.right, v.truth, "%v: %v", r, faults)
			}
		}
	}
}
