package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// simFlags choose a simulated host and what is wrong with it.
type simFlags struct {
	sim          bool
	topologyFile string
	tree         treeFlags // of the host to simulate; without --sim of the one to run on
	faults       []string
	busy         []string
	seed         uint64
	noise        string
}

// addHost adds the flags that choose the host.
func (f *simFlags) addHost(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.sim, "sim", false, "simulate a host: that of Fig. 2 of the NSDI'23 paper, 4 RNICs and 8 GPUs on two sockets")
	cmd.Flags().StringVar(&f.topologyFile, "sim-topology", "", "simulate the host of this hostping.topology/v1 file (implies --sim)")
	_ = cmd.MarkFlagFilename("sim-topology", "json")
	f.tree.add(cmd)
}

// addPhysics adds the flags that change what happens on it.
func (f *simFlags) addPhysics(cmd *cobra.Command) {
	cmd.Flags().Var(list{&f.faults}, "fault", "simulated fault KIND:TARGET[=SEVERITY], repeatable, or several between commas; \"hostpingctl faults\" lists them")
	cmd.Flags().Var(list{&f.busy}, "busy", "simulated service traffic RNIC[=SHARE] of line rate, repeatable, or several between commas (default share 0.3)")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the simulated noise")
	var noises []string
	for _, n := range sim.Noises() {
		noises = append(noises, string(n))
	}
	cmd.Flags().Var(newOneOf(&f.noise, string(sim.NoiseTypical), noises...), "noise", "simulated noise of the readings")
	complete(cmd, "noise", func(string) []string { return noises })
	complete(cmd, "fault", func(prefix string) []string { return f.completeFaults(prefix) })
	complete(cmd, "busy", func(string) []string { return f.completeRNICs() })
}

func (f *simFlags) wanted() bool { return f.sim || f.topologyFile != "" }

// check refuses flags that the host which was chosen cannot obey.
func (f *simFlags) check(cmd *cobra.Command) error {
	switch {
	case f.wanted() && f.tree.sysfs == "":
		return f.tree.refuse(cmd, "procfs", "memory-nodes")
	case f.wanted():
		return nil
	}
	for _, name := range []string{"fault", "busy", "seed", "noise"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return wrongFlagf(name, "", " changes a simulated host: add --sim, or leave it out to probe this host")
		}
	}
	return nil
}

// topology reads the simulated host.
func (f *simFlags) topology(ctx context.Context) (topology.Topology, error) {
	switch {
	case f.topologyFile != "" && f.tree.sysfs != "":
		return topology.Topology{}, usagef("--sim-topology and --sysfs name a host each; use one of them")
	case f.tree.sysfs != "":
		options, err := f.tree.options()
		if err != nil {
			return topology.Topology{}, err
		}
		host, err := f.tree.discover(options)
		return host.Topology, err
	case f.topologyFile == "":
		return sim.Fig2(), nil
	}
	host, err := parseInput(ctx, nil, f.topologyFile, topology.MaxDocumentBytes, topology.Parse)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return host, wrongFlagf("sim-topology", f.topologyFile, ": %w; \"hostpingctl topology --format json\" writes such a file", err)
	case err != nil:
		return host, wrongFlagf("sim-topology", f.topologyFile, ": %w", err)
	}
	return host, nil
}

// hostFlags choose the host to run on, and the limits that judge it.
type hostFlags struct {
	thresholdFlags
	sim      simFlags
	load     loadFlags
	baseline baselineFlag // added by the commands that judge
}

func (f *hostFlags) add(cmd *cobra.Command) {
	f.sim.addHost(cmd)
	f.sim.addPhysics(cmd)
	f.thresholdFlags.add(cmd)
	f.load.add(cmd)
}

// open opens the simulated or the live host, with its baselines.
func (f *hostFlags) open(ctx context.Context, cmd *cobra.Command, env Env) (run.Host, error) {
	host, err := f.openHost(ctx, cmd, env)
	if err != nil {
		return host, err
	}
	if err := f.baseline.apply(ctx, &host); err != nil {
		if host.Close != nil {
			_ = host.Close()
		}
		return run.Host{}, err
	}
	return host, nil
}

func (f *hostFlags) openHost(ctx context.Context, cmd *cobra.Command, env Env) (run.Host, error) {
	if err := f.sim.check(cmd); err != nil {
		return run.Host{}, err
	}
	if f.sim.wanted() {
		if err := f.load.refuse(cmd); err != nil {
			return run.Host{}, err
		}
		return f.sim.open(ctx, f.load.idle)
	}
	tree, err := f.sim.tree.options()
	switch {
	case err != nil:
		return run.Host{}, err
	case tree.SysFiles != nil:
		return run.Host{}, wrongFlagf("sysfs", f.sim.tree.sysfs, " is the capture of a host, which cannot be probed: add --sim to simulate it, or see \"hostpingctl topology --sysfs\"")
	}
	host, err := env.Live(ctx, f.load.live(tree))
	if errors.Is(err, discover.ErrNoRDMA) {
		err = fmt.Errorf("%w; --sim diagnoses a simulated host", err)
	}
	if err != nil {
		return run.Host{}, environment(err)
	}
	return host, nil
}

// addOutput adds the flags of a command that prints a result, in text, JSON
// and the other formats that it has.
func addOutput(cmd *cobra.Command, format, path *string, others ...string) {
	addFormat(cmd, format, others...)
	cmd.Flags().StringVar(path, "output", "", "write the result to this file, whole or not at all, instead of stdout")
}

// addFormat adds the flag of a command whose result goes to stdout alone.
func addFormat(cmd *cobra.Command, format *string, others ...string) {
	formats := append([]string{"text", "json"}, others...)
	cmd.Flags().Var(newOneOf(format, "text", formats...), "format", "how to print the result")
	complete(cmd, "format", func(string) []string { return formats })
}

// style is how a text result may look where it goes.
func (o *output) style(env Env) report.Style {
	if o.path != "" {
		return report.Style{}
	}
	return styleOf(env.Stdout, env.LookupEnv)
}

// complete registers the shell completion of a flag's value.
func complete(cmd *cobra.Command, flag string, values func(prefix string) []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		var matching []string
		for _, value := range values(prefix) {
			if strings.HasPrefix(value, prefix) {
				matching = append(matching, value)
			}
		}
		return matching, cobra.ShellCompDirectiveNoFileComp
	})
}
