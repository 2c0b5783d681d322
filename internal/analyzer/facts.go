package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/probe"
)

// fact is something about single paths that an operator should know although
// it blames nothing. An RNIC with such paths has one finding for all of them.
type fact struct {
	code  diagnosis.Code
	holds func(*path) bool
	line  func(*path) string
	what  string // ends a sentence that begins with "3 paths of rnic0 are"
	hint  string
}

func (r *run) facts() []fact {
	gbps := func(p *path) string { return p.name() + ": " + figure(p.gbps) + " Gb/s" }
	return []fact{{
		code:  diagnosis.LatencyAbnormal,
		holds: func(p *path) bool { return p.LatencyVerdict == Abnormal && !p.abnormal() },
		line: func(p *path) string {
			return p.name() + ": " + figure(p.latencyUs) + " µs, expected are " + figure(*p.ReferenceUs)
		},
		what: "late although the bandwidth is not abnormal",
		hint: "compare with an idle moment; look for power saving states, and for ACS or ATS on peer paths",
	}, {
		code:  diagnosis.NoReference,
		holds: func(p *path) bool { return p.measured() && p.ReferenceGbps == nil && !r.in.Busy },
		line:  gbps,
		what:  "without anything to compare with",
		hint:  "calibrate on this host while it is known to be healthy",
	}, {
		code:  diagnosis.ToolLimited,
		holds: func(p *path) bool { return p.Verdict == Uncertain && p.bandwidth.doubtful > 0 },
		line:  gbps,
		what:  "limited by the probe itself, so that the verdict is uncertain",
		hint:  "free CPU time on the RNIC's node and run again",
	}}
}

// findFacts adds the findings about RNICs and their paths.
func (r *run) findFacts() {
	for x := range r.rnics {
		r.findUnmeasured(&r.rnics[x])
		r.findStaleBaseline(&r.rnics[x])
	}
	for _, f := range r.facts() {
		for x := range r.rnics {
			r.find(f, &r.rnics[x])
		}
	}
}

func (r *run) find(f fact, x *rnic) {
	var paths []*path
	for _, i := range x.paths {
		if p := &r.paths[i]; f.holds(p) {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		return
	}
	r.findings = append(r.findings, diagnosis.Finding{
		Code:      f.code,
		Component: x.ID,
		Summary:   count(len(paths), "path") + " of " + x.ID + isAre(len(paths)) + " " + f.what,
		Evidence:  listed(paths, f.line),
		Hint:      f.hint,
	})
}

// findUnmeasured tells of an RNIC of which no path could be read for reasons of its own.
func (r *run) findUnmeasured(x *rnic) {
	paths := make([]*path, len(x.paths))
	own := false
	for i, j := range x.paths {
		p := &r.paths[j]
		if p.measured() {
			return
		}
		paths[i] = p
		own = own || p.failure != nil && !endsRun(p.failure.Reason)
	}
	if !own {
		return
	}
	r.findings = append(r.findings, diagnosis.Finding{
		Code:      diagnosis.RNICUnmeasured,
		Component: x.ID,
		Summary:   fmt.Sprintf("none of the %s of %s could be measured; nothing is known about its hops", count(len(paths), "path"), x.ID),
		Evidence:  listed(paths, func(p *path) string { return p.name() + ": " + p.Reason }),
		Hint:      "the reasons name what the device or the system refused",
	})
}

// staleShare is how much more than its baseline a path carries when the
// baseline cannot be of this hardware: noise and luck make a tenth.
const staleShare = 1.5

// findStaleBaseline tells of an RNIC all of whose paths are far above their
// baselines of one source: what is below such a baseline by a fifth is very sick.
func (r *run) findStaleBaseline(x *rnic) {
	for _, source := range []baseline.Source{baseline.SourceCalibration, baseline.SourceDefault} {
		var paths []*path
		for _, i := range x.paths {
			p := &r.paths[i]
			if !p.measured() || p.expected.Source != source || math.IsNaN(p.baselineGbps()) {
				continue
			}
			if p.gbps <= staleShare*p.baselineGbps() {
				paths = nil
				break
			}
			paths = append(paths, p)
		}
		if len(paths) == 0 {
			continue
		}
		r.findings = append(r.findings, diagnosis.Finding{
			Code:      diagnosis.BaselineStale,
			Component: x.ID,
			Summary: fmt.Sprintf("%s of %s with a %s baseline%s far above it: it is not of this hardware, and hides what is slow",
				count(len(paths), "path"), x.ID, source, isAre(len(paths))),
			Evidence: listed(paths, func(p *path) string {
				return p.name() + ": " + figure(p.gbps) + " Gb/s, expected are " + figure(p.baselineGbps())
			}),
			Hint: "calibrate anew on this host while it is known to be healthy",
		})
	}
}

// endsRun reports whether a reason is the run's and not the device's.
func endsRun(reason probe.Reason) bool {
	return slices.Contains([]probe.Reason{probe.ReasonCancelled, probe.ReasonNotReached, probe.ReasonHostBusy}, reason)
}
