package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/discover/hosttree"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// descriptions holds the hosts beside Fig. 2, in the language of hosttree.
//
//go:embed hosts/*.host
var descriptions embed.FS

// hostNames lists the campaign's hosts: that of Fig. 2, then an HGX H100
// (T01), a DGX A100 (T04), eight MI300X (T06) and an EPYC with one RNIC (T09).
func hostNames() []string { return []string{"fig2", "t01", "t04", "t06", "t09"} }

// host is a topology with all that its runs share.
type host struct {
	name      string
	topo      topology.Topology
	baselines baseline.Set
	plans     map[engine.Mode]engine.Plan
	rnics     []string // that can be probed
}

// loadHost builds one of hostNames.
func loadHost(name string) (*host, error) {
	h := &host{name: name, plans: map[engine.Mode]engine.Plan{}}
	if name == "fig2" {
		h.topo = sim.Fig2()
	} else {
		discovered, err := discoverHost(name)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", name, err)
		}
		h.topo = discovered
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

// discoverHost lets discovery read the host's description.
func discoverHost(name string) (topology.Topology, error) {
	text, err := descriptions.ReadFile("hosts/" + name + ".host")
	if err != nil {
		return topology.Topology{}, err
	}
	tree, err := hosttree.Parse(string(text))
	if err != nil {
		return topology.Topology{}, err
	}
	dir, err := os.MkdirTemp("", "campaign-")
	if err != nil {
		return topology.Topology{}, err
	}
	defer os.RemoveAll(dir)
	if err := tree.Write(dir); err != nil {
		return topology.Topology{}, err
	}
	found, err := discover.Discover(discover.Options{Sysfs: filepath.Join(dir, "sys"), Procfs: filepath.Join(dir, "proc")})
	return found.Topology, err
}

// export writes the hosts that --sim alone does not simulate as
// hostping.topology/v1 files for --sim-topology, and returns the folder.
func export(dir string, hosts []*host) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, h := range hosts {
		file, err := os.Create(filepath.Join(dir, h.name+".json"))
		if err != nil {
			return err
		}
		err = report.WriteJSON(file, h.topo)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}
