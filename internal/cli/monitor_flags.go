package cli

import (
	"errors"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/monitor"
)

// loadFlags say how the host's load is read and judged.
type loadFlags struct {
	idle                                           monitor.Thresholds
	memoryBusCapacityGbps, interSocketCapacityGbps float64
}

func (f *loadFlags) add(cmd *cobra.Command) {
	normal := monitor.DefaultThresholds()
	cmd.Flags().Var(newShare(&f.idle.RNIC, normal.RNIC), "rnic-idle-threshold", "share of line rate below which an RNIC is idle")
	cmd.Flags().Var(newShare(&f.idle.GPU, normal.GPU), "gpu-idle-threshold", "utilisation, or share of its PCIe link, below which a GPU is idle")
	cmd.Flags().Var(capacity{&f.memoryBusCapacityGbps}, "memory-bus-capacity", "what one NUMA node's memory channels carry, in Gb/s; without it their utilisation is not read")
	cmd.Flags().Var(capacity{&f.interSocketCapacityGbps}, "inter-socket-capacity", "what the bus between two sockets carries in one direction, in Gb/s; without it its utilisation is not read")
}

// refuse refuses what a simulated host does not need to be told.
func (f *loadFlags) refuse(cmd *cobra.Command) error {
	for _, name := range []string{"memory-bus-capacity", "inter-socket-capacity"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return usagef("--%s is about a real host, a simulated one knows its own; leave it out", name)
		}
	}
	return nil
}

// live is what a live host is opened with.
func (f *loadFlags) live(tree discover.Options) LiveOptions {
	return LiveOptions{
		Sysfs: tree.Sysfs, Procfs: tree.Procfs, SoftwareRNICs: tree.SoftwareRNICs, AllMemoryNodes: tree.AllMemoryNodes,
		Idle: f.idle, MemoryBusCapacityGbps: f.memoryBusCapacityGbps, InterSocketCapacityGbps: f.interSocketCapacityGbps,
	}
}

// capacity is a flag that takes a number of Gb/s; 0 until it is given.
type capacity struct{ gbps *float64 }

func (c capacity) String() string {
	if c.gbps == nil || *c.gbps == 0 {
		return ""
	}
	return strconv.FormatFloat(*c.gbps, 'g', -1, 64)
}
func (c capacity) Type() string { return "Gb/s" }
func (c capacity) Set(text string) error {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value > 0) || math.IsInf(value, 1) {
		return errors.New("it is a number of Gb/s above 0; eight channels of DDR4-3200 carry 1638")
	}
	*c.gbps = value
	return nil
}
