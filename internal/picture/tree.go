// Package picture draws a host: its sockets, links and devices as a tree, as an
// SVG picture and as a graph for Graphviz, with the verdicts of a run on them
// where there was one.
//
// It draws what a topology says and touches no machine.
package picture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// Tree is a topology arranged as the host hangs together: sockets, links below
// them, devices at the ends.
type Tree struct {
	Sockets []*Socket      // in order; the unknown one last
	Buses   []topology.Hop // between sockets
}

// Socket is a physical package with what hangs on it.
type Socket struct {
	ID       *int // nil: devices whose socket is unknown
	Memory   []Memory
	Branches []*Branch
}

// Memory is a memory node with the link to it, nil where no path crosses one.
type Memory struct {
	Node topology.MemoryNode
	Hop  *topology.Hop
}

// Branch is a link and what is below it: a switch with branches of its own, or
// the functions of one device.
type Branch struct {
	Hop      *topology.Hop // nil: the device has no link that a path crosses
	Branches []*Branch
	RNICs    []topology.RNIC
	GPUs     []topology.GPU
}

// Switch is the name of the switch below the link, "" where a device is.
func (b *Branch) Switch() string {
	if b.Hop == nil || len(b.Branches) == 0 || len(b.Hop.Members) == 0 {
		return ""
	}
	return b.Hop.Members[0]
}

// Arrange makes the tree of a topology. Which links are above a device follows
// from the hops of its paths.
func Arrange(t topology.Topology) Tree {
	a := arranger{hops: map[string]*topology.Hop{}, sockets: map[int]*Socket{}, branches: map[string]*Branch{}}
	for i := range t.Hops {
		a.hops[t.Hops[i].ID] = &t.Hops[i]
		if t.Hops[i].Kind == topology.HopInterSocket {
			a.tree.Buses = append(a.tree.Buses, t.Hops[i])
		}
	}
	above := linksAbove(t)
	for _, m := range t.MemoryNodes {
		s := a.socket(m.Socket)
		s.Memory = append(s.Memory, Memory{m, a.hops[topology.HopID(topology.HopMemory, m.ID)]})
	}
	for _, r := range t.RNICs {
		b := a.device(above[r.ID], r.Socket, a.ownLink(t, topology.HopRNICPCIe, r.ID))
		b.RNICs = append(b.RNICs, r)
	}
	for _, g := range t.GPUs {
		b := a.device(above[g.ID], g.Socket, a.ownLink(t, topology.HopGPUPCIe, g.ID))
		b.GPUs = append(b.GPUs, g)
	}
	slices.SortStableFunc(a.tree.Sockets, func(x, y *Socket) int {
		switch {
		case x.ID == nil || y.ID == nil:
			return boolOrder(x.ID == nil) - boolOrder(y.ID == nil)
		default:
			return cmp.Compare(*x.ID, *y.ID)
		}
	})
	for _, s := range a.tree.Sockets {
		// As the slots are numbered, so that neighbours stand together.
		slices.SortStableFunc(s.Branches, func(x, y *Branch) int {
			return cmp.Or(boolOrder(x.Hop == nil)-boolOrder(y.Hop == nil), topology.CompareNatural(x.firstAddress(), y.firstAddress()))
		})
	}
	return a.tree
}

type arranger struct {
	tree     Tree
	hops     map[string]*topology.Hop
	sockets  map[int]*Socket
	unknown  *Socket
	branches map[string]*Branch // by hop
}

func (a *arranger) socket(id *int) *Socket {
	var s *Socket
	if id == nil {
		s = a.unknown
	} else {
		s = a.sockets[*id]
	}
	if s != nil {
		return s
	}
	s = &Socket{ID: id}
	a.tree.Sockets = append(a.tree.Sockets, s)
	if id == nil {
		a.unknown = s
	} else {
		a.sockets[*id] = s
	}
	return s
}

// device is the branch that a device's functions belong to, below the links
// above it, of which the nearest is the first.
func (a *arranger) device(above []string, socket *int, own *topology.Hop) *Branch {
	if own != nil && a.branches[own.ID] != nil {
		return a.branches[own.ID]
	}
	into := &a.socket(socket).Branches
	for _, hop := range slices.Backward(above) {
		b := a.branches[hop]
		if b == nil {
			b = &Branch{Hop: a.hops[hop]}
			a.branches[hop] = b
			*into = append(*into, b)
		}
		into = &b.Branches
	}
	b := &Branch{Hop: own}
	*into = append(*into, b)
	if own != nil {
		a.branches[own.ID] = b
	}
	return b
}

// ownLink is the link of a device itself; functions of one card share one.
func (a *arranger) ownLink(t topology.Topology, kind topology.HopKind, device string) *topology.Hop {
	if h := a.hops[topology.HopID(kind, device)]; h != nil {
		return h
	}
	for i, h := range t.Hops {
		if h.Kind == kind && slices.Contains(h.Members, device) {
			return &t.Hops[i]
		}
	}
	return nil
}

func (b *Branch) firstAddress() string {
	first := ""
	consider := func(address string) {
		if address != "" && (first == "" || topology.CompareNatural(address, first) < 0) {
			first = address
		}
	}
	for _, r := range b.RNICs {
		consider(r.PCI)
	}
	for _, g := range b.GPUs {
		consider(g.PCI)
	}
	for _, below := range b.Branches {
		consider(below.firstAddress())
	}
	return first
}

// linksAbove finds the links between each device's own and its root complex, the nearest
// first.
func linksAbove(t topology.Topology) map[string][]string {
	memory := map[string]bool{}
	for _, m := range t.MemoryNodes {
		memory[m.ID] = true
	}
	above := map[string][]string{}
	for _, p := range t.Paths {
		if _, known := above[p.RNIC]; !known && memory[p.Endpoint] {
			above[p.RNIC] = bridgeLinks(p)
		}
	}
	for _, p := range t.Paths {
		climb, known := above[p.RNIC]
		if _, done := above[p.Endpoint]; done || !known || memory[p.Endpoint] {
			continue
		}
		// The path climbs some of the RNIC's links, then descends to the GPU:
		// what it did not climb lies above both.
		crossed := bridgeLinks(p)
		n := 0
		for n < len(climb) && n < len(crossed) && climb[n] == crossed[n] {
			n++
		}
		below := slices.Clone(crossed[n:])
		slices.Reverse(below)
		above[p.Endpoint] = append(below, climb[n:]...)
	}
	return above
}

func bridgeLinks(p topology.Path) []string {
	var links []string
	for _, hop := range p.Hops {
		switch kind, _, _ := strings.Cut(hop, ":"); topology.HopKind(kind) {
		case topology.HopSwitch, topology.HopRootPort:
			links = append(links, hop)
		}
	}
	return links
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}
