package discover

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// node is one NUMA node.
type node struct {
	id     int
	cpus   cpuSet // nil is unknown
	socket *int   // physical package of its CPUs; without CPUs that of the nearest
	bytes  *int64
	// distances are those to the nodes, by node; nil is unknown.
	distances map[int]int
}

// isEndpoint reports whether the node has both CPUs and memory. Memory that
// cannot be read is taken to be there: nearly every node with CPUs has some.
func (n node) isEndpoint() bool {
	return len(n.cpus) > 0 && (n.bytes == nil || *n.bytes > 0)
}

// isPlainMemory reports whether the node is memory alone: HBM, CXL, or a GPU's.
func (n node) isPlainMemory() bool { return len(n.cpus) == 0 && n.bytes != nil && *n.bytes > 0 }

func (n node) endpoint() topology.MemoryNode {
	var kind topology.MemoryKind
	switch {
	case len(n.cpus) > 0:
		kind = topology.MemoryWithCPUs
	case n.cpus != nil:
		kind = topology.MemoryOnly
	}
	return topology.MemoryNode{
		ID: fmt.Sprintf("mem%d", n.id), Kind: kind, NUMANode: n.id, Socket: n.socket, Bytes: n.bytes, Distances: n.distances,
	}
}

const (
	nodesDir = "devices/system/node"
	cpusDir  = "devices/system/cpu"
)

// readNodes reads the NUMA nodes, in order.
func (r *reader) readNodes() {
	names, err := r.sys.list(nodesDir)
	if err != nil {
		r.unread(err)
		r.readOnlyNode()
		return
	}
	for _, name := range names {
		id, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if err != nil || name != fmt.Sprintf("node%d", id) || id > 1<<16 {
			continue
		}
		dir := path.Join(nodesDir, name)
		n := node{id: id, cpus: read(r, path.Join(dir, "cpulist"), parseCPUList)}
		n.bytes = read(r, path.Join(dir, "meminfo"), parseMemTotal)
		n.socket = r.socketOf(n.cpus)
		r.nodes = append(r.nodes, n)
	}
	slices.SortFunc(r.nodes, func(a, b node) int { return a.id - b.id })
	for i := range r.nodes {
		r.readDistances(&r.nodes[i])
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; len(n.cpus) == 0 {
			n.socket = r.nearestSocket(*n)
		}
	}
}

// readDistances reads a node's line of the firmware's distance table: one
// figure for each node that is online, in their order.
func (r *reader) readDistances(n *node) {
	figures := read(r, path.Join(nodesDir, fmt.Sprintf("node%d", n.id), "distance"), parseDistances)
	if len(figures) != len(r.nodes) {
		return // of other nodes than those that are listed
	}
	n.distances = make(map[int]int, len(figures))
	for i, figure := range figures {
		n.distances[r.nodes[i].id] = figure
	}
}

// nearestSocket is the package of the nearest nodes with CPUs, nil when the
// distances do not tell one from another.
func (r *reader) nearestSocket(n node) (socket *int) {
	nearest := 256 // above any distance
	for _, other := range r.nodes {
		distance, known := n.distances[other.id]
		switch {
		case !known || len(other.cpus) == 0:
		case distance < nearest:
			nearest, socket = distance, other.socket
		case distance == nearest && (socket == nil || other.socket == nil || *socket != *other.socket):
			socket = nil
		}
	}
	return socket
}

// readOnlyNode is for kernels without NUMA: all CPUs and all memory are one node.
func (r *reader) readOnlyNode() {
	n := node{cpus: read(r, path.Join(cpusDir, "online"), parseCPUList)}
	if len(n.cpus) == 0 {
		return
	}
	n.socket = r.socketOf(n.cpus)
	if r.proc != nil {
		if text, err := r.proc.text("meminfo"); err == nil {
			n.bytes, _ = parseMemTotal(text)
		}
	}
	r.nodes = []node{n}
}

// socketOf is the physical package of a set of CPUs; any one of them tells,
// but one that is offline does not.
func (r *reader) socketOf(cpus cpuSet) *int {
	const tries = 64
	left := tries
	for _, span := range cpus {
		for cpu := span.first; cpu <= span.last && left > 0; cpu++ {
			left--
			name := path.Join(cpusDir, fmt.Sprintf("cpu%d/topology/physical_package_id", cpu))
			if p := read(r, name, parsePackage); p != nil {
				return p
			}
		}
	}
	return nil
}

// locate finds the NUMA node and the socket of a PCI function, nil when there is none. Firmware may
// leave out the node; then it is that of a bridge above, or of the CPUs that the
// function calls local where these are not simply all.
func (r *reader) locate(f *pciFunction) (numaNode, socket *int) {
	for at := f; at != nil && numaNode == nil; at = r.pci[at.Parent] {
		numaNode = at.NUMANode
	}
	if numaNode == nil && len(r.nodes) == 1 {
		numaNode = new(r.nodes[0].id)
	}
	if numaNode != nil {
		for _, n := range r.nodes {
			if n.id == *numaNode {
				return numaNode, n.socket
			}
		}
		return numaNode, nil
	}
	if f == nil {
		return nil, nil
	}
	return r.nearCPUs(f.cpus)
}

// nearCPUs is the node that holds these CPUs or, where several do, their socket.
func (r *reader) nearCPUs(cpus cpuSet) (numaNode, socket *int) {
	var near []node
	online := 0
	for _, n := range r.nodes {
		online += n.cpus.size()
		if n.cpus.meets(cpus) {
			near = append(near, n)
		}
	}
	if len(near) == 0 || cpus.size() >= online {
		return nil, nil
	}
	if len(near) == 1 {
		return new(near[0].id), near[0].socket
	}
	for _, n := range near {
		if n.socket == nil || *n.socket != *near[0].socket {
			return nil, nil
		}
	}
	return nil, near[0].socket
}
