package topology_test

import (
	"fmt"

	"github.com/yuuki/hostping/internal/topology"
)

// fig2 is the host of the paper's Fig. 2: two sockets, two root ports each,
// under each an upper and a lower switch.
func fig2() topology.Inventory {
	gen4 := topology.PCILink{SpeedGTs: new(16.0), MaxSpeedGTs: new(16.0), Width: new(16), MaxWidth: new(16)}
	upperGPU := []int{1, 2, 5, 6}
	lowerGPU := []int{0, 3, 4, 7}

	var inv topology.Inventory
	inv.CapacityGbps = map[string]float64{"memory:mem0": 1600, "memory:mem1": 1600, "inter_socket:0-1": 1000}
	for socket := range 2 {
		inv.MemoryNodes = append(inv.MemoryNodes, topology.MemoryNode{
			ID: fmt.Sprintf("mem%d", socket), NUMANode: socket, Socket: new(socket)})
	}
	for i := range 4 {
		socket := i / 2
		add := func(name, parent string, kind topology.PCIType) string {
			address := fmt.Sprintf("0000:%02x:00.0", 0x10+len(inv.PCI))
			inv.PCI = append(inv.PCI, topology.PCIDevice{
				ID: name, Address: address, Parent: parent, HostBridge: fmt.Sprintf("pci0000:%d0", socket),
				Type: kind, Vendor: "1000", Device: "c030", NUMANode: new(socket), Link: gen4})
			return address
		}
		gpu := func(n int, parent string) {
			inv.GPUs = append(inv.GPUs, topology.GPU{
				ID: fmt.Sprintf("gpu%d", n), PCI: add(fmt.Sprintf("gpu%d", n), parent, topology.PCIEndpoint),
				Vendor: "nvidia", Usable: true})
		}
		root := add(fmt.Sprintf("rp%d", i), "", topology.PCIRootPort)
		up := add(fmt.Sprintf("up%d", i), root, topology.PCIUpstream)
		gpu(upperGPU[i], add(fmt.Sprintf("up%dd0", i), up, topology.PCIDownstream))
		low := add(fmt.Sprintf("low%d", i), add(fmt.Sprintf("up%dd1", i), up, topology.PCIDownstream), topology.PCIUpstream)
		gpu(lowerGPU[i], add(fmt.Sprintf("low%dd0", i), low, topology.PCIDownstream))
		nic := add(fmt.Sprintf("rnic%d", i), add(fmt.Sprintf("low%dd1", i), low, topology.PCIDownstream), topology.PCIEndpoint)
		inv.RNICs = append(inv.RNICs, topology.RNIC{
			ID: fmt.Sprintf("rnic%d", i), Name: fmt.Sprintf("rnic%d", i), PCI: nic, Port: 1, LinkLayer: "Ethernet",
			State: "ACTIVE", RateGbps: new(200.0), Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true})
	}
	return inv
}
