package topology_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

func TestBuildFig2Paths(t *testing.T) {
	top, err := topology.Build(fig2())
	require.NoError(t, err)
	paths := map[topology.PathKey]topology.Path{}
	for _, p := range top.Paths {
		paths[p.Key()] = p
	}
	assert.Len(t, paths, 40)
	assert.Len(t, top.Hops, 4+8+4+4+2+1)

	tests := []struct {
		rnic, endpoint string
		class          topology.Class
		hops           []string
	}{
		{"rnic0", "mem0", topology.ClassMemLocal, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "memory:mem0"}},
		{"rnic0", "mem1", topology.ClassMemRemote, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "inter_socket:0-1", "memory:mem1"}},
		{"rnic0", "gpu0", topology.ClassPIX, []string{"rnic_pcie:rnic0", "gpu_pcie:gpu0"}},
		{"rnic0", "gpu1", topology.ClassPXB, []string{"rnic_pcie:rnic0", "switch:low0", "gpu_pcie:gpu1"}},
		{"rnic0", "gpu2", topology.ClassPHB, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "root_port:rp1", "gpu_pcie:gpu2"}},
		{"rnic0", "gpu3", topology.ClassPHB, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "root_port:rp1", "switch:low1", "gpu_pcie:gpu3"}},
		{"rnic0", "gpu4", topology.ClassSys, []string{"rnic_pcie:rnic0", "switch:low0", "root_port:rp0", "inter_socket:0-1", "root_port:rp2", "switch:low2", "gpu_pcie:gpu4"}},
		{"rnic3", "gpu0", topology.ClassSys, []string{"rnic_pcie:rnic3", "switch:low3", "root_port:rp3", "inter_socket:0-1", "root_port:rp0", "switch:low0", "gpu_pcie:gpu0"}},
	}
	for _, tt := range tests {
		t.Run(tt.rnic+" to "+tt.endpoint, func(t *testing.T) {
			p := paths[topology.PathKey{RNIC: tt.rnic, Endpoint: tt.endpoint}]
			assert.Equal(t, tt.class, p.Class)
			assert.Equal(t, tt.hops, p.Hops)
			assert.False(t, p.Close, "closeness follows from a baseline")
		})
	}
}
