package report

import (
	"slices"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Terms are what a saved report is judged by when it is judged anew.
type Terms struct {
	Tool       Tool // that judges
	Thresholds analyzer.Thresholds
	// History is what the runs before said; nil takes what the report says of them.
	History *analyzer.History
	// Baselines gives the expectations for the report's host instead of those
	// that are stored, and what there is to say about them; nil keeps the stored ones.
	Baselines func(Report) (baseline.Set, []diagnosis.Finding, error)
}

// Replay judges a report anew: verdicts, hops, diagnoses and findings follow
// from its topology, reads, baselines and monitor; the stored ones are
// ignored. On the terms of the run that made the report, it is that report
// again, byte by byte. The error is that of terms.Baselines.
func Replay(r Report, terms Terms) (Report, error) {
	in := Input{
		Tool: terms.Tool, Host: r.Host, Run: r.Run, Topology: r.Topology, Baselines: baseline.Set{},
		RNICConfig: map[string]analyzer.RNICConfig{},
		P2P:        analyzer.P2PSettings{ACS: settings(r.Monitor.ACS), ATS: settings(r.Monitor.ATS)},
		Buses:      r.Monitor.Buses, Congestion: r.Monitor.Congestion,
		Sources: r.Sources, Idle: r.Idle,
	}
	history := r.Past().BeforeLast()
	if terms.History != nil {
		history = *terms.History
	}
	in.Run.Thresholds = ThresholdsOf(terms.Thresholds)
	for _, m := range r.Measurements {
		in.Baselines[topology.PathKey{RNIC: m.RNIC, Endpoint: m.Endpoint}] = m.Baseline
	}
	known := findings(r.Findings, diagnosis.Code.OfHost)
	if terms.Baselines == nil {
		known = findings(r.Findings, diagnosis.Code.BeforeMeasuring)
	} else {
		set, about, err := terms.Baselines(r)
		if err != nil {
			return Report{}, err
		}
		in.Baselines = set
		in.Topology.Paths = slices.Clone(r.Topology.Paths)
		baseline.MarkClose(&in.Topology, set)
		known = append(known, about...)
	}
	in.Outcomes, in.Unplanned = outcomes(r, in.Topology)
	for _, c := range r.Monitor.RNICConfig {
		in.RNICConfig[c.RNIC] = analyzer.RNICConfig{SlowStart: c.SlowStart, SmallTxWindow: c.SmallTxWindow}
	}

	in.Result = analyzer.Analyze(analyzer.Input{
		Topology: in.Topology, Baselines: in.Baselines, Outcomes: in.Outcomes,
		Busy: r.Run.Mode == string(engine.ModeBusy), Idle: in.Idle, RNICConfig: in.RNICConfig, P2P: in.P2P,
		Buses: in.Buses, Congestion: in.Congestion, History: history, Unselected: Unselected(in.Topology, in.Unplanned),
		Thresholds: terms.Thresholds,
	})
	in.Result.Findings = append(known, in.Result.Findings...)
	return Build(in), nil
}

// outcomes are what the run learned of each path that it planned, and the
// paths that it left out, both in the report's order.
func outcomes(r Report, host topology.Topology) (planned []probe.Outcome, unplanned []Unmeasured) {
	paths := make(map[topology.PathKey]topology.Path, len(host.Paths))
	for _, p := range host.Paths {
		paths[p.Key()] = p
	}
	for _, m := range r.Measurements {
		outcome := probe.Outcome{Path: paths[topology.PathKey{RNIC: m.RNIC, Endpoint: m.Endpoint}]}
		for _, x := range m.Reads {
			outcome.Reads = append(outcome.Reads, probe.Reading{
				BandwidthGbps: x.BandwidthGbps, PaperBandwidthGbps: x.PaperBandwidthGbps, Latency: x.LatencyUs,
				ToolLimited: x.ToolLimited, Links: x.Links,
				SelfNoiseNs: m.SelfNoiseNs, Setup: m.Setup, // the report has them once for all reads
			})
		}
		if m.Failure != nil {
			outcome.Failure = &probe.Failure{Reason: probe.Reason(m.Failure.Reason), Detail: m.Failure.Detail}
		}
		planned = append(planned, outcome)
	}
	for _, u := range r.Unmeasured {
		if !u.Planned {
			unplanned = append(unplanned, u)
			continue
		}
		planned = append(planned, probe.Outcome{
			Path:    paths[topology.PathKey{RNIC: u.RNIC, Endpoint: u.Endpoint}],
			Failure: &probe.Failure{Reason: probe.Reason(u.Reason), Detail: u.Detail},
		})
	}
	return planned, unplanned
}

// Unselected finds the RNICs that the operator left out: all their paths are excluded.
func Unselected(t topology.Topology, missed []Unmeasured) map[string]bool {
	excluded := map[topology.PathKey]bool{}
	for _, u := range missed {
		excluded[topology.PathKey{RNIC: u.RNIC, Endpoint: u.Endpoint}] = !u.Planned && u.Reason == string(engine.ReasonExcluded)
	}
	out := map[string]bool{}
	for _, p := range t.Paths {
		so, seen := out[p.RNIC]
		out[p.RNIC] = excluded[p.Key()] && (so || !seen)
	}
	return out
}

func findings(list []diagnosis.Finding, that func(diagnosis.Code) bool) (kept []diagnosis.Finding) {
	for _, f := range list {
		if that(f.Code) {
			kept = append(kept, f)
		}
	}
	return kept
}

func settings(list []Setting) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, s := range list {
		m[s.ID] = s.On
	}
	return m
}
