package report

import "github.com/yuuki/hostping/internal/analyzer"

// Outcome is a run's answer in one word.
type Outcome string

// Outcomes.
const (
	Healthy      Outcome = "healthy"      // nothing blamed, every planned path measured, and something proven
	Diagnosed    Outcome = "diagnosed"    // at least one diagnosis stands
	Inconclusive Outcome = "inconclusive" // nothing blamed, but the plan was not completed, or no reading proves anything
)

// Outcome returns the report's answer. A diagnosis stands even when the run
// was cut short.
func (r *Report) Outcome() Outcome {
	switch {
	case len(r.Diagnoses) > 0:
		return Diagnosed
	case r.Run.Interrupted || r.missed() > 0 || r.proven() == 0:
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
