package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/report"
)

func topologyCommand(env Env) *cobra.Command {
	var (
		sim      simFlags
		tree     discover.Options
		format   string
		outputTo string
	)
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "Show the RNICs, endpoints, hops and paths of the host",
		Long: `Show what was discovered: RNICs, GPUs and memory nodes, the PCIe links between
them, and the distance class of every path. Nothing is probed.`,
		Example: `  hostpingctl topology
  hostpingctl topology --format json --output host.json
  hostpingctl topology --sim`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := openOutput(outputTo, env.Stdout)
			if err != nil {
				return err
			}
			defer out.close()
			host, err := shownHost(cmd, sim, tree)
			if err != nil {
				return err
			}
			baseline.MarkClose(&host.Topology, baseline.Defaults(host.Topology))
			return out.write(func(w io.Writer) error {
				if format == "json" {
					return report.WriteJSON(w, host.Topology)
				}
				return report.TopologyText(w, host.Topology, host.Findings, out.style(env))
			})
		},
	}
	sim.addHost(cmd)
	cmd.Flags().StringVar(&tree.Sysfs, "sysfs", "", "read this tree instead of /sys (then neither /dev nor any library is consulted)")
	cmd.Flags().StringVar(&tree.Procfs, "procfs", "", "read this tree instead of /proc")
	cmd.Flags().BoolVar(&tree.SoftwareRNICs, "software-rnics", false, "treat soft-RoCE devices as usable")
	addOutput(cmd, &format, &outputTo)
	return cmd
}

// shownHost is the simulated host, a host tree's, or this one.
func shownHost(cmd *cobra.Command, sim simFlags, tree discover.Options) (discover.Host, error) {
	if sim.wanted() {
		for _, flag := range []string{"sysfs", "procfs", "software-rnics"} {
			if cmd.Flags().Changed(flag) {
				return discover.Host{}, usagef("--%s is about a real host, --sim makes one up; use one of them", flag)
			}
		}
		topo, err := sim.topology()
		return discover.Host{Topology: topo}, err
	}
	host, err := discover.Discover(tree)
	switch {
	case errors.Is(err, discover.ErrNoRDMA):
		return host, environment(fmt.Errorf("%w; --sim shows a simulated host", err))
	case err != nil && tree.Sysfs != "":
		return host, usagef("--sysfs %s: %w", quoteOdd(tree.Sysfs), err)
	case err != nil:
		return host, environment(err)
	}
	return host, nil
}
