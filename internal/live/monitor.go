package live

import (
	"cmp"
	"context"
	"errors"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/native"
)

// OpenMonitor watches the host, whether or not it can be probed: without an
// RDMA device the sources say so. With Sysfs it watches that tree, through its
// files alone.
func OpenMonitor(_ context.Context, opts Options) (*monitor.Monitor, error) {
	found, err := discover.Discover(discoverOptions(opts))
	if err != nil && !errors.Is(err, discover.ErrNoRDMA) {
		return nil, err
	}
	return newMonitor(found, opts, cmp.Or(opts.Sysfs, "/sys")), nil
}

func discoverOptions(opts Options) discover.Options {
	return discover.Options{
		Sysfs: opts.Sysfs, Procfs: opts.Procfs, SoftwareRNICs: opts.SoftwareRNICs, AllMemoryNodes: opts.AllMemoryNodes,
	}
}

func newMonitor(found discover.Host, opts Options, root string) *monitor.Monitor {
	watch := monitor.Options{
		Root: root, LinkDirs: found.LinkDirs, Thresholds: opts.Idle,
		MemoryBusCapacityGbps: opts.MemoryBusCapacityGbps, InterSocketCapacityGbps: opts.InterSocketCapacityGbps,
	}
	if root == "/sys" && native.Check() == nil {
		watch.Readers = nativeReaders()
	}
	return monitor.New(found.Topology, watch)
}
