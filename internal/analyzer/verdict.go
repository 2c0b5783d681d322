package analyzer

import (
	"fmt"
	"math"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// One suspect read is not believed: a path is read until agreeing reads say
// the same, at most maxReads times.
const (
	agreeing = 3
	maxReads = 5
)

// tally sorts a path's reads against a reference.
type tally struct {
	good, bad int
	doubtful  int // bad, but the tool may have been the limit
}

func (t tally) reads() int { return t.good + t.bad + t.doubtful }

// verdict is what the reads agree on: Normal, Abnormal, or Uncertain when
// they do not (yet). A path that never gave a bad read needs no second one.
func (t tally) verdict() Verdict {
	switch {
	case t.reads() == 0:
		return Uncertain
	case t.good == t.reads():
		return Normal
	case t.bad >= agreeing && 2*t.bad > t.reads():
		return Abnormal
	case t.good >= agreeing && 2*t.good > t.reads():
		return Normal
	}
	return Uncertain
}

// needsRead reports whether another read could settle a path with at least one.
func (p *path) needsRead() bool {
	if !p.measured() || p.Reads >= maxReads {
		return false
	}
	open := func(t tally, v Verdict) bool { return t.reads() > 0 && v == Uncertain }
	return p.watched || p.marginal && p.Reads < agreeing || open(p.bandwidth, p.agreed) || open(p.latency, p.latency.verdict())
}

// judgePaths gives every path its verdicts: bandwidth first, then the limits
// of the platform, then latency, whose reference is made of the healthy paths.
func (r *run) judgePaths() {
	alike := r.likePaths()
	r.spread = r.estimateSpread(alike)
	r.setSiblingReferences(alike)
	for i := range r.paths {
		r.judgeBandwidth(&r.paths[i])
	}
	r.forgivePlatform()
	r.judgeLatency()
}

// judgeBandwidth compares a path with the stricter of its references.
func (r *run) judgeBandwidth(p *path) {
	if !p.measured() {
		p.Verdict, p.LatencyVerdict = Unmeasured, Unmeasured
		p.Reason = "not reached: the run ended first"
		if p.failure != nil {
			p.Reason = p.failure.Error()
		}
		return
	}
	p.LatencyVerdict = Uncertain
	if r.rnics[p.rnic].service {
		r.judgeInService(p)
		return
	}
	baselineGbps := p.baselineGbps()
	reference, rule := baselineGbps, RuleBaseline
	if math.IsNaN(reference) || r.low(p.gbps, p.likeGbps) && !r.low(p.gbps, baselineGbps) {
		reference, rule = p.likeGbps, RuleLikePaths
	}
	if math.IsNaN(reference) {
		p.Verdict = Uncertain
		p.Reason = "nothing to compare it with: no baseline, and fewer than three like paths"
		return
	}
	p.ReferenceGbps, p.Rule = new(reference), rule
	if headroomGbps, hop := r.headroom(p); headroomGbps < reference {
		r.judgeBesideService(p, headroomGbps, hop)
		return
	}
	p.bandwidth = r.tallyBandwidth(p, baselineGbps, p.likeGbps)
	r.settle(p)
	if p.Verdict == Normal && !p.Path.Close {
		p.Verdict = Uncertain
		p.Reason = "meets its reference, but so far from the RNIC that proves nothing about the hops"
	}
}

// baselineGbps is what the path should carry by its baseline; NaN when unknown.
func (p *path) baselineGbps() float64 {
	if p.expected.BandwidthGbps == nil {
		return math.NaN()
	}
	return *p.expected.BandwidthGbps
}

// judgeInService compares a path under service traffic with the fastest close
// path of its own RNIC. Such a path is never normal: nobody knows how much the
// service takes.
func (r *run) judgeInService(p *path) {
	if math.IsNaN(p.closeGbps) {
		p.Verdict = Uncertain
		p.Reason = "nothing to compare it with: the RNIC carries service traffic and no second close path was read"
		return
	}
	p.ReferenceGbps, p.Rule = new(p.closeGbps), RuleOwnClosePaths
	p.bandwidth = r.tallyBandwidth(p, p.closeGbps)
	r.settle(p)
	if p.Verdict == Normal {
		p.Verdict = Uncertain
		p.Reason = "the RNIC carries service traffic, which hides how much the path could carry"
	}
}

// low reports whether a figure is abnormally below a reference. Nothing is
// below an unknown reference.
func (r *run) low(gbps, referenceGbps float64) bool { return gbps < (1-r.threshold)*referenceGbps }

func (r *run) tallyBandwidth(p *path, referencesGbps ...float64) (t tally) {
	p.lowestLowGbps, p.highestLowGbps, p.lowestGoodGbps = math.Inf(1), math.Inf(-1), math.Inf(1)
	for _, read := range p.reads {
		bad := false
		for _, reference := range referencesGbps {
			bad = bad || r.low(read.BandwidthGbps, reference)
		}
		if bad {
			p.lowestLowGbps = min(p.lowestLowGbps, read.BandwidthGbps)
			p.highestLowGbps = max(p.highestLowGbps, read.BandwidthGbps)
		} else {
			p.lowestGoodGbps = min(p.lowestGoodGbps, read.BandwidthGbps)
		}
		switch {
		case !bad:
			t.good++
		case read.ToolLimited:
			t.doubtful++
		default:
			t.bad++
		}
	}
	return t
}

// settle turns the tally of a path's bandwidth into its verdict.
func (r *run) settle(p *path) {
	t := p.bandwidth
	p.LowReads = t.bad + t.doubtful
	p.agreed = t.verdict()
	p.divided = r.divides(p)
	p.marginal = r.isMarginal(p)
	doubt := ""
	if p.agreed == Abnormal {
		doubt = r.doubt(p)
	}
	if doubt != "" {
		p.agreed = Uncertain
	}
	p.Verdict = p.agreed
	switch {
	case p.Verdict == Abnormal:
		p.Reason = p.margin()
	case doubt != "":
		p.Reason = doubt
	case p.Verdict == Uncertain && t.doubtful > t.bad:
		p.Reason = fmt.Sprintf("%d of %d reads are low, but more queue pairs raised them: the tool may be the limit", p.LowReads, p.Reads)
	case p.Verdict == Uncertain:
		p.Reason = fmt.Sprintf("%d of %d reads are low: no %d reads agree", p.LowReads, p.Reads, agreeing)
	}
	if p.Verdict == Uncertain && p.failure != nil {
		p.Reason += "; then " + p.failure.Error()
	}
}

// margin tells how far the path is below its reference.
func (p *path) margin() string {
	return figure(p.gbps) + " Gb/s, " + share(1 - p.gbps / *p.ReferenceGbps) + " below " +
		figure(*p.ReferenceGbps) + " (" + p.referenceName() + ")"
}

// referenceName says where the bandwidth reference comes from.
func (p *path) referenceName() string {
	if p.Rule == RuleBaseline && p.expected.Source == baseline.SourceDefault {
		return "default baseline"
	}
	return string(p.Rule)
}

// forgivePlatform takes back the blame of far GPU classes that are slow as a
// whole against a default baseline, while every close path is normal: that
// is how the platform is built. A path that is slow among its like stays abnormal.
func (r *run) forgivePlatform() {
	if r.in.Busy || !r.allCloseNormal() {
		return
	}
	classes, slow := r.slowClasses()
	for _, class := range classes {
		if !slow[class] {
			continue
		}
		var members []*path
		for i := range r.paths {
			if p := &r.paths[i]; p.Path.Class == class && p.abnormal() && !r.low(p.gbps, p.likeGbps) {
				members = append(members, p)
			}
		}
		for _, p := range members {
			p.Verdict = Uncertain
			p.Reason += "; so is every path of class " + string(class) + ": a limit of the platform"
		}
		if len(members) > 0 {
			r.findings = append(r.findings, platformLimit(class, members))
		}
	}
}

func (r *run) allCloseNormal() bool {
	normal := 0
	for i := range r.paths {
		if p := &r.paths[i]; p.Path.Close && p.measured() {
			if p.Verdict != Normal {
				return false
			}
			normal++
		}
	}
	return normal > 0
}

// slowClasses lists the classes of far GPU paths, in the topology's order,
// and says of which every measured path is abnormal against a default baseline.
func (r *run) slowClasses() (classes []topology.Class, slow map[topology.Class]bool) {
	slow = map[topology.Class]bool{}
	for i := range r.paths {
		p := &r.paths[i]
		if p.memory || p.Path.Close || !p.measured() {
			continue
		}
		below := p.abnormal() && p.expected.Source == baseline.SourceDefault && r.low(p.gbps, p.baselineGbps())
		if so, seen := slow[p.Path.Class]; !seen {
			classes = append(classes, p.Path.Class)
			slow[p.Path.Class] = below
		} else {
			slow[p.Path.Class] = so && below
		}
	}
	return classes, slow
}

func platformLimit(class topology.Class, members []*path) diagnosis.Finding {
	return diagnosis.Finding{
		Code:      diagnosis.PlatformLimit,
		Component: string(class),
		Summary: fmt.Sprintf("all %d paths of class %s stay below the default baseline while every close path is normal",
			len(members), class),
		Evidence: listed(members, func(p *path) string {
			return p.name() + ": " + figure(p.gbps) + " Gb/s of an expected " + figure(*p.ReferenceGbps)
		}),
		Hint: "calibrate on this host while it is known to be healthy",
	}
}

// judgeLatency compares 1-byte latencies, on idle hosts only: under load they say nothing.
func (r *run) judgeLatency() {
	if r.in.Busy {
		return
	}
	references := r.closeLatencies()
	for i := range r.paths {
		p := &r.paths[i]
		if !p.measured() {
			continue
		}
		reference := math.NaN()
		if e := p.expected; e.LatencyUs != nil {
			reference = *e.LatencyUs
		} else if e.LatencyAboveCloseUs != nil {
			reference = references.of(r, p) + *e.LatencyAboveCloseUs
		}
		if math.IsNaN(reference) {
			continue
		}
		p.ReferenceUs = new(reference)
		for _, read := range p.reads {
			if read.Latency.P50Us > (1+r.threshold)*reference {
				p.latency.bad++
			} else {
				p.latency.good++
			}
		}
		p.LatencyVerdict = p.latency.verdict()
	}
}
