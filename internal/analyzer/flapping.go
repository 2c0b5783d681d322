package analyzer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/diagnosis"
)

// leastFlapShare is the share of runs in which the paths across a hop must
// have been slow before it is called flapping: chance slows a path in one run
// of many, a fault that comes and goes in about every other.
const leastFlapShare = 0.25

// explainByFlapping blames the smallest set of flapping hops that covers the
// paths which were slow in some of the last runs and normal in others. It
// returns the abnormal paths of this run that are not explained by it.
func (r *run) explainByFlapping(abnormal []int, prefer func(a, b int) int) (rest []int) {
	var paths []int
	var sets [][]int
	for i := range r.paths {
		p := &r.paths[i]
		seen := r.lastRuns(p.series)
		if !slices.ContainsFunc(seen, slow) || !slices.ContainsFunc(seen, good) {
			continue
		}
		var flapping []int
		for _, h := range p.hops {
			if r.hops[h].Verdict == Flapping && r.flapShare(h) >= leastFlapShare {
				flapping = append(flapping, h)
			}
		}
		if len(flapping) > 0 {
			paths, sets = append(paths, i), append(sets, flapping)
		}
	}
	blamed := map[int]bool{}
	for _, z := range solve(sets, prefer) {
		for i := range z.paths {
			z.paths[i] = paths[z.paths[i]]
		}
		for _, h := range r.blameFlapping(z, prefer) {
			blamed[h] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(abnormal), func(i int) bool {
		p := &r.paths[i]
		across := func(h int) bool { return blamed[h] }
		others := slices.DeleteFunc(r.candidates(p), across)
		comesAndGoes := slices.ContainsFunc(r.lastRuns(p.series), good)
		return slices.ContainsFunc(p.hops, across) && (comesAndGoes || len(others) == 0)
	})
}

// lastRuns is the part of a series that flapping is judged by.
func (r *run) lastRuns(series []Verdict) []Verdict {
	return series[max(0, len(series)-r.in.Thresholds.FlapRuns):]
}

// flapShare is in which share of the last runs the paths across the hop were
// slow; of its close paths if it has any, since far ones show no small fault.
func (r *run) flapShare(h int) float64 {
	ofClose := slices.ContainsFunc(r.hops[h].paths, func(i int) bool { return r.paths[i].Path.Close })
	slowRuns, runs := 0.0, 0.0
	for _, i := range r.hops[h].paths {
		p := &r.paths[i]
		if ofClose && !p.Path.Close {
			continue
		}
		for _, v := range r.lastRuns(p.series) {
			switch v {
			case Abnormal, Gray: // one of the path's reads in that run is enough
				slowRuns++
				runs++
			case Normal:
				runs++
			}
		}
	}
	if runs == 0 {
		return 0
	}
	return slowRuns / runs
}

// blameFlapping chooses, of equally small covers, the one whose paths were
// slow most often, and returns its hops.
func (r *run) blameFlapping(z puzzle, prefer func(a, b int) int) []int {
	least := func(cover []int) float64 {
		share := 1.0
		for _, h := range cover {
			share = min(share, r.flapShare(h))
		}
		return share
	}
	covers := slices.Clone(z.covers)
	slices.SortStableFunc(covers, func(a, b []int) int {
		return cmp.Or(cmp.Compare(least(b), least(a)), slices.CompareFunc(a, b, prefer))
	})
	chosen := covers[0]
	for _, h := range chosen {
		var rivals []rival
		for _, other := range covers[1:] {
			if r.in.Plain.Ambiguity || slices.Contains(other, h) {
				continue
			}
			x := rival{weight: least(other) * least(other)}
			x.Code, x.Reason = diagnosis.LinkFlapping, fmt.Sprintf("the same paths cross it; its paths were slow in %s of the runs, those of %s in %s",
				share(least(other)), r.hops[h].Hop, share(r.flapShare(h)))
			for _, i := range other {
				x.Components = append(x.Components, r.hops[i].Hop)
			}
			rivals = append(rivals, x)
		}
		r.reportFlapping(h, crossing(r, h, z.paths), rivals, least(chosen)*least(chosen))
	}
	return chosen
}

func (r *run) reportFlapping(h int, paths []int, rivals []rival, own float64) {
	hop := &r.hops[h]
	lines := listed(paths, func(i int) string {
		return r.paths[i].name() + " was " + told(r.lastRuns(r.paths[i].series))
	})
	if hop.link.line != "" {
		lines = append(lines, hop.Hop+": "+hop.link.line)
	}
	r.diagnoses = append(r.diagnoses, diagnosis.Diagnosis{
		Code:       diagnosis.LinkFlapping,
		Severity:   r.severity(paths),
		Component:  hop.Hop,
		Components: []string{hop.Hop},
		Confidence: confidence(own, rivals),
		Summary: fmt.Sprintf("%s comes and goes: over the last %d runs %s of %s across it %s slow at times and normal at others",
			hop.Hop, r.in.Thresholds.FlapRuns, count(len(paths), "path"), joined(r.rnicsOf(paths)), wasWere(len(paths))),
		Evidence:     lines,
		Alternatives: alternatives(rivals),
		Runbook:      diagnosis.Runbook(diagnosis.LinkFlapping),
	})
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// told is a series as people read it, oldest first.
func told(series []Verdict) string {
	words := make([]string, len(series))
	for i, v := range series {
		switch v {
		case Gray:
			words[i] = "both"
		case Abnormal:
			words[i] = "slow"
		default:
			words[i] = string(v)
		}
	}
	return strings.Join(words, ", then ")
}
