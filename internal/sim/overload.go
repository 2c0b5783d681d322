package sim

import (
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

// overload is the kind that puts traffic of other devices onto a shared bus,
// so much that (1 - severity) of the fastest line rate is left. Unlike a
// fault of the bus, it shows in the bus's utilisation.
func overload(name string, kind topology.HopKind, target, carrier string) faultKind {
	return faultKind{
		name:    name,
		hop:     kind,
		changes: "puts other traffic onto " + carrier + ", which leaves (1 - SEVERITY) x the fastest line rate across it",
		target:  target,
		list:    crossedHops(kind),
		apply: func(p *physics, target string, severity float64) {
			hop := topology.HopID(kind, target)
			left := remaining(severity) * p.fastestGbps(hop)
			p.competingGbps[hop] = max(p.competingGbps[hop], p.nominalGbps[hop]-left)
			p.limit(hop, left)
		},
	}
}

// Buses is what the monitor reads of the shared buses, in the topology's
// order: the traffic on each as a share of what it carries when it is healthy.
func (h *Host) Buses() []monitor.BusUtilization {
	now := h.now()
	list := []monitor.BusUtilization{}
	for _, hop := range h.topo.Hops {
		if hop.Kind != topology.HopMemory && hop.Kind != topology.HopInterSocket {
			continue
		}
		bus := monitor.BusUtilization{Kind: hop.Kind, Component: hopPart(hop)}
		if nominal := now.nominalGbps[hop.ID]; nominal > 0 {
			share := min(1, (now.competingGbps[hop.ID]+now.load.hopGbps[hop.ID])/nominal)
			bus.Utilization = &share
		}
		list = append(list, bus)
	}
	return list
}

// Congestion is what the monitor reads of the RNICs' pauses: service traffic
// that wants to arrive and does not get through is paused for as long.
func (h *Host) Congestion() []monitor.Congestion {
	now := h.now()
	list := []monitor.Congestion{}
	for _, r := range now.rnics {
		paused, drops := 0.0, 0.0 // pauses reach the sender before anything is dropped
		if of := now.load.rnics[r.ID]; of.demandGbps > 0 {
			paused = max(0, 1-of.gbps/of.demandGbps)
		}
		list = append(list, monitor.Congestion{RNIC: r.ID, PauseRatio: &paused, Drops: &drops})
	}
	return list
}
