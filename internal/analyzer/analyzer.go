// Package analyzer turns what a run measured into verdicts of paths, verdicts
// of hops (Algorithm 1 of the paper) and diagnoses. It is pure: no I/O, no
// clock, no knowledge of whether the host is real or simulated.
package analyzer

import (
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Verdict of a path or a hop.
type Verdict string

// Verdicts. Unmeasured is for paths; Gray and Flapping are for hops.
const (
	Normal     Verdict = "normal"
	Abnormal   Verdict = "abnormal"
	Uncertain  Verdict = "uncertain"
	Unmeasured Verdict = "unmeasured"
	Gray       Verdict = "gray"
	Flapping   Verdict = "flapping"
)

// Thresholds are the analyzer's limits, shares where nothing else is said
// (0.2 is 20 %). A zero field means its default.
type Thresholds struct {
	Path     float64 // how much worse than its reference makes a path abnormal
	Overload float64 // utilisation above which a bus is overloaded
	Pause    float64 // time paused above which an RNIC is congested
	FlapRuns int     // consecutive gray runs that make a hop flapping
}

// DefaultThresholds returns the limits of the paper.
func DefaultThresholds() Thresholds {
	return Thresholds{Path: 0.2, Overload: 0.8, Pause: monitor.DefaultPauseRatio, FlapRuns: 3}
}

// WithDefaults returns the limits with every zero field filled in.
func (t Thresholds) WithDefaults() Thresholds {
	d := DefaultThresholds()
	return Thresholds{
		Path: positiveOr(t.Path, d.Path), Overload: positiveOr(t.Overload, d.Overload),
		Pause: positiveOr(t.Pause, d.Pause), FlapRuns: positiveOr(t.FlapRuns, d.FlapRuns),
	}
}

func positiveOr[T int | float64](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// Plain switches off, one by one, what goes beyond the paper. The zero value
// has all of it on.
type Plain struct {
	// Ambiguity: no alternatives of other hops, and no doubt for their sake.
	Ambiguity bool
	// Capacity: verdicts alone choose between hops, figures do not.
	Capacity bool
	// Evidence: links as seen under load and settings as read decide nothing.
	Evidence bool
	// Noise: three of five low reads are enough, however far the others are off.
	Noise bool
}

// RNICConfig holds the settings of an RNIC that look like a link failure. nil is unknown.
type RNICConfig struct {
	SlowStart     *bool
	SmallTxWindow *bool
}

// P2PSettings holds the PCIe settings that send traffic between an RNIC and
// a GPU under one root port through the root complex instead. An absent key
// is a setting that could not be read.
type P2PSettings struct {
	// ACS says whether a switch redirects peer requests upwards. Keys are
	// switches by their own id (the PCI address; "low0" in simulation) or by
	// that of the root port right above them.
	ACS map[string]bool
	// ATS says whether an RNIC uses address translation services. Keys are RNIC ids.
	ATS map[string]bool
}

// Input is everything that a run knows. Outcomes holds one entry per path
// that was planned.
type Input struct {
	Topology   topology.Topology
	Baselines  baseline.Set
	Outcomes   []probe.Outcome
	Busy       bool // the run's mode: close paths only, under service traffic
	Idle       monitor.Reading
	RNICConfig map[string]RNICConfig // by RNIC id; empty where the source is unavailable
	P2P        P2PSettings           // empty where the source is unavailable
	// Unselected holds, by id, the RNICs that the operator left out of the run: their ports are not judged.
	Unselected map[string]bool
	Buses      []monitor.BusUtilization
	Congestion []monitor.Congestion
	// History is what the runs before this one said; Result.History of one run
	// is the History of the next.
	History    History
	Thresholds Thresholds
	Plain      Plain
}

// Rule names what a path's bandwidth was compared with.
type Rule string

// Rules.
const (
	RuleBaseline      Rule = "baseline"
	RuleLikePaths     Rule = "like paths"      // median of the paths of one class between like devices
	RuleBesideService Rule = "beside service"  // the baseline, or what service of other RNICs leaves of it
	RuleOwnClosePaths Rule = "own close paths" // the fastest close path of the same RNIC, on busy runs
)

// PathVerdict is the judgement of one path with the numbers behind it.
type PathVerdict struct {
	Path           topology.Path
	Verdict        Verdict // by bandwidth
	LatencyVerdict Verdict // uncertain where there is no reference, and on busy runs
	// BandwidthGbps and LatencyUs are the medians of the reads (of an even
	// number the lower one); nil when unmeasured.
	BandwidthGbps *float64
	LatencyUs     *float64
	// ReferenceGbps and ReferenceUs are what they were compared with; nil is
	// unknown. Rule says where ReferenceGbps comes from; "" without one.
	ReferenceGbps *float64
	ReferenceUs   *float64
	Rule          Rule
	// Reads counts the reads, LowReads those too low against the reference.
	Reads, LowReads int
	Reason          string // one line for people; "" when normal
}

// HopVerdict is the judgement of one hop.
type HopVerdict struct {
	Hop           string
	Kind          topology.HopKind
	Verdict       Verdict
	AbnormalCount int // distinct RNICs that reported it
	// EstimatedCapacityGbps is the highest figure of a path that crossed the
	// hop: the hop carries at least that much. nil is unknown.
	EstimatedCapacityGbps *float64
	Utilization           *float64 // as the monitor reads it, 0..1; nil is unknown
	Evidence              []string
}

// Result is the analyzer's answer. Paths and Hops are in the topology's
// order, Diagnoses worst first. Lists are never nil.
type Result struct {
	Paths     []PathVerdict
	Hops      []HopVerdict
	Diagnoses []diagnosis.Diagnosis
	Findings  []diagnosis.Finding
	History   History // with this run as the last one
}

// Analyze judges a run. Equal input gives an equal result, and the order of
// the outcomes does not matter.
func Analyze(in Input) Result {
	r := newRun(in)
	r.judgePaths()
	r.judgeHops()
	r.lookBack()
	r.diagnosePorts()
	r.findCauses()
	r.findFacts()
	return r.result()
}

// Unsettled returns the paths that need another read before their verdict may
// be reported, in the topology's order: those with a suspect read, until
// three of at most five reads agree. A path that failed is not among them.
func Unsettled(in Input) []topology.PathKey {
	r := newRun(in)
	r.judgePaths()
	var keys []topology.PathKey
	for i := range r.paths {
		if p := &r.paths[i]; p.failure == nil && p.needsRead() {
			keys = append(keys, p.Path.Key())
		}
	}
	return keys
}

// Judge answers Unsettled for outcomes that come in while a run goes on.
type Judge struct{ in Input }

// NewJudge returns a Judge for runs over in's topology and baselines; in.Outcomes is ignored.
func NewJudge(in Input) Judge { return Judge{in} }

// Unsettled returns the paths that need another read.
func (j Judge) Unsettled(outcomes []probe.Outcome) []topology.PathKey {
	in := j.in
	in.Outcomes = outcomes
	return Unsettled(in)
}
