package analyzer

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// run is one analysis in progress: the input with its names turned into
// indexes, and what each stage adds.
type run struct {
	in        Input // thresholds with their defaults
	threshold float64
	spread    float64 // of single reads of this host, as a share; see noise.go
	paths     []path  // in the topology's order
	hops      []hop   // in the topology's order
	rnics     []rnic  // those that paths name, in the topology's order

	history   History // this run included
	diagnoses []diagnosis.Diagnosis
	findings  []diagnosis.Finding
}

// path is one outcome with its judgement.
type path struct {
	PathVerdict
	rnic     int
	hops     []int
	memory   bool // the endpoint is memory, not a GPU
	reads    []probe.Reading
	failure  *probe.Failure
	expected baseline.Expectation

	gbps, latencyUs                               float64 // medians of the reads; NaN without a read
	likeGbps, closeGbps                           float64 // references by the two sibling rules; NaN when unknown
	bandwidth, latency                            tally
	lowestLowGbps, highestLowGbps, lowestGoodGbps float64 // of the reads

	series []Verdict // of the last runs, this one last
	agreed Verdict   // what the bandwidth reads agree on, wherever the endpoint is
	// divided: some reads are low, some are not, and noise does not lie between them
	divided bool
	// marginal: good reads so close to the threshold that one of them proves nothing
	marginal bool
	// watched: a hop of this close path was slow in the run before; only many
	// reads tell a fault that comes and goes from one that is gone
	watched bool
}

// hop is one hop with its judgement.
type hop struct {
	HopVerdict
	facts       topology.Hop
	paths       []int     // the outcomes that cross it
	reporters   []int     // the RNICs that reported it
	series      []Verdict // of the last runs, this one last
	link        link
	serviceGbps float64 // service traffic that is taken to cross it
	// fastest is the path with the highest figure among those that cross it,
	// witness the fastest normal one; -1 when there is none.
	fastest, witness int
	// clearedGbps is the highest reference of a normal path that crosses it: what it is proven to carry.
	clearedGbps float64
	// steadyGbps is the same of normal paths none of whose reads was low.
	steadyGbps float64
}

// rnic is an RNIC with its paths.
type rnic struct {
	topology.RNIC
	congested string // how, if its pauses or drops passed the trigger; "" if not, or unknown
	idle      bool   // known to carry no service traffic
	service   bool   // carries service traffic, or may: judged by its own close paths on busy runs
	paths     []int
}

func newRun(in Input) *run {
	in.Thresholds = in.Thresholds.WithDefaults()
	r := &run{
		in: in, threshold: in.Thresholds.Path,
		paths: make([]path, 0, len(in.Outcomes)),
		hops:  make([]hop, 0, len(in.Topology.Hops)),
	}
	hopIndex := make(map[string]int, len(in.Topology.Hops))
	addHop := func(h topology.Hop) int {
		hopIndex[h.ID] = len(r.hops)
		r.hops = append(r.hops, hop{
			HopVerdict: HopVerdict{Hop: h.ID, Kind: h.Kind, Verdict: Uncertain},
			facts:      h, fastest: -1, witness: -1,
		})
		return len(r.hops) - 1
	}
	for _, h := range in.Topology.Hops {
		addHop(h)
	}
	rnicIndex := make(map[string]int, len(in.Topology.RNICs))
	addRNIC := func(x topology.RNIC) int {
		rnicIndex[x.ID] = len(r.rnics)
		r.rnics = append(r.rnics, rnic{RNIC: x, service: in.Busy})
		return len(r.rnics) - 1
	}
	for _, x := range in.Topology.RNICs {
		addRNIC(x)
	}
	for _, u := range in.Idle.RNICs {
		if i, ok := rnicIndex[u.ID]; ok && u.Busy != nil && !*u.Busy {
			r.rnics[i].service, r.rnics[i].idle = false, true
		}
	}
	for _, c := range in.Congestion {
		if i, ok := rnicIndex[c.RNIC]; ok && c.Triggered(in.Thresholds.Pause) {
			r.rnics[i].congested = congestion(c)
		}
	}
	for _, b := range in.Buses {
		if h, ok := hopIndex[b.Hop()]; ok {
			r.hops[h].Utilization = b.Utilization
		}
	}
	for _, o := range inOrder(in) {
		p := path{
			PathVerdict: PathVerdict{Path: o.Path, Reads: len(o.Reads)},
			hops:        make([]int, 0, len(o.Path.Hops)),
			reads:       o.Reads, failure: o.Failure, expected: in.Baselines[o.Path.Key()],
			gbps: math.NaN(), latencyUs: math.NaN(), likeGbps: math.NaN(), closeGbps: math.NaN(),
		}
		if len(o.Reads) > 0 {
			p.gbps = medianRead(o.Reads, func(x probe.Reading) float64 { return x.BandwidthGbps })
			p.latencyUs = medianRead(o.Reads, func(x probe.Reading) float64 { return x.Latency.P50Us })
			p.BandwidthGbps, p.LatencyUs = new(p.gbps), new(p.latencyUs)
		}
		var ok bool
		if p.rnic, ok = rnicIndex[o.Path.RNIC]; !ok {
			p.rnic = addRNIC(topology.RNIC{ID: o.Path.RNIC})
		}
		for _, id := range o.Path.Hops {
			h, ok := hopIndex[id]
			if !ok {
				kind, _, _ := strings.Cut(id, ":")
				h = addHop(topology.Hop{ID: id, Kind: topology.HopKind(kind), Trust: topology.TrustUnknown})
			}
			p.hops = append(p.hops, h)
			p.memory = r.hops[h].Kind == topology.HopMemory // paths to memory end with it
			r.hops[h].paths = append(r.hops[h].paths, len(r.paths))
		}
		for _, read := range o.Reads {
			for _, sample := range read.Links {
				if i := slices.Index(o.Path.Hops, sample.Hop); i >= 0 {
					r.hops[p.hops[i]].link.observe(sample)
				}
			}
		}
		r.rnics[p.rnic].paths = append(r.rnics[p.rnic].paths, len(r.paths))
		r.paths = append(r.paths, p)
	}
	for h := range r.hops {
		r.hops[h].link.judge(r.hops[h].facts)
	}
	r.recall()
	if in.Busy {
		r.spreadService()
	}
	return r
}

// inOrder returns the outcomes in the order of the topology's paths; those of
// paths that it does not list come last.
func inOrder(in Input) []*probe.Outcome {
	position := make(map[topology.PathKey]int, len(in.Topology.Paths))
	for i, p := range in.Topology.Paths {
		position[p.Key()] = i
	}
	type placed struct {
		at int
		*probe.Outcome
	}
	list := make([]placed, len(in.Outcomes))
	for i := range in.Outcomes {
		o := &in.Outcomes[i]
		at, listed := position[o.Path.Key()]
		if !listed {
			at = len(position)
		}
		list[i] = placed{at, o}
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		if c := a.at - b.at; c != 0 {
			return c
		}
		return cmp.Or(
			topology.CompareNatural(a.Path.RNIC, b.Path.RNIC),
			topology.CompareNatural(a.Path.Endpoint, b.Path.Endpoint),
		)
	})
	sorted := make([]*probe.Outcome, len(list))
	for i, x := range list {
		sorted[i] = x.Outcome
	}
	return sorted
}

// medianRead returns the median of a figure of the reads, of an even number
// the lower one, so that the result is always something that was read.
func medianRead(reads []probe.Reading, figure func(probe.Reading) float64) float64 {
	figures := make([]float64, len(reads))
	for i, x := range reads {
		figures[i] = figure(x)
	}
	slices.Sort(figures)
	return figures[(len(figures)-1)/2]
}

func (p *path) measured() bool { return len(p.reads) > 0 }
func (p *path) abnormal() bool { return p.Verdict == Abnormal }
func (p *path) name() string   { return p.Path.Key().String() }

// part is the hop's id without its kind.
func (h *hop) part() string {
	_, part, _ := strings.Cut(h.Hop, ":")
	return part
}

func (r *run) result() Result {
	out := Result{
		Paths:     make([]PathVerdict, len(r.paths)),
		Hops:      make([]HopVerdict, len(r.hops)),
		Diagnoses: r.diagnoses,
		Findings:  r.findings,
		History:   r.history,
	}
	for i := range r.paths {
		out.Paths[i] = r.paths[i].PathVerdict
	}
	for i := range r.hops {
		out.Hops[i] = r.hops[i].HopVerdict
	}
	if out.Diagnoses == nil {
		out.Diagnoses = []diagnosis.Diagnosis{}
	}
	if out.Findings == nil {
		out.Findings = []diagnosis.Finding{}
	}
	return out
}
