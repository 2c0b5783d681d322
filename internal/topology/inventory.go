package topology

// Inventory is what can be read about a host before anything is concluded:
// the PCI devices on the way from each RNIC and GPU to its host bridge, the
// RDMA ports, the GPUs and the memory nodes. Build turns it into a Topology.
type Inventory struct {
	PCI         []PCIDevice
	RNICs       []RNIC
	GPUs        []GPU
	MemoryNodes []MemoryNode
	// CapacityGbps overrides or supplies what sysfs cannot tell, by hop id
	// (the simulator's memory and inter-socket hops).
	CapacityGbps map[string]float64
}

// PCIType is the place of a PCI device in the tree.
type PCIType string

// Places of a PCI device.
const (
	PCIRootPort   PCIType = "root_port"
	PCIUpstream   PCIType = "switch_upstream"
	PCIDownstream PCIType = "switch_downstream"
	PCIBridge     PCIType = "bridge" // any other bridge
	PCIEndpoint   PCIType = "endpoint"
)

// PCIDevice is one PCI function of the inventory.
type PCIDevice struct {
	ID         string // what hop ids call it: the address; a short name in the simulator
	Address    string // domain:bus:device.function; the key that Parent and RNIC.PCI use
	Parent     string // Address of the bridge above; "" on the root bus
	HostBridge string // the root bus's name ("pci0000:00")
	Type       PCIType
	Vendor     string // four hex digits, no prefix
	Device     string
	PhysFn     string // of a VF: Address of its PF, "" when unknown
	NUMANode   *int
	Link       PCILink
}

// PCILink is the link that a PCI device's own registers describe: the one
// above an endpoint or an upstream port, the one below a root or downstream
// port. nil is unknown.
type PCILink struct {
	SpeedGTs, MaxSpeedGTs *float64
	Width, MaxWidth       *int
}
