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
// close: its payload is copied by the CPU, which is slower than any memory,
// and its line rate is made up.
//
// A calibrated RNIC that stays below 0.9 x line rate even on near classes is
// the limit itself (200 Gb/s parts loop back 180 to 200): its best near
// figure then stands in for the line rate, for the slot's reason.
func MarkClose(t *topology.Topology, set Set) {
	rnics := make(map[string]topology.RNIC, len(t.RNICs))
	for _, r := range t.RNICs {
		rnics[r.ID] = r
	}
	hops := make(map[string]topology.Hop, len(t.Hops))
	for _, h := range t.Hops {
		hops[h.ID] = h
	}
	best := bestNearGbps(*t, set)
	for i := range t.Paths {
		p := &t.Paths[i]
		var own topology.Hop
		if len(p.Hops) > 0 {
			own = hops[p.Hops[0]]
		}
		p.Close = isClose(*p, rnics[p.RNIC], own, set[p.Key()], best[p.RNIC])
	}
}

// bestNearGbps is the most that each RNIC was calibrated to carry on the
// classes that reach no further than its own switch or socket.
func bestNearGbps(t topology.Topology, set Set) map[string]float64 {
	best := map[string]float64{}
	for _, p := range t.Paths {
		e := set[p.Key()]
		if near(p.Class) && e.Source == SourceCalibration && e.BandwidthGbps != nil {
			best[p.RNIC] = max(best[p.RNIC], *e.BandwidthGbps)
		}
	}
	return best
}

func near(c topology.Class) bool {
	switch c {
	case topology.ClassPIX, topology.ClassPXB, topology.ClassMemLocal, topology.ClassMemSocket:
		return true
	}
	return false
}

// isClose judges one path of RNIC r, whose own link is the hop own and whose
// best calibrated near figure is bestGbps, 0 without one.
func isClose(p topology.Path, r topology.RNIC, own topology.Hop, e Expectation, bestGbps float64) bool {
	if e.BandwidthGbps != nil && r.RateGbps != nil && r.Role != topology.RoleSoftware {
		reachable := *r.RateGbps
		if bestGbps > 0 && bestGbps < CloseShare*reachable {
			reachable = bestGbps
		}
		if figures, known := classOf(p.Class); known && figures.windowGbps == 0 {
			if slot, ok := PayloadGbps(own); ok && own.Kind == topology.HopRNICPCIe {
				reachable = min(reachable, slot)
			}
		}
		return *e.BandwidthGbps >= CloseShare*reachable
	}
	return near(p.Class) || p.Class == topology.ClassMemRemote && r.Role == topology.RoleSoftware
}
