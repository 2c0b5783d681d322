package analyzer_test

// Goal: busy hosts: which verdicts service traffic allows, what it hides, and
// what it must not be blamed on links.

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// inService marks RNICs with the share of line rate that their service takes; the others are idle.
func inService(shares map[string]float64) func(analyzer.Input) analyzer.Input {
	return func(in analyzer.Input) analyzer.Input {
		in.Busy = true
		for _, x := range in.Topology.RNICs {
			share := shares[x.ID]
			in.Idle.RNICs = append(in.Idle.RNICs, monitor.Utilization{ID: x.ID, Utilization: &share, Busy: new(share > 0)})
		}
		return in
	}
}

func paused(rnic string, ratio float64) func(analyzer.Input) analyzer.Input {
	return func(in analyzer.Input) analyzer.Input {
		in.Congestion = append(in.Congestion, monitor.Congestion{RNIC: rnic, PauseRatio: &ratio})
		return in
	}
}

func dropped(rnic string, packets float64) func(analyzer.Input) analyzer.Input {
	return func(in analyzer.Input) analyzer.Input {
		in.Congestion = append(in.Congestion, monitor.Congestion{RNIC: rnic, Drops: &packets})
		return in
	}
}

func TestCausesOnBusyHosts(t *testing.T) {
	const equal = `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 75
		rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem1 : 74
		rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,root_port:s,memory:mem0 : 195`
	half := inService(map[string]float64{"rnic0": 0.6})
	low := inService(map[string]float64{"rnic0": 0.2})
	cases := []struct {
		name         string
		run          string
		change       []func(analyzer.Input) analyzer.Input
		blames       []string
		alternatives []string
	}{{
		name: "all paths of the RNIC in service are alike: nothing is known",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{half}, blames: []string{},
	}, {
		name: "it pauses, and its link carries all it should: contention",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{half, paused("rnic0", 0.1)},
		blames: []string{"rnic_pcie_contention rnic_pcie:rnic0"}, alternatives: []string{"rnic_pcie_failure rnic_pcie:rnic0"},
	}, {
		name: "it drops",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{half, dropped("rnic0", 3)},
		blames: []string{"rnic_pcie_contention rnic_pcie:rnic0"}, alternatives: []string{"rnic_pcie_failure rnic_pcie:rnic0"},
	}, {
		name: "below the trigger",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{half, paused("rnic0", 0.03), dropped("rnic0", 0)}, blames: []string{},
	}, {
		name: "it pauses though service and probe together are far below: failure",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{low, paused("rnic0", 0.1)},
		blames: []string{"rnic_pcie_failure rnic_pcie:rnic0"}, alternatives: []string{"rnic_pcie_contention rnic_pcie:rnic0"},
	}, {
		name: "far below without pauses proves nothing: the service may come in bursts",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{low}, blames: []string{},
	}, {
		name: "far below, and slow start is known to be on",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{low, known, setting("rnic0", analyzer.RNICConfig{SlowStart: new(true), SmallTxWindow: new(false)})},
		blames: []string{"rnic_slow_start rnic_pcie:rnic0"}, alternatives: []string{"rnic_pcie_failure rnic_pcie:rnic0"},
	}, {
		name: "an RNIC that pauses although its paths are normal has a healthy link",
		run:  equal, change: []func(analyzer.Input) analyzer.Input{half, paused("rnic1", 0.5)}, blames: []string{},
	}, {
		name: "an abnormal hop explains the pauses",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 40 40 40
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem1 : 75
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,root_port:s,memory:mem0 : 90 90 90
			rnic1 mem1 mem_local* 195 rnic_pcie:rnic1,root_port:s,memory:mem1 : 195`,
		change: []func(analyzer.Input) analyzer.Input{half, paused("rnic0", 0.1)},
		blames: []string{"memory_channel_failure memory:mem0"}, alternatives: []string{"memory_channel_overloaded memory:mem0"},
	}, {
		name: "hops shared with the RNIC's own faster path cannot explain its slow one",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 120
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : 60 60 60`,
		change: []func(analyzer.Input) analyzer.Input{half},
		blames: []string{"gpu_pcie_failure gpu_pcie:gpu0"}, alternatives: []string{"p2p_misconfiguration gpu_pcie:gpu0"},
	}, {
		name: "what another RNIC reaches on a GPU does not clear its link for the one in service",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 120
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : 60 60 60
			rnic1 gpu0 pix*       195 rnic_pcie:rnic1,gpu_pcie:gpu0           : 195
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,root_port:r,memory:mem0 : 195`,
		change: []func(analyzer.Input) analyzer.Input{half},
		blames: []string{"gpu_pcie_failure gpu_pcie:gpu0"}, alternatives: []string{"p2p_misconfiguration gpu_pcie:gpu0"},
	}, {
		name: "ATS that is off may be meant to be: a failure, or a misconfiguration",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 120
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : 60 60 60`,
		change: []func(analyzer.Input) analyzer.Input{half, func(in analyzer.Input) analyzer.Input {
			in.P2P.ATS = map[string]bool{"rnic0": false}
			return in
		}},
		blames: []string{"gpu_pcie_failure gpu_pcie:gpu0"}, alternatives: []string{"p2p_misconfiguration gpu_pcie:gpu0"},
	}, {
		name: "ACS that is known to be on names the misconfiguration",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 120
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : 60 60 60`,
		change: []func(analyzer.Input) analyzer.Input{half, func(in analyzer.Input) analyzer.Input {
			in.P2P.ACS = map[string]bool{"r": true}
			return in
		}},
		blames: []string{"p2p_misconfiguration gpu_pcie:gpu0"}, alternatives: []string{"gpu_pcie_failure gpu_pcie:gpu0"},
	}, {
		name: "the hop that most RNICs reported is suspected first",
		run: `
			rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,memory:mem0                  : 40 40 40
			rnic0 mem1 mem_remote* 195 rnic_pcie:rnic0,inter_socket:0-1,memory:mem1 : 75
			rnic1 mem0 mem_local*  195 rnic_pcie:rnic1,memory:mem0                  : 41 41 41
			rnic1 mem1 mem_remote* 195 rnic_pcie:rnic1,inter_socket:0-1,memory:mem1 : 75`,
		change: []func(analyzer.Input) analyzer.Input{inService(map[string]float64{"rnic0": 0.6, "rnic1": 0.6})},
		blames: []string{"memory_channel_failure memory:mem0"}, alternatives: []string{"memory_channel_overloaded memory:mem0"},
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := describe(t, c.run)
			for _, change := range c.change {
				in = change(in)
			}
			result := analyzer.Analyze(in)
			require.Equal(t, c.blames, blames(result))
			for _, d := range result.Diagnoses {
				checkDiagnosis(t, d)
				assert.Equal(t, c.alternatives, alternativesOf(d))
			}
		})
	}
}

// An idle RNIC that shares a switch with one in service gets what that leaves.
func TestServiceOfANeighbourIsNoFault(t *testing.T) {
	cases := []struct {
		name    string
		reads   string
		share   float64 // of rnic0's line rate
		verdict analyzer.Verdict
		rule    analyzer.Rule
	}{
		{"it gets what is left", "140 140 140", 0.4, analyzer.Uncertain, analyzer.RuleBesideService},
		{"less than what is left", "100 100 100", 0.4, analyzer.Abnormal, analyzer.RuleBesideService},
		{"all the same", "190", 0.4, analyzer.Normal, analyzer.RuleBesideService},
		{"little service", "150 150 150", 0.05, analyzer.Abnormal, analyzer.RuleBaseline},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := inService(map[string]float64{"rnic0": c.share})(describe(t, `
				rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,switch:s,memory:mem0 : 100
				rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,switch:s,memory:mem1 : 100
				rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,switch:s,memory:mem0 : `+c.reads))
			for i := range in.Topology.Hops {
				if h := &in.Topology.Hops[i]; h.Kind == topology.HopSwitch {
					h.CapacityGbps = new(252.0) // PCIe 4.0 x16: 218 of payload
				}
			}
			v := analyzer.Analyze(in).Paths[2]
			assert.Equal(t, c.verdict, v.Verdict, v.Reason)
			assert.Equal(t, c.rule, v.Rule)
		})
	}
}

// The simulator pauses the sender of what does not get through.
func TestCongestionOfASimulatedHost(t *testing.T) {
	in := fig2Input()
	for _, c := range []struct {
		fault, busy string
		want        []string
	}{
		{"rnic_pcie:rnic0=0.6", "rnic0=0.6", []string{"rnic_pcie_failure rnic_pcie:rnic0"}},
		{"tx_window:rnic0=0.6", "rnic0=0.6", []string{"rnic_tx_window rnic_pcie:rnic0"}},
		{"slow_start:rnic3=0.6", "rnic3=0.6", []string{"rnic_slow_start rnic_pcie:rnic3"}},
		{"rnic_pcie:rnic1=0.6", "rnic0=0.6", []string{"rnic_pcie_failure rnic_pcie:rnic1"}},
	} {
		t.Run(c.fault+" busy "+c.busy, func(t *testing.T) {
			host := simulated(t, in.Topology, sim.NoiseTypical, 1, []string{c.busy}, c.fault)
			assert.Equal(t, c.want, blames(analyzer.Analyze(measure(t, in, host))))
		})
	}
}

// Service traffic never makes a healthy host sick.
func TestHealthyBusyFig2IsNeverBlamed(t *testing.T) {
	in := fig2Input()
	for _, busy := range [][]string{{"rnic0"}, {"rnic0=0.6", "rnic2=0.6"}, {"rnic0=1"}, {"rnic0", "rnic1", "rnic2", "rnic3"}} {
		for seed := range uint64(50) {
			result := analyzer.Analyze(measure(t, in, simulated(t, in.Topology, sim.NoiseTypical, seed+1, busy)))
			require.Empty(t, blames(result), "%v, seed %d", busy, seed+1)
		}
	}
}
