// Package report is what a run leaves behind: one value, its JSON form
// (hostping.report/v1, schema in docs/), its renderings, and the ways back
// from a saved report: Parse, Replay and Compare. It touches no machine, and
// leaves judging to the analyzer.
package report

import (
	"time"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// SchemaID names the JSON form of Report.
const SchemaID = "hostping.report/v1"

// Report is one run: what was there, what was measured, what it means. Lists
// are in the topology's order. A nil pointer is a fact that is not known.
//
// All that the analyzer was given is in it, so that Replay can judge anew. A
// field must be in every document unless it is a pointer, or marked optional:
// Replay can do without it. What joins a released version is one of these, so
// that older reports stay readable.
type Report struct {
	Schema       string                `json:"schema"`
	Tool         Tool                  `json:"tool"`
	Host         Host                  `json:"host"`
	Run          Run                   `json:"run"`
	Topology     topology.Topology     `json:"topology"`
	Measurements []Measurement         `json:"measurements"`
	Hops         []Hop                 `json:"hops"`
	Findings     []diagnosis.Finding   `json:"findings"`
	History      []HopHistory          `json:"history"`                          // of the last runs, this one last
	PathHistory  []PathHistory         `json:"path_history" document:"optional"` // of paths that were slow in one of these runs
	Diagnoses    []diagnosis.Diagnosis `json:"diagnoses"`
	Monitor      Monitor               `json:"monitor"`
	Sources      []monitor.Source      `json:"sources"`
	Unmeasured   []Unmeasured          `json:"unmeasured"`
	Idle         monitor.Reading       `json:"idle"`
}

// Tool is the program that made the report.
type Tool struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
}

// Host is the machine.
type Host struct {
	Name     string `json:"name"`
	Platform string `json:"platform,omitempty"` // family of its CPUs; "" is unknown
}

// Run is the execution.
type Run struct {
	ID         string    `json:"id"`
	Trigger    string    `json:"trigger"` // "manual", "idle", ...
	Mode       string    `json:"mode"`    // "idle" or "busy"
	Backend    string    `json:"backend"` // "live" or "sim"
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	DurationMs float64   `json:"duration_ms"`
	// Interrupted is true when the run ended before its plan was done;
	// EndReason then says why in one line.
	Interrupted bool   `json:"interrupted"`
	EndReason   string `json:"end_reason"`
	// Thresholds are what the verdicts were made with.
	Thresholds Thresholds `json:"thresholds" document:"optional"`
}

// Thresholds are the limits of the analyzer, shares where nothing else is said (0.2 is 20 %).
type Thresholds struct {
	Path     float64 `json:"path"`      // how much worse than its reference makes a path abnormal
	Overload float64 `json:"overload"`  // utilisation above which a bus is overloaded
	Pause    float64 `json:"pause"`     // time paused above which an RNIC is congested
	FlapRuns int     `json:"flap_runs"` // consecutive gray runs that make a hop flapping
}

// ThresholdsOf are the analyzer's limits as a report states them, its
// defaults filled in.
func ThresholdsOf(limits analyzer.Thresholds) Thresholds {
	t := limits.WithDefaults()
	return Thresholds{Path: t.Path, Overload: t.Overload, Pause: t.Pause, FlapRuns: t.FlapRuns}
}

// Measurement is one path that has at least one read. BandwidthGbps is the
// median of the reads, LatencyUs the read whose p50 is the median.
type Measurement struct {
	RNIC               string               `json:"rnic"`
	Endpoint           string               `json:"endpoint"`
	Class              topology.Class       `json:"class"`
	Close              bool                 `json:"close"`
	BandwidthGbps      float64              `json:"bandwidth_gbps"`
	PaperBandwidthGbps *float64             `json:"paper_bandwidth_gbps"`
	LatencyUs          probe.Latency        `json:"latency_us"`
	ReferenceGbps      *float64             `json:"reference_gbps"` // what the bandwidth was compared with, by Rule
	ReferenceLatencyUs *float64             `json:"reference_latency_us"`
	Rule               string               `json:"rule"`
	Baseline           baseline.Expectation `json:"baseline"`
	Verdict            string               `json:"verdict"` // by bandwidth
	LatencyVerdict     string               `json:"latency_verdict"`
	Reason             string               `json:"reason"`
	SelfNoiseNs        *float64             `json:"self_noise_ns"`
	Setup              *probe.Setup         `json:"setup"`
	// Reads are all of them, in the order they were made. A document may leave
	// out a single one, which the figures above then are.
	Reads []Read `json:"reads" document:"optional"`
	// Failure is what ended the reading of the path after these reads; nil when nothing did.
	Failure *Failure `json:"failure"`
}

// Failure is a probe that gave no reading.
type Failure struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// Read is one read of a path.
type Read struct {
	BandwidthGbps      float64            `json:"bandwidth_gbps"`
	PaperBandwidthGbps *float64           `json:"paper_bandwidth_gbps"`
	LatencyUs          probe.Latency      `json:"latency_us"`
	ToolLimited        bool               `json:"tool_limited"`
	Links              []probe.LinkSample `json:"links" document:"optional"` // of the path's hops, while the probe loaded them
}

// Hop is the verdict of one hop.
type Hop struct {
	ID                    string           `json:"id"`
	Kind                  topology.HopKind `json:"kind"`
	Verdict               string           `json:"verdict"`
	AbnormalCount         int              `json:"abnormal_count"` // distinct RNICs that reported it
	Utilization           *float64         `json:"utilization"`    // 0..1
	EstimatedCapacityGbps *float64         `json:"estimated_capacity_gbps"`
	Evidence              []string         `json:"evidence"`
}

// Monitor is what the monitor told the analyzer, besides idleness.
type Monitor struct {
	RNICConfig []RNICConfig             `json:"rnic_config"`
	ACS        []Setting                `json:"acs"` // whether a switch redirects peer requests upwards
	ATS        []Setting                `json:"ats"` // whether an RNIC uses address translation services
	Buses      []monitor.BusUtilization `json:"buses" document:"optional"`
	Congestion []monitor.Congestion     `json:"congestion" document:"optional"`
	// ActivePorts are the ports that this run or one before saw ACTIVE, as PCI function and port.
	ActivePorts []string `json:"active_ports" document:"optional"`
}

// Setting is whether a feature of one part is on. A part of which that could
// not be read has no entry.
type Setting struct {
	ID string `json:"id"`
	On bool   `json:"on"`
}

// RNICConfig is the settings of an RNIC that look like a link failure. nil is unknown.
type RNICConfig struct {
	RNIC          string `json:"rnic"`
	SlowStart     *bool  `json:"slow_start"`
	SmallTxWindow *bool  `json:"small_tx_window"`
}

// HopHistory is a hop's verdicts over the last runs, oldest first, as each run
// alone saw it.
type HopHistory struct {
	Hop      string   `json:"hop"`
	Verdicts []string `json:"verdicts"`
}

// PathHistory is what a path's reads agreed on in the last runs, oldest first:
// normal when they met the reference, gray when they fell on both sides of it.
type PathHistory struct {
	RNIC     string   `json:"rnic"`
	Endpoint string   `json:"endpoint"`
	Verdicts []string `json:"verdicts"`
}

// Unmeasured is a path without a reading.
type Unmeasured struct {
	RNIC     string `json:"rnic"`
	Endpoint string `json:"endpoint"`
	// Planned is false for a path that this run was never meant to probe: a
	// device that cannot be probed, a far endpoint on a busy run. Only a
	// planned path that was not measured makes a run inconclusive.
	Planned bool   `json:"planned"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
}
