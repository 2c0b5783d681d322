package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// explanation is a set of faults as the causes that a diagnosis should name,
// sorted, each once. That of a healthy host is empty.
type explanation []cause

func explain(causes ...cause) explanation {
	e := explanation(slices.Clone(causes))
	slices.SortFunc(e, func(a, b cause) int {
		return cmp.Or(strings.Compare(a.component, b.component), strings.Compare(string(a.code), string(b.code)))
	})
	return slices.Compact(e)
}

// look is what a run sees of a host when there is no noise: of each path of
// its plan the bandwidth, on idle runs the latency too. An RNIC in service is
// only compared with itself, and so are paths of which no figure is
// known: of these only their shares of the RNIC's fastest one can be seen, and
// whether the RNIC had to pause its senders. But what such a path carried
// beside the service, its hops can carry: carried is that bandwidth, 0 for all
// other paths.
type look struct {
	gbps, us, carried []float64
	paused            string // the RNICs that did, joined
}

// within reports whether two figures differ by less than the threshold.
func within(a, b float64) bool { return min(a, b) >= (1-threshold())*max(a, b) }

// threshold is what makes a path abnormal, and so what can be told apart.
func threshold() float64 { return analyzer.DefaultThresholds().Path }

// explains reports whether no path tells l from what is seen: no figure differs
// by the threshold, it is the same paths that the threshold calls slow or late
// when compared with the healthy host, and l, with the same service, lets every
// path carry what it did. (Without the second a fault too slight to be one, on links that all good
// paths cross, would "explain" any single slow path.)
func (l look) explains(seen, healthy look) bool {
	if l.paused != seen.paused {
		return false
	}
	for i := range l.gbps {
		if !within(l.gbps[i], seen.gbps[i]) || within(l.gbps[i], healthy.gbps[i]) != within(seen.gbps[i], healthy.gbps[i]) {
			return false
		}
		if l.carried[i] < (1-threshold())*seen.carried[i] {
			return false
		}
	}
	for i := range l.us {
		if !within(l.us[i], seen.us[i]) || within(l.us[i], healthy.us[i]) != within(seen.us[i], healthy.us[i]) {
			return false
		}
	}
	return true
}

// excuses reports whether everything that is slow or late in l is so in the
// other too, so that l may be a part of what it shows.
func (l look) excuses(other, healthy look) bool {
	worse := func(mine, its, whole float64) bool {
		return !within(mine, its) || within(its, whole) && !within(mine, whole)
	}
	for i := range l.gbps {
		if l.gbps[i] < other.gbps[i] && worse(l.gbps[i], other.gbps[i], healthy.gbps[i]) {
			return false
		}
	}
	for i := range l.us {
		if l.us[i] > other.us[i] && worse(l.us[i], other.us[i], healthy.us[i]) {
			return false
		}
	}
	return true
}

// and is roughly how both faults together look; exactly so for links and
// RNICs of an idle host, where the narrowest part decides.
func (l look) and(other look) look {
	both := look{
		gbps:    each(l.gbps, other.gbps, math.Min),
		us:      each(l.us, other.us, math.Max),
		carried: each(l.carried, other.carried, math.Min),
		paused:  l.paused,
	}
	if len(other.paused) > len(l.paused) {
		both.paused = other.paused
	}
	return both
}

// each combines two lists of one length, figure by figure.
func each(a, b []float64, combine func(a, b float64) float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = combine(a[i], b[i])
	}
	return list
}

// suspect is a fault of any severity, and how it looks.
type suspect struct {
	kind
	faults []sim.Fault // mild ones first
	looks  []look
	causes []cause
}

// gallery holds how every fault looks under one load of one host.
type gallery struct {
	host     *host
	mode     engine.Mode
	busy     []sim.Busy
	healthy  look
	suspects []suspect

	mu    sync.Mutex
	known map[string]view // by faults
	pairs map[string]look // by faults; those that need the simulator
}

// degrees are the severities of suspects, mild ones first.
func (k kind) degrees() (list []float64) {
	if k.onOff {
		return []float64{sim.DefaultSeverity}
	}
	list = severities()
	// Finer steps than what can be told apart, down to a link that is as good as down.
	for left := 0.95; left > 0.01; left *= 0.85 {
		list = append(list, 1-left)
	}
	slices.Sort(list)
	return list
}

// newGallery looks at every fault that the host can have.
func newGallery(h *host, mode engine.Mode, busy []sim.Busy) (*gallery, error) {
	g := &gallery{host: h, mode: mode, busy: busy, known: map[string]view{}, pairs: map[string]look{}}
	var err error
	if g.healthy, err = g.look(); err != nil {
		return nil, err
	}
	for _, f := range allFaults(h.topo) {
		var s suspect
		s.kind, _ = kindOf(f.Kind)
		for _, f.Severity = range s.degrees() {
			seen, err := g.look(f)
			if err != nil {
				return nil, err
			}
			s.faults, s.looks = append(s.faults, f), append(s.looks, seen)
		}
		if s.causes, err = h.causes(s.faults[0]); err != nil {
			return nil, err
		}
		g.suspects = append(g.suspects, s)
	}
	return g, nil
}

// allFaults lists every fault of the host, each once and without severity:
// every hop that a path crosses, and whatever a run can read.
func allFaults(t topology.Topology) (list []sim.Fault) {
	for _, hop := range t.Hops {
		f := sim.Fault{Kind: string(hop.Kind), Target: strings.TrimPrefix(hop.ID, string(hop.Kind)+":")}
		if _, err := sim.ParseFault(f.Kind+":"+f.Target, t); err == nil {
			list = append(list, f)
		}
	}
	kinds, _ := sim.Targets(t) // a topology that cannot be simulated has been refused before
	for _, row := range kinds {
		if k, ok := kindOf(row.Kind); ok && k.read {
			for _, target := range row.Targets {
				list = append(list, sim.Fault{Kind: row.Kind, Target: target})
			}
		}
	}
	return list
}

// look simulates the faults without noise.
func (g *gallery) look(faults ...sim.Fault) (look, error) {
	s := scene{host: g.host, mode: g.mode, noise: sim.NoiseNone, busy: g.busy, faults: faults}
	simulated, err := s.simulate()
	if err != nil {
		return look{}, err
	}
	steps := g.host.plans[g.mode].Steps
	plan := engine.Plan{Steps: steps, Limits: engine.Limits{MaxReads: 1}}
	outcomes, err := measure(simulated, plan, contented{})
	if err != nil {
		return look{}, err
	}
	l := look{gbps: make([]float64, len(steps)), carried: make([]float64, len(steps)), paused: pausing(simulated)}
	for i, o := range outcomes {
		l.gbps[i] = o.Reads[0].BandwidthGbps
		if g.mode == engine.ModeIdle { // under load latencies say nothing
			l.us = append(l.us, o.Reads[0].Latency.P50Us)
		}
	}
	g.compareOwn(l)
	return l, nil
}

// pausing names the RNICs whose pauses pass the trigger.
func pausing(simulated *sim.Host) string {
	var names []string
	for _, c := range simulated.Congestion() {
		if c.PauseRatio != nil && *c.PauseRatio > analyzer.DefaultThresholds().Pause {
			names = append(names, c.RNIC)
		}
	}
	return strings.Join(names, " ")
}

// compareOwn replaces what can only be compared with itself, and keeps what
// was carried.
func (g *gallery) compareOwn(l look) {
	steps := g.host.plans[g.mode].Steps
	fastest := map[string]float64{}
	own := make([]bool, len(steps))
	for i, step := range steps {
		path := step.Request.Path
		expected := g.host.baselines[path.Key()]
		serving := slices.ContainsFunc(g.busy, func(b sim.Busy) bool { return b.RNIC == path.RNIC })
		if own[i] = serving || expected.BandwidthGbps == nil; own[i] {
			fastest[path.RNIC] = max(fastest[path.RNIC], l.gbps[i])
		}
		if l.us != nil && expected.LatencyUs == nil && expected.LatencyAboveCloseUs == nil {
			l.us[i] = 1
		}
	}
	for i, step := range steps {
		if own[i] {
			l.carried[i] = l.gbps[i]
			l.gbps[i] /= fastest[step.Request.Path.RNIC]
		}
	}
}

// contented is a judge that wants no second read.
type contented struct{}

func (contented) Unsettled([]probe.Outcome) []topology.PathKey { return nil }

// view is what can be known of faults by looking.
type view struct {
	// right holds the smallest sets of faults that look the same: the empty
	// one alone when that is a healthy host.
	right []explanation
	truth explanation // the faults themselves
	// edge: some path is so close to the threshold that noise decides its verdict.
	edge bool
	busy bool // seen under load
}

// edgeShare is how close to the threshold that is, as a share of the healthy
// figure: one and a half times what one read of typical noise spreads.
const edgeShare = 0.0375

// onEdge reports whether noise decides a verdict.
func (l look) onEdge(healthy look) bool {
	for i := range l.gbps {
		if share := l.gbps[i] / healthy.gbps[i]; math.Abs(share-(1-threshold())) < edgeShare {
			return true
		}
	}
	return false
}

// view looks at the true faults.
func (g *gallery) view(truth []sim.Fault) (view, error) {
	key := fmt.Sprint(truth)
	g.mu.Lock()
	found, ok := g.known[key]
	g.mu.Unlock()
	if ok {
		return found, nil
	}
	found, err := g.search(truth)
	if err != nil {
		return view{}, err
	}
	const bounded = 1 << 16 // drawn pairs seldom come again
	g.mu.Lock()
	if len(g.known) < bounded {
		g.known[key] = found
	}
	g.mu.Unlock()
	return found, nil
}

func (g *gallery) search(truth []sim.Fault) (view, error) {
	causes, err := g.host.causesOf(truth)
	if err != nil {
		return view{}, err
	}
	seen, err := g.look(truth...)
	if err != nil {
		return view{}, err
	}
	v := view{truth: explain(causes...), busy: g.mode == engine.ModeBusy, edge: seen.onEdge(g.healthy)}
	if g.healthy.explains(seen, g.healthy) {
		v.right = []explanation{{}}
	} else {
		v.right, err = g.searchFor(truth, seen)
	}
	return v, err
}

// searchFor explains what differs from a healthy host: it finds the single
// faults, or else the pairs, that look as seen.
func (g *gallery) searchFor(truth []sim.Fault, seen look) (list explanations, err error) {
	suspects := g.possible(truth)
	for _, s := range suspects {
		if slices.ContainsFunc(s.looks, func(l look) bool { return l.explains(seen, g.healthy) }) {
			list.add(s.causes)
		}
	}
	if len(list) > 0 || len(truth) == 1 {
		return list, nil
	}
	return g.searchPairs(truth, seen, suspects)
}

// searchPairs returns the pairs of suspects that look as seen. Of each suspect
// the strongest degree counts that slows nothing which is not slow.
func (g *gallery) searchPairs(truth []sim.Fault, seen look, suspects []suspect) (list explanations, err error) {
	all, err := g.host.causesOf(truth)
	if err != nil {
		return nil, err
	}
	list.add(all)
	type strongest struct {
		suspect
		degree int
	}
	var able []strongest
	for _, s := range suspects {
		for i := len(s.looks) - 1; i >= 0; i-- {
			if s.looks[i].excuses(seen, g.healthy) {
				able = append(able, strongest{s, i})
				break
			}
		}
	}
	for i, a := range able {
		for _, b := range able[:i] {
			if a.onOff != b.onOff {
				// A detour leads across more links: the weaker ones of the
				// other fault may be those that fit.
				ok, err := g.fitsDetour(seen, a.suspect, b.suspect)
				if err != nil {
					return nil, err
				}
				if ok {
					list.add(a.causes, b.causes)
				}
				continue
			}
			if !a.looks[a.degree].and(b.looks[b.degree]).explains(seen, g.healthy) {
				continue
			}
			if g.mode == engine.ModeBusy { // service traffic gives way to faults
				exact, err := g.pair(a.faults[a.degree], b.faults[b.degree])
				if err != nil {
					return nil, err
				}
				if !exact.explains(seen, g.healthy) {
					continue
				}
			}
			list.add(a.causes, b.causes)
		}
	}
	return list, nil
}

// fitsDetour reports whether the two suspects, one of which is on or off, look as seen.
func (g *gallery) fitsDetour(seen look, a, b suspect) (bool, error) {
	if b.onOff {
		a, b = b, a
	}
	for _, f := range b.faults {
		if !slices.Contains(severities(), f.Severity) {
			continue
		}
		l, err := g.pair(a.faults[0], f)
		if err != nil {
			return false, err
		}
		if l.explains(seen, g.healthy) {
			return true, nil
		}
	}
	return false, nil
}

// pair is how two faults look together, remembered.
func (g *gallery) pair(a, b sim.Fault) (look, error) {
	key := fmt.Sprint(a, b)
	g.mu.Lock()
	l, ok := g.pairs[key]
	g.mu.Unlock()
	if ok {
		return l, nil
	}
	l, err := g.look(a, b)
	if err != nil {
		return look{}, err
	}
	const bounded = 1 << 14
	g.mu.Lock()
	if len(g.pairs) < bounded {
		g.pairs[key] = l
	}
	g.mu.Unlock()
	return l, nil
}

// possible leaves out the suspects that what the run reads speaks against: a
// setting that is right, a bus that is not loaded. One that is found wrong
// stands for a failure of the same part that looks the same.
func (g *gallery) possible(truth []sim.Fault) (list []suspect) {
	var found []suspect // that are read
	for _, s := range g.suspects {
		if s.read && !s.onOff && implies(truth, s.faults[0]) {
			found = append(found, s)
		}
	}
	for _, s := range g.suspects {
		stoodFor := slices.ContainsFunc(found, func(f suspect) bool {
			return f.causes[0].component == s.causes[0].component && f.worst().explains(s.worst(), g.healthy)
		})
		if s.read && implies(truth, s.faults[0]) || !s.read && !stoodFor {
			list = append(list, s)
		}
	}
	return list
}

// worst is how the suspect looks at its strongest.
func (s suspect) worst() look { return s.looks[len(s.looks)-1] }

// explanations are distinct.
type explanations []explanation

func (l *explanations) add(causes ...[]cause) {
	e := explain(slices.Concat(causes...)...)
	if !slices.ContainsFunc(*l, func(x explanation) bool { return slices.Equal(x, e) }) {
		*l = append(*l, e)
	}
}
