package analyzer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

// headroom is what the service of other RNICs leaves of the PCIe hops that
// this path shares with them, and the narrowest such hop. Where the service
// goes nobody can see; it is taken to be spread over its close endpoints.
func (r *run) headroom(p *path) (gbps float64, hop int) {
	gbps = math.Inf(1)
	if !r.in.Busy {
		return gbps, -1
	}
	for _, h := range p.hops {
		if used := r.hops[h].serviceGbps; used > 0 {
			if payload, ok := baseline.PayloadGbps(r.hops[h].facts); ok && payload-used < gbps {
				gbps, hop = max(0, payload-used), h
			}
		}
	}
	return gbps, hop
}

// judgeBesideService judges a path on which the service of another RNIC
// leaves less than the path's reference: abnormal is what does not even reach
// that much, and what reaches more than the service explains proves nothing.
func (r *run) judgeBesideService(p *path, headroomGbps float64, hop int) {
	expected := *p.ReferenceGbps
	p.ReferenceGbps, p.Rule = new(headroomGbps), RuleBesideService
	p.bandwidth = r.tallyBandwidth(p, headroomGbps)
	r.settle(p)
	if p.Verdict == Normal && r.low(p.gbps, expected) {
		p.Verdict = Uncertain
		p.Reason = "the service of another RNIC on " + r.hops[hop].Hop + " leaves no more to it"
	} else if p.Verdict == Normal && !p.Path.Close {
		p.Verdict = Uncertain
	}
}

// spreadService enters what the monitor saw of each RNIC's service into the
// PCIe links that it is taken to cross.
func (r *run) spreadService() {
	for _, u := range r.in.Idle.RNICs {
		for x := range r.rnics {
			rnic := &r.rnics[x]
			if rnic.ID != u.ID || !rnic.service || u.Utilization == nil || rnic.RateGbps == nil {
				continue
			}
			var near []int
			for _, i := range rnic.paths {
				if r.paths[i].Path.Close {
					near = append(near, i)
				}
			}
			each := *u.Utilization * *rnic.RateGbps / float64(max(1, len(near)))
			for _, i := range near {
				for _, h := range r.paths[i].hops {
					switch r.hops[h].Kind {
					case topology.HopMemory, topology.HopInterSocket: // the monitor reads these themselves
					default:
						r.hops[h].serviceGbps += each
					}
				}
			}
		}
	}
}

// judgedAlone reports whether an RNIC in service is alone to judge a hop of
// its path: the links below its root port, where peer traffic turns. What
// another RNIC reaches there does not clear them, since settings may send the
// two on different ways.
func (r *run) judgedAlone(h int, p *path) bool {
	if !r.rnics[p.rnic].service || !p.peer() {
		return false
	}
	switch r.hops[h].Kind {
	case topology.HopRNICPCIe, topology.HopGPUPCIe, topology.HopSwitch:
		return true
	}
	return false
}

// sharedWithFaster reports whether a faster close path of the same RNIC in
// service crosses the hop, which therefore cannot explain the slow one.
func (r *run) sharedWithFaster(h int, p *path) bool {
	if !r.rnics[p.rnic].service {
		return false
	}
	return slices.ContainsFunc(r.rnics[p.rnic].paths, func(i int) bool {
		other := &r.paths[i]
		return other.Path.Close && other.measured() && slices.Contains(other.hops, h) && r.low(p.gbps, other.gbps)
	})
}

// reports is how many RNICs reported the hops of a cover.
func (r *run) reports(cover []int) (n int) {
	for _, h := range cover {
		n += r.hops[h].AbnormalCount
	}
	return n
}

// overloaded is the code of a bus that is used above the threshold; "" for all other hops.
func (r *run) overloaded(h *hop) diagnosis.Code {
	if h.Utilization == nil || *h.Utilization <= r.in.Thresholds.Overload {
		return ""
	}
	return overloadCode(h.Kind)
}

func overloadCode(kind topology.HopKind) diagnosis.Code {
	switch kind {
	case topology.HopMemory:
		return diagnosis.MemoryChannelOverload
	case topology.HopInterSocket:
		return diagnosis.InterSocketOverload
	}
	return ""
}

// utilizationLine is the evidence of a bus's utilisation; "" where it is unknown.
func (r *run) utilizationLine(h *hop) string {
	if h.Utilization == nil {
		return ""
	}
	return fmt.Sprintf("%s is used at %s, overloaded is above %s", h.Hop, share(*h.Utilization), share(r.in.Thresholds.Overload))
}

// congestion says how an RNIC could not take what was sent to it.
func congestion(c monitor.Congestion) string {
	switch {
	case c.Drops != nil && *c.Drops > 0:
		return fmt.Sprintf("it dropped %.0f packets", *c.Drops)
	case c.PauseRatio != nil:
		return "it paused its sender for " + share(*c.PauseRatio) + " of the time"
	}
	return ""
}

// reportContention blames the own links of RNICs in service, whose paths say
// nothing about it: all share it. It takes pauses or drops while no hop that
// the RNIC uses is abnormal, or a setting that is known to be on. What
// service and probe carry together tells more: less than one probe should
// means that the RNIC is slow whatever else is, and makes contention a failure.
func (r *run) reportContention() {
	if !r.in.Busy {
		return
	}
	for i := range r.rnics {
		x := &r.rnics[i]
		if len(x.paths) == 0 {
			continue
		}
		link := r.paths[x.paths[0]].hops[0]
		blamed := func(d diagnosis.Diagnosis) bool { return d.Component == r.hops[link].Hop }
		if r.hops[link].witness >= 0 || slices.ContainsFunc(r.diagnoses, blamed) {
			continue
		}
		all := r.carriedInAll(x)
		short := all.best >= 0 && !r.in.Plain.Capacity && r.low(all.gbps, all.expectedGbps) && !r.reportedByOthers(x, all.best)
		if x.congested != "" && (short || !r.usesAbnormalHop(x)) || short && r.settingIsOn(x) {
			r.blameOwnLink(x, link, all, short)
		}
	}
}

// usesAbnormalHop reports whether a hop of the RNIC's paths is abnormal.
func (r *run) usesAbnormalHop(x *rnic) bool {
	return slices.ContainsFunc(x.paths, func(i int) bool {
		return slices.ContainsFunc(r.paths[i].hops, func(h int) bool { return len(r.hops[h].reporters) > 0 })
	})
}

// reportedByOthers reports whether another RNIC reported a hop of the path.
func (r *run) reportedByOthers(x *rnic, path int) bool {
	return slices.ContainsFunc(r.paths[path].hops, func(h int) bool {
		return slices.ContainsFunc(r.hops[h].reporters, func(by int) bool { return r.rnics[by].ID != x.ID })
	})
}

// blameOwnLink blames it for a setting, a failure or contention.
func (r *run) blameOwnLink(x *rnic, link int, all carried, short bool) {
	code, other := diagnosis.RNICPCIeContention, diagnosis.RNICPCIeFailure
	why, lines := x.congested, []string{}
	if x.congested != "" {
		lines = append(lines, x.ID+": "+x.congested)
	}
	if all.best >= 0 {
		together := fmt.Sprintf("service and probe together carry %s Gb/s of an expected %s", figure(all.gbps), figure(all.expectedGbps))
		lines = append(lines, together)
		why = cmp.Or(why, together)
	}
	switch {
	case r.settingIsOn(x):
		code = r.code(link, x.paths)
	case short || x.idle:
		code, other = other, code
	}
	hop := &r.hops[link]
	if hop.link.line != "" {
		lines = append(lines, hop.Hop+": "+hop.link.line)
	}
	rivals := []rival{{diagnosis.Alternative{
		Code: other, Components: []string{hop.Hop}, Reason: "under load a crowded link and a slow one look much alike",
	}, sameComponent}}
	r.diagnoses = append(r.diagnoses, diagnosis.Diagnosis{
		Code:         code,
		Severity:     diagnosis.Critical,
		Component:    hop.Hop,
		Components:   []string{hop.Hop},
		Confidence:   confidence(1, rivals),
		Summary:      fmt.Sprintf("%s in service: %s, and no hop beyond %s explains it", x.ID, why, hop.Hop),
		Evidence:     lines,
		Alternatives: alternatives(rivals),
		Runbook:      diagnosis.Runbook(code),
	})
}

// carried is what an RNIC's service and its fastest probe carried together. A
// service that gives way to the probe makes that more than it can carry, never less.
type carried struct {
	best         int // the path of that probe; -1 when not all is known
	gbps         float64
	expectedGbps float64 // of that path
}

func (r *run) carriedInAll(x *rnic) carried {
	all := carried{best: -1}
	for _, u := range r.in.Idle.RNICs {
		if u.ID != x.ID || u.Utilization == nil || x.RateGbps == nil {
			continue
		}
		for _, i := range x.paths {
			if p := &r.paths[i]; p.measured() && p.Path.Close && p.expected.BandwidthGbps != nil && p.gbps > all.gbps {
				all = carried{i, p.gbps, *p.expected.BandwidthGbps}
			}
		}
		all.gbps += *u.Utilization * *x.RateGbps
	}
	return all
}
