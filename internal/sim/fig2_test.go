package sim

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/topology"
)

// marked is a topology with its baselines, as a run uses it.
func marked(t topology.Topology) (topology.Topology, baseline.Set) {
	set := baseline.Defaults(t)
	baseline.MarkClose(&t, set)
	return t, set
}

func TestFig2HasThePapersShape(t *testing.T) {
	topo, _ := marked(Fig2())
	require.Len(t, topo.RNICs, 4)
	require.Len(t, topo.GPUs, 8)
	require.Len(t, topo.MemoryNodes, 2)
	require.Len(t, topo.Paths, 40)

	paths := map[string]topology.Path{}
	near := map[string][]string{}
	for _, p := range topo.Paths {
		paths[p.Key().String()] = p
		if p.Close {
			near[p.RNIC] = append(near[p.RNIC], p.Endpoint)
		}
	}
	require.Equal(t, map[string][]string{
		"rnic0": {"mem0", "mem1", "gpu0", "gpu1"},
		"rnic1": {"mem0", "mem1", "gpu2", "gpu3"},
		"rnic2": {"mem0", "mem1", "gpu4", "gpu5"},
		"rnic3": {"mem0", "mem1", "gpu6", "gpu7"},
	}, near)
	for _, c := range []struct {
		path  string
		class topology.Class
		hops  []string
	}{
		{"rnic0→mem0", topology.ClassMemLocal, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "memory:mem0"}},
		{"rnic0→mem1", topology.ClassMemRemote, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "inter_socket:0-1", "memory:mem1"}},
		{"rnic0→gpu0", topology.ClassPIX, []string{"rnic_pcie:rnic0", "gpu_pcie:gpu0"}},
		{"rnic0→gpu1", topology.ClassPXB, []string{"rnic_pcie:rnic0", "switch:low0", "gpu_pcie:gpu1"}},
		{"rnic0→gpu2", topology.ClassPHB, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "root_port:rp1", "gpu_pcie:gpu2"}},
		{"rnic3→gpu0", topology.ClassSys, []string{"rnic_pcie:rnic3", "switch:low3", "root_port:rp3", "inter_socket:0-1", "root_port:rp0", "switch:low0", "gpu_pcie:gpu0"}},
	} {
		require.Equal(t, c.class, paths[c.path].Class, c.path)
		require.Equal(t, c.hops, paths[c.path].Hops, c.path)
	}
}

// The built-in host is one that its own JSON form can carry.
func TestFig2SurvivesItsDocument(t *testing.T) {
	topo, _ := marked(Fig2())
	text, err := json.Marshal(topo)
	require.NoError(t, err)
	read, err := topology.Parse(text)
	require.NoError(t, err)
	require.Equal(t, topo, read)
}
