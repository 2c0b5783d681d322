package main

import (
	"math"
	"slices"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// literal is the paper's diagnosis as published, the peer of ours: verdicts by
// the baseline (busy RNICs by their own other close paths), Algorithm 1, and
// every hop blamed that comes out abnormal, on busy hosts those with the
// highest count. It gets the same reads and takes their medians.
func literal(in analyzer.Input) []cause {
	a := algorithm1{in: in, hops: map[string]*hopState{}}
	for _, h := range in.Topology.Hops {
		a.hops[h.ID] = &hopState{kind: h.Kind, verdict: analyzer.Uncertain, reporters: map[string]bool{}}
	}
	a.judgePaths()
	a.judgeHops()
	return a.causes()
}

type algorithm1 struct {
	in    analyzer.Input
	paths []pathState
	hops  map[string]*hopState
}

type pathState struct {
	topology.Path
	gbps, us, expectedGbps float64 // NaN is unknown
	verdict                analyzer.Verdict
}

type hopState struct {
	kind      topology.HopKind
	verdict   analyzer.Verdict
	reporters map[string]bool
}

func (a *algorithm1) judgePaths() {
	for _, o := range a.in.Outcomes {
		p := pathState{Path: o.Path, gbps: math.NaN(), us: math.NaN(), expectedGbps: math.NaN(), verdict: analyzer.Uncertain}
		if len(o.Reads) > 0 {
			p.gbps = middle(o.Reads, func(r probe.Reading) float64 { return r.BandwidthGbps })
			p.us = middle(o.Reads, func(r probe.Reading) float64 { return r.Latency.P50Us })
		}
		if e := a.in.Baselines[o.Path.Key()].BandwidthGbps; e != nil {
			p.expectedGbps = *e
		}
		a.paths = append(a.paths, p)
	}
	for i := range a.paths {
		switch p := &a.paths[i]; {
		case a.inService(p.RNIC):
			if p.gbps < (1-threshold())*a.othersGbps(i) {
				p.verdict = analyzer.Abnormal
			}
		case p.gbps < (1-threshold())*p.expectedGbps:
			p.verdict = analyzer.Abnormal
		case p.gbps >= (1-threshold())*p.expectedGbps && p.Close:
			p.verdict = analyzer.Normal
		}
	}
}

// inService reports whether the RNIC carries service traffic.
func (a *algorithm1) inService(rnic string) bool {
	return a.in.Busy && slices.ContainsFunc(a.in.Idle.RNICs, func(load monitor.Utilization) bool {
		return load.ID == rnic && (load.Busy == nil || *load.Busy)
	})
}

// othersGbps is the median of the RNIC's other close paths; NaN without any.
func (a *algorithm1) othersGbps(i int) float64 {
	var others []float64
	for j, p := range a.paths {
		if j != i && p.RNIC == a.paths[i].RNIC && p.Close && !math.IsNaN(p.gbps) {
			others = append(others, p.gbps)
		}
	}
	return middle(others, func(gbps float64) float64 { return gbps })
}

// middle is the median, of an even number the lower one; NaN of none.
func middle[T any](list []T, figure func(T) float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	figures := make([]float64, len(list))
	for i, x := range list {
		figures[i] = figure(x)
	}
	slices.Sort(figures)
	return figures[(len(figures)-1)/2]
}

func (a *algorithm1) judgeHops() {
	alone := a.judgedAlone()
	for _, p := range a.paths {
		if p.verdict != analyzer.Normal {
			continue
		}
		for _, id := range p.Hops {
			if judge, ok := alone[id]; !ok || judge == p.RNIC {
				a.hops[id].verdict = analyzer.Normal
			}
		}
	}
	for _, p := range a.paths {
		if p.verdict != analyzer.Abnormal {
			continue
		}
		explained := false
		for _, id := range p.Hops {
			if h := a.hops[id]; h.verdict == analyzer.Uncertain || h.verdict == analyzer.Abnormal {
				h.verdict, h.reporters[p.RNIC], explained = analyzer.Abnormal, true, true
			}
		}
		for _, id := range p.Hops {
			if !explained {
				a.hops[id].verdict = analyzer.Gray
			}
		}
	}
}

// judgedAlone maps the links under the root port of an RNIC in service with an
// abnormal path to that RNIC, which alone judges them.
func (a *algorithm1) judgedAlone() map[string]string {
	alone := map[string]string{}
	for _, sick := range a.paths {
		if sick.verdict != analyzer.Abnormal || !a.inService(sick.RNIC) {
			continue
		}
		for _, p := range a.paths {
			for _, id := range p.Hops {
				if kind := a.hops[id].kind; p.RNIC == sick.RNIC && kind != topology.HopMemory && kind != topology.HopInterSocket {
					alone[id] = p.RNIC
				}
			}
		}
	}
	return alone
}

// causes names every abnormal hop.
func (a *algorithm1) causes() []cause {
	most := 0
	for _, h := range a.hops {
		most = max(most, len(h.reporters))
	}
	var list []cause
	for id, h := range a.hops {
		if h.verdict == analyzer.Abnormal && (!a.in.Busy || len(h.reporters) == most) {
			list = append(list, cause{a.code(id, h), id})
		}
	}
	return explain(list...)
}

func (a *algorithm1) code(id string, h *hopState) diagnosis.Code {
	if h.kind == topology.HopGPUPCIe && a.late(id) {
		return diagnosis.P2PMisconfiguration
	}
	k, _ := kindOf(string(h.kind)) // hop faults are called like their hops
	return k.code
}

// late reports whether a close path to the GPU answers abnormally late, against
// close memory and what its class takes longer.
func (a *algorithm1) late(hop string) bool {
	if a.in.Busy {
		return false
	}
	var toMemory []pathState
	for _, p := range a.paths {
		if last := p.Hops[len(p.Hops)-1]; p.Close && a.hops[last].kind == topology.HopMemory {
			toMemory = append(toMemory, p)
		}
	}
	reference := middle(toMemory, func(p pathState) float64 { return p.us - a.aboveCloseUs(p) })
	return slices.ContainsFunc(a.paths, func(p pathState) bool {
		return p.Close && p.Hops[len(p.Hops)-1] == hop && p.us > (1+threshold())*(reference+a.aboveCloseUs(p))
	})
}

// aboveCloseUs is how much longer than close paths those of the class take.
func (a *algorithm1) aboveCloseUs(p pathState) float64 {
	if above := a.in.Baselines[p.Key()].LatencyAboveCloseUs; above != nil {
		return *above
	}
	return 0
}
