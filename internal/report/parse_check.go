package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Bounds above which a number is a mistake: ten times and more what hardware
// has, or what a run's deadlines allow.
const (
	maxGbps        = 1e5
	maxLatencyUs   = 1e9
	maxSamples     = 1e9
	maxDurationMs  = 1e9
	maxSelfNoiseNs = 1e9
	maxSpeedGTs    = 1024
	maxLanes       = 32
	maxSpreadShare = 10
	maxUtilization = 100 // of 1; counters and rates disagree for a moment, but not by this much
	maxReads       = 1000
	maxTextInList  = 10000
)

// check finds what a decoded report contradicts: itself, its topology, physics.
func check(r *Report) error {
	if err := r.Topology.Validate(); err != nil {
		return at("topology", err)
	}
	c := checker{paths: map[topology.PathKey]topology.Path{}, accounted: map[topology.PathKey]bool{}, hops: map[string]topology.HopKind{}, rnics: map[string]bool{}, gpus: map[string]bool{}}
	for _, p := range r.Topology.Paths {
		c.paths[p.Key()] = p
	}
	for _, h := range r.Topology.Hops {
		c.hops[h.ID] = h.Kind
	}
	for _, x := range r.Topology.RNICs {
		c.rnics[x.ID] = true
	}
	for _, g := range r.Topology.GPUs {
		c.gpus[g.ID] = true
	}
	if err := first(
		at("run", c.run(&r.Run)),
		each("measurements", r.Measurements, c.measurement),
		each("hops", r.Hops, c.hop),
		each("history", r.History, c.history),
		each("path_history", r.PathHistory, c.pathHistory),
		sameRuns(r),
		at("monitor", c.monitor(&r.Monitor)),
		each("sources", r.Sources, c.source),
		each("unmeasured", r.Unmeasured, c.unmeasured),
		at("idle", c.idle(&r.Idle)),
	); err != nil {
		return err
	}
	for i, p := range r.Topology.Paths {
		if !c.accounted[p.Key()] {
			return bad("unmeasured", "does not list topology.paths[%d], %v, which measurements do not list either", i, p.Key())
		}
	}
	return nil
}

// checker knows what the topology has, and which paths were told of.
type checker struct {
	paths       map[topology.PathKey]topology.Path
	accounted   map[topology.PathKey]bool
	hops        map[string]topology.HopKind
	rnics, gpus map[string]bool
}

func (c *checker) run(r *Run) error {
	return first(
		identifier("id", r.ID),
		oneOf("mode", r.Mode, string(engine.ModeIdle), string(engine.ModeBusy)),
		oneOf("backend", r.Backend, "live", "sim"),
		identifier("trigger", r.Trigger),
		within("duration_ms", r.DurationMs, 0, maxDurationMs),
		at("thresholds", thresholds(r.Thresholds)),
	)
}

func thresholds(t Thresholds) error {
	if t == (Thresholds{}) {
		return nil // not stated
	}
	return first(share("path", t.Path), share("overload", t.Overload), share("pause", t.Pause), atLeast("flap_runs", t.FlapRuns, 1))
}

func (c *checker) measurement(m *Measurement) error {
	path, err := c.account(m.RNIC, m.Endpoint)
	if err != nil {
		return err
	}
	if m.Class != path.Class {
		return bad("class", "%q is not the class of this path in the topology, %q", shorten(string(m.Class)), path.Class)
	}
	if m.Close != path.Close {
		return bad("close", "is %v; in the topology it is %v", m.Close, path.Close)
	}
	if err := first(
		within("bandwidth_gbps", m.BandwidthGbps, 0, maxGbps),
		maybe("paper_bandwidth_gbps", m.PaperBandwidthGbps, 0, maxGbps),
		at("latency_us", latencies(&m.LatencyUs)),
		maybe("reference_gbps", m.ReferenceGbps, 0, maxGbps),
		maybe("reference_latency_us", m.ReferenceLatencyUs, 0, maxLatencyUs),
		at("baseline", expectation(&m.Baseline)),
		pathVerdict("verdict", m.Verdict),
		pathVerdict("latency_verdict", m.LatencyVerdict),
		maybe("self_noise_ns", m.SelfNoiseNs, 0, maxSelfNoiseNs),
		upTo("reads", len(m.Reads), maxReads),
		each("reads", m.Reads, c.read),
	); err != nil {
		return err
	}
	if s := m.Setup; s != nil {
		if err := at("setup", first(
			atLeast("queue_pairs", s.QueuePairs, 1), atLeast("depth", s.Depth, 1),
			atLeast("message_bytes", s.MessageBytes, 1), atLeast("mtu_bytes", s.MTUBytes, 0))); err != nil {
			return err
		}
	}
	if m.Failure != nil {
		if err := at("failure", identifier("reason", m.Failure.Reason)); err != nil {
			return err
		}
	}
	byBandwidth := medianRead(m.Reads, func(x Read) float64 { return x.BandwidthGbps })
	byLatency := medianRead(m.Reads, func(x Read) float64 { return x.LatencyUs.P50Us })
	return first(
		same("bandwidth_gbps", m.BandwidthGbps, byBandwidth.BandwidthGbps),
		same("latency_us.p50", m.LatencyUs.P50Us, byLatency.LatencyUs.P50Us))
}

func (c *checker) read(x *Read) error {
	return first(
		within("bandwidth_gbps", x.BandwidthGbps, 0, maxGbps),
		maybe("paper_bandwidth_gbps", x.PaperBandwidthGbps, 0, maxGbps),
		at("latency_us", latencies(&x.LatencyUs)),
		each("links", x.Links, func(l *probe.LinkSample) error {
			if _, ok := c.hops[l.Hop]; !ok { // a detour may load hops beside the path
				return bad("hop", "%q is not listed in the topology", shorten(l.Hop))
			}
			if w := l.Width; w != nil && (*w < 0 || *w > maxLanes) {
				return bad("width", "%d is not between 0 and %d", *w, maxLanes)
			}
			return maybe("speed_gts", l.SpeedGTs, 0, maxSpeedGTs)
		}))
}

// account finds the path that an entry is about, which no other entry may be.
func (c *checker) account(rnic, endpoint string) (topology.Path, error) {
	key := topology.PathKey{RNIC: rnic, Endpoint: endpoint}
	path, ok := c.paths[key]
	switch {
	case !ok && !c.rnics[rnic]:
		return path, bad("rnic", "%q is not listed in the topology", shorten(rnic))
	case !ok:
		return path, bad("endpoint", "%s is no path of the topology", shorten(key.String()))
	case c.accounted[key]:
		return path, bad("endpoint", "%v is told of twice", key)
	}
	c.accounted[key] = true
	return path, nil
}

func (c *checker) unmeasured(u *Unmeasured) error {
	if _, err := c.account(u.RNIC, u.Endpoint); err != nil {
		return err
	}
	return identifier("reason", u.Reason)
}

func (c *checker) hop(h *Hop) error {
	kind, ok := c.hops[h.ID]
	if !ok {
		return bad("id", "%q is not listed in the topology", shorten(h.ID))
	}
	if h.Kind != kind {
		return bad("kind", "%q is not the kind of %s, %q", shorten(string(h.Kind)), h.ID, kind)
	}
	return first(
		hopVerdict("verdict", h.Verdict),
		atLeast("abnormal_count", h.AbnormalCount, 0),
		maybe("utilization", h.Utilization, 0, maxUtilization),
		maybe("estimated_capacity_gbps", h.EstimatedCapacityGbps, 0, maxGbps))
}

// history may name a hop that this run no longer found.
func (c *checker) history(h *HopHistory) error {
	return first(
		identifier("hop", h.Hop),
		upTo("verdicts", len(h.Verdicts), maxTextInList),
		each("verdicts", h.Verdicts, func(v *string) error { return hopVerdict("", *v) }))
}

// pathHistory may name a path that this run no longer found.
func (c *checker) pathHistory(h *PathHistory) error {
	return first(
		identifier("rnic", h.RNIC),
		identifier("endpoint", h.Endpoint),
		each("verdicts", h.Verdicts, func(v *string) error {
			return oneOf("", analyzer.Verdict(*v), analyzer.Normal, analyzer.Abnormal, analyzer.Gray, analyzer.Uncertain, analyzer.Unmeasured)
		}))
}

// sameRuns checks that all histories tell of the same number of runs, this one included.
func sameRuns(r *Report) error {
	runs := 1
	if len(r.History) > 0 {
		runs = max(1, len(r.History[0].Verdicts))
	}
	for i, h := range r.History {
		if len(h.Verdicts) != runs {
			return bad(fmt.Sprintf("history[%d].verdicts", i), "has %d entries; that of %s has %d", len(h.Verdicts), r.History[0].Hop, runs)
		}
	}
	for i, h := range r.PathHistory {
		if len(h.Verdicts) != runs {
			return bad(fmt.Sprintf("path_history[%d].verdicts", i), "has %d entries; history tells of %d runs", len(h.Verdicts), runs)
		}
	}
	return nil
}

func (c *checker) bus(b *monitor.BusUtilization, seen map[string]bool) error {
	if kind, ok := c.hops[b.Hop()]; !ok || kind != topology.HopMemory && kind != topology.HopInterSocket {
		return bad("component", "%q is no %s of the topology", shorten(b.Component), shorten(string(b.Kind)))
	}
	return first(once("component", b.Hop(), seen), maybe("utilization", b.Utilization, 0, maxUtilization))
}

func (c *checker) congestion(x *monitor.Congestion, seen map[string]bool) error {
	return first(
		c.listedOnce("rnic", x.RNIC, c.rnics, seen),
		maybe("pause_ratio", x.PauseRatio, 0, maxUtilization),
		maybe("drops", x.Drops, 0, math.MaxFloat64))
}

func (c *checker) monitor(m *Monitor) error {
	seen := map[string]bool{}
	config := func(x *RNICConfig) error { return c.listedOnce("rnic", x.RNIC, c.rnics, seen) }
	if err := each("rnic_config", m.RNICConfig, config); err != nil {
		return err
	}
	bridges, translating := map[string]bool{}, map[string]bool{}
	buses, congested := map[string]bool{}, map[string]bool{}
	return first(
		each("buses", m.Buses, func(b *monitor.BusUtilization) error { return c.bus(b, buses) }),
		each("congestion", m.Congestion, func(x *monitor.Congestion) error { return c.congestion(x, congested) }),
		each("active_ports", m.ActivePorts, func(port *string) error { return identifier("", *port) }),
		each("acs", m.ACS, func(x *Setting) error { // a switch has a link, but need not be a part of the topology
			return first(identifier("id", x.ID), once("id", x.ID, bridges))
		}),
		each("ats", m.ATS, func(x *Setting) error { return c.listedOnce("id", x.ID, c.rnics, translating) }))
}

func (c *checker) listedOnce(field, id string, listed, seen map[string]bool) error {
	if !listed[id] {
		return bad(field, "%q is not listed in the topology", shorten(id))
	}
	return once(field, id, seen)
}

func (c *checker) source(s *monitor.Source) error {
	return first(
		identifier("name", s.Name),
		oneOf("state", s.State, monitor.SourceOK, monitor.SourceUnavailable, monitor.SourceFailing))
}

func (c *checker) idle(i *monitor.Reading) error {
	rnics, gpus := map[string]bool{}, map[string]bool{}
	return first(
		oneOf("state", i.State, monitor.Idle, monitor.Busy, monitor.Unknown),
		each("rnics", i.RNICs, func(u *monitor.Utilization) error { return c.load(u, c.rnics, rnics) }),
		each("gpus", i.GPUs, func(u *monitor.Utilization) error { return c.load(u, c.gpus, gpus) }))
}

func (c *checker) load(u *monitor.Utilization, listed, seen map[string]bool) error {
	return first(
		c.listedOnce("id", u.ID, listed, seen),
		maybe("utilization", u.Utilization, 0, maxUtilization))
}

func latencies(l *probe.Latency) error {
	if err := first(
		within("p50", l.P50Us, 0, maxLatencyUs), within("p99", l.P99Us, 0, maxLatencyUs),
		within("min", l.MinUs, 0, maxLatencyUs), within("max", l.MaxUs, 0, maxLatencyUs),
		within("samples", float64(l.Samples), 0, maxSamples)); err != nil {
		return err
	}
	return first(
		notAbove("min", l.MinUs, "p50", l.P50Us), notAbove("p50", l.P50Us, "p99", l.P99Us), notAbove("p99", l.P99Us, "max", l.MaxUs))
}

func expectation(e *baseline.Expectation) error {
	return first(
		positive("bandwidth_gbps", e.BandwidthGbps, maxGbps),
		maybe("latency_us", e.LatencyUs, 0, maxLatencyUs),
		maybe("latency_above_close_us", e.LatencyAboveCloseUs, 0, maxLatencyUs),
		maybe("spread_share", e.SpreadShare, 0, maxSpreadShare),
		oneOf("source", e.Source, baseline.SourceDefault, baseline.SourceCalibration, baseline.SourceNone))
}

func pathVerdict(field, v string) error {
	return oneOf(field, analyzer.Verdict(v), analyzer.Normal, analyzer.Abnormal, analyzer.Uncertain, analyzer.Unmeasured)
}

func hopVerdict(field, v string) error {
	return oneOf(field, analyzer.Verdict(v), analyzer.Normal, analyzer.Abnormal, analyzer.Gray, analyzer.Flapping, analyzer.Uncertain)
}

// same compares a figure with the one that it was taken from; another program may have rounded it.
func same(field string, got, want float64) error {
	if math.Abs(got-want) > 1e-3*math.Abs(want)+1e-9 {
		return bad(field, "%v is not the median of the path's reads, %v", got, want)
	}
	return nil
}

func within(field string, x, least, most float64) error {
	switch {
	case x < least && least == 0:
		return bad(field, "%v is negative", x)
	case !(x >= least && x <= most):
		return bad(field, "%v is not between %v and %v", x, least, most)
	}
	return nil
}

func maybe(field string, x *float64, least, most float64) error {
	if x == nil {
		return nil
	}
	return within(field, *x, least, most)
}

func positive(field string, x *float64, most float64) error {
	if x != nil && !(*x > 0 && *x <= most) {
		return bad(field, "%v is not above 0 and at most %v", *x, most)
	}
	return nil
}

func share(field string, x float64) error {
	if !(x > 0 && x < 1) {
		return bad(field, "%v is no share above 0 and below 1", x)
	}
	return nil
}

func atLeast(field string, n, least int) error {
	if n < least {
		return bad(field, "%d is below %d", n, least)
	}
	return nil
}

func upTo(field string, n, most int) error {
	if n > most {
		return bad(field, "has %d entries, more than %d", n, most)
	}
	return nil
}

func notAbove(low string, lowValue float64, high string, highValue float64) error {
	if lowValue > highValue {
		return bad(low, "%v is above %s, %v", lowValue, high, highValue)
	}
	return nil
}

func once(field, id string, seen map[string]bool) error {
	if seen[id] {
		return bad(field, "%q is given twice", shorten(id))
	}
	seen[id] = true
	return nil
}

func oneOf[T ~string](field string, v T, known ...T) error {
	if !slices.Contains(known, v) {
		var words []string
		for _, k := range known {
			words = append(words, string(k))
		}
		return bad(field, "%q is none of %s", shorten(string(v)), strings.Join(words, ", "))
	}
	return nil
}

// identifier checks a name.
func identifier(field, s string) error {
	if s == "" {
		return bad(field, "is empty")
	}
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return bad(field, "%q holds a space", shorten(s))
	}
	return nil
}

// each checks a list's elements, and puts the place in front of an error.
func each[T any](list string, elements []T, check func(*T) error) error {
	for i := range elements {
		if err := check(&elements[i]); err != nil {
			return at(fmt.Sprintf("%s[%d]", list, i), err)
		}
	}
	return nil
}

// first returns the first error there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
