package baseline

import (
	"fmt"

	"github.com/yuuki/hostping/internal/topology"
)

const (
	// HealthyShare of the line rate is what a close path gives: 195 of 200 Gb/s
	// in Fig. 4 of the paper.
	HealthyShare = 0.975

	// PCIeEfficiency is the share of a PCIe link's capacity (after line coding)
	// that is payload when it is loaded in both directions, as a loopback does:
	// TLPs of 256 bytes, the usual Max_Payload_Size of servers, each with 24
	// bytes of framing, header and LCRC, and one 8-byte ACK and one 8-byte flow
	// control DLLP for the opposite direction (PCIe Base Specification, chapters
	// 2 and 3). Real links bundle their DLLPs and do a little better, so this
	// bound never accuses a healthy slot.
	PCIeEfficiency = 256.0 / (256 + 24 + 8 + 8)

	// referenceRateGbps is the line rate of the RNICs behind Fig. 4.
	referenceRateGbps = 200
)

// class is what Fig. 4 says of a distance class at 200 Gb/s.
type class struct {
	// windowGbps is what the window of outstanding reads carries at this
	// latency; 0 where it exceeds the line rate, so that the line rate decides.
	windowGbps float64
	// aboveCloseUs is the PCIe latency above that of a close path.
	aboveCloseUs float64
}

// classOf looks a class up; ok is false for classes of which no figure is
// known. The far figures are those of Fig. 4 as published. They differ by
// less than 1 % from the law W / latency with the one W of 34.7 KB that fits
// both, which is how they may be scaled to other line rates. Memory has no
// figure in the paper beyond that both nodes reach line rate; 0.2 µs is what
// Fig. 4 shows for one crossing of the inter-socket bus.
func classOf(c topology.Class) (figures class, ok bool) {
	switch c {
	case topology.ClassPIX, topology.ClassPXB, topology.ClassMemLocal, topology.ClassMemSocket:
		return class{}, true
	case topology.ClassMemRemote:
		return class{aboveCloseUs: 0.2}, true
	case topology.ClassPHB, topology.ClassNode:
		return class{windowGbps: 125.5, aboveCloseUs: 1.2}, true
	case topology.ClassSys:
		return class{windowGbps: 116.4, aboveCloseUs: 1.4}, true
	}
	return class{}, false // c2c, virt
}

// Defaults gives every path of the topology the expectation of its class,
// scaled to the line rate of its RNIC and bounded by what its narrowest hop
// can carry. Paths of software RNICs, of RNICs of unknown rate and of classes
// without a figure get SourceNone.
func Defaults(t topology.Topology) Set {
	rnics := make(map[string]topology.RNIC, len(t.RNICs))
	for _, r := range t.RNICs {
		rnics[r.ID] = r
	}
	payload := make(map[string]float64, len(t.Hops))
	for _, h := range t.Hops {
		if gbps, ok := PayloadGbps(h); ok {
			payload[h.ID] = gbps
		}
	}
	set := make(Set, len(t.Paths))
	for _, p := range t.Paths {
		set[p.Key()] = defaultOf(p, rnics[p.RNIC], payload)
	}
	return set
}

func defaultOf(p topology.Path, r topology.RNIC, payloadGbps map[string]float64) Expectation {
	figures, known := classOf(p.Class)
	switch {
	case r.Role == topology.RoleSoftware:
		return unknown("a software RNIC's line rate is made up")
	case r.RateGbps == nil || *r.RateGbps <= 0:
		return unknown("the line rate of " + p.RNIC + " is unknown")
	case !known:
		return unknown(fmt.Sprintf("no figure is known for class %s", p.Class))
	}
	rate := *r.RateGbps
	expected := HealthyShare * rate
	rule := fmt.Sprintf("%g x the line rate of %g Gb/s", HealthyShare, rate)
	if figures.windowGbps > 0 {
		if byWindow := figures.windowGbps * max(1, rate/referenceRateGbps); byWindow < expected {
			expected = byWindow
			rule = fmt.Sprintf("Fig. 4, class %s: %g Gb/s at 200 Gb/s", p.Class, figures.windowGbps)
		}
	}
	for _, hop := range p.Hops {
		if gbps, ok := payloadGbps[hop]; ok && gbps < expected {
			expected = gbps
			rule = fmt.Sprintf("the capacity of %s, payload only", hop)
		}
	}
	return Expectation{
		BandwidthGbps:       &expected,
		LatencyAboveCloseUs: &figures.aboveCloseUs,
		Source:              SourceDefault,
		Rule:                rule,
	}
}

func unknown(why string) Expectation { return Expectation{Source: SourceNone, Rule: why} }

// PayloadGbps is how much payload a hop carries per direction: the capacity
// of memory and of the inter-socket bus as it is, that of a PCIe link less
// its protocol's share. ok is false when the capacity is unknown.
func PayloadGbps(h topology.Hop) (gbps float64, ok bool) {
	if h.CapacityGbps == nil {
		return 0, false
	}
	switch h.Kind {
	case topology.HopMemory, topology.HopInterSocket:
		return *h.CapacityGbps, true
	}
	return *h.CapacityGbps * PCIeEfficiency, true
}
