package report

import (
	"fmt"
	"math"
	"time"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/document"
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
		return document.At("topology", err)
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
	if err := document.First(
		document.At("run", c.run(&r.Run)),
		document.Each("measurements", r.Measurements, c.measurement),
		document.Each("hops", r.Hops, c.hop),
		document.Each("history", r.History, c.history),
		document.Each("path_history", r.PathHistory, c.pathHistory),
		sameRuns(r),
		document.At("monitor", c.monitor(&r.Monitor)),
		document.Each("sources", r.Sources, c.source),
		document.Each("unmeasured", r.Unmeasured, c.unmeasured),
		document.At("idle", c.idle(&r.Idle)),
	); err != nil {
		return err
	}
	for i, p := range r.Topology.Paths {
		if !c.accounted[p.Key()] {
			return document.Bad("unmeasured", "does not list topology.paths[%d], %v, which measurements do not list either", i, p.Key())
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
	return document.First(
		document.Identifier("id", r.ID),
		document.OneOf("mode", r.Mode, string(engine.ModeIdle), string(engine.ModeBusy)),
		document.OneOf("backend", r.Backend, "live", "sim"),
		document.Identifier("trigger", r.Trigger),
		document.Within("duration_ms", r.DurationMs, 0, maxDurationMs),
		inOrder(r.StartedAt, r.FinishedAt),
		document.At("thresholds", thresholds(r.Thresholds)),
	)
}

func inOrder(started, finished time.Time) error {
	if finished.Before(started) {
		return document.Bad("finished_at", "%s is before started_at, %s", finished.Format(time.RFC3339Nano), started.Format(time.RFC3339Nano))
	}
	return nil
}

func thresholds(t Thresholds) error {
	if t == (Thresholds{}) {
		return nil // not stated
	}
	return document.First(share("path", t.Path), share("overload", t.Overload), share("pause", t.Pause), atLeast("flap_runs", t.FlapRuns, 1))
}

func (c *checker) measurement(m *Measurement) error {
	path, err := c.account(m.RNIC, m.Endpoint)
	if err != nil {
		return err
	}
	if m.Class != path.Class {
		return document.Bad("class", "%q is not the class of this path in the topology, %q", string(m.Class), path.Class)
	}
	if m.Close != path.Close {
		return document.Bad("close", "is %v; in the topology it is %v", m.Close, path.Close)
	}
	if err := document.First(
		document.Within("bandwidth_gbps", m.BandwidthGbps, 0, maxGbps),
		document.Maybe("paper_bandwidth_gbps", m.PaperBandwidthGbps, 0, maxGbps),
		document.At("latency_us", latencies(&m.LatencyUs)),
		document.Maybe("reference_gbps", m.ReferenceGbps, 0, maxGbps),
		document.Maybe("reference_latency_us", m.ReferenceLatencyUs, 0, maxLatencyUs),
		document.At("baseline", expectation(&m.Baseline)),
		pathVerdict("verdict", m.Verdict),
		pathVerdict("latency_verdict", m.LatencyVerdict),
		document.Maybe("self_noise_ns", m.SelfNoiseNs, 0, maxSelfNoiseNs),
		upTo("reads", len(m.Reads), maxReads),
		document.Each("reads", m.Reads, c.read),
	); err != nil {
		return err
	}
	if s := m.Setup; s != nil {
		if err := document.At("setup", document.First(
			atLeast("queue_pairs", s.QueuePairs, 1), atLeast("depth", s.Depth, 1),
			atLeast("message_bytes", s.MessageBytes, 1), atLeast("mtu_bytes", s.MTUBytes, 0))); err != nil {
			return err
		}
	}
	if m.Failure != nil {
		if err := document.At("failure", document.Identifier("reason", m.Failure.Reason)); err != nil {
			return err
		}
	}
	byBandwidth := medianRead(m.Reads, func(x Read) float64 { return x.BandwidthGbps })
	byLatency := medianRead(m.Reads, func(x Read) float64 { return x.LatencyUs.P50Us })
	return document.First(
		same("bandwidth_gbps", m.BandwidthGbps, byBandwidth.BandwidthGbps),
		same("latency_us.p50", m.LatencyUs.P50Us, byLatency.LatencyUs.P50Us))
}

func (c *checker) read(x *Read) error {
	return document.First(
		document.Within("bandwidth_gbps", x.BandwidthGbps, 0, maxGbps),
		document.Maybe("paper_bandwidth_gbps", x.PaperBandwidthGbps, 0, maxGbps),
		document.At("latency_us", latencies(&x.LatencyUs)),
		document.Each("links", x.Links, func(l *probe.LinkSample) error {
			if _, ok := c.hops[l.Hop]; !ok { // a detour may load hops beside the path
				return document.Bad("hop", "%q is not listed in the topology", l.Hop)
			}
			return document.First(
				document.Maybe("width", l.Width, 0, maxLanes),
				document.Maybe("speed_gts", l.SpeedGTs, 0, maxSpeedGTs))
		}))
}

// account finds the path that an entry is about, which no other entry may be.
func (c *checker) account(rnic, endpoint string) (topology.Path, error) {
	key := topology.PathKey{RNIC: rnic, Endpoint: endpoint}
	path, ok := c.paths[key]
	switch {
	case !ok && !c.rnics[rnic]:
		return path, document.Bad("rnic", "%q is not listed in the topology", rnic)
	case !ok:
		return path, document.Bad("endpoint", "%s is no path of the topology", key.String())
	case c.accounted[key]:
		return path, document.Bad("endpoint", "%v is given twice", key)
	}
	c.accounted[key] = true
	return path, nil
}

func (c *checker) unmeasured(u *Unmeasured) error {
	if _, err := c.account(u.RNIC, u.Endpoint); err != nil {
		return err
	}
	return document.Identifier("reason", u.Reason)
}

func (c *checker) hop(h *Hop) error {
	kind, ok := c.hops[h.ID]
	if !ok {
		return document.Bad("id", "%q is not listed in the topology", h.ID)
	}
	if h.Kind != kind {
		return document.Bad("kind", "%q is not the kind of %s, %q", string(h.Kind), h.ID, kind)
	}
	return document.First(
		hopVerdict("verdict", h.Verdict),
		atLeast("abnormal_count", h.AbnormalCount, 0),
		document.Maybe("utilization", h.Utilization, 0, maxUtilization),
		document.Maybe("estimated_capacity_gbps", h.EstimatedCapacityGbps, 0, maxGbps))
}

// history may name a hop that this run no longer found.
func (c *checker) history(h *HopHistory) error {
	return document.First(
		document.Identifier("hop", h.Hop),
		upTo("verdicts", len(h.Verdicts), maxTextInList),
		document.Each("verdicts", h.Verdicts, func(v *string) error { return hopVerdict("", *v) }))
}

// pathHistory may name a path that this run no longer found.
func (c *checker) pathHistory(h *PathHistory) error {
	return document.First(
		document.Identifier("rnic", h.RNIC),
		document.Identifier("endpoint", h.Endpoint),
		document.Each("verdicts", h.Verdicts, func(v *string) error {
			return document.OneOf("", analyzer.Verdict(*v), analyzer.Normal, analyzer.Abnormal, analyzer.Gray, analyzer.Uncertain, analyzer.Unmeasured)
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
			return document.Bad(fmt.Sprintf("history[%d].verdicts", i), "has %d entries; that of %s has %d", len(h.Verdicts), r.History[0].Hop, runs)
		}
	}
	for i, h := range r.PathHistory {
		if len(h.Verdicts) != runs {
			return document.Bad(fmt.Sprintf("path_history[%d].verdicts", i), "has %d entries; history tells of %d runs", len(h.Verdicts), runs)
		}
	}
	return nil
}

func (c *checker) bus(b *monitor.BusUtilization, seen map[string]bool) error {
	if kind, ok := c.hops[b.Hop()]; !ok || kind != topology.HopMemory && kind != topology.HopInterSocket {
		return document.Bad("component", "%q is no %s of the topology", b.Component, string(b.Kind))
	}
	return document.First(document.Once("component", b.Hop(), seen), document.Maybe("utilization", b.Utilization, 0, maxUtilization))
}

func (c *checker) congestion(x *monitor.Congestion, seen map[string]bool) error {
	return document.First(
		c.listedOnce("rnic", x.RNIC, c.rnics, seen),
		document.Maybe("pause_ratio", x.PauseRatio, 0, maxUtilization),
		document.Maybe("drops", x.Drops, 0, math.MaxFloat64))
}

func (c *checker) monitor(m *Monitor) error {
	seen := map[string]bool{}
	config := func(x *RNICConfig) error { return c.listedOnce("rnic", x.RNIC, c.rnics, seen) }
	if err := document.Each("rnic_config", m.RNICConfig, config); err != nil {
		return err
	}
	bridges, translating := map[string]bool{}, map[string]bool{}
	buses, congested := map[string]bool{}, map[string]bool{}
	return document.First(
		document.Each("buses", m.Buses, func(b *monitor.BusUtilization) error { return c.bus(b, buses) }),
		document.Each("congestion", m.Congestion, func(x *monitor.Congestion) error { return c.congestion(x, congested) }),
		document.Each("active_ports", m.ActivePorts, func(port *string) error { return document.Identifier("", *port) }),
		document.Each("acs", m.ACS, func(x *Setting) error { // a switch has a link, but need not be a part of the topology
			return document.First(document.Identifier("id", x.ID), document.Once("id", x.ID, bridges))
		}),
		document.Each("ats", m.ATS, func(x *Setting) error { return c.listedOnce("id", x.ID, c.rnics, translating) }))
}

func (c *checker) listedOnce(field, id string, listed, seen map[string]bool) error {
	if !listed[id] {
		return document.Bad(field, "%q is not listed in the topology", id)
	}
	return document.Once(field, id, seen)
}

func (c *checker) source(s *monitor.Source) error {
	return document.First(
		document.Identifier("name", s.Name),
		document.OneOf("state", s.State, monitor.SourceOK, monitor.SourceUnavailable, monitor.SourceFailing))
}

func (c *checker) idle(i *monitor.Reading) error {
	rnics, gpus := map[string]bool{}, map[string]bool{}
	return document.First(
		document.OneOf("state", i.State, monitor.Idle, monitor.Busy, monitor.Unknown),
		document.Each("rnics", i.RNICs, func(u *monitor.Utilization) error { return c.load(u, c.rnics, rnics) }),
		document.Each("gpus", i.GPUs, func(u *monitor.Utilization) error { return c.load(u, c.gpus, gpus) }))
}

func (c *checker) load(u *monitor.Utilization, listed, seen map[string]bool) error {
	return document.First(
		c.listedOnce("id", u.ID, listed, seen),
		document.Maybe("utilization", u.Utilization, 0, maxUtilization))
}

func latencies(l *probe.Latency) error {
	if err := document.First(
		document.Within("p50", l.P50Us, 0, maxLatencyUs), document.Within("p99", l.P99Us, 0, maxLatencyUs),
		document.Within("min", l.MinUs, 0, maxLatencyUs), document.Within("max", l.MaxUs, 0, maxLatencyUs),
		document.Within("samples", float64(l.Samples), 0, maxSamples)); err != nil {
		return err
	}
	return document.First(
		notAbove("min", l.MinUs, "p50", l.P50Us), notAbove("p50", l.P50Us, "p99", l.P99Us), notAbove("p99", l.P99Us, "max", l.MaxUs))
}

func expectation(e *baseline.Expectation) error {
	return document.First(
		document.Positive("bandwidth_gbps", e.BandwidthGbps, maxGbps),
		document.Maybe("latency_us", e.LatencyUs, 0, maxLatencyUs),
		document.Maybe("latency_above_close_us", e.LatencyAboveCloseUs, 0, maxLatencyUs),
		document.Maybe("spread_share", e.SpreadShare, 0, maxSpreadShare),
		document.OneOf("source", e.Source, baseline.SourceDefault, baseline.SourceCalibration, baseline.SourceNone))
}

func pathVerdict(field, v string) error {
	return document.OneOf(field, analyzer.Verdict(v), analyzer.Normal, analyzer.Abnormal, analyzer.Uncertain, analyzer.Unmeasured)
}

func hopVerdict(field, v string) error {
	return document.OneOf(field, analyzer.Verdict(v), analyzer.Normal, analyzer.Abnormal, analyzer.Gray, analyzer.Flapping, analyzer.Uncertain)
}

// same compares a figure with the one that it was taken from; another program may have rounded it.
func same(field string, got, want float64) error {
	if math.Abs(got-want) > 1e-3*math.Abs(want)+1e-9 {
		return document.Bad(field, "%v is not the median of the path's reads, %v", got, want)
	}
	return nil
}

func share(field string, x float64) error {
	if !(x > 0 && x < 1) {
		return document.Bad(field, "%v is no share above 0 and below 1", x)
	}
	return nil
}

func atLeast(field string, n, least int) error {
	if n < least {
		return document.Bad(field, "%d is below %d", n, least)
	}
	return nil
}

func upTo(field string, n, most int) error {
	if n > most {
		return document.Bad(field, "has %d entries, more than %d", n, most)
	}
	return nil
}

func notAbove(low string, lowValue float64, high string, highValue float64) error {
	if lowValue > highValue {
		return document.Bad(low, "%v is above %s, %v", lowValue, high, highValue)
	}
	return nil
}
