package analyzer

import (
	"math"
	"slices"

	"github.com/yuuki/hostping/internal/stat"
	"github.com/yuuki/hostping/internal/topology"
)

// minLike is how many like paths make a reference: with two, the sick one is
// half of the median.
const minLike = 3

// likeRNIC is equal for RNICs that should perform alike. The rate of a
// software RNIC is made up, so its driver alone decides.
type likeRNIC struct {
	driver   string
	software bool
	rateGbps float64
}

// likePath is equal for paths that should perform alike.
type likePath struct {
	class               topology.Class
	rnic                likeRNIC
	gpuVendor, gpuModel string
	expected            bool // there is a baseline to measure it by
}

// alike returns the RNIC's group; ok is false when its rate is unknown.
func (x *rnic) alike() (like likeRNIC, ok bool) {
	like = likeRNIC{driver: x.Driver, software: x.Role == topology.RoleSoftware}
	if like.software {
		return like, true
	}
	if x.RateGbps == nil {
		return like, false
	}
	like.rateGbps = *x.RateGbps
	return like, true
}

// setSiblingReferences gives every path the median of its like paths (idle
// runs) and the fastest close path of its RNIC (RNICs in service).
func (r *run) setSiblingReferences(alike map[likePath][]*path) {
	if r.in.Busy {
		r.setOwnCloseReferences()
		return
	}
	for _, group := range alike {
		if len(group) < minLike {
			continue
		}
		share := shareOf(group)
		for _, p := range group {
			p.likeGbps = share * p.scaleGbps()
		}
	}
}

// likePaths groups the measured paths that should perform alike.
func (r *run) likePaths() map[likePath][]*path {
	gpus := make(map[string]*topology.GPU, len(r.in.Topology.GPUs))
	for i := range r.in.Topology.GPUs {
		gpus[r.in.Topology.GPUs[i].ID] = &r.in.Topology.GPUs[i]
	}
	groups := map[likePath][]*path{}
	for i := range r.paths {
		p := &r.paths[i]
		like, ok := r.rnics[p.rnic].alike()
		if !ok || !p.measured() {
			continue
		}
		key := likePath{class: p.Path.Class, rnic: like, expected: p.expected.BandwidthGbps != nil}
		if g := gpus[p.Path.Endpoint]; g != nil {
			key.gpuVendor, key.gpuModel = g.Vendor, g.Model
		}
		groups[key] = append(groups[key], p)
	}
	return groups
}

// scaleGbps is what makes like paths comparable: each is measured by what is
// expected of it, since one may sit in a narrower slot than the others. Where
// nothing is expected, bandwidths are compared as they are.
func (p *path) scaleGbps() float64 {
	if p.expected.BandwidthGbps == nil {
		return 1
	}
	return *p.expected.BandwidthGbps
}

func (r *run) setOwnCloseReferences() {
	for i := range r.rnics {
		fastest, count := math.NaN(), 0
		for _, j := range r.rnics[i].paths {
			if p := &r.paths[j]; p.Path.Close && p.measured() {
				count++
				if !(p.gbps <= fastest) { // the first one compares with NaN
					fastest = p.gbps
				}
			}
		}
		if count < 2 {
			continue
		}
		for _, j := range r.rnics[i].paths {
			r.paths[j].closeGbps = fastest
		}
	}
}

// closeLatencies holds what a close path's latency is, by groups of like RNICs, in microseconds.
type closeLatencies struct {
	byKind map[latencyGroup]float64 // to memory and to GPUs apart
	all    map[likeRNIC]float64
}

// latencies are the samples behind closeLatencies.
type latencies map[latencyGroup][]float64

type latencyGroup struct {
	rnic   likeRNIC
	memory bool
}

// closeLatencies takes the medians of the close paths, each without its own
// class's share. Only healthy paths make a reference, as long as an RNIC's
// group has any: a misconfiguration may hold half of the close paths. Memory
// and GPUs answer at different speeds, so each kind is its own reference
// where three of its paths are healthy.
func (r *run) closeLatencies() closeLatencies {
	healthy, sick := latencies{}, latencies{}
	for i := range r.paths {
		p := &r.paths[i]
		like, ok := r.rnics[p.rnic].alike()
		if !ok || !p.Path.Close || !p.measured() || p.expected.LatencyAboveCloseUs == nil {
			continue
		}
		us, group := p.latencyUs-*p.expected.LatencyAboveCloseUs, latencyGroup{like, p.memory}
		if p.Verdict == Normal {
			healthy[group] = append(healthy[group], us)
		} else {
			sick[group] = append(sick[group], us)
		}
	}
	c := closeLatencies{byKind: map[latencyGroup]float64{}, all: map[likeRNIC]float64{}}
	for group, us := range sick {
		c.byKind[group] = stat.Median(us)
	}
	for group := range healthy {
		both := slices.Concat(healthy[latencyGroup{group.rnic, true}], healthy[latencyGroup{group.rnic, false}])
		c.all[group.rnic] = stat.Median(both)
		for _, memory := range []bool{true, false} {
			kind := latencyGroup{group.rnic, memory}
			delete(c.byKind, kind)
			if us := healthy[kind]; len(us) >= minLike {
				c.byKind[kind] = stat.Median(us)
			}
		}
	}
	return c
}

// of returns the close latency for a path; NaN when there is no reference.
func (c closeLatencies) of(r *run, p *path) float64 {
	like, ok := r.rnics[p.rnic].alike()
	if !ok {
		return math.NaN()
	}
	if us, ok := c.byKind[latencyGroup{like, p.memory}]; ok {
		return us
	}
	if us, ok := c.all[like]; ok {
		return us
	}
	return math.NaN()
}
