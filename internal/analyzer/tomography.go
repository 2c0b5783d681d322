package analyzer

import (
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// judgeHops is Algorithm 1 of the paper: a path is good only if all its hops
// are, so a normal path clears its hops, and an abnormal path reports those
// that nothing cleared. Its result does not depend on the order of the paths.
//
// The paper's RNICs are all of one rate. Where they are not, a hop is cleared
// up to the rate of the paths that were normal: 25 Gb/s to a memory node do
// not prove that it carries 400.
func (r *run) judgeHops() {
	r.measureHops()
	for h := range r.hops {
		if r.hops[h].witness >= 0 {
			r.hops[h].Verdict = Normal
		}
	}
	var unexplained []*path
	for i := range r.paths {
		if p := &r.paths[i]; p.abnormal() && !r.report(p) {
			unexplained = append(unexplained, p)
		}
	}
	for _, p := range unexplained {
		for _, h := range p.hops {
			if r.hops[h].Verdict == Normal {
				r.hops[h].Verdict = Gray
			}
		}
	}
	r.grayDivided()
}

// grayDivided makes the hops of a path gray whose reads fall on both sides of
// its threshold; only the abnormal ones, if others reported some of them.
func (r *run) grayDivided() {
	for i := range r.paths {
		p := &r.paths[i]
		if !p.divided {
			continue
		}
		reported := func(h int) bool { return len(r.hops[h].reporters) > 0 }
		some := slices.ContainsFunc(p.hops, reported)
		for _, h := range p.hops {
			if !some || reported(h) {
				r.hops[h].Verdict = Gray
			}
		}
	}
}

// report makes the hops that nothing cleared for an abnormal path abnormal; it returns false when there are none.
func (r *run) report(p *path) bool {
	candidates := r.candidates(p)
	for _, i := range candidates {
		h := &r.hops[i]
		h.Verdict = Abnormal
		if !slices.Contains(h.reporters, p.rnic) {
			h.reporters = append(h.reporters, p.rnic)
			h.AbnormalCount = len(h.reporters)
		}
	}
	return len(candidates) > 0
}

// candidates are the hops of an abnormal path that no normal path clears.
func (r *run) candidates(p *path) (hops []int) {
	for _, h := range p.hops {
		if !r.cleared(h, p) {
			hops = append(hops, h)
		}
	}
	return hops
}

// cleared reports whether normal paths prove that the hop carries what is
// expected of this path. For a path that is slow at times only those do whose
// reads are all alike: the others may have been read while the fault was gone.
func (r *run) cleared(h int, p *path) bool {
	carriedGbps := r.hops[h].clearedGbps
	if p.divided {
		carriedGbps = r.hops[h].steadyGbps
	}
	return !r.judgedAlone(h, p) && !r.low(carriedGbps, *p.ReferenceGbps)
}

// measureHops finds the fastest paths across each hop: they bound what it can
// carry, and they are the witnesses of its health.
func (r *run) measureHops() {
	for i := range r.hops {
		h := &r.hops[i]
		faster := func(j, than int) bool { return than < 0 || r.paths[j].gbps > r.paths[than].gbps }
		for _, j := range h.paths {
			p := &r.paths[j]
			if !p.measured() {
				continue
			}
			if faster(j, h.fastest) {
				h.fastest = j
			}
			if p.Verdict != Normal {
				continue
			}
			if faster(j, h.witness) {
				h.witness = j
			}
			h.clearedGbps = max(h.clearedGbps, *p.ReferenceGbps)
			if !p.divided || r.in.Plain.Noise {
				h.steadyGbps = max(h.steadyGbps, *p.ReferenceGbps)
			}
		}
		if h.fastest >= 0 {
			h.EstimatedCapacityGbps = new(r.paths[h.fastest].gbps)
		}
	}
}

func (r *run) hopEvidence(i int) []string {
	h := &r.hops[i]
	lines := []string{}
	switch {
	case len(h.reporters) > 0:
		names := make([]string, len(h.reporters))
		for i, x := range h.reporters {
			names[i] = r.rnics[x].ID
		}
		slices.SortFunc(names, topology.CompareNatural)
		lines = append(lines, "slow paths of "+joined(names)+" cross it, and no normal path clears it for them")
	case h.witness >= 0:
		lines = append(lines, r.carries(h.witness))
	}
	switch last := h.series[len(h.series)-1]; {
	case h.Verdict == Flapping:
		lines = append(lines, "over the last runs it "+told(r.lastRuns(h.series)))
	case last == Gray:
		lines = append(lines, "paths across it were slow at times, and no hop explains why")
	case h.Verdict == Gray:
		lines = append(lines, "over the last runs it "+told(h.series[max(0, len(h.series)-grayWindow):]))
	}
	if line := r.utilizationLine(h); line != "" {
		lines = append(lines, line)
	}
	if h.link.line != "" {
		lines = append(lines, h.link.line)
	}
	return lines
}

// carries is the evidence that one path gives for its hops.
func (r *run) carries(path int) string {
	return fmt.Sprintf("%s carries %s Gb/s", r.paths[path].name(), figure(r.paths[path].gbps))
}
