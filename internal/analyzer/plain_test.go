package analyzer_test

// Goal: what goes beyond the paper can be switched off piece by piece, and
// changes only what it says.

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/topology"
)

func TestSwitches(t *testing.T) {
	const ambiguous = `
		rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,switch:s,root_port:r,memory:mem0                  : 120 120 120
		rnic0 mem1 mem_remote* 195 rnic_pcie:rnic0,switch:s,root_port:r,inter_socket:0-1,memory:mem1 : 120 120 120`
	const figures = `
		rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,root_port:r,memory:mem0                  : 80 80 80
		rnic0 mem1 mem_remote  150 rnic_pcie:rnic0,root_port:r,inter_socket:0-1,memory:mem1 : 150`
	type change = func(analyzer.Input) analyzer.Input
	degraded := loaded("root_port:r", 8, topology.TrustStatic)
	cases := []struct {
		name                            string
		run                             string
		change                          []change
		plain                           analyzer.Plain
		blames, plainBlames             []string
		alternatives, plainAlternatives []string
		confidence, plainConfidence     float64
	}{{
		name: "ambiguity", run: ambiguous, change: []change{known}, plain: analyzer.Plain{Ambiguity: true},
		blames: []string{"rnic_pcie_failure rnic_pcie:rnic0"}, plainBlames: []string{"rnic_pcie_failure rnic_pcie:rnic0"},
		alternatives: []string{"switch_link_failure switch:s", "root_port_failure root_port:r"}, plainAlternatives: []string{},
		confidence: 0.32, plainConfidence: 0.95,
	}, {
		name: "capacity", run: figures, change: []change{known}, plain: analyzer.Plain{Capacity: true},
		blames: []string{"memory_channel_failure memory:mem0"}, plainBlames: []string{"memory_channel_failure memory:mem0"},
		alternatives: []string{}, plainAlternatives: []string{"rnic_pcie_failure rnic_pcie:rnic0", "root_port_failure root_port:r"},
		confidence: 0.95, plainConfidence: 0.95,
	}, {
		name: "evidence", run: ambiguous, change: []change{known, degraded}, plain: analyzer.Plain{Evidence: true},
		blames: []string{"root_port_failure root_port:r"}, plainBlames: []string{"rnic_pcie_failure rnic_pcie:rnic0"},
		alternatives:      []string{"rnic_pcie_failure rnic_pcie:rnic0", "switch_link_failure switch:s"},
		plainAlternatives: []string{"switch_link_failure switch:s", "root_port_failure root_port:r"},
		confidence:        0.57, plainConfidence: 0.32,
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := describe(t, c.run)
			for _, change := range c.change {
				in = change(in)
			}
			result := analyzer.Analyze(in)
			in.Plain = c.plain
			plain := analyzer.Analyze(in)
			require.Equal(t, c.blames, blames(result))
			require.Equal(t, c.plainBlames, blames(plain))
			assert.Equal(t, c.alternatives, alternativesOf(result.Diagnoses[0]))
			assert.Equal(t, c.plainAlternatives, alternativesOf(plain.Diagnoses[0]))
			assert.InDelta(t, c.confidence, result.Diagnoses[0].Confidence, 0.006)
			assert.InDelta(t, c.plainConfidence, plain.Diagnoses[0].Confidence, 0.006)
		})
	}
}

// Figures find the second fault that verdicts hide behind the first.
func TestFiguresFindADeeperFault(t *testing.T) {
	in := known(describe(t, `
		rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,memory:mem0 : 80 80 80
		rnic0 mem1 mem_local*  195 rnic_pcie:rnic0,memory:mem1 : 81 80 80
		rnic0 mem2 mem_local*  195 rnic_pcie:rnic0,memory:mem2 : 20 20 20`))
	assert.Equal(t, []string{"rnic_pcie_failure rnic_pcie:rnic0", "memory_channel_failure memory:mem2"}, blames(analyzer.Analyze(in)))
	in.Plain.Capacity = true
	assert.Equal(t, []string{"rnic_pcie_failure rnic_pcie:rnic0"}, blames(analyzer.Analyze(in)))
}

// ACS that is read as on is told of although nothing is slow: on RNICs below
// the window's limit only latency suffers, and when all GPUs are late alike
// there is nothing to compare them with.
func TestACSWithoutASlowPath(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 97.5 rnic_pcie:rnic0,switch:s,memory:mem0 : 97@2
		rnic0 gpu0 pix*       97.5 rnic_pcie:rnic0,gpu_pcie:gpu0        : 97@3.2`)
	assert.Empty(t, blames(analyzer.Analyze(in)), "nothing was read")
	in.P2P.ACS = map[string]bool{"s": false}
	assert.Empty(t, blames(analyzer.Analyze(in)))
	in.P2P.ACS["s"] = true
	result := analyzer.Analyze(in)
	require.Equal(t, []string{"p2p_misconfiguration gpu_pcie:gpu0"}, blames(result))
	d := result.Diagnoses[0]
	assert.Equal(t, "warning", string(d.Severity))
	assert.InDelta(t, 0.48, d.Confidence, 0.006)
	assert.Contains(t, d.Evidence, "ACS is on at s, where this traffic should turn")
	in.Plain.Evidence = true
	assert.Empty(t, blames(analyzer.Analyze(in)))
}
