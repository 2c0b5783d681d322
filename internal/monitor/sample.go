package monitor

import (
	"fmt"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// Sample is what the hardware did between two looks at it. What is not known
// is nil or "", never 0.
type Sample struct {
	At        time.Time `json:"at"`
	ElapsedMs *float64  `json:"elapsed_ms"` // since the look before; nil for the first
	// Overlapped: probes of ours ran in this time. Its load is partly ours: it
	// neither triggers a run nor decides whether the host is idle.
	Overlapped bool             `json:"overlapped"`
	Idle       Reading          `json:"idle"`
	RNICs      []RNICSample     `json:"rnics"`
	GPUs       []GPUSample      `json:"gpus"`
	Links      []LinkSample     `json:"links"`
	Buses      []BusUtilization `json:"buses"`
	Sources    []Source         `json:"sources"`
	Troubles   []Trouble        `json:"troubles"` // what single devices do not tell
}

// RNICSample is one RNIC. Rates are over the time since the look before.
type RNICSample struct {
	ID       string   `json:"id"`
	State    string   `json:"state"`     // of the port: "ACTIVE", "DOWN", ...
	RateGbps *float64 `json:"rate_gbps"` // of the port, now
	// What the port sends and receives by the counter that shows most: RDMA
	// alone, plain network traffic alone, or both, as the driver counts.
	OutBytesPerSecond *float64 `json:"out_bytes_per_second"`
	InBytesPerSecond  *float64 `json:"in_bytes_per_second"`
	Utilization       *float64 `json:"utilization"`      // share of line rate, of the busier direction
	PCIeUtilization   *float64 `json:"pcie_utilization"` // share of what its link can carry
	// Share of the time for which it told its peer to pause, and was told to,
	// on its worst priority. TxPauseRatioLimit is what the pause frames that
	// it sent can amount to at most, where the driver counts no time.
	TxPauseRatio      *float64    `json:"tx_pause_ratio"`
	RxPauseRatio      *float64    `json:"rx_pause_ratio"`
	TxPauseRatioLimit *float64    `json:"tx_pause_ratio_limit"`
	TxPauseFrames     *float64    `json:"tx_pause_frames"`
	RxPauseFrames     *float64    `json:"rx_pause_frames"`
	Drops             *float64    `json:"drops"`  // packets that this host could not take; at least so many
	Errors            []Increment `json:"errors"` // evidence, by name
}

// Increment is by how much a counter rose.
type Increment struct {
	Name string  `json:"name"`
	By   float64 `json:"by"`
}

// GPUSample is one GPU.
type GPUSample struct {
	ID                string   `json:"id"`
	Utilization       *float64 `json:"utilization"` // of its compute units, 0..1
	OutBytesPerSecond *float64 `json:"out_bytes_per_second"`
	InBytesPerSecond  *float64 `json:"in_bytes_per_second"`
	ComputeProcesses  *int     `json:"compute_processes"`
	GraphicsProcesses *int     `json:"graphics_processes"`
	ComputeMode       string   `json:"compute_mode"`
	MIG               *bool    `json:"mig"` // it is divided into instances
}

// LinkSample is the PCIe link of a hop as it is now. Links at rest may run
// below their speed: this is no evidence by itself.
type LinkSample struct {
	Hop              string   `json:"hop"`
	SpeedGTs         *float64 `json:"speed_gts"`
	Width            *int     `json:"width"`
	ExpectedSpeedGTs *float64 `json:"expected_speed_gts"`
	ExpectedWidth    *int     `json:"expected_width"`
	// Errors since boot that the device below the link reported (AER).
	CorrectableErrors *uint64 `json:"correctable_errors"`
	NonfatalErrors    *uint64 `json:"nonfatal_errors"`
	FatalErrors       *uint64 `json:"fatal_errors"`
}

// Congestion is what the sample says about each RNIC's pauses and drops.
func (s Sample) Congestion() []Congestion {
	list := []Congestion{}
	for _, r := range s.RNICs {
		list = append(list, Congestion{RNIC: r.ID, PauseRatio: r.TxPauseRatio, Drops: r.Drops})
	}
	return list
}

// rate is a flow in both directions between two looks.
type rate struct{ outBytesPerSecond, inBytesPerSecond float64 }

// rnicFacts is what the sources told of one RNIC, before it is concluded.
type rnicFacts struct {
	rnic   topology.RNIC
	sample RNICSample
	// lineGbps is what full load means; lineProblem why that is not known.
	lineGbps    float64
	lineProblem error
	rates       []rate // by every counter that could be compared
	whole       bool   // one of them counts RDMA
	missing     error  // why no counter of RDMA could be compared
	unread      error  // a counter that must be read and was not
	pause       []problem
	drops       []problem
	pauses      bool // the port can pause at all
}

// gpuFacts is what the sources told of one GPU.
type gpuFacts struct {
	sample  GPUSample
	load    *float64
	problem error
}

// account gathers what the looks of one moment tell.
type account struct {
	topo    topology.Topology
	rnics   map[string]*rnicFacts // the usable ones
	order   []string              // of rnics
	gpus    map[string]*gpuFacts
	links   []LinkSample
	buses   []BusUtilization
	sources map[string]Source
	trouble map[string][]Trouble
	reset   bool // a byte counter went backwards: another look helps
}

func newAccount(topo topology.Topology) *account {
	a := &account{
		topo: topo, rnics: map[string]*rnicFacts{}, gpus: map[string]*gpuFacts{},
		sources: map[string]Source{}, trouble: map[string][]Trouble{},
	}
	for _, r := range usable(topo) {
		a.rnics[r.ID] = &rnicFacts{rnic: r, sample: RNICSample{ID: r.ID, Errors: []Increment{}}}
		a.order = append(a.order, r.ID)
	}
	for _, g := range topo.GPUs {
		a.gpus[g.ID] = &gpuFacts{sample: GPUSample{ID: g.ID}}
	}
	return a
}

// usable are the RNICs with a say: the others are not probed, and their
// traffic is their own.
func usable(topo topology.Topology) []topology.RNIC {
	var list []topology.RNIC
	for _, r := range topo.RNICs {
		if r.Usable {
			list = append(list, r)
		}
	}
	return list
}

// noRNIC says why a host has no RNIC to look at.
func (a *account) noRNIC() string {
	switch {
	case len(a.order) > 0:
		return ""
	case len(a.topo.RNICs) == 0:
		return "no RDMA device on this host"
	}
	first := a.topo.RNICs[0]
	return fmt.Sprintf("no usable RNIC (%s: %s)", first.ID, first.Reason)
}

// enter adds the row of a source.
func (a *account) enter(name string, devices int, problems []problem, nothing string) {
	a.sources[name], a.trouble[name] = summarise(name, devices, problems, nothing)
}

// conclude makes the sample, and the loads that decide idleness.
func (a *account) conclude(limits Thresholds) Sample {
	s := Sample{
		RNICs: []RNICSample{}, GPUs: []GPUSample{}, Links: a.links, Buses: a.buses, Sources: []Source{}, Troubles: []Trouble{},
	}
	var loads, gpuLoads []Load
	var port []problem
	for _, id := range a.order {
		f := a.rnics[id]
		load := f.conclude()
		f.sample.PCIeUtilization = a.linkShare(topology.HopRNICPCIe, id, f.sample.OutBytesPerSecond, f.sample.InBytesPerSecond)
		if load.Problem != nil && !isPassing(load.Problem) {
			port = append(port, problem{id, load.Problem})
		}
		loads = append(loads, load)
		s.RNICs = append(s.RNICs, f.sample)
	}
	a.enter(sourceRNICPort, len(a.order), port, a.noRNIC())
	a.concludeCongestion()
	for _, g := range a.topo.GPUs {
		f := a.gpus[g.ID]
		load := Load{ID: g.ID, Utilization: f.load, Problem: f.problem}
		// What crosses its link counts too, where that can be read.
		if share := a.linkShare(topology.HopGPUPCIe, g.ID, f.sample.OutBytesPerSecond, f.sample.InBytesPerSecond); share != nil && load.Utilization != nil {
			load.Utilization = new(max(*share, *load.Utilization))
		}
		gpuLoads = append(gpuLoads, load)
		s.GPUs = append(s.GPUs, f.sample)
	}
	s.Idle = Decide(loads, gpuLoads, limits)
	if s.Links == nil {
		s.Links = []LinkSample{}
	}
	if s.Buses == nil {
		s.Buses = []BusUtilization{}
	}
	for _, name := range SourceNames() {
		if row, ok := a.sources[name]; ok {
			s.Sources = append(s.Sources, row)
			s.Troubles = append(s.Troubles, a.trouble[name]...)
		}
	}
	return s
}

// concludeCongestion enters the rows of the two sources that several kinds of
// counters feed.
func (a *account) concludeCongestion() {
	var pause, drops []problem
	pausing := 0
	for _, id := range a.order {
		f := a.rnics[id]
		if f.pauses {
			pausing++
			pause = append(pause, f.pause...)
		}
		if f.sample.Drops == nil {
			drops = append(drops, f.drops...)
		}
	}
	nothing := a.noRNIC()
	if len(a.order) > 0 {
		nothing = "no Ethernet port among the usable RNICs, and only those pause"
	}
	a.enter(sourceRNICPause, pausing, pause, nothing)
	a.enter(sourceRNICDrops, len(a.order), drops, a.noRNIC())
}

// conclude is an RNIC's load from all the rates that its counters gave.
func (f *rnicFacts) conclude() Load {
	load := Load{ID: f.rnic.ID}
	if len(f.rates) > 0 {
		most := f.rates[0]
		for _, r := range f.rates[1:] {
			most.outBytesPerSecond = max(most.outBytesPerSecond, r.outBytesPerSecond)
			most.inBytesPerSecond = max(most.inBytesPerSecond, r.inBytesPerSecond)
		}
		f.sample.OutBytesPerSecond, f.sample.InBytesPerSecond = &most.outBytesPerSecond, &most.inBytesPerSecond
	}
	switch {
	case f.lineProblem != nil:
		load.Problem = f.lineProblem
	case f.unread != nil:
		load.Problem = f.unread
	case !f.whole:
		load.Problem = f.missing
	default:
		share := max(*f.sample.OutBytesPerSecond, *f.sample.InBytesPerSecond) * 8 / (f.lineGbps * 1e9)
		load.Utilization = &share
	}
	f.sample.Utilization = load.Utilization
	return load
}

// linkShare is the share of its own link's capacity that a device's traffic
// takes; nil where either is unknown. Functions on one link share it, of which
// only this one's traffic is seen here.
func (a *account) linkShare(kind topology.HopKind, id string, out, in *float64) *float64 {
	if out == nil || in == nil {
		return nil
	}
	for _, hop := range a.topo.Hops {
		if hop.Kind != kind || hop.CapacityGbps == nil || !(*hop.CapacityGbps > 0) {
			continue
		}
		for _, member := range hop.Members {
			if member == id {
				return new(max(*out, *in) * 8 / (*hop.CapacityGbps * 1e9))
			}
		}
	}
	return nil
}
