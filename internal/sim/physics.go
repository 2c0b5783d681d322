package sim

import (
	"maps"
	"slices"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/topology"
)

const (
	// PCIe latencies as Fig. 4 of the paper shows them: to local memory and
	// close GPUs, what it costs peer traffic to turn in the root complex, and
	// what one crossing of the inter-socket bus costs.
	closeLatencyUs       = 1.0
	rootComplexLatencyUs = 1.2
	interSocketLatencyUs = 0.2

	// loopbackLatencyUs is what a 1-byte loopback write takes beside the PCIe
	// read of its payload: doorbell, work request, the way through the RNIC,
	// completion. Ours: such a write completes in about 2 µs on a close path.
	loopbackLatencyUs = 1.0

	// windowKbit is what an RNIC of up to 200 Gb/s has outstanding in reads:
	// the W of about 34.7 KB that fits both far rows of Fig. 4. Faster RNICs
	// have proportionally more. (1 Gb/s times 1 µs is 1 kbit.)
	windowKbit          = 34.7 * 8
	windowReferenceGbps = 200

	// starvedShare of a capacity is left to a probe however much service
	// traffic there is: arbiters take turns and starve no queue.
	starvedShare = 0.1
)

// physics is a host in numbers, without its service traffic. Faults change it.
type physics struct {
	layout
	// capacityGbps is the payload that a hop carries per direction, by hop id;
	// an absent hop does not limit.
	capacityGbps map[string]float64
	// nominalGbps is what a hop carries when it is healthy; it never changes.
	nominalGbps map[string]float64
	// competingGbps is the traffic of other devices on a hop. What it takes is
	// not part of capacityGbps any more.
	competingGbps map[string]float64
	nics          map[string]nic
	acs           map[string]bool // switches that send peer traffic upwards
}

// nic is an RNIC with its settings.
type nic struct {
	lineGbps      float64
	sendGbps      float64 // what it sends at most
	windowKbit    float64
	atsOff        bool
	slowStart     bool
	smallTxWindow bool
}

// newPhysics is the healthy host.
func newPhysics(t topology.Topology) (*physics, error) {
	l, err := newLayout(t)
	if err != nil {
		return nil, err
	}
	p := &physics{
		layout: l, nominalGbps: map[string]float64{}, competingGbps: map[string]float64{},
		nics: map[string]nic{}, acs: map[string]bool{},
	}
	fastest := 0.0
	for _, r := range l.rnics {
		fastest = max(fastest, *r.RateGbps)
	}
	for _, h := range t.Hops {
		if gbps, ok := healthyGbps(h, fastest); ok {
			p.nominalGbps[h.ID] = gbps
		}
	}
	p.capacityGbps = maps.Clone(p.nominalGbps)
	for _, r := range l.rnics {
		line := *r.RateGbps
		p.nics[r.ID] = nic{
			lineGbps:   line,
			sendGbps:   baseline.HealthyShare * line,
			windowKbit: windowKbit * max(1, line/windowReferenceGbps),
		}
	}
	for i := range p.routes {
		r := &p.routes[i]
		line := p.nics[r.path.RNIC].lineGbps
		r.near = p.figure(r, load{}).bandwidthGbps >= baseline.CloseShare*line
		r.reachGbps = line
		for _, hop := range r.path.Hops {
			if capacity, ok := p.capacityGbps[hop]; ok {
				r.reachGbps = min(r.reachGbps, capacity)
			}
		}
	}
	return p, nil
}

// healthyGbps is what a hop carries on a host whose fastest RNIC is this
// fast. Memory and an inter-socket bus of unknown capacity are those of the
// Fig. 2 host, wider where RNICs are faster, since hosts are built to their
// RNICs; any other unknown link is taken not to limit.
func healthyGbps(h topology.Hop, fastestGbps float64) (gbps float64, ok bool) {
	if gbps, ok = baseline.PayloadGbps(h); ok {
		return gbps, true
	}
	scale := max(1, fastestGbps/fig2RateGbps)
	switch h.Kind {
	case topology.HopMemory:
		return scale * memoryCapacityGbps, true
	case topology.HopInterSocket:
		return scale * interSocketCapacityGbps, true
	}
	return 0, false
}

// clone returns a copy whose changes leave p as it is.
func (p *physics) clone() *physics {
	c := *p
	c.capacityGbps = maps.Clone(p.capacityGbps)
	c.competingGbps = maps.Clone(p.competingGbps)
	c.nics = maps.Clone(p.nics)
	c.acs = maps.Clone(p.acs)
	return &c
}

// way is how a route's traffic goes under the present settings.
func (p *physics) way(r *route) (hops []string, latencyUs float64) {
	if len(r.detour) > 0 && (p.acs[r.turnsAt] || p.nics[r.path.RNIC].atsOff) {
		return slices.Concat(r.path.Hops, r.detour), r.latencyUs + rootComplexLatencyUs
	}
	return r.path.Hops, r.latencyUs
}

// figure is what one probe of an otherwise idle RNIC would read without
// noise, while the load takes its share.
type figure struct {
	bandwidthGbps float64
	latencyUs     float64 // of the 1-byte loopback write
}

// figure works the route's figure out: the least of what the RNIC sends,
// what its window of outstanding reads carries at this latency, and what the
// hops carry.
func (p *physics) figure(r *route, load load) figure {
	hops, latencyUs := p.way(r)
	nic, busy := p.nics[r.path.RNIC], load.rnics[r.path.RNIC]
	gbps := min(
		left(nic.sendGbps, busy.gbps),
		left(nic.windowKbit, busy.outstandingKbit)/latencyUs,
	)
	for _, hop := range hops {
		if capacity, ok := p.capacityGbps[hop]; ok {
			gbps = min(gbps, left(capacity, load.hopGbps[hop]))
		}
	}
	return figure{bandwidthGbps: gbps, latencyUs: loopbackLatencyUs + latencyUs}
}

// left is what a probe gets of a capacity beside what is used of it.
func left(capacity, used float64) float64 { return max(capacity-used, starvedShare*capacity) }

// fastestGbps is the fastest rate at which any RNIC reaches across the hop
// when the host is healthy.
func (p *physics) fastestGbps(hop string) float64 {
	fastest := 0.0
	for i := range p.routes {
		if r := &p.routes[i]; r.reachGbps > fastest && slices.Contains(r.path.Hops, hop) {
			fastest = r.reachGbps
		}
	}
	return fastest
}
