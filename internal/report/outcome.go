package report

import (
	"slices"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/engine"
)

// Outcome is a run's answer in one word.
type Outcome string

// Outcomes.
const (
	Healthy      Outcome = "healthy"      // nothing blamed, every planned path measured, and something proven of every RNIC
	Diagnosed    Outcome = "diagnosed"    // at least one diagnosis stands
	Inconclusive Outcome = "inconclusive" // nothing blamed, but the plan was not completed, or nothing can be said of a part
)

// Outcome returns the report's answer. A diagnosis stands even when the run
// was cut short.
func (r *Report) Outcome() Outcome {
	switch {
	case len(r.Diagnoses) > 0:
		return Diagnosed
	case r.Run.Interrupted || r.missed() > 0 || r.proven() == 0 || r.unjudged().any():
		return Inconclusive
	default:
		return Healthy
	}
}

// missed counts the planned paths without a reading.
func (r *Report) missed() int {
	n := 0
	for _, u := range r.Unmeasured {
		if u.Planned {
			n++
		}
	}
	return n
}

// proven counts the paths whose reading proves their hops healthy.
func (r *Report) proven() int {
	n := 0
	for _, m := range r.Measurements {
		if m.Verdict == string(analyzer.Normal) {
			n++
		}
	}
	return n
}

// unjudged are the parts that were measured without telling anything, however
// well the others do. Lists are in the order of the measurements.
type unjudged struct {
	incomparable []string // RNICs of which nothing is proven, for want of references
	undecided    []string // RNICs of which nothing is proven, although all their readings could be compared
	endpoints    []string // endpoints whose readings all lack a reference, those of incomparable RNICs aside
}

func (u unjudged) any() bool { return len(u.incomparable)+len(u.undecided)+len(u.endpoints) > 0 }

func (r *Report) unjudged() (u unjudged) {
	type tally struct{ readings, compared, telling int }
	rnics, endpoints := map[string]tally{}, map[string]tally{}
	for _, m := range r.Measurements {
		for name, all := range map[string]map[string]tally{m.RNIC: rnics, m.Endpoint: endpoints} {
			t := all[name]
			t.readings++
			t.compared += btoi(m.ReferenceGbps != nil)
			// An RNIC in service proves nothing, and is told of as such.
			t.telling += btoi(m.Verdict != string(analyzer.Uncertain) || m.Rule == string(analyzer.RuleOwnClosePaths))
			all[name] = t
		}
	}
	var seen []string
	first := func(name string) bool {
		again := slices.Contains(seen, name)
		seen = append(seen, name)
		return !again
	}
	silent := map[string]bool{}
	for _, m := range r.Measurements {
		if t := rnics[m.RNIC]; t.telling > 0 || !first(m.RNIC) {
			continue
		} else if silent[m.RNIC] = true; t.compared < t.readings {
			u.incomparable = append(u.incomparable, m.RNIC)
		} else {
			u.undecided = append(u.undecided, m.RNIC)
		}
	}
	for _, m := range r.Measurements {
		if endpoints[m.Endpoint].compared == 0 && !silent[m.RNIC] && first(m.Endpoint) {
			u.endpoints = append(u.endpoints, m.Endpoint)
		}
	}
	return u
}

// besideService lists the RNICs that were only compared with themselves,
// since service traffic takes its share of their figures.
func (r *Report) besideService() (rnics []string) {
	for _, m := range r.Measurements {
		if m.Rule == string(analyzer.RuleOwnClosePaths) && !slices.Contains(rnics, m.RNIC) {
			rnics = append(rnics, m.RNIC)
		}
	}
	return rnics
}

// leftOutByFlag lists the RNICs and GPUs that the operator left out of the run.
func (r *Report) leftOutByFlag() (rnics, gpus []string) {
	out := Unselected(r.Topology, r.Unmeasured)
	for _, u := range r.Unmeasured {
		switch {
		case u.Planned || u.Reason != string(engine.ReasonExcluded):
		case out[u.RNIC] && !slices.Contains(rnics, u.RNIC):
			rnics = append(rnics, u.RNIC)
		case !out[u.RNIC] && !slices.Contains(gpus, u.Endpoint):
			gpus = append(gpus, u.Endpoint)
		}
	}
	return rnics, gpus
}
