package analyzer

import (
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// judgeHops is Algorithm 1 of the paper: a path is good only if all its hops
// are, so a normal path clears its hops, and an abnormal path reports those
// that nothing cleared. Its result does not depend on the order of the paths.
func (r *run) judgeHops() {
	for i := range r.paths {
		if r.paths[i].Verdict == Normal {
			for _, h := range r.paths[i].hops {
				r.hops[h].Verdict = Normal
			}
		}
	}
	for i := range r.paths {
		if r.paths[i].abnormal() {
			r.report(&r.paths[i])
		}
	}
	r.measureHops()
	for h := range r.hops {
		r.hops[h].Evidence = r.hopEvidence(h)
	}
}

// report is step 2 of the algorithm for one abnormal path.
func (r *run) report(p *path) {
	cleared := true
	for _, i := range p.hops {
		switch h := &r.hops[i]; h.Verdict {
		case Normal, Gray:
		default:
			cleared = false
			h.Verdict = Abnormal
			if !slices.Contains(h.reporters, p.rnic) {
				h.reporters = append(h.reporters, p.rnic)
				h.AbnormalCount = len(h.reporters)
			}
		}
	}
	if cleared {
		for _, i := range p.hops {
			r.hops[i].Verdict = Gray
		}
	}
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
			if p.Verdict == Normal && faster(j, h.witness) {
				h.witness = j
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
		lines = append(lines, "slow paths of "+joined(names)+" cross it, and no normal path does")
	case h.witness >= 0:
		lines = append(lines, r.carries(h.witness))
	}
	if h.Verdict == Gray {
		lines = append(lines, "slow paths cross it as well, of which no hop explains why")
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
