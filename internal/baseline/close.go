package baseline

import "github.com/yuuki/hostping/internal/topology"

// CloseShare of the line rate makes an endpoint close: a path that is
// expected to carry this much proves its hops healthy by carrying it.
const CloseShare = 0.9

// MarkClose sets Close on every path of the topology, from what the set
// expects of it.
//
// An RNIC in a slot that is slower than its line rate (200 Gb/s in PCIe 3.0
// x16) would have no close endpoint at all: nothing there could ever be
// proven healthy. For near classes, which Fig. 4 shows to have no limit of
// their own, the slot's payload therefore stands in for the line rate.
//
// Where the set expects nothing there is no figure to compare with the line
// rate, and the distance class decides: GPUs that are reached without the
// root complex and memory of the RNIC's own socket are close, for no host is
// known on which the way there is the limit. On a software RNIC all memory is
// close: its payload is copied by the CPU, which is slower than any memory.
func MarkClose(t *topology.Topology, set Set) {
	rnics := make(map[string]topology.RNIC, len(t.RNICs))
	for _, r := range t.RNICs {
		rnics[r.ID] = r
	}
	hops := make(map[string]topology.Hop, len(t.Hops))
	for _, h := range t.Hops {
		hops[h.ID] = h
	}
	for i := range t.Paths {
		p := &t.Paths[i]
		var own topology.Hop
		if len(p.Hops) > 0 {
			own = hops[p.Hops[0]]
		}
		p.Close = isClose(*p, rnics[p.RNIC], own, set[p.Key()])
	}
}

// isClose judges one path of RNIC r, whose own link is the hop own.
func isClose(p topology.Path, r topology.RNIC, own topology.Hop, e Expectation) bool {
	if e.BandwidthGbps != nil && r.RateGbps != nil {
		reachable := *r.RateGbps
		if figures, known := classOf(p.Class); known && figures.windowGbps == 0 {
			if slot, ok := PayloadGbps(own); ok && own.Kind == topology.HopRNICPCIe {
				reachable = min(reachable, slot)
			}
		}
		return *e.BandwidthGbps >= CloseShare*reachable
	}
	switch p.Class {
	case topology.ClassPIX, topology.ClassPXB, topology.ClassMemLocal, topology.ClassMemSocket:
		return true
	case topology.ClassMemRemote:
		return r.Role == topology.RoleSoftware
	}
	return false
}
