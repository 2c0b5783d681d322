package cli

import "github.com/spf13/cobra"

// memoryNodesFlag says which NUMA nodes of a real host are endpoints.
type memoryNodesFlag struct{ which string }

func (f *memoryNodesFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(newOneOf(&f.which, "cpus", "cpus", "all"), "memory-nodes",
		"NUMA nodes that are endpoints: those that have CPUs and memory, or all with memory (HBM, CXL; never a GPU's own)")
	complete(cmd, "memory-nodes", func(string) []string { return []string{"cpus", "all"} })
}

func (f *memoryNodesFlag) all() bool { return f.which == "all" }
