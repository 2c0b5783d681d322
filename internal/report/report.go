// Package report is what a run leaves behind: one value, its JSON form
// (hostping.report/v1, schema in docs/) and its renderings for people.
package report

import (
	"time"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// SchemaID names the JSON form of Report.
const SchemaID = "hostping.report/v1"

// Report is one run: what was there, what was measured, what it means.
type Report struct {
	Schema       string                `json:"schema"`
	Tool         Tool                  `json:"tool"`
	Host         Host                  `json:"host"`
	Run          Run                   `json:"run"`
	Topology     topology.Topology     `json:"topology"`
	Measurements []Measurement         `json:"measurements"`
	Hops         []Hop                 `json:"hops"`
	Findings     []diagnosis.Finding   `json:"findings"`
	History      []HopHistory          `json:"history"`
	Diagnoses    []diagnosis.Diagnosis `json:"diagnoses"`
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
	Name string `json:"name"`
}

// Run is the execution.
type Run struct {
	ID          string    `json:"id"`
	Trigger     string    `json:"trigger"` // "manual", "idle", ...
	Mode        string    `json:"mode"`    // "idle" or "busy"
	Backend     string    `json:"backend"` // "live" or "sim"
	StartedAt   time.Time `json:"started_at"`
	FinishedAt  time.Time `json:"finished_at"`
	DurationMs  float64   `json:"duration_ms"`
	Interrupted bool      `json:"interrupted"` // ended before its plan was done
}

// Measurement is one path that has at least one read. Figures are medians of the reads.
type Measurement struct {
	RNIC               string               `json:"rnic"`
	Endpoint           string               `json:"endpoint"`
	Class              topology.Class       `json:"class"`
	Close              bool                 `json:"close"`
	BandwidthGbps      float64              `json:"bandwidth_gbps"`
	PaperBandwidthGbps *float64             `json:"paper_bandwidth_gbps"`
	LatencyUs          probe.Latency        `json:"latency_us"`
	ReferenceGbps      *float64             `json:"reference_gbps"`
	Rule               string               `json:"rule"`
	Baseline           baseline.Expectation `json:"baseline"`
	Verdict            string               `json:"verdict"`
	LatencyVerdict     string               `json:"latency_verdict"`
	Reason             string               `json:"reason"`
	SelfNoiseNs        *float64             `json:"self_noise_ns"`
	Setup              *probe.Setup         `json:"setup"`
	Links              []probe.LinkSample   `json:"links"`
	Reads              []Read               `json:"reads"`
}

// Read is one read of a path.
type Read struct {
	BandwidthGbps float64       `json:"bandwidth_gbps"`
	LatencyUs     probe.Latency `json:"latency_us"`
	ToolLimited   bool          `json:"tool_limited"`
}

// Hop is the verdict of one hop.
type Hop struct {
	ID                    string           `json:"id"`
	Kind                  topology.HopKind `json:"kind"`
	Verdict               string           `json:"verdict"`
	AbnormalCount         int              `json:"abnormal_count"`
	Utilization           *float64         `json:"utilization"`
	EstimatedCapacityGbps *float64         `json:"estimated_capacity_gbps"`
	Evidence              []string         `json:"evidence"`
}

// HopHistory is a hop's verdicts over the last runs, oldest first.
type HopHistory struct {
	Hop      string   `json:"hop"`
	Verdicts []string `json:"verdicts"`
}

// Unmeasured is a path of the plan without a reading.
type Unmeasured struct {
	RNIC     string `json:"rnic"`
	Endpoint string `json:"endpoint"`
	Reason   string `json:"reason"` // a probe.Reason
	Detail   string `json:"detail"`
}
