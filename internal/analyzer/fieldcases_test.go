package analyzer_test

// Goal: what operators met on real hosts, by the numbers of the field cases.
// Cases of other parts: C71 (an IOMMU that translates) needs the probe's
// deadline and the kernel's command line; C73 (CPU frequency) is about the
// probe's clock.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
)

const crossingRootPorts = `
	rnic0 mem0 mem_local* 195   rnic_pcie:rnic0,root_port:r,memory:mem0               : 195
	rnic0 gpu0 phb        125.5 rnic_pcie:rnic0,root_port:r,root_port:a,gpu_pcie:gpu0 : GPU0
	rnic0 gpu1 phb        125.5 rnic_pcie:rnic0,root_port:r,root_port:b,gpu_pcie:gpu1 : 60 60 60
	rnic0 gpu2 phb        125.5 rnic_pcie:rnic0,root_port:r,root_port:c,gpu_pcie:gpu2 : 61 61 61
	rnic0 gpu3 phb        125.5 rnic_pcie:rnic0,root_port:r,root_port:d,gpu_pcie:gpu3 : 59 59 59`

// GPUs behind other root ports are slow from this CPU, ACS or not.
func TestC70FarClassIsALimitOfThePlatform(t *testing.T) {
	result := analyzer.Analyze(describe(t, strings.ReplaceAll(crossingRootPorts, "GPU0", "62 62 62")))
	assert.Empty(t, blames(result))
	require.Len(t, result.Findings, 1)
	assert.Equal(t, diagnosis.PlatformLimit, result.Findings[0].Code)
}

func TestC70OneSlowAmongItsSiblingsIsAFault(t *testing.T) {
	result := analyzer.Analyze(describe(t, strings.ReplaceAll(crossingRootPorts, "GPU0", "30 30 30")))
	assert.Equal(t, []string{"gpu_pcie_failure gpu_pcie:gpu0"}, blames(result))
}

// One queue pair, a small MTU or one outstanding read: the tool is the limit.
func TestC74LowFigureOfTheToolIsNoFault(t *testing.T) {
	result := analyzer.Analyze(describe(t, `
		rnic0 mem0 mem_local* 390 rnic_pcie:rnic0,memory:mem0 : 190? 190? 191? 189? 190?`))
	assert.Empty(t, blames(result))
	assert.Equal(t, analyzer.Uncertain, result.Paths[0].Verdict)
	require.Len(t, result.Findings, 1)
	assert.Equal(t, diagnosis.ToolLimited, result.Findings[0].Code)
}

// The greatest sample of a read may be many times the mean: power saving
// states and timers do that, links do not.
func TestC76TailOfLatencyIsNoVerdict(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 195@2
		rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 195@2
		rnic0 mem2 mem_local* 195 rnic_pcie:rnic0,memory:mem2 : 195@2`)
	for i := range in.Outcomes {
		l := &in.Outcomes[i].Reads[0].Latency
		l.P99Us, l.MaxUs = 20*l.P50Us, 500*l.P50Us
	}
	result := analyzer.Analyze(in)
	assert.Empty(t, blames(result))
	assert.Empty(t, result.Findings)
	assert.Empty(t, analyzer.Unsettled(in))
}

// Seven RNICs request 4096 bytes per read, the one that was reset 512.
func TestC77SmallReadRequestIsEvidence(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 390 rnic_pcie:rnic0,memory:mem0 : 250 250 250
		rnic0 mem1 mem_local* 390 rnic_pcie:rnic0,memory:mem1 : 250 250 250
		rnic1 mem0 mem_local* 390 rnic_pcie:rnic1,memory:mem0 : 390
		rnic1 mem1 mem_local* 390 rnic_pcie:rnic1,memory:mem1 : 390`)
	in.Topology.RNICs[0].MaxReadRequest, in.Topology.RNICs[1].MaxReadRequest = new(512), new(4096)
	result := analyzer.Analyze(in)
	require.Equal(t, []string{"rnic_pcie_failure rnic_pcie:rnic0"}, blames(result))
	assert.Contains(t, result.Diagnoses[0].Evidence, "rnic0 requests at most 512 bytes per PCIe read, RNICs alike up to 4096")
}

// No error anywhere, no counter: only neighbours show that a link is slow.
func TestC98SlowAmongIdenticalNeighbours(t *testing.T) {
	in := known(describe(t, `
		rnic0 mem0 mem_local* - rnic_pcie:rnic0,memory:mem0 : 64 64 64
		rnic1 mem0 mem_local* - rnic_pcie:rnic1,memory:mem0 : 390
		rnic2 mem0 mem_local* - rnic_pcie:rnic2,memory:mem0 : 391
		rnic3 mem0 mem_local* - rnic_pcie:rnic3,memory:mem0 : 389`))
	result := analyzer.Analyze(in)
	require.Equal(t, []string{"rnic_pcie_failure rnic_pcie:rnic0"}, blames(result))
	assert.Equal(t, analyzer.RuleLikePaths, result.Paths[0].Rule)
	assert.Contains(t, strings.Join(result.Diagnoses[0].Evidence, "\n"), "(like paths)")

	alone := describe(t, `rnic0 mem0 mem_local* - rnic_pcie:rnic0,memory:mem0 : 64 64 64`)
	assert.Empty(t, blames(analyzer.Analyze(alone)), "alone there is nothing to tell by")
}
