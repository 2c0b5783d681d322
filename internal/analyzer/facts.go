package analyzer

import (
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/probe"
)

// findFacts adds the findings: what an operator should know although it blames nothing.
func (r *run) findFacts() {
	for x := range r.rnics {
		r.findUnmeasured(&r.rnics[x])
	}
	for x := range r.rnics {
		r.findPaths(&r.rnics[x], r.latencyAlone, diagnosis.LatencyAbnormal,
			"late although the bandwidth is not abnormal",
			"compare with an idle moment; look for power saving states, and for ACS or ATS on peer paths")
	}
	for x := range r.rnics {
		r.findPaths(&r.rnics[x], r.withoutReference, diagnosis.NoReference,
			"without anything to compare with",
			"calibrate on this host while it is known to be healthy")
	}
	for x := range r.rnics {
		r.findPaths(&r.rnics[x], r.toolLimited, diagnosis.ToolLimited,
			"limited by the probe itself, so that their verdict is uncertain",
			"free CPU time on the RNIC's node and run again")
	}
}

// findUnmeasured tells of an RNIC of which no path could be read for reasons of its own.
func (r *run) findUnmeasured(x *rnic) {
	var lines []string
	own := false
	for _, i := range x.paths {
		p := &r.paths[i]
		if p.measured() {
			return
		}
		own = own || p.failure != nil && !endsRun(p.failure.Reason)
		lines = append(lines, p.name()+": "+p.Reason)
	}
	if !own {
		return
	}
	r.findings = append(r.findings, diagnosis.Finding{
		Code:      diagnosis.RNICUnmeasured,
		Component: x.ID,
		Summary:   fmt.Sprintf("none of the %s of %s could be measured; nothing is known about its hops", count(len(x.paths), "path"), x.ID),
		Evidence:  capped(lines, maxEvidence),
		Hint:      "the reasons name what the device or the system refused",
	})
}

// endsRun reports whether a reason is the run's and not the device's.
func endsRun(reason probe.Reason) bool {
	return slices.Contains([]probe.Reason{probe.ReasonCancelled, probe.ReasonNotReached, probe.ReasonHostBusy}, reason)
}

// findPaths adds one finding for those paths of an RNIC for which the fact holds.
func (r *run) findPaths(x *rnic, fact func(*path) string, code diagnosis.Code, what, hint string) {
	var lines []string
	for _, i := range x.paths {
		if line := fact(&r.paths[i]); line != "" {
			lines = append(lines, r.paths[i].name()+": "+line)
		}
	}
	if len(lines) == 0 {
		return
	}
	noun := count(len(lines), "path") + " of " + x.ID + isAre(len(lines)) + " "
	r.findings = append(r.findings, diagnosis.Finding{
		Code: code, Component: x.ID, Summary: noun + what, Evidence: capped(lines, maxEvidence), Hint: hint,
	})
}

func (r *run) latencyAlone(p *path) string {
	if p.LatencyVerdict != Abnormal || p.abnormal() {
		return ""
	}
	return fmt.Sprintf("%s µs, expected are %s", figure(p.latencyUs), figure(*p.ReferenceUs))
}

func (r *run) withoutReference(p *path) string {
	if !p.measured() || p.ReferenceGbps != nil || r.in.Busy {
		return ""
	}
	return figure(p.gbps) + " Gb/s"
}

func (r *run) toolLimited(p *path) string {
	if p.Verdict != Uncertain || p.bandwidth.doubtful == 0 {
		return ""
	}
	return p.Reason
}
