package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/picture"
	"github.com/yuuki/hostping/internal/report"
)

func topologyCommand(env Env) *cobra.Command {
	var s shownHost
	var format, outputTo string
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "Show the RNICs, endpoints, hops and paths of the host",
		Long: `Show what was discovered: RNICs, GPUs and memory nodes, the PCIe links between
them, and the distance class of every path. Nothing is probed.

--format svg is a picture, dot one for Graphviz, json the whole document.
--capture saves the files that were read, with addresses, serial numbers and
names replaced; --sysfs shows the host of such a file anywhere.`,
		Example: `  hostpingctl topology
  hostpingctl topology --format json --output host.json
  hostpingctl topology --format svg --output host.svg
  hostpingctl topology --format dot | dot -Tpdf >host.pdf
  hostpingctl topology --capture host.capture
  hostpingctl topology --sysfs host.capture
  hostpingctl topology --sim`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := openOutput(outputTo, env.Stdout)
			if err != nil {
				return err
			}
			defer out.close()
			host, err := s.read(cmd, env, out)
			if err != nil {
				return err
			}
			baseline.MarkClose(&host.Topology, baseline.Defaults(host.Topology))
			return out.write(func(w io.Writer) error {
				switch format {
				case "json":
					return report.WriteJSON(w, host.Topology)
				case "dot":
					return picture.DOT(w, host.Topology, picture.Marks{})
				case "svg":
					return picture.SVG(w, host.Topology, picture.Marks{})
				default:
					return report.TopologyText(w, host.Topology, host.Findings, out.style(env))
				}
			})
		},
	}
	s.add(cmd)
	addOutput(cmd, &format, &outputTo, "dot", "svg")
	return cmd
}

// shownHost is the flags that choose what topology shows.
type shownHost struct {
	sim       simFlags
	captureTo string
}

func (s *shownHost) add(cmd *cobra.Command) {
	s.sim.addHost(cmd)
	cmd.Flags().StringVar(&s.captureTo, "capture", "", "also save the files that were read to this file, anonymised")
	_ = cmd.MarkFlagFilename("capture")
}

// read is the simulated host, that of other files, or this one.
func (s *shownHost) read(cmd *cobra.Command, env Env, out *output) (discover.Host, error) {
	if s.sim.wanted() {
		if err := s.sim.tree.refuse(cmd, "sysfs", "procfs", "software-rnics", "memory-nodes", "capture"); err != nil {
			return discover.Host{}, err
		}
		topo, err := s.sim.topology(cmd.Context())
		return discover.Host{Topology: topo}, err
	}
	tree := &s.sim.tree
	options, err := tree.options()
	if err != nil {
		return discover.Host{}, err
	}
	if s.captureTo == "" {
		return tree.discover(options)
	}
	if s.captureTo == out.path {
		return discover.Host{}, usagef("--capture and --output both name %s; give each a file of its own", quoteOdd(out.path))
	}
	file, err := openFile("capture", s.captureTo)
	if err != nil {
		return discover.Host{}, err
	}
	defer file.close()
	return tree.discoverRecorded(options, env, file)
}
