package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/suggest"
	"github.com/yuuki/hostping/internal/topology"
)

// selection is the devices that the user wants probed.
type selection struct{ rnics, gpus string }

func (s *selection) add(cmd *cobra.Command, host *hostFlags) {
	cmd.Flags().StringVar(&s.rnics, "rnic", "", "probe only these RNICs: globs on name or PCI address between commas, ! excludes")
	cmd.Flags().StringVar(&s.gpus, "gpu", "", "probe only these GPUs: globs on name or PCI address between commas, ! excludes")
	complete(cmd, "rnic", func(string) []string { return host.deviceNames(rnicNames) })
	complete(cmd, "gpu", func(string) []string { return host.deviceNames(gpuNames) })
}

// deviceNames lists devices of the host that the flags choose, for completion.
func (f *hostFlags) deviceNames(names func(topology.Topology) []string) []string {
	if f.sim.wanted() {
		topo, err := f.sim.topology(context.Background())
		if err != nil {
			return nil
		}
		return names(topo)
	}
	options, err := f.sim.tree.options()
	if err != nil {
		return nil
	}
	host, err := discover.Discover(options)
	if err != nil {
		return nil
	}
	return names(host.Topology)
}

func rnicNames(t topology.Topology) []string {
	var names []string
	for _, r := range t.RNICs {
		names = append(names, r.ID)
	}
	return names
}

func gpuNames(t topology.Topology) []string {
	var names []string
	for _, g := range t.GPUs {
		names = append(names, g.ID)
	}
	return names
}

func (s *selection) parse() (rnics, gpus engine.Selector, err error) {
	if rnics, err = engine.ParseSelector(s.rnics); err != nil {
		return rnics, gpus, wrongFlagf("rnic", s.rnics, ": %w", err)
	}
	if gpus, err = engine.ParseSelector(s.gpus); err != nil {
		return rnics, gpus, wrongFlagf("gpu", s.gpus, ": %w", err)
	}
	return rnics, gpus, nil
}

// check refuses names that the host does not have. A glob may match nothing:
// one setting then serves a fleet of unlike hosts.
func (s *selection) check(t topology.Topology) error {
	var rnics, gpus, addresses []string
	for _, r := range t.RNICs {
		rnics, addresses = append(rnics, r.ID), append(addresses, r.PCI, r.Name)
	}
	if err := knownNames("rnic", s.rnics, rnics, addresses); err != nil {
		return err
	}
	addresses = nil
	for _, g := range t.GPUs {
		gpus, addresses = append(gpus, g.ID), append(addresses, g.PCI)
	}
	return knownNames("gpu", s.gpus, gpus, addresses)
}

func knownNames(flag, selection string, names, others []string) error {
	for item := range strings.SplitSeq(selection, ",") {
		name := strings.TrimPrefix(strings.TrimSpace(item), "!")
		if name == "" || strings.ContainsAny(name, `*?[\`) {
			continue
		}
		if !slices.Contains(names, name) && !slices.Contains(others, name) {
			return wrongFlagf(flag, selection, ": this host has no %q; %s", name, suggest.For(name, names))
		}
	}
	return nil
}
