package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/stat"
	"github.com/yuuki/hostping/internal/topology"
)

// ComparisonSchemaID names the JSON form of Comparison.
const ComparisonSchemaID = "hostping.comparison/v1"

// Comparison is what changed from one report to another, of one host or of
// two like ones. Parts go by the names that the new report gives them; those
// that it lacks by their old ones. Lists are in the new topology's order, what
// only the old report has comes last.
type Comparison struct {
	Schema string `json:"schema"`
	Old    Side   `json:"old"`
	New    Side   `json:"new"`
	// SpreadShare is how much a path's figure changes from one report to the
	// other when nothing happened: a standard deviation, in shares.
	SpreadShare   float64 `json:"spread_share"`
	latencySpread float64 // the same of latencies
	// Regression is true when at least one entry below is one.
	Regression bool              `json:"regression"`
	Diagnoses  []DiagnosisChange `json:"diagnoses"`
	Topology   []TopologyChange  `json:"topology"` // only what changed
	Hops       []HopChange       `json:"hops"`
	Paths      []PathChange      `json:"paths"`
}

// Side is one of the two reports.
type Side struct {
	Host      string    `json:"host"`
	Run       string    `json:"run"`
	Mode      string    `json:"mode"`
	StartedAt time.Time `json:"started_at"`
}

// Change says how a thing differs between two reports.
type Change string

// Changes. Lost and gained coverage is that of a path with a reading in one
// report alone; what has no figure to compare in both is not compared.
const (
	Worse       Change = "worse"
	Better      Change = "better"
	Same        Change = "same"
	Lost        Change = "lost"
	Gained      Change = "gained"
	NotCompared Change = "not_compared"
)

// Figures are one figure in both reports. nil is unknown.
type Figures struct {
	Old *float64 `json:"old"`
	New *float64 `json:"new"`
	// ChangeShare is new/old - 1; LimitShare is how much of it is within the spread.
	ChangeShare *float64 `json:"change_share"`
	LimitShare  *float64 `json:"limit_share"`
}

// Verdicts are the verdicts of one path or hop in both reports; "" where it
// was not judged.
type Verdicts struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// PathChange is one path in both reports.
type PathChange struct {
	RNIC       string         `json:"rnic"`
	Endpoint   string         `json:"endpoint"`
	Class      topology.Class `json:"class"`
	Change     Change         `json:"change"`
	Regression bool           `json:"regression"`
	Reason     string         `json:"reason"` // one line for people; "" when the same
	Bandwidth  Figures        `json:"bandwidth_gbps"`
	Latency    Figures        `json:"latency_us"`
	Verdict    Verdicts       `json:"verdict"`
}

// HopChange is one hop in both reports. Its figure is the median change of the
// close paths that cross it.
type HopChange struct {
	ID          string           `json:"id"`
	Kind        topology.HopKind `json:"kind"`
	Change      Change           `json:"change"`
	Regression  bool             `json:"regression"`
	Reason      string           `json:"reason"`
	ClosePaths  int              `json:"close_paths"` // compared
	ChangeShare *float64         `json:"change_share"`
	LimitShare  *float64         `json:"limit_share"`
	Verdict     Verdicts         `json:"verdict"`

	explainedBy string // the part whose blame explains why it changed; "" where none does
}

// DiagnosisChange is a diagnosis that stands in at least one of the reports.
type DiagnosisChange struct {
	Code       diagnosis.Code `json:"code"`
	Component  string         `json:"component"`
	Change     string         `json:"change"` // "appeared", "cleared" or "stayed"
	Regression bool           `json:"regression"`
	Summary    string         `json:"summary"`
}

// Changes of a diagnosis.
const (
	Appeared = "appeared"
	Cleared  = "cleared"
	Stayed   = "stayed"
)

// Limits of Compare, as shares. Between two readings of a healthy path the
// figure moves by less than pathSigmas standard deviations, in all but one of
// a million pairs; hops are fewer, and a median of paths is steadier. Below
// the floors no operator would act; that of latency is the paper's threshold.
const (
	pathSigmas     = 5
	hopSigmas      = 4
	bandwidthFloor = 0.05
	hopFloor       = 0.03
	latencyFloor   = 0.2
	minHopPaths    = 3
	medianOverMean = 1.2533 // the standard deviation of a median of normal values, against that of their mean
)

// Compare says what changed between two reports that were judged on the same
// terms (see Replay). ok is false when they have no path in common.
func Compare(before, after Report) (comparison Comparison, ok bool) {
	m := match(before.Topology, after.Topology)
	c := Comparison{
		Schema: ComparisonSchemaID, Old: sideOf(before), New: sideOf(after),
		Topology: m.topologyChanges(),
	}
	c.Paths, ok = c.paths(m, before, after)
	c.Hops = c.hops(m, before, after)
	c.explain(Worse, blamedHops(after, func(hop string) string { return hop }), after.Topology)
	c.explain(Better, blamedHops(before, m.component), after.Topology)
	c.Diagnoses = diagnosisChanges(m, before, after)
	c.Regression = slices.ContainsFunc(c.Paths, func(x PathChange) bool { return x.Regression }) ||
		slices.ContainsFunc(c.Hops, func(x HopChange) bool { return x.Regression }) ||
		slices.ContainsFunc(c.Topology, func(x TopologyChange) bool { return x.Regression }) ||
		slices.ContainsFunc(c.Diagnoses, func(x DiagnosisChange) bool { return x.Regression })
	return c, ok
}

func sideOf(r Report) Side {
	return Side{Host: r.Host.Name, Run: r.Run.ID, Mode: r.Run.Mode, StartedAt: r.Run.StartedAt}
}

// seen is what one report knows of a path.
type seen struct {
	path    *topology.Path
	reading *Measurement
	missed  *Unmeasured
	service bool // its RNIC carries service traffic, or may
}

func (s seen) verdict() string {
	switch {
	case s.reading != nil:
		return s.reading.Verdict
	case s.missed != nil:
		return string(analyzer.Unmeasured)
	}
	return ""
}

// seenOf lists what a report knows of its paths, under the names that name gives them.
func seenOf(r *Report, name func(topology.PathKey) topology.PathKey) map[topology.PathKey]seen {
	service := map[string]bool{}
	if r.Run.Mode == string(engine.ModeBusy) {
		for _, x := range r.Topology.RNICs {
			service[x.ID] = true
		}
		for _, u := range r.Idle.RNICs {
			service[u.ID] = u.Busy == nil || *u.Busy
		}
	}
	all := make(map[topology.PathKey]seen, len(r.Topology.Paths))
	for i := range r.Topology.Paths {
		p := &r.Topology.Paths[i]
		all[name(p.Key())] = seen{path: p, service: service[p.RNIC]}
	}
	for i := range r.Measurements {
		x := &r.Measurements[i]
		key := name(topology.PathKey{RNIC: x.RNIC, Endpoint: x.Endpoint})
		s := all[key]
		s.reading = x
		all[key] = s
	}
	for i := range r.Unmeasured {
		x := &r.Unmeasured[i]
		key := name(topology.PathKey{RNIC: x.RNIC, Endpoint: x.Endpoint})
		s := all[key]
		s.missed = x
		all[key] = s
	}
	return all
}

func (c *Comparison) paths(m matching, before, after Report) (changes []PathChange, common bool) {
	was := seenOf(&before, m.path)
	is := seenOf(&after, func(k topology.PathKey) topology.PathKey { return k })
	c.SpreadShare = changeSpread(bandwidthOf, was, is, before, after)
	c.latencySpread = changeSpread(latencyOf, was, is, before, after)
	for _, p := range after.Topology.Paths {
		_, both := was[p.Key()]
		common = common || both
		changes = append(changes, c.path(p.Key(), was[p.Key()], is[p.Key()]))
	}
	for _, p := range before.Topology.Paths {
		if key := m.path(p.Key()); is[key].path == nil {
			changes = append(changes, c.path(key, was[key], seen{}))
		}
	}
	return changes, common
}

// path compares what both reports know of one path.
func (c *Comparison) path(key topology.PathKey, was, is seen) PathChange {
	x := PathChange{RNIC: key.RNIC, Endpoint: key.Endpoint, Verdict: Verdicts{was.verdict(), is.verdict()}}
	if is.path != nil {
		x.Class = is.path.Class
	} else {
		x.Class = was.path.Class
	}
	if was.reading != nil {
		x.Bandwidth.Old, x.Latency.Old = &was.reading.BandwidthGbps, &was.reading.LatencyUs.P50Us
	}
	if is.reading != nil {
		x.Bandwidth.New, x.Latency.New = &is.reading.BandwidthGbps, &is.reading.LatencyUs.P50Us
	}
	switch {
	case was.reading != nil && is.reading != nil:
		c.figures(&x, was, is)
	case was.reading != nil:
		x.Change, x.Reason = Lost, "was measured, and is not any more: "+absence(is)
		x.Regression = is.missed == nil || !leftOut(is.missed)
	case is.reading != nil:
		x.Change, x.Reason = Gained, "was not measured before: "+absence(was)
	default:
		x.Change, x.Reason = NotCompared, "measured in neither report"
		if is.missed != nil {
			x.Reason += ": " + reasonText(is.missed.Reason, is.missed.Detail)
		}
	}
	return x
}

// absence says why a report has no reading of a path.
func absence(s seen) string {
	switch {
	case s.path == nil:
		return "the host does not have this path"
	case s.missed == nil:
		return "no reason is given"
	}
	return reasonText(s.missed.Reason, s.missed.Detail)
}

// leftOut reports whether a run was never meant to measure the path, which is
// no loss of the host's.
func leftOut(u *Unmeasured) bool {
	reason := probe.Reason(u.Reason)
	return !u.Planned && (reason == engine.ReasonExcluded || reason == engine.ReasonFarOnBusy)
}

// figures compares the figures of a path that both reports read.
func (c *Comparison) figures(x *PathChange, was, is seen) {
	if !bothTell(was, is) {
		x.Change, x.Reason = NotCompared, "its RNIC carries service traffic, which takes its share of the figure"
		return
	}
	x.Bandwidth.judge(max(bandwidthFloor, pathSigmas*pathSpread(c.SpreadShare, was.reading, is.reading)))
	if c.Old.Mode == string(engine.ModeIdle) && c.New.Mode == string(engine.ModeIdle) { // under load latencies say nothing
		x.Latency.judge(max(latencyFloor, pathSigmas*c.latencySpread))
	}
	slower, faster := x.Bandwidth.fell(), x.Bandwidth.rose()
	later, sooner := x.Latency.rose(), x.Latency.fell()
	switch {
	case slower || later:
		x.Change, x.Regression = Worse, true
	case faster || sooner:
		x.Change = Better
	default:
		x.Change = Same
		return
	}
	if slower || faster {
		x.Reason = x.Bandwidth.text("Gb/s")
	}
	if later || sooner {
		if x.Reason != "" {
			x.Reason += "; "
		}
		x.Reason += x.Latency.text("µs")
	}
}

// judge relates the two figures to each other.
func (f *Figures) judge(limitShare float64) {
	if f.Old == nil || f.New == nil || *f.Old <= 0 {
		return
	}
	f.ChangeShare, f.LimitShare = new(*f.New / *f.Old - 1), &limitShare
}

func (f *Figures) fell() bool { return f.ChangeShare != nil && *f.ChangeShare < -*f.LimitShare }

// rose mirrors fell: the old figure is below the new one by more than the limit.
func (f *Figures) rose() bool {
	return f.ChangeShare != nil && 1-1/(1+*f.ChangeShare) > *f.LimitShare
}

func (f *Figures) text(unit string) string {
	return fmt.Sprintf("%s instead of %s %s (%s; up to %.0f %% is within the spread)",
		figure(*f.New), figure(*f.Old), unit, signed(*f.ChangeShare), 100**f.LimitShare)
}

func signed(share float64) string { return fmt.Sprintf("%+.0f %%", 100*share) }

// hops compares hops by the paths that could be compared, and by verdict.
func (c *Comparison) hops(m matching, before, after Report) []HopChange {
	crossing := map[string][]float64{}
	hopsOf := make(map[topology.PathKey]topology.Path, len(after.Topology.Paths))
	for _, p := range after.Topology.Paths {
		hopsOf[p.Key()] = p
	}
	for _, x := range c.Paths {
		p := hopsOf[topology.PathKey{RNIC: x.RNIC, Endpoint: x.Endpoint}]
		if x.Bandwidth.ChangeShare == nil || !p.Close {
			continue
		}
		for _, hop := range p.Hops {
			crossing[hop] = append(crossing[hop], *x.Bandwidth.ChangeShare)
		}
	}
	verdicts := map[string]string{}
	for _, h := range before.Hops {
		verdicts[m.hop(h.ID)] = h.Verdict
	}
	var changes []HopChange
	for _, h := range after.Hops {
		x := HopChange{
			ID: h.ID, Kind: h.Kind, Change: NotCompared, ClosePaths: len(crossing[h.ID]),
			Verdict: Verdicts{verdicts[h.ID], h.Verdict},
		}
		x.judge(crossing[h.ID], c.SpreadShare)
		changes = append(changes, x)
	}
	return changes
}

// judge decides about a hop. A verdict that turned bad counts as well: where
// few paths cross a hop it is all there is.
func (x *HopChange) judge(changes []float64, spread float64) {
	was, is := sick(x.Verdict.Old), sick(x.Verdict.New)
	if len(changes) >= minHopPaths {
		f := Figures{ChangeShare: new(stat.Median(changes))}
		f.LimitShare = new(max(hopFloor, hopSigmas*medianOverMean*spread/math.Sqrt(float64(len(changes)))))
		x.ChangeShare, x.LimitShare, x.Change = f.ChangeShare, f.LimitShare, Same
		text := fmt.Sprintf("its %d close paths changed by %s in the median; up to %.0f %% is within the spread",
			len(changes), signed(*f.ChangeShare), 100**f.LimitShare)
		switch {
		case f.fell():
			x.Change, x.Reason = Worse, text
		case f.rose():
			x.Change, x.Reason = Better, text
		}
	}
	turned := fmt.Sprintf("%s instead of %s", x.Verdict.New, x.Verdict.Old)
	switch {
	case x.Verdict.Old == "" || x.Verdict.New == "":
	case is && !was && x.Change != Worse:
		x.Change, x.Reason = Worse, turned
	case was && !is && x.Verdict.New == string(analyzer.Normal) && x.Change != Worse:
		x.Change, x.Reason = Better, turned
	case x.Change == NotCompared && was == is:
		x.Change = Same
	}
	x.Regression = x.Change == Worse
}

// blamedHops are the parts that a report's diagnoses name, under the names that name gives them.
func blamedHops(r Report, name func(string) string) map[string]bool {
	blamed := map[string]bool{}
	for _, d := range r.Diagnoses {
		for _, part := range d.Components {
			blamed[name(part)] = true
		}
	}
	return blamed
}

// explain takes the hops that changed only because of a part that a diagnosis
// names: all their paths that are slow, or changed so, cross it as well. They
// are no regressions of their own.
func (c *Comparison) explain(change Change, blamed map[string]bool, t topology.Topology) {
	hopsOf := make(map[topology.PathKey][]string, len(t.Paths))
	for _, p := range t.Paths {
		hopsOf[p.Key()] = p.Hops
	}
	for i := range c.Hops {
		h := &c.Hops[i]
		if h.Change != change || blamed[h.ID] {
			continue
		}
		by := ""
		for _, x := range c.Paths {
			verdict := x.Verdict.New
			if change == Better {
				verdict = x.Verdict.Old
			}
			hops := hopsOf[topology.PathKey{RNIC: x.RNIC, Endpoint: x.Endpoint}]
			if !slices.Contains(hops, h.ID) || x.Change != change && verdict != string(analyzer.Abnormal) {
				continue
			}
			k := slices.IndexFunc(hops, func(hop string) bool { return blamed[hop] })
			if k < 0 {
				by = ""
				break
			}
			by = hops[k]
		}
		if by != "" {
			h.explainedBy, h.Regression = by, false
			h.Reason += "; " + by + " explains it"
		}
	}
}

// sick reports whether a hop's verdict is a bad one. One stray read makes a
// hop gray.
func sick(verdict string) bool {
	return verdict == string(analyzer.Abnormal) || verdict == string(analyzer.Flapping)
}

func diagnosisChanges(m matching, before, after Report) []DiagnosisChange {
	type key struct {
		code      diagnosis.Code
		component string
	}
	was, is := map[key]bool{}, map[key]bool{}
	for _, d := range before.Diagnoses {
		was[key{d.Code, m.component(d.Component)}] = true
	}
	var changes []DiagnosisChange
	for _, d := range after.Diagnoses {
		k := key{d.Code, d.Component}
		is[k] = true
		x := DiagnosisChange{Code: d.Code, Component: d.Component, Change: Stayed, Summary: d.Summary}
		if !was[k] {
			x.Change, x.Regression = Appeared, true
		}
		changes = append(changes, x)
	}
	for _, d := range before.Diagnoses {
		if k := (key{d.Code, m.component(d.Component)}); !is[k] {
			changes = append(changes, DiagnosisChange{Code: d.Code, Component: k.component, Change: Cleared, Summary: d.Summary})
		}
	}
	return changes
}
