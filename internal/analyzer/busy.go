package analyzer

import (
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

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

// reportContention blames the own link of an RNIC that pauses or drops while
// no hop that it uses is abnormal. It takes an RNIC of which nothing is
// proven: a normal path at line rate would clear the link.
func (r *run) reportContention() {
	if !r.in.Busy {
		return
	}
	for x := range r.rnics {
		rnic := &r.rnics[x]
		if rnic.congested == "" || len(rnic.paths) == 0 {
			continue
		}
		link := r.paths[rnic.paths[0]].hops[0]
		if r.hops[link].witness >= 0 || slices.ContainsFunc(rnic.paths, func(i int) bool {
			return slices.ContainsFunc(r.paths[i].hops, func(h int) bool { return len(r.hops[h].reporters) > 0 })
		}) {
			continue
		}
		r.blameOwnLink(rnic, link)
	}
}

// blameOwnLink tells contention from failure by how much the RNIC carried in
// all: its service and the best of its probes together. A service that gives
// way to the probe makes that more than the link carries, never less.
func (r *run) blameOwnLink(x *rnic, link int) {
	code, other := diagnosis.RNICPCIeContention, diagnosis.RNICPCIeFailure
	if x.idle {
		code, other = other, code
	}
	lines := []string{x.ID + ": " + x.congested}
	if carried, expected, ok := r.carriedInAll(x); ok {
		lines = append(lines, fmt.Sprintf("service and probe together carry %s Gb/s of an expected %s", figure(carried), figure(expected)))
		if !r.in.Plain.Capacity && r.low(carried, expected) {
			code, other = diagnosis.RNICPCIeFailure, diagnosis.RNICPCIeContention
		}
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
		Summary:      fmt.Sprintf("%s could not take what was sent to it: %s, and no hop beyond %s is slow", x.ID, x.congested, hop.Hop),
		Evidence:     lines,
		Alternatives: alternatives(rivals),
		Runbook:      diagnosis.Runbook(code),
	})
}

// carriedInAll is what the RNIC's service and its fastest probe carried
// together, against what that path should carry.
func (r *run) carriedInAll(x *rnic) (gbps, expectedGbps float64, ok bool) {
	if x.RateGbps == nil {
		return 0, 0, false
	}
	for _, u := range r.in.Idle.RNICs {
		if u.ID != x.ID || u.Utilization == nil {
			continue
		}
		for _, i := range x.paths {
			if p := &r.paths[i]; p.measured() && p.Path.Close && p.expected.BandwidthGbps != nil && p.gbps > gbps {
				gbps, expectedGbps, ok = p.gbps, *p.expected.BandwidthGbps, true
			}
		}
		return gbps + *u.Utilization**x.RateGbps, expectedGbps, ok
	}
	return 0, 0, false
}
