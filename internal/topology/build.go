package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Build concludes what an inventory means: the links of the PCI tree become
// hops, every RNIC gets a path to every endpoint, and every path a distance
// class. All lists come in natural order. Path.Close stays false: it
// follows from a baseline.
//
// The error names the entry of the inventory that contradicts another.
func Build(inv Inventory) (Topology, error) {
	t, _, err := BuildLinked(inv)
	return t, err
}

// BuildLinked is Build that also tells, by hop id, the address of the PCI
// device whose registers describe the hop's link: the one at its lower end.
// Hops that are no PCIe link are absent.
func BuildLinked(inv Inventory) (Topology, map[string]string, error) {
	tree, err := newPCITree(inv.PCI)
	if err != nil {
		return Topology{}, nil, err
	}
	b := builder{inv: inv, tree: tree, hops: map[string]*Hop{}, links: map[string]string{}}
	if err := b.takeInventory(); err != nil {
		return Topology{}, nil, err
	}
	b.keepOneVirtualFunctionPerPort()
	b.shareLinks()
	b.connect()
	b.t.Hops = b.sortedHops()
	return b.t, b.links, nil
}

type builder struct {
	inv   Inventory
	tree  pciTree
	t     Topology
	hops  map[string]*Hop
	links map[string]string // hop id to PCI address

	rnicPlaces, gpuPlaces []place
	ownHops               map[string]string // RNIC or GPU id to the hop of its own link
}

// takeInventory copies the devices in natural order and places them.
func (b *builder) takeInventory() error {
	b.t = Topology{
		Schema:      SchemaID,
		RNICs:       cloneSorted(b.inv.RNICs, func(r RNIC) string { return r.ID }),
		GPUs:        cloneSorted(b.inv.GPUs, func(g GPU) string { return g.ID }),
		MemoryNodes: cloneSorted(b.inv.MemoryNodes, func(m MemoryNode) string { return m.ID }),
		Hops:        []Hop{},
		Paths:       []Path{},
	}
	seen := map[string]bool{}
	claim := func(id string) error {
		if id == "" || seen[id] {
			return fmt.Errorf("device id %q is empty or given twice", id)
		}
		seen[id] = true
		return nil
	}

	sockets := map[int]*int{}
	for i := range b.t.MemoryNodes {
		m := &b.t.MemoryNodes[i]
		if err := claim(m.ID); err != nil {
			return err
		}
		sockets[m.NUMANode] = m.Socket
	}
	settle := func(at place, node, socket **int) {
		if *node == nil {
			*node = at.numaNode()
		}
		if *socket == nil && *node != nil {
			*socket = firstKnown(sockets[**node])
		}
	}
	for i := range b.t.RNICs {
		r := &b.t.RNICs[i]
		if err := claim(r.ID); err != nil {
			return err
		}
		if r.Netdevs == nil {
			r.Netdevs = []string{}
		}
		if r.SamePort == nil {
			r.SamePort = []string{}
		}
		at := b.tree.locate(r.PCI)
		settle(at, &r.NUMANode, &r.Socket)
		b.rnicPlaces = append(b.rnicPlaces, at)
	}
	for i := range b.t.GPUs {
		g := &b.t.GPUs[i]
		if err := claim(g.ID); err != nil {
			return err
		}
		at := b.tree.locate(g.PCI)
		settle(at, &g.NUMANode, &g.Socket)
		b.gpuPlaces = append(b.gpuPlaces, at)
	}
	return nil
}

func cloneSorted[T any](list []T, id func(T) string) []T {
	list = append([]T{}, list...)
	slices.SortFunc(list, func(a, b T) int { return CompareNatural(id(a), id(b)) })
	return list
}

// hasPaths reports whether an RNIC takes part in the mesh. A sick device does;
// a function that is no NIC does not, nor one that has no place and is not to be probed.
func hasPaths(r *RNIC) bool {
	return r.Role != RoleNVSwitchMgmt && (r.PCI != "" || r.Usable)
}

// keepOneVirtualFunctionPerPort marks all but the lowest VF or SF of a port
// unusable: they share everything that a probe could tell apart.
func (b *builder) keepOneVirtualFunctionPerPort() {
	type port struct {
		pf   string
		port int
	}
	kept := map[port]string{}
	for _, i := range b.rnicsByFunction() {
		r := &b.t.RNICs[i]
		if (r.Function != FunctionVF && r.Function != FunctionSF) || !r.Usable {
			continue
		}
		pf := r.PCI
		if d := b.rnicPlaces[i].device; r.Function == FunctionVF && d != nil {
			// A guest cannot see the PF of its VF: each then stands for itself.
			pf = cmp.Or(d.PhysFn, r.PCI)
		}
		key := port{pf, r.Port}
		if kept[key] == "" {
			kept[key] = r.ID
			continue
		}
		r.Usable = false
		r.Reason = fmt.Sprintf("virtual_function: one per port is probed, here %s", kept[key])
	}
}

// rnicsByFunction lists the indices of RNICs from the lowest PCI function up,
// a PF before its SFs.
func (b *builder) rnicsByFunction() []int {
	order := make([]int, len(b.t.RNICs))
	for i := range order {
		order[i] = i
	}
	rank := map[Function]int{FunctionVF: 1, FunctionSF: 2}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := b.t.RNICs[i], b.t.RNICs[j]
		return cmp.Or(
			CompareNatural(x.PCI, y.PCI),
			rank[x.Function]-rank[y.Function],
			x.Port-y.Port,
			CompareNatural(x.ID, y.ID))
	})
	return order
}

// shareLinks names the own link of every device that has paths. Functions on
// one link share the hop, which bears the lowest function's name.
func (b *builder) shareLinks() {
	b.ownHops = map[string]string{}
	named := map[string]string{}
	join := func(kind HopKind, id string, at place) {
		key := id
		if at.device != nil {
			key = at.linkKey()
		}
		key = string(kind) + " " + key
		hop := named[key]
		if hop == "" {
			hop = HopID(kind, id)
			named[key] = hop
			b.addLink(namedLink{pciLink: at.ownLink(), kind: kind, part: id})
		} else {
			b.hops[hop].Members = append(b.hops[hop].Members, id)
		}
		b.ownHops[id] = hop
	}
	for _, i := range b.rnicsByFunction() {
		if r := &b.t.RNICs[i]; hasPaths(r) {
			join(HopRNICPCIe, r.ID, b.rnicPlaces[i])
		}
	}
	for i, g := range b.t.GPUs {
		join(HopGPUPCIe, g.ID, b.gpuPlaces[i])
	}
}

// connect makes the paths, and the hops beyond the devices' own links.
func (b *builder) connect() {
	for i := range b.t.RNICs {
		r := &b.t.RNICs[i]
		if !hasPaths(r) {
			continue
		}
		for j := range b.t.MemoryNodes {
			b.connectMemory(r, b.rnicPlaces[i], &b.t.MemoryNodes[j])
		}
		for j := range b.t.GPUs {
			b.connectGPU(r, b.rnicPlaces[i], &b.t.GPUs[j], b.gpuPlaces[j])
		}
	}
}

func (b *builder) connectMemory(r *RNIC, at place, m *MemoryNode) {
	hops := append([]string{b.ownHops[r.ID]}, b.addLinks(at.switchLinks(len(at.above)))...)
	hops = append(hops, b.crossSockets(r.Socket, m.Socket)...)
	hops = append(hops, b.addHop(HopMemory, m.ID, []string{m.ID}))
	b.t.Paths = append(b.t.Paths, Path{RNIC: r.ID, Endpoint: m.ID, Class: memoryClass(r, m), Hops: hops})
}

func (b *builder) connectGPU(r *RNIC, at place, g *GPU, gpu place) {
	i, j, below := meet(at, gpu)
	hops := append([]string{b.ownHops[r.ID]}, b.addLinks(at.switchLinks(i))...)
	if !below {
		hops = append(hops, b.crossSockets(r.Socket, g.Socket)...)
	}
	down := b.addLinks(gpu.switchLinks(j))
	slices.Reverse(down)
	hops = append(hops, down...)
	hops = append(hops, b.ownHops[g.ID])
	b.t.Paths = append(b.t.Paths, Path{RNIC: r.ID, Endpoint: g.ID, Class: gpuClass(r, at, g, gpu), Hops: hops})
}

// crossSockets is the hop between two sockets, none within one or where a
// socket is unknown.
func (b *builder) crossSockets(from, to *int) []string {
	if relate(from, to) != otherSocket {
		return nil
	}
	lo, hi := strconv.Itoa(min(*from, *to)), strconv.Itoa(max(*from, *to))
	return []string{b.addHop(HopInterSocket, lo+"-"+hi, []string{lo, hi})}
}

func (b *builder) addLinks(links []namedLink) []string {
	ids := make([]string, 0, len(links))
	for _, l := range links {
		ids = append(ids, b.addLink(l))
	}
	return ids
}

func (b *builder) addLink(l namedLink) string {
	id := HopID(l.kind, l.part)
	if b.hops[id] == nil {
		member := l.part
		if l.kind == HopRootPort {
			member = l.lower.ID // the switch, which no hop is named after
		}
		b.addHop(l.kind, l.part, []string{member})
		capacity := b.hops[id].CapacityGbps
		l.describe(b.hops[id])
		if capacity != nil {
			b.hops[id].CapacityGbps = capacity
		}
		if l.lower != nil {
			b.links[id] = l.lower.Address
		}
	}
	return id
}

func (b *builder) addHop(kind HopKind, part string, members []string) string {
	id := HopID(kind, part)
	if b.hops[id] == nil {
		h := &Hop{ID: id, Kind: kind, Members: members, Trust: TrustUnknown}
		if capacity, ok := b.inv.CapacityGbps[id]; ok {
			h.CapacityGbps = new(capacity)
		}
		b.hops[id] = h
	}
	return id
}

func (b *builder) sortedHops() []Hop {
	kinds := []HopKind{HopRNICPCIe, HopGPUPCIe, HopSwitch, HopRootPort, HopMemory, HopInterSocket}
	hops := make([]Hop, 0, len(b.hops))
	for h := range maps.Values(b.hops) {
		hops = append(hops, *h)
	}
	slices.SortFunc(hops, func(x, y Hop) int {
		return cmp.Or(
			slices.Index(kinds, x.Kind)-slices.Index(kinds, y.Kind),
			CompareNatural(strings.TrimPrefix(x.ID, string(x.Kind)+":"), strings.TrimPrefix(y.ID, string(y.Kind)+":")))
	})
	return hops
}
