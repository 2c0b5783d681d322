package sim

import (
	"fmt"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// layout is what a topology means for traffic: the ways that it takes. Only
// paths of usable RNICs to usable endpoints are part of it.
type layout struct {
	hops   map[string]topology.Hop
	rnics  []topology.RNIC
	routes []route // in the topology's order
}

// route is the way of a path's traffic on a host whose settings are right.
type route struct {
	path      topology.Path
	latencyUs float64 // PCIe latency
	// turnsAt is the lowest switch above both RNIC and GPU; "" where traffic
	// turns in the root complex or ends in memory.
	turnsAt string
	// detour is the hops between RNIC and root port that the path lacks: what
	// peer traffic crosses as well once it has to turn in the root complex.
	detour []string

	// Of the healthy host: whether the RNIC reaches line rate here, and the
	// line rate or what the narrowest hop lets through of it.
	near      bool
	reachGbps float64
}

// newLayout lays out the topology. The error names the fact that a
// simulation needs and the topology does not know.
func newLayout(t topology.Topology) (layout, error) {
	l := layout{hops: make(map[string]topology.Hop, len(t.Hops))}
	for _, h := range t.Hops {
		l.hops[h.ID] = h
	}
	endpoints := map[string]bool{}
	memory := map[string]bool{}
	for _, m := range t.MemoryNodes {
		endpoints[m.ID], memory[m.ID] = true, true
	}
	for _, g := range t.GPUs {
		endpoints[g.ID] = g.Usable
	}
	usable := map[string]bool{}
	for i, r := range t.RNICs {
		if !r.Usable {
			continue
		}
		if r.RateGbps == nil || !(*r.RateGbps > 0) {
			return layout{}, fmt.Errorf("rnics[%d].rate_gbps of %s is unknown, and a simulation needs it", i, r.ID)
		}
		usable[r.ID] = true
		l.rnics = append(l.rnics, r)
	}
	uplinks := map[string][]string{}
	for _, p := range t.Paths {
		if !usable[p.RNIC] || !endpoints[p.Endpoint] {
			continue
		}
		if memory[p.Endpoint] && uplinks[p.RNIC] == nil {
			uplinks[p.RNIC] = l.uplink(p)
		}
		l.routes = append(l.routes, route{path: p, latencyUs: l.pcieLatencyUs(p)})
	}
	for i := range l.routes {
		r := &l.routes[i]
		if r.path.Class == topology.ClassPIX || r.path.Class == topology.ClassPXB {
			l.turn(r, uplinks[r.path.RNIC])
		}
	}
	return l, nil
}

// uplink is the hops between an RNIC and its root port, from one of the
// RNIC's paths to memory.
func (l layout) uplink(toMemory topology.Path) []string {
	var hops []string
	for _, hop := range toMemory.Hops {
		switch l.hops[hop].Kind {
		case topology.HopMemory, topology.HopInterSocket:
			return hops
		}
		hops = append(hops, hop)
	}
	return hops
}

// turn finds where the traffic of a path below one root port turns: as many
// switches up as it shares hops with the RNIC's uplink.
func (l layout) turn(r *route, uplink []string) {
	shared := 0
	for shared < len(uplink) && shared < len(r.path.Hops) && uplink[shared] == r.path.Hops[shared] {
		shared++
	}
	r.detour = uplink[shared:]
	if len(r.detour) > 0 {
		r.turnsAt = switchBelow(l.hops[r.detour[0]])
	}
}

// switchBelow is the switch whose upward link the hop is.
func switchBelow(h topology.Hop) string {
	if len(h.Members) > 0 {
		return h.Members[0]
	}
	return hopPart(h)
}

// hopPart is a hop's id without its kind.
func hopPart(h topology.Hop) string { return strings.TrimPrefix(h.ID, string(h.Kind)+":") }

func (l layout) pcieLatencyUs(p topology.Path) float64 {
	latency := closeLatencyUs
	switch p.Class {
	case topology.ClassPHB, topology.ClassNode, topology.ClassSys:
		latency += rootComplexLatencyUs
	}
	for _, hop := range p.Hops {
		if l.hops[hop].Kind == topology.HopInterSocket {
			latency += interSocketLatencyUs
		}
	}
	return latency
}
