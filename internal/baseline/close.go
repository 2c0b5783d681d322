package baseline

import "github.com/yuuki/hostping/internal/topology"

// CloseShare of the line rate makes an endpoint close: a path that is
// expected to carry this much proves its hops healthy by carrying it.
const CloseShare = 0.9

// MarkClose sets Close on every path of the topology, from what the set
// expects of it.
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
	for i := range t.Paths {
		p := &t.Paths[i]
		p.Close = isClose(*p, rnics[p.RNIC], set[p.Key()])
	}
}

func isClose(p topology.Path, r topology.RNIC, e Expectation) bool {
	if e.BandwidthGbps != nil && r.RateGbps != nil {
		return *e.BandwidthGbps >= CloseShare**r.RateGbps
	}
	switch p.Class {
	case topology.ClassPIX, topology.ClassPXB, topology.ClassMemLocal, topology.ClassMemSocket:
		return true
	case topology.ClassMemRemote:
		return r.Role == topology.RoleSoftware
	}
	return false
}
