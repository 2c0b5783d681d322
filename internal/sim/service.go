package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/suggest"
	"github.com/yuuki/hostping/internal/topology"
)

// Busy makes an RNIC carry service traffic: a share of its line rate, spread
// evenly over its close endpoints.
type Busy struct {
	RNIC  string
	Share float64 // 0..1
}

// DefaultBusyShare is the share of line rate that service traffic takes
// unless told otherwise.
const DefaultBusyShare = 0.3

// load is what service traffic takes of a host. The zero value is an idle one.
type load struct {
	hopGbps map[string]float64
	rnics   map[string]rnicLoad
}

// rnicLoad is the service traffic of one RNIC.
type rnicLoad struct {
	demandGbps      float64
	gbps            float64 // what of it gets through
	outstandingKbit float64 // its share of the window of reads
}

// flow is the service traffic on one route.
type flow struct {
	rnic       string
	hops       []string
	stages     []string // all that can limit it: its RNIC's sending, then the hops
	latencyUs  float64
	demandGbps float64
	gbps       float64
}

// serve puts the service traffic onto the host.
func (p *physics) serve(busy []Busy) load {
	flows := p.flows(busy)
	p.shareOut(flows)
	l := load{hopGbps: map[string]float64{}, rnics: map[string]rnicLoad{}}
	for _, f := range flows {
		for _, hop := range f.hops {
			l.hopGbps[hop] += f.gbps
		}
		of := l.rnics[f.rnic]
		of.demandGbps += f.demandGbps
		of.gbps += f.gbps
		of.outstandingKbit += f.gbps * f.latencyUs
		l.rnics[f.rnic] = of
	}
	return l
}

// flows spreads each busy RNIC's traffic over the endpoints on which it
// reaches line rate when healthy, or over all if there is none. A fault does
// not move the service elsewhere.
func (p *physics) flows(busy []Busy) []*flow {
	var flows []*flow
	for _, b := range busy {
		var near, all []*flow
		for i := range p.routes {
			r := &p.routes[i]
			if r.path.RNIC != b.RNIC {
				continue
			}
			f := &flow{rnic: b.RNIC}
			f.hops, f.latencyUs = p.way(r)
			f.stages = append([]string{sender(b.RNIC)}, f.hops...)
			all = append(all, f)
			if r.near {
				near = append(near, f)
			}
		}
		if len(near) == 0 {
			near = all
		}
		for _, f := range near {
			f.demandGbps = b.Share * p.nics[b.RNIC].lineGbps / float64(len(near))
		}
		flows = append(flows, near...)
	}
	return flows
}

// shareOut gives each flow what it gets when flows that meet share max-min
// fairly: all rise together until one has its demand or a capacity is used up.
func (p *physics) shareOut(flows []*flow) {
	const negligibleGbps = 1e-9
	room := maps.Clone(p.capacityGbps)
	for id, n := range p.nics {
		room[sender(id)] = n.sendGbps
	}
	rising := slices.Clone(flows)
	for len(rising) > 0 {
		sharing := map[string]int{}
		for _, f := range rising {
			for _, stage := range f.stages {
				sharing[stage]++
			}
		}
		rise := math.Inf(1)
		for _, f := range rising {
			rise = min(rise, f.demandGbps-f.gbps)
		}
		for stage, n := range sharing {
			if gbps, ok := room[stage]; ok {
				rise = min(rise, gbps/float64(n))
			}
		}
		for _, f := range rising {
			f.gbps += rise
		}
		for stage, n := range sharing {
			if _, ok := room[stage]; ok {
				room[stage] -= rise * float64(n)
			}
		}
		full := func(stage string) bool {
			gbps, ok := room[stage]
			return ok && gbps <= negligibleGbps
		}
		rising = slices.DeleteFunc(rising, func(f *flow) bool {
			return f.demandGbps-f.gbps <= negligibleGbps || slices.ContainsFunc(f.stages, full)
		})
	}
}

// sender names an RNIC's own sending among the stages.
func sender(rnic string) string { return "sender:" + rnic }

// ParseBusy reads RNIC or RNIC=SHARE as service traffic on this topology.
// The error is like that of ParseFault.
func ParseBusy(text string, t topology.Topology) (Busy, error) {
	healthy, err := newPhysics(t)
	if err != nil {
		return Busy{}, err
	}
	if isDigits(text) {
		return Busy{}, decimalComma(text)
	}
	b := Busy{RNIC: text, Share: DefaultBusyShare}
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		b.RNIC = text[:i]
		if b.Share, err = parseShare(text[i+1:]); err != nil {
			return Busy{}, fmt.Errorf("share %w", err)
		}
	}
	return b, healthy.checkBusy([]Busy{b})
}

func (p *physics) checkBusy(busy []Busy) error {
	known := probedRNICs(p)
	seen := map[string]bool{}
	for _, b := range busy {
		switch {
		case !slices.Contains(known, b.RNIC):
			return fmt.Errorf("no RNIC %q that can be probed; %s", b.RNIC, suggest.For(b.RNIC, known))
		case !isShare(b.Share):
			return fmt.Errorf("share %g of %s is not a number from 0 to 1", b.Share, b.RNIC)
		case seen[b.RNIC]:
			return fmt.Errorf("service traffic of %s is given twice", b.RNIC)
		}
		seen[b.RNIC] = true
	}
	return nil
}
