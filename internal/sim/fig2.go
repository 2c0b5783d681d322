package sim

import (
	"fmt"

	"github.com/yuuki/hostping/internal/topology"
)

const (
	fig2RateGbps = 200
	// What memory and the inter-socket bus of the simulated host carry: no one
	// RNIC comes near, several busy ones do.
	memoryCapacityGbps      = 1600
	interSocketCapacityGbps = 1000
)

// Fig2 is the host of the paper's Fig. 2: two sockets with a memory node and
// two root ports each; below every root port an upper switch that holds a GPU
// and a lower switch, which holds the RNIC and another GPU. PCIe 4.0 x16
// everywhere, RNICs of 200 Gb/s, invented PCI addresses.
func Fig2() topology.Topology {
	t, err := topology.Build(fig2Inventory())
	if err != nil {
		panic(fmt.Sprintf("sim: the built-in host is malformed: %v", err))
	}
	return t
}

// fig2Trees says what hangs below each root port.
var fig2Trees = [...]struct{ socket, upperGPU, lowerGPU int }{
	{socket: 0, upperGPU: 1, lowerGPU: 0},
	{socket: 0, upperGPU: 2, lowerGPU: 3},
	{socket: 1, upperGPU: 5, lowerGPU: 4},
	{socket: 1, upperGPU: 6, lowerGPU: 7},
}

func fig2Inventory() topology.Inventory {
	inv := topology.Inventory{CapacityGbps: map[string]float64{
		topology.HopID(topology.HopMemory, "mem0"):     memoryCapacityGbps,
		topology.HopID(topology.HopMemory, "mem1"):     memoryCapacityGbps,
		topology.HopID(topology.HopInterSocket, "0-1"): interSocketCapacityGbps,
	}}
	for node := range 2 {
		inv.MemoryNodes = append(inv.MemoryNodes, topology.MemoryNode{
			ID: fmt.Sprintf("mem%d", node), Kind: topology.MemoryWithCPUs, NUMANode: node, Socket: new(node), Bytes: new(int64(256 << 30)),
		})
	}
	gpus := make([]topology.GPU, 2*len(fig2Trees))
	for n, tree := range fig2Trees {
		// Buses of a tree: its root bus, then 16 numbers of its own.
		rootBus, bus := 0x80*tree.socket, 0x80*tree.socket+0x10*(n%2)+1
		add := func(id string, kind topology.PCIType, parent, address, vendor, device string) string {
			inv.PCI = append(inv.PCI, topology.PCIDevice{
				ID: id, Address: address, Parent: parent, HostBridge: fmt.Sprintf("pci0000:%02x", rootBus),
				Type: kind, Vendor: vendor, Device: device, NUMANode: new(tree.socket), Link: gen4x16(),
			})
			return address
		}
		bridge := func(id string, kind topology.PCIType, parent string, bus, slot int) string {
			return add(id, kind, parent, pciAddress(bus, slot), "1000", "c010") // a Broadcom PCIe 4.0 switch
		}
		gpu := func(id int, parent string, bus int) {
			name := fmt.Sprintf("gpu%d", id)
			gpus[id] = topology.GPU{
				ID: name, PCI: add(name, topology.PCIEndpoint, parent, pciAddress(bus, 0), "10de", "20b0"),
				Vendor: "nvidia", Model: "simulated", NUMANode: new(tree.socket), Socket: new(tree.socket), Usable: true,
			}
		}
		name := func(part string) string { return fmt.Sprintf("%s%d", part, n) }

		root := add(name("rp"), topology.PCIRootPort, "", pciAddress(rootBus, 1+n%2), "8086", "347a")
		upper := bridge(name("up"), topology.PCIUpstream, root, bus, 0)
		gpu(tree.upperGPU, bridge(name("up")+"-port0", topology.PCIDownstream, upper, bus+1, 0), bus+2)
		lower := bridge(name("low"), topology.PCIUpstream,
			bridge(name("up")+"-port1", topology.PCIDownstream, upper, bus+1, 1), bus+3, 0)
		rnicPort := bridge(name("low")+"-port0", topology.PCIDownstream, lower, bus+4, 0)
		gpu(tree.lowerGPU, bridge(name("low")+"-port1", topology.PCIDownstream, lower, bus+4, 1), bus+6)
		inv.RNICs = append(inv.RNICs, topology.RNIC{
			ID: name("rnic"), Name: name("rnic"),
			PCI:  add(name("rnic"), topology.PCIEndpoint, rnicPort, pciAddress(bus+5, 0), "15b3", "101b"),
			Port: 1, LinkLayer: "Ethernet", State: "ACTIVE", RateGbps: new(float64(fig2RateGbps)),
			NUMANode: new(tree.socket), Socket: new(tree.socket), Netdevs: []string{name("eth")},
			Driver: "mlx5_core", Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true,
			FWVersion: "simulated", MTU: new(4096), MaxReadRequest: new(4096),
		})
	}
	inv.GPUs = gpus
	return inv
}

func gen4x16() topology.PCILink {
	return topology.PCILink{SpeedGTs: new(16.0), MaxSpeedGTs: new(16.0), Width: new(16), MaxWidth: new(16)}
}

func pciAddress(bus, slot int) string { return fmt.Sprintf("0000:%02x:%02x.0", bus, slot) }
