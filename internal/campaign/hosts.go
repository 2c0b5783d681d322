package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// hostNames lists the campaign's hosts: that of Fig. 2, then an HGX H100, a
// DGX A100, eight MI300X and an EPYC Rome with one RNIC, as testdata/topologies
// has them.
func hostNames() []string { return []string{fig2, "hgx-h100", "dgx-a100", "mi300x", "rome-nps4"} }

const fig2 = "fig2"

// host is a topology with all that its runs share.
type host struct {
	name      string
	file      string // where it is read from; "" for Fig. 2
	topo      topology.Topology
	baselines baseline.Set
	plans     map[engine.Mode]engine.Plan
	rnics     []string // that can be probed
}

// loadHost builds one of hostNames; dir holds their topologies.
func loadHost(dir, name string) (*host, error) {
	h := &host{name: name, plans: map[engine.Mode]engine.Plan{}}
	if name == fig2 {
		h.topo = sim.Fig2()
	} else {
		h.file = filepath.Join(dir, name+".json")
		text, err := os.ReadFile(h.file)
		if err != nil {
			return nil, fmt.Errorf("%w; run this in the project's own folder, or give -topologies", err)
		}
		if h.topo, err = topology.Parse(text); err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
	}
	h.baselines = baseline.Defaults(h.topo)
	baseline.MarkClose(&h.topo, h.baselines)
	for _, mode := range modes() {
		h.plans[mode] = engine.NewPlan(h.topo, h.baselines, engine.PlanOptions{Mode: mode})
	}
	for _, r := range h.topo.RNICs {
		if r.Usable {
			h.rnics = append(h.rnics, r.ID)
		}
	}
	return h, nil
}
