package topology_test

import (
	"math/rand/v2"
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

func TestBuildFig2Links(t *testing.T) {
	top, links, err := topology.BuildLinked(fig2())
	require.NoError(t, err)
	require.NoError(t, top.Validate())
	hops := map[string]topology.Hop{}
	for _, h := range top.Hops {
		hops[h.ID] = h
	}
	for _, id := range []string{"rnic_pcie:rnic0", "gpu_pcie:gpu7", "switch:low3", "root_port:rp2"} {
		h := hops[id]
		assert.Equal(t, new(16.0), h.ExpectedSpeedGTs, id)
		assert.Equal(t, new(16), h.ExpectedWidth, id)
		assert.InDelta(t, 252, *h.CapacityGbps, 0.1, id)
		assert.Equal(t, topology.TrustStatic, h.Trust, id)
		assert.NotEmpty(t, links[id], id)
	}
	assert.Equal(t, new(1600.0), hops["memory:mem1"].CapacityGbps)
	assert.Equal(t, new(1000.0), hops["inter_socket:0-1"].CapacityGbps)
	assert.NotContains(t, links, "memory:mem1")
	assert.Equal(t, []string{"up2"}, hops["root_port:rp2"].Members, "the switch that the link serves")
}

func TestBuildForgetsTheOrderOfItsInput(t *testing.T) {
	want, err := topology.Build(fig2())
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		inv := fig2()
		random.Shuffle(len(inv.PCI), func(i, j int) { inv.PCI[i], inv.PCI[j] = inv.PCI[j], inv.PCI[i] })
		random.Shuffle(len(inv.RNICs), func(i, j int) { inv.RNICs[i], inv.RNICs[j] = inv.RNICs[j], inv.RNICs[i] })
		random.Shuffle(len(inv.GPUs), func(i, j int) { inv.GPUs[i], inv.GPUs[j] = inv.GPUs[j], inv.GPUs[i] })
		got, err := topology.Build(inv)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestBuildOwnLinks hangs one RNIC in various ways and compares the hops of
// its path to memory.
func TestBuildOwnLinks(t *testing.T) {
	const bridge, nic = "15b3", "15b3"
	tests := []struct {
		name  string
		chain []topology.PCIDevice // from the root down; the last is the RNIC
		more  []topology.PCIDevice
		want  []string
	}{
		{"nothing is known of its place", nil, nil, []string{"rnic_pcie:r0", "memory:mem0"}},
		{"on the root bus", []topology.PCIDevice{
			{ID: "r", Vendor: nic, Type: topology.PCIEndpoint}}, nil, []string{"rnic_pcie:r0", "memory:mem0"}},
		{"under a root port", []topology.PCIDevice{
			{ID: "rp", Type: topology.PCIRootPort}, {ID: "r", Type: topology.PCIEndpoint}}, nil,
			[]string{"rnic_pcie:r0", "memory:mem0"}},
		{"switch under a root port", []topology.PCIDevice{
			{ID: "rp", Type: topology.PCIRootPort}, {ID: "up", Type: topology.PCIUpstream},
			{ID: "down", Type: topology.PCIDownstream}, {ID: "r", Type: topology.PCIEndpoint}}, nil,
			[]string{"rnic_pcie:r0", "root_port:rp", "memory:mem0"}},
		{"switch on the root bus", []topology.PCIDevice{
			{ID: "up", Type: topology.PCIUpstream},
			{ID: "down", Type: topology.PCIDownstream}, {ID: "r", Type: topology.PCIEndpoint}}, nil,
			[]string{"rnic_pcie:r0", "switch:up", "memory:mem0"}},
		{"the NIC's own switch", []topology.PCIDevice{
			{ID: "rp", Type: topology.PCIRootPort}, {ID: "up", Vendor: bridge, Type: topology.PCIUpstream},
			{ID: "down", Vendor: bridge, Type: topology.PCIDownstream}, {ID: "r", Vendor: nic, Type: topology.PCIEndpoint}}, nil,
			[]string{"rnic_pcie:r0", "memory:mem0"}},
		{"the NIC's own switch, shared with another device", []topology.PCIDevice{
			{ID: "rp", Type: topology.PCIRootPort}, {ID: "up", Vendor: bridge, Type: topology.PCIUpstream},
			{ID: "down", Vendor: bridge, Type: topology.PCIDownstream}, {ID: "r", Vendor: nic, Type: topology.PCIEndpoint}},
			[]topology.PCIDevice{{ID: "gpu", Address: "gpu", Parent: "up", Vendor: "10de", Type: topology.PCIEndpoint}},
			[]string{"rnic_pcie:r0", "root_port:rp", "memory:mem0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv := topology.Inventory{
				MemoryNodes: []topology.MemoryNode{{ID: "mem0"}},
				RNICs:       []topology.RNIC{{ID: "r0", Name: "r0", Port: 1, Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true}},
			}
			above := ""
			for _, d := range tt.chain {
				d.Address, d.Parent = d.ID, above
				above = d.ID
				inv.PCI = append(inv.PCI, d)
				inv.RNICs[0].PCI = d.ID
			}
			inv.PCI = append(inv.PCI, tt.more...)
			top, err := topology.Build(inv)
			require.NoError(t, err)
			require.NoError(t, top.Validate())
			require.Len(t, top.Paths, 1)
			assert.Equal(t, tt.want, top.Paths[0].Hops)
		})
	}
}

// TestBuildLists tells which devices get paths.
func TestBuildLists(t *testing.T) {
	tests := []struct {
		name  string
		rnic  topology.RNIC
		paths int
	}{
		{"a NIC", topology.RNIC{Role: topology.RoleRNIC, PCI: "nic", Usable: true}, 1},
		{"a sick NIC", topology.RNIC{Role: topology.RoleRNIC, PCI: "nic", Reason: "port_not_active"}, 1},
		{"a NIC that is no PCI device", topology.RNIC{Role: topology.RoleRNIC, Usable: true}, 1},
		{"a software RNIC in use", topology.RNIC{Role: topology.RoleSoftware, PCI: "nic", Usable: true}, 1},
		{"a software RNIC in use without a place", topology.RNIC{Role: topology.RoleSoftware, Usable: true}, 1},
		{"a software RNIC that is left alone", topology.RNIC{Role: topology.RoleSoftware, Reason: "software_rnic"}, 0},
		{"a function that is no NIC", topology.RNIC{Role: topology.RoleNVSwitchMgmt, PCI: "nic", Reason: "nvswitch"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.rnic.ID, tt.rnic.Port, tt.rnic.Function = "r0", 1, topology.FunctionPF
			top, err := topology.Build(topology.Inventory{
				PCI:         []topology.PCIDevice{{ID: "nic", Address: "nic", Type: topology.PCIEndpoint}},
				RNICs:       []topology.RNIC{tt.rnic},
				MemoryNodes: []topology.MemoryNode{{ID: "mem0"}},
			})
			require.NoError(t, err)
			require.NoError(t, top.Validate())
			assert.Len(t, top.RNICs, 1, "every device is listed")
			assert.Len(t, top.Paths, tt.paths)
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*topology.Inventory)
		want string
	}{
		{"a device below nothing", func(inv *topology.Inventory) { inv.PCI[3].Parent = "gone" }, "sits below gone, which is not listed"},
		{"a device below itself", func(inv *topology.Inventory) { inv.PCI[0].Parent = inv.PCI[1].Address }, "sits below itself"},
		{"an address given twice", func(inv *topology.Inventory) { inv.PCI = append(inv.PCI, inv.PCI[0]) }, "is listed twice"},
		{"a device without address", func(inv *topology.Inventory) { inv.PCI[5].Address = "" }, "has no address"},
		{"an RNIC given twice", func(inv *topology.Inventory) { inv.RNICs[1].ID = "rnic0" }, `"rnic0" is empty or given twice`},
		{"an RNIC named as a GPU", func(inv *topology.Inventory) { inv.RNICs[1].ID = "gpu3" }, `"gpu3" is empty or given twice`},
		{"a GPU without id", func(inv *topology.Inventory) { inv.GPUs[0].ID = "" }, `"" is empty or given twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv := fig2()
			tt.edit(&inv)
			_, err := topology.Build(inv)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestPCIeCapacity(t *testing.T) {
	tests := []struct {
		name      string
		speedGTs  float64
		width     int
		wantGbps  float64
		tolerance float64
	}{
		{"generation 1 x1", 2.5, 1, 2, 0},
		{"generation 2 x4", 5, 4, 16, 0},
		{"generation 3 x8", 8, 8, 63.0, 0.1},
		{"generation 4 x16", 16, 16, 252.1, 0.1},
		{"generation 5 x16", 32, 16, 504.1, 0.1},
		{"generation 6 x16", 64, 16, 968, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.InDelta(t, tt.wantGbps, topology.PCIeCapacityGbps(tt.speedGTs, tt.width), tt.tolerance)
		})
	}
}
