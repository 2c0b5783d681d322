// Package topology describes one RDMA host as a graph: RNICs, the endpoints
// that they read and write (memory nodes and GPUs), the hops between them and
// the paths that the hops form.
//
// It does no I/O. A Topology comes from Build over an Inventory (which
// internal/discover reads from sysfs and internal/sim invents), or from a
// hostping.topology/v1 document.
package topology

import (
	"cmp"
	"fmt"
)

// SchemaID names the JSON form of Topology.
const SchemaID = "hostping.topology/v1"

// Topology is the host as every later stage sees it. Lists are never nil
// when it comes from Build or Parse, so that JSON shows [] and not null. Of
// a part, what a document leaves out is as unknown as what is empty; Validate
// says what must be known.
type Topology struct {
	Schema      string       `json:"schema"`
	RNICs       []RNIC       `json:"rnics" document:"sparse"`
	GPUs        []GPU        `json:"gpus" document:"sparse"`
	MemoryNodes []MemoryNode `json:"memory_nodes" document:"sparse"`
	Hops        []Hop        `json:"hops" document:"sparse"`
	Paths       []Path       `json:"paths" document:"sparse"`
}

// Role says what a function that carries an RDMA device is for.
type Role string

// Roles. Only RoleRNIC gets probed by default; RoleSoftware on request.
const (
	RoleRNIC         Role = "rnic"
	RoleNVSwitchMgmt Role = "nvswitch_mgmt"
	RoleSoftware     Role = "software"
)

// Function is the kind of PCI function behind an RNIC.
type Function string

// Kinds of function.
const (
	FunctionPF Function = "pf"
	FunctionVF Function = "vf"
	FunctionSF Function = "sf"
)

// RNIC is one port of one RDMA device. A nil pointer or an empty string is a
// fact that could not be read.
type RNIC struct {
	ID        string `json:"id"`   // device name, with ":<port>" appended on ports other than the first
	Name      string `json:"name"` // device name under /sys/class/infiniband
	PCI       string `json:"pci"`  // address of the function, "" when it has none
	Port      int    `json:"port"`
	LinkLayer string `json:"link_layer"` // "Ethernet" or "InfiniBand"
	State     string `json:"state"`      // "ACTIVE", "DOWN", "INIT", ...
	PhysState string `json:"phys_state"` // "LinkUp", "Polling", "Disabled", ...
	// AdminUp says whether the operator wants the port up: of Ethernet ports by
	// the netdev's IFF_UP, of InfiniBand ports by the physical state.
	AdminUp *bool `json:"admin_up"`
	// RateGbps is the port's data rate in Gb/s.
	RateGbps       *float64 `json:"rate_gbps"`
	LAGPorts       *int     `json:"lag_ports,omitempty"`
	NUMANode       *int     `json:"numa_node"`
	Socket         *int     `json:"socket"` // physical_package_id
	Netdevs        []string `json:"netdevs"`
	Driver         string   `json:"driver"`
	Model          string   `json:"model"` // PCI vendor and device id, "15b3:1021"
	Role           Role     `json:"role"`
	Function       Function `json:"function"`
	Usable         bool     `json:"usable"`
	Reason         string   `json:"reason"` // why not usable; "" when usable
	FWVersion      string   `json:"fw_version"`
	MTU            *int     `json:"mtu"`              // active RDMA MTU in bytes; of RoCE ports by their netdev's MTU
	MaxReadRequest *int     `json:"max_read_request"` // bytes
	MaxPayload     *int     `json:"max_payload"`      // PCIe payload size in use, in bytes
	// SamePort names the other functions of a Socket Direct adapter that send
	// through the same port: they share its rate.
	SamePort []string `json:"same_port"`
}

// Identity is what names a port for good: the PCI function and the port
// number. Device names change with images and udev rules. Ports without a PCI
// function have their name only.
func (r RNIC) Identity() string {
	return fmt.Sprintf("%s/%d", cmp.Or(r.PCI, r.Name), r.Port)
}

// GPU is a GPU endpoint.
type GPU struct {
	ID       string `json:"id"` // gpu<N>
	PCI      string `json:"pci"`
	Vendor   string `json:"vendor"` // "nvidia", "amd" or the PCI vendor id
	Model    string `json:"model"`
	NUMANode *int   `json:"numa_node"`
	Socket   *int   `json:"socket"`
	Usable   bool   `json:"usable"`
	Reason   string `json:"reason"`
}

// MemoryKind says what else there is on a memory's NUMA node, and so what the
// memory is made for. What it is made of the firmware does not tell us.
type MemoryKind string

// Kinds of memory node. "" is unknown: a document from before there were kinds.
const (
	MemoryWithCPUs MemoryKind = "with_cpus"
	MemoryOnly     MemoryKind = "memory_only" // HBM, CXL
)

// MemoryNode is a NUMA node's memory as an endpoint.
type MemoryNode struct {
	ID       string     `json:"id"` // mem<N>
	Kind     MemoryKind `json:"kind"`
	NUMANode int        `json:"numa_node"`
	Socket   *int       `json:"socket"`
	Bytes    *int64     `json:"bytes"`
	// Distances are the firmware's relative distances (SLIT) to the NUMA nodes, by node: 10 is
	// the node itself. They are evidence; no class follows from them.
	Distances map[int]int `json:"distances,omitempty"`
}

// HopKind is the kind of a link that can fail.
type HopKind string

// Kinds of hop.
const (
	HopRNICPCIe    HopKind = "rnic_pcie"
	HopGPUPCIe     HopKind = "gpu_pcie"
	HopSwitch      HopKind = "switch"
	HopRootPort    HopKind = "root_port"
	HopMemory      HopKind = "memory"
	HopInterSocket HopKind = "inter_socket"
)

// HopID names a hop: the kind, a colon, and the part ("rnic_pcie:mlx5_0",
// "switch:0000:16:00.0", "inter_socket:0-1").
func HopID(kind HopKind, part string) string { return string(kind) + ":" + part }

// Trust says how far the speed and width of a hop may be believed.
type Trust string

// Degrees of trust.
const (
	TrustMeasured Trust = "measured" // read while a probe loaded the link
	TrustStatic   Trust = "static"   // read at rest, where links may downshift
	TrustNonsense Trust = "nonsense" // read, but an emulated port made it up
	TrustUnknown  Trust = "unknown"
)

// Hop is one link that can fail. Speeds are in GT/s per lane, capacities in
// Gb/s in one direction after line coding.
type Hop struct {
	ID               string   `json:"id"`
	Kind             HopKind  `json:"kind"`
	Members          []string `json:"members"` // the RNICs, GPU, switch, node or sockets that it serves
	SpeedGTs         *float64 `json:"speed_gts"`
	Width            *int     `json:"width"`
	ExpectedSpeedGTs *float64 `json:"expected_speed_gts"`
	ExpectedWidth    *int     `json:"expected_width"`
	CapacityGbps     *float64 `json:"capacity_gbps"` // from the expected speed and width
	Trust            Trust    `json:"trust"`
}

// Class is the distance class of a path.
type Class string

// Distance classes: to GPUs the first seven, to memory the last three. Where
// firmware hides nodes and sockets, ClassVirt stands for any of them.
const (
	ClassPIX       Class = "pix"  // one PCIe switch
	ClassPXB       Class = "pxb"  // several switches, no root complex
	ClassPHB       Class = "phb"  // through one host bridge
	ClassNode      Class = "node" // same socket, another host bridge
	ClassSys       Class = "sys"  // another socket
	ClassC2C       Class = "c2c"  // coherent chip-to-chip link
	ClassVirt      Class = "virt" // a virtual topology that tells nothing
	ClassMemLocal  Class = "mem_local"
	ClassMemSocket Class = "mem_socket"
	ClassMemRemote Class = "mem_remote"
)

// Path is one (RNIC, endpoint) pair with the hops between them, the RNIC's
// own link first.
type Path struct {
	RNIC     string   `json:"rnic"`
	Endpoint string   `json:"endpoint"`
	Class    Class    `json:"class"`
	Close    bool     `json:"close"` // the baseline reaches 0.9 of line rate
	Hops     []string `json:"hops"`
}

// PathKey identifies a path.
type PathKey struct{ RNIC, Endpoint string }

// Key returns the path's identity.
func (p Path) Key() PathKey { return PathKey{p.RNIC, p.Endpoint} }

// String is "rnic→endpoint", for messages.
func (k PathKey) String() string { return k.RNIC + "→" + k.Endpoint }
