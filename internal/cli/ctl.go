package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// Hostpingctl runs the operator's tool and returns its exit status.
func Hostpingctl(ctx context.Context, env Env, args []string) int {
	root := newRoot(env, "hostpingctl",
		"Find the link that slows RDMA down inside a host",
		`hostpingctl measures the paths between a host's RNICs and its memory and GPUs by
RDMA loopback, and names the link or the setting that explains the slow ones.

Every flag can also come from the environment, as HOSTPING_ and the flag's name
in capitals with underscores (HOSTPING_FORMAT=json); the command line wins.`,
		`  hostpingctl topology                                 # what is on this host
  hostpingctl diagnose                                 # is it healthy, and if not, why
  hostpingctl diagnose --sim --fault rnic_pcie:rnic0   # try it without RDMA hardware`)
	root.RunE = listSubcommands
	root.SetHelpCommand(helpCommand())
	root.AddCommand(diagnoseCommand(env), calibrateCommand(env), topologyCommand(env), faultsCommand(env), replayCommand(env), compareCommand(env), explainCommand(env), monitorCommand(env))
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil && completion != root {
		completion.Args = cobra.ArbitraryArgs
		completion.RunE = listSubcommands
		for _, shell := range completion.Commands() {
			shell.Args = noArguments
		}
	}
	return Main(ctx, root, env, args)
}
