package analyzer

import (
	"cmp"
	"fmt"
	"maps"
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
	puzzles := solve(sets, prefer)
	blamed := map[int]bool{}
	for k := range puzzles {
		z := &puzzles[k]
		for i := range z.paths {
			z.paths[i] = paths[z.paths[i]]
		}
		r.orderFlapping(z.covers, prefer)
		for _, h := range z.covers[0] {
			blamed[h] = true
		}
	}
	for _, h := range slices.Sorted(maps.Keys(blamed)) {
		if r.explainsOneStray(h, paths, blamed) {
			delete(blamed, h)
		}
	}
	for _, z := range puzzles {
		r.blameFlapping(z, blamed)
	}
	return slices.DeleteFunc(slices.Clone(abnormal), func(i int) bool {
		p := &r.paths[i]
		across := func(h int) bool { return blamed[h] }
		others := slices.DeleteFunc(r.candidates(p), across)
		comesAndGoes := slices.ContainsFunc(r.lastRuns(p.series), good)
		return slices.ContainsFunc(p.hops, across) && (comesAndGoes || len(others) == 0)
	})
}

// explainsOneStray reports whether all that a blamed hop explains, and no other
// blamed one, is a path that was both slow and normal in one run alone: a
// disturbance does that to a healthy path as well.
func (r *run) explainsOneStray(h int, paths []int, blamed map[int]bool) bool {
	other := func(x int) bool { return x != h && blamed[x] }
	own := slices.DeleteFunc(crossing(r, h, paths), func(i int) bool { return slices.ContainsFunc(r.paths[i].hops, other) })
	if len(own) != 1 {
		return false
	}
	seen := slices.DeleteFunc(slices.Clone(r.lastRuns(r.paths[own[0]].series)), func(v Verdict) bool { return !slow(v) })
	return len(seen) == 1 && seen[0] == Gray
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

// coverFlapShare is the least flapShare of a cover's hops.
func (r *run) coverFlapShare(cover []int) float64 {
	share := 1.0
	for _, h := range cover {
		share = min(share, r.flapShare(h))
	}
	return share
}

// orderFlapping puts that one of equally small covers first whose paths were slow most often.
func (r *run) orderFlapping(covers [][]int, prefer func(a, b int) int) {
	slices.SortStableFunc(covers, func(a, b []int) int {
		return cmp.Or(cmp.Compare(r.coverFlapShare(b), r.coverFlapShare(a)), slices.CompareFunc(a, b, prefer))
	})
}

// blameFlapping reports the hops of the first cover that are to be blamed; the others are alternatives.
func (r *run) blameFlapping(z puzzle, blamed map[int]bool) {
	chosen := z.covers[0]
	for _, h := range chosen {
		if !blamed[h] {
			continue
		}
		var rivals []rival
		for _, other := range z.covers[1:] {
			if r.in.Plain.Ambiguity || slices.Contains(other, h) {
				continue
			}
			x := rival{weight: r.coverFlapShare(other) * r.coverFlapShare(other)}
			x.Code, x.Reason = diagnosis.LinkFlapping, fmt.Sprintf("the same paths cross it; its paths were slow in %s of the runs, those of %s in %s",
				share(r.coverFlapShare(other)), r.hops[h].Hop, share(r.flapShare(h)))
			for _, i := range other {
				x.Components = append(x.Components, r.hops[i].Hop)
			}
			rivals = append(rivals, x)
		}
		r.reportFlapping(h, crossing(r, h, z.paths), rivals, r.coverFlapShare(chosen)*r.coverFlapShare(chosen))
	}
}

func (r *run) reportFlapping(h int, paths []int, rivals []rival, own float64) {
	hop := &r.hops[h]
	lines := listed(paths, func(i int) string {
		return r.paths[i].name() + " " + told(r.lastRuns(r.paths[i].series))
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

// told is a series as people read it, oldest first; it ends a sentence that begins with a name.
func told(series []Verdict) string {
	words := make([]string, len(series))
	for i, v := range series {
		switch v {
		case Gray:
			words[i] = "had low and normal reads"
		case Abnormal:
			words[i] = "was slow"
		default:
			words[i] = "was " + string(v)
		}
	}
	if len(words) > 1 && len(slices.Compact(slices.Clone(words))) == 1 {
		return fmt.Sprintf("%s in each of %d runs", words[0], len(words))
	}
	return strings.Join(words, ", then ")
}
