package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// Fault is one thing that is wrong with the simulated host.
type Fault struct {
	Kind     string
	Target   string  // an id without its kind: "rnic0", "low0", "0-1", or "all"
	Severity float64 // 0 (nothing is wrong) to 1; see the kind's Changes
}

// String is the form that ParseFault takes.
func (f Fault) String() string { return fmt.Sprintf("%s:%s=%g", f.Kind, f.Target, f.Severity) }

// DefaultSeverity is that of a fault given without one.
const DefaultSeverity = 0.4

// allTargets is the target of kinds that can hit every target at once.
const allTargets = "all"

// worstShare of its healthy rate is what the worst fault leaves to a link
// that is still up: a PCIe 4.0 x16 link that fell back to 2.5 GT/s x1 carries
// 2 of 252 Gb/s. A link that carries nothing would be down, and with it the
// device gone, which is another fault.
const worstShare = 0.01

// faultKind is one row of the table of faults.
type faultKind struct {
	name    string
	changes string // what it does to the host, for people
	target  string // what its target is, "RNIC"
	// list returns the possible targets on a healthy host, in natural order.
	list func(*physics) []string
	// apply makes the change. The target is one of list, the severity above 0.
	apply func(p *physics, target string, severity float64)
	// takesAll is true where "all" names every target.
	takesAll bool
	onOrOff  bool             // on or off: any severity above 0 is the same
	hop      topology.HopKind // of kinds that hit a hop
	// comes is true of a kind that is there only half of the time.
	comes bool
}

// faultKinds is the table. A new kind is a new row.
func faultKinds() []faultKind {
	return []faultKind{
		hopFault(topology.HopRNICPCIe, "RNIC", "the RNIC's PCIe link"),
		hopFault(topology.HopGPUPCIe, "GPU", "the GPU's PCIe link"),
		hopFault(topology.HopSwitch, "switch", "the link above the switch"),
		hopFault(topology.HopRootPort, "root port", "the link below the root port"),
		hopFault(topology.HopMemory, "memory node", "the node's memory"),
		hopFault(topology.HopInterSocket, "pair of sockets", "the bus between the sockets"),
		{
			name:     "acs",
			changes:  "sends peer traffic that turns at the switch through the root complex",
			target:   "switch",
			takesAll: true,
			onOrOff:  true,
			list: func(p *physics) []string {
				return distinct(p.routes, func(r route) string { return r.turnsAt })
			},
			apply: func(p *physics, target string, _ float64) { p.acs[target] = true },
		},
		{
			name:     "ats",
			changes:  "sends the RNIC's traffic with GPUs under its root port through the root complex",
			target:   "RNIC",
			takesAll: true,
			onOrOff:  true,
			list: func(p *physics) []string {
				return distinct(p.routes, func(r route) string {
					if r.turnsAt == "" {
						return ""
					}
					return r.path.RNIC
				})
			},
			apply: func(p *physics, target string, _ float64) {
				p.set(target, func(n *nic) { n.atsOff = true })
			},
		},
		{
			name:    "slow_start",
			changes: "lowers the RNIC's own sending rate to (1 - SEVERITY) x line rate, as slow start does",
			target:  "RNIC",
			list:    probedRNICs,
			apply: func(p *physics, target string, severity float64) {
				p.set(target, func(n *nic) { n.slowStart = true; n.slowTo(severity) })
			},
		},
		{
			name:    "tx_window",
			changes: "lowers the RNIC's own sending rate to (1 - SEVERITY) x line rate, as a small Tx window does",
			target:  "RNIC",
			list:    probedRNICs,
			apply: func(p *physics, target string, severity float64) {
				p.set(target, func(n *nic) { n.smallTxWindow = true; n.slowTo(severity) })
			},
		},
		overload("memory_overload", topology.HopMemory, "memory node", "the node's memory"),
		overload("inter_socket_overload", topology.HopInterSocket, "pair of sockets", "the bus between the sockets"),
		flapping(),
	}
}

// hopFaults are the kinds that hit one hop, which are those that can flap.
func hopFaults() []faultKind {
	return slices.DeleteFunc(faultKinds(), func(k faultKind) bool { return k.name != string(k.hop) })
}

// hopFault is the kind that leaves a hop (1 - severity) of the fastest line
// rate that reaches across it.
func hopFault(kind topology.HopKind, target, carrier string) faultKind {
	return faultKind{
		name:    string(kind),
		hop:     kind,
		changes: "lowers what " + carrier + " carries to (1 - SEVERITY) x the fastest line rate across it",
		target:  target,
		list:    crossedHops(kind),
		apply: func(p *physics, target string, severity float64) {
			hop := topology.HopID(kind, target)
			p.limit(hop, remaining(severity)*p.fastestGbps(hop))
		},
	}
}

// crossedHops lists the hops of a kind that any traffic crosses, without their kind.
func crossedHops(kind topology.HopKind) func(*physics) []string {
	return func(p *physics) []string {
		crossed := map[string]bool{}
		for _, r := range p.routes {
			for _, id := range r.path.Hops {
				if h := p.hops[id]; h.Kind == kind {
					crossed[hopPart(h)] = true
				}
			}
		}
		return slices.SortedFunc(maps.Keys(crossed), topology.CompareNatural)
	}
}

// remaining is the share that a fault of this severity leaves.
func remaining(severity float64) float64 { return max(1-severity, worstShare) }

// limit lowers what a hop carries.
func (p *physics) limit(hop string, gbps float64) {
	if had, ok := p.capacityGbps[hop]; !ok || gbps < had {
		p.capacityGbps[hop] = gbps
	}
}

// set changes an RNIC's settings.
func (p *physics) set(rnic string, change func(*nic)) {
	n := p.nics[rnic]
	change(&n)
	p.nics[rnic] = n
}

// slowTo lowers the RNIC's own sending rate.
func (n *nic) slowTo(severity float64) { n.sendGbps = min(n.sendGbps, remaining(severity)*n.lineGbps) }

func probedRNICs(p *physics) []string {
	return distinct(p.routes, func(r route) string { return r.path.RNIC })
}

// distinct lists the keys of all routes once each, without "", in natural order.
func distinct(routes []route, key func(route) string) []string {
	seen := map[string]bool{}
	for _, r := range routes {
		if k := key(r); k != "" {
			seen[k] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), topology.CompareNatural)
}
