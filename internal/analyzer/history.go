package analyzer

import (
	"maps"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// grayWindow is how many runs a hop's verdict may contradict itself over.
const grayWindow = 3

// History is what consecutive runs of one host said, each on its own: their
// verdicts, oldest first, before any of them was seen in the light of the
// others. All series are as long as there were runs. The zero value is no run.
type History struct {
	Hops []HopSeries
	// Paths holds those paths that were abnormal or gray in one of the runs.
	Paths []PathSeries
	// ActivePorts holds, by RNIC.Identity, the ports that any of the runs saw ACTIVE. A port that has
	// no link and is among them had one before.
	ActivePorts map[string]bool
}

// HopSeries is a hop's verdicts: Normal, Abnormal, Gray or Uncertain.
type HopSeries struct {
	Hop      string
	Verdicts []Verdict
}

// PathSeries is what a path's reads agreed on: Normal when they met the
// reference, wherever the endpoint is, Abnormal, Gray when they fell on both
// sides of the threshold, Uncertain, or Unmeasured.
type PathSeries struct {
	Path     topology.PathKey
	Verdicts []Verdict
}

// Runs is the number of runs.
func (h History) Runs() int {
	if len(h.Hops) == 0 {
		return 0
	}
	return len(h.Hops[0].Verdicts)
}

// BeforeLast is the history without its last run.
func (h History) BeforeLast() History {
	cut := max(0, h.Runs()-1)
	return h.runs(0, cut)
}

// runs keeps the runs from one on up to, and without, another.
func (h History) runs(from, to int) History {
	part := History{ActivePorts: h.ActivePorts}
	if from >= to {
		return part
	}
	for _, s := range h.Hops {
		part.Hops = append(part.Hops, HopSeries{s.Hop, s.Verdicts[from:to]})
	}
	for _, s := range h.Paths {
		if slices.ContainsFunc(s.Verdicts[from:to], slow) {
			part.Paths = append(part.Paths, PathSeries{s.Path, s.Verdicts[from:to]})
		}
	}
	return part
}

// slow reports whether a run saw a path or hop fail, if only now and then.
func slow(v Verdict) bool { return v == Abnormal || v == Gray }

// good reports whether a run saw it do well, if only now and then.
func good(v Verdict) bool { return v == Normal || v == Gray }

// pathState is what a path's entry of this run is.
func (p *path) pathState() Verdict {
	switch {
	case !p.measured():
		return Unmeasured
	case p.divided:
		return Gray
	case p.agreed == Normal, p.agreed == Abnormal && p.abnormal():
		return p.agreed
	}
	return Uncertain
}

// remember appends this run to the history, and forgets runs that nothing
// looks back to any more.
func (r *run) remember() {
	runs := r.in.History.Runs()
	from := max(0, runs+1-(r.in.Thresholds.FlapRuns+grayWindow-1))
	for i := range r.hops {
		h := &r.hops[i]
		h.series = grown(h.series, runs, Uncertain, h.Verdict)[from:]
		r.history.Hops = append(r.history.Hops, HopSeries{h.Hop, h.series})
	}
	for i := range r.paths {
		p := &r.paths[i]
		// A path that is not listed was never slow; how often it was measured nobody wrote down.
		p.series = grown(p.series, runs, Normal, p.pathState())[from:]
		if slices.ContainsFunc(p.series, slow) {
			r.history.Paths = append(r.history.Paths, PathSeries{p.Path.Key(), p.series})
		}
	}
	r.history.ActivePorts = maps.Clone(r.in.History.ActivePorts)
	for _, rnic := range r.in.Topology.RNICs {
		if rnic.State == "ACTIVE" {
			if r.history.ActivePorts == nil {
				r.history.ActivePorts = map[string]bool{}
			}
			r.history.ActivePorts[rnic.Identity()] = true
		}
	}
}

// recall enters the history of the hops and paths that this run has.
func (r *run) recall() {
	hops := make(map[string][]Verdict, len(r.in.History.Hops))
	for _, s := range r.in.History.Hops {
		hops[s.Hop] = s.Verdicts
	}
	paths := make(map[topology.PathKey][]Verdict, len(r.in.History.Paths))
	for _, s := range r.in.History.Paths {
		paths[s.Path] = s.Verdicts
	}
	for i := range r.hops {
		r.hops[i].series = hops[r.hops[i].Hop]
	}
	for i := range r.paths {
		p := &r.paths[i]
		p.series = paths[p.Path.Key()]
		p.watched = p.Path.Close && slices.ContainsFunc(p.hops, func(h int) bool {
			s := r.hops[h].series
			return len(s) > 0 && slow(s[len(s)-1])
		})
	}
}

// grown is a series of n runs with one more; runs that are missing count as a given verdict.
func grown(series []Verdict, n int, missing, next Verdict) []Verdict {
	all := make([]Verdict, 0, n+1)
	for len(all)+len(series) < n {
		all = append(all, missing)
	}
	return append(append(all, series...), next)
}

// lookBack sees this run's verdicts of hops in the light of the runs before:
// a hop that was abnormal in one of the last three runs and normal in another
// is gray; one whose faults come and go is flapping.
func (r *run) lookBack() {
	r.remember()
	for i := range r.hops {
		h := &r.hops[i]
		switch n := r.in.Thresholds.FlapRuns; {
		case flaps(h.series, n):
			h.Verdict = Flapping
		case gray(h.series, len(h.series)-1):
			h.Verdict = Gray
		}
		h.Evidence = r.hopEvidence(i)
	}
}

// gray reports whether the hop was gray in one of the runs, as that run could know.
func gray(series []Verdict, run int) bool {
	window := series[max(0, run+1-grayWindow) : run+1]
	return series[run] == Gray || slices.Contains(window, Abnormal) && slices.Contains(window, Normal)
}

// flaps reports whether a hop was gray in each of the last n runs. In
// hindsight that is also so where it went back and forth between them: a
// fault that came or went once is new or repaired, one that did so n-1 times
// within n runs is neither. One gray run between normal ones may be noise.
func flaps(series []Verdict, n int) bool {
	if len(series) < n {
		return false
	}
	all := true
	for run := len(series) - n; run < len(series); run++ {
		all = all && gray(series, run)
	}
	last := series[len(series)-n:]
	seen := 0
	for _, v := range last {
		if slow(v) {
			seen++
		}
	}
	return all || changes(last) >= n-1 && (seen > 1 || slices.Contains(last, Abnormal))
}

// changes is how often a fault must at least have come or gone for a series
// to look as it does.
func changes(series []Verdict) (n int) {
	state := Uncertain // what is known of it between two runs
	for _, v := range series {
		switch {
		case v == Gray:
			n++
			switch state {
			case Normal:
				state = Abnormal
			case Abnormal:
				state = Normal
			}
		case v != Normal && v != Abnormal: // nothing seen
		case state == Uncertain:
			state = v
		case state != v:
			n++
			state = v
		}
	}
	return n
}
