package analyzer_test

// Goal: the same faults on published hosts, where the paper's rules may be
// ambiguous: what is blamed, and what is offered beside it. Method: the
// hosts' topologies, simulated.

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// published is an idle run of a host of testdata/topologies before anything was measured.
func published(t *testing.T, host string) analyzer.Input {
	t.Helper()
	text, err := os.ReadFile("../../testdata/topologies/" + host + ".json")
	require.NoError(t, err)
	topo, err := topology.Parse(text)
	require.NoError(t, err)
	set := baseline.Defaults(topo)
	baseline.MarkClose(&topo, set)
	return analyzer.Input{Topology: topo, Baselines: set}
}

func TestFaultsOnPublishedHosts(t *testing.T) {
	cases := []struct {
		name, host, fault string
		blames            []string
		alternatives      []string
	}{
		{"HGX H100: an RNIC's link", "hgx-h100", "rnic_pcie:mlx5_1",
			[]string{"rnic_pcie_failure rnic_pcie:mlx5_1"}, []string{}},
		{"HGX H100: a GPU's link", "hgx-h100", "gpu_pcie:gpu2",
			[]string{"gpu_pcie_failure gpu_pcie:gpu2"}, []string{}},
		{"HGX H100: a root port", "hgx-h100", "root_port:0000:10:01.0",
			[]string{"root_port_failure root_port:0000:10:01.0"}, []string{}},
		{"HGX H100: memory", "hgx-h100", "memory:mem0",
			[]string{"memory_channel_failure memory:mem0"}, []string{}},
		{"HGX H100: the bus, or the platform", "hgx-h100", "inter_socket:0-1",
			[]string{"inter_socket_failure inter_socket:0-1"}, []string{"platform_limit inter_socket:0-1"}},
		{"HGX H100: ACS", "hgx-h100", "acs:0000:11:00.0",
			[]string{"p2p_misconfiguration gpu_pcie:gpu0"}, []string{}},
		{"MI300X: an RNIC's link", "mi300x", "rnic_pcie:mlx5_1",
			[]string{"rnic_pcie_failure rnic_pcie:mlx5_1"}, []string{}},
		{"MI300X: a GPU's link", "mi300x", "gpu_pcie:gpu2",
			[]string{"gpu_pcie_failure gpu_pcie:gpu2"}, []string{}},
		{"MI300X: a root port", "mi300x", "root_port:0000:04:01.0",
			[]string{"root_port_failure root_port:0000:04:01.0"}, []string{}},
		{"MI300X: overloaded memory", "mi300x", "memory_overload:mem1",
			[]string{"memory_channel_overloaded memory:mem1"}, []string{}},
		{"MI300X: the bus, or the platform", "mi300x", "inter_socket:0-1",
			[]string{"inter_socket_failure inter_socket:0-1"}, []string{"platform_limit inter_socket:0-1"}},
		{"DGX A100: an RNIC that shares its switch", "dgx-a100", "rnic_pcie:mlx5_0",
			[]string{"rnic_pcie_failure rnic_pcie:mlx5_0"}, []string{}},
		{"DGX A100: the switch above both RNICs", "dgx-a100", "switch:0000:0a:00.0",
			[]string{"switch_link_failure switch:0000:0a:00.0"}, []string{}},
		{"DGX A100: a switch with one RNIC below is that RNIC's link", "dgx-a100", "switch:0000:0d:00.0",
			[]string{"rnic_pcie_failure rnic_pcie:mlx5_1"}, []string{"switch_link_failure switch:0000:0d:00.0"}},
		{"DGX A100: a setting of that RNIC, or its switch", "dgx-a100", "slow_start:mlx5_1",
			[]string{"rnic_slow_start rnic_pcie:mlx5_1"}, []string{"switch_link_failure switch:0000:0d:00.0"}},
		{"DGX A100: a setting of one of two ports", "dgx-a100", "slow_start:mlx5_11",
			[]string{"rnic_slow_start rnic_pcie:mlx5_10"}, []string{}},
		{"DGX A100: a root port", "dgx-a100", "root_port:0000:00:01.1",
			[]string{"root_port_failure root_port:0000:00:01.1"}, []string{}},
		{"DGX A100: memory of another socket", "dgx-a100", "memory:mem5",
			[]string{"memory_channel_failure memory:mem5"}, []string{}},
		{"DGX A100: ATS, one GPU after the other", "dgx-a100", "ats:mlx5_6",
			[]string{"p2p_misconfiguration gpu_pcie:gpu4", "p2p_misconfiguration gpu_pcie:gpu5"}, []string{}},
		{"Rome NPS4, one RNIC, no switch: its link", "rome-nps4", "rnic_pcie:mlx5_0",
			[]string{"rnic_pcie_failure rnic_pcie:mlx5_0"}, []string{}},
		{"Rome NPS4: memory beside the RNIC", "rome-nps4", "memory:mem4",
			[]string{"memory_channel_failure memory:mem4"}, []string{}},
		{"Rome NPS4: memory of another socket", "rome-nps4", "memory:mem0",
			[]string{"memory_channel_failure memory:mem0"}, []string{}},
		{"Rome NPS4: the bus, or the platform", "rome-nps4", "inter_socket:0-1",
			[]string{"inter_socket_failure inter_socket:0-1"}, []string{"platform_limit inter_socket:0-1"}},
		{"Rome NPS4: a used bus is overloaded, not broken", "rome-nps4", "inter_socket_overload:0-1",
			[]string{"inter_socket_overloaded inter_socket:0-1"}, []string{}},
		{"two RNICs without switches: one's link", "rome-nps4-two-rnics", "rnic_pcie:mlx5_2",
			[]string{"rnic_pcie_failure rnic_pcie:mlx5_2"}, []string{}},
		{"two RNICs without switches: memory", "rome-nps4-two-rnics", "memory:mem6",
			[]string{"memory_channel_failure memory:mem6"}, []string{}},
		{"two RNICs without switches: the bus, or the platform", "rome-nps4-two-rnics", "inter_socket:0-1=0.6",
			[]string{"inter_socket_failure inter_socket:0-1"}, []string{"platform_limit inter_socket:0-1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(3) {
				result := analyzer.Analyze(simulate(t, published(t, c.host), sim.NoiseTypical, seed+1, c.fault))
				require.Equal(t, c.blames, blames(result))
				if len(c.blames) > 0 {
					assert.Equal(t, c.alternatives, alternativesOf(result.Diagnoses[0]))
				}
			}
		})
	}
}
