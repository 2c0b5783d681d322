package report

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Input is everything that a run knows about itself when it is over.
type Input struct {
	Tool      Tool
	Host      Host
	Run       Run
	Topology  topology.Topology
	Baselines baseline.Set
	Outcomes  []probe.Outcome // of the planned paths
	Unplanned []Unmeasured    // the paths left out of the plan, with the reason
	Result    analyzer.Result
	// RNICConfig and P2P are what the monitor told the analyzer besides idleness.
	RNICConfig map[string]analyzer.RNICConfig
	P2P        analyzer.P2PSettings
	Buses      []monitor.BusUtilization
	Congestion []monitor.Congestion
	Sources    []monitor.Source
	Idle       monitor.Reading
}

// Build makes the report of a run.
func Build(in Input) Report {
	r := Report{
		Schema:    SchemaID,
		Tool:      in.Tool,
		Host:      in.Host,
		Run:       in.Run,
		Topology:  in.Topology,
		Findings:  in.Result.Findings,
		Diagnoses: in.Result.Diagnoses,
		Monitor:   monitorOf(in),
		Sources:   in.Sources,
		Idle:      in.Idle,
	}
	verdicts := make(map[topology.PathKey]analyzer.PathVerdict, len(in.Result.Paths))
	for _, v := range in.Result.Paths {
		verdicts[v.Path.Key()] = v
	}
	for _, outcome := range in.Outcomes {
		key := outcome.Path.Key()
		if len(outcome.Reads) == 0 {
			r.Unmeasured = append(r.Unmeasured, missedPath(outcome))
			continue
		}
		r.Measurements = append(r.Measurements, measurement(outcome, verdicts[key], in.Baselines[key]))
	}
	r.Unmeasured = append(r.Unmeasured, in.Unplanned...)
	for _, h := range in.Result.Hops {
		r.Hops = append(r.Hops, Hop{
			ID: h.Hop, Kind: h.Kind, Verdict: string(h.Verdict), AbnormalCount: h.AbnormalCount,
			Utilization: h.Utilization, EstimatedCapacityGbps: h.EstimatedCapacityGbps, Evidence: h.Evidence,
		})
	}
	r.keepHistory(in.Result.History)
	fillLists(reflect.ValueOf(&r).Elem())
	return r
}

func missedPath(outcome probe.Outcome) Unmeasured {
	u := Unmeasured{
		RNIC: outcome.Path.RNIC, Endpoint: outcome.Path.Endpoint, Planned: true,
		Reason: string(probe.ReasonNotReached), Detail: "the run ended first",
	}
	if outcome.Failure != nil {
		u.Reason, u.Detail = string(outcome.Failure.Reason), outcome.Failure.Detail
	}
	return u
}

func measurement(outcome probe.Outcome, verdict analyzer.PathVerdict, expected baseline.Expectation) Measurement {
	byBandwidth := medianRead(outcome.Reads, func(r probe.Reading) float64 { return r.BandwidthGbps })
	byLatency := medianRead(outcome.Reads, func(r probe.Reading) float64 { return r.Latency.P50Us })
	if expected.Source == "" {
		expected.Source = baseline.SourceNone
	}
	m := Measurement{
		RNIC: outcome.Path.RNIC, Endpoint: outcome.Path.Endpoint,
		Class: outcome.Path.Class, Close: outcome.Path.Close,
		BandwidthGbps:      byBandwidth.BandwidthGbps,
		PaperBandwidthGbps: byBandwidth.PaperBandwidthGbps,
		LatencyUs:          byLatency.Latency,
		ReferenceGbps:      verdict.ReferenceGbps,
		ReferenceLatencyUs: verdict.ReferenceUs,
		Rule:               string(verdict.Rule),
		Baseline:           expected,
		Verdict:            string(cmp.Or(verdict.Verdict, analyzer.Uncertain)),
		LatencyVerdict:     string(cmp.Or(verdict.LatencyVerdict, analyzer.Uncertain)),
		Reason:             verdict.Reason,
		SelfNoiseNs:        byLatency.SelfNoiseNs,
		Setup:              byBandwidth.Setup,
	}
	if outcome.Failure != nil {
		m.Failure = &Failure{Reason: string(outcome.Failure.Reason), Detail: outcome.Failure.Detail}
	}
	for _, read := range outcome.Reads {
		m.Reads = append(m.Reads, Read{
			BandwidthGbps: read.BandwidthGbps, PaperBandwidthGbps: read.PaperBandwidthGbps,
			LatencyUs: read.Latency, ToolLimited: read.ToolLimited, Links: read.Links,
		})
	}
	return m
}

// medianRead returns the read whose figure is the median; the lower one of an
// even number, so that what is reported is always something that was read.
func medianRead[R any](reads []R, figure func(R) float64) R {
	sorted := slices.Clone(reads)
	slices.SortStableFunc(sorted, func(a, b R) int { return cmp.Compare(figure(a), figure(b)) })
	return sorted[(len(sorted)-1)/2]
}

// monitorOf lists the settings by name, in the natural order of the names.
func monitorOf(in Input) Monitor {
	m := Monitor{Buses: in.Buses, Congestion: in.Congestion}
	for _, rnic := range topology.SortedKeys(in.RNICConfig) {
		c := in.RNICConfig[rnic]
		m.RNICConfig = append(m.RNICConfig, RNICConfig{RNIC: rnic, SlowStart: c.SlowStart, SmallTxWindow: c.SmallTxWindow})
	}
	for _, bridge := range topology.SortedKeys(in.P2P.ACS) {
		m.ACS = append(m.ACS, Setting{ID: bridge, On: in.P2P.ACS[bridge]})
	}
	for _, rnic := range topology.SortedKeys(in.P2P.ATS) {
		m.ATS = append(m.ATS, Setting{ID: rnic, On: in.P2P.ATS[rnic]})
	}
	m.ActivePorts = topology.SortedKeys(in.Result.History.ActivePorts)
	return m
}
