// Package live is the host that the program runs on: discovery, the Zig
// probes and the monitor behind the interfaces that a run asks for.
// internal/sim is its counterpart; neither knows the other.
package live

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/native"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/topology"
)

// Where the programs of one host meet. Both files are optional.
const (
	LockPath    = "/run/hostping/probe.lock"
	InhibitPath = "/run/hostping/inhibit"
)

// Options is what the operator says about a live host.
type Options struct {
	Sysfs, Procfs  string // read instead of /sys and /proc by discovery; "" for these
	SoftwareRNICs  bool   // probe soft-RoCE devices too
	AllMemoryNodes bool   // make endpoints of NUMA nodes that are memory alone
	Idle           monitor.Thresholds
	// What a memory node's channels carry, and the bus between two sockets in
	// one direction, in Gb/s; 0 is not known.
	MemoryBusCapacityGbps, InterSocketCapacityGbps float64
}

// Open discovers the host and readies its prober; it probes nothing. The
// error is discover.ErrNoRDMA, native.ErrUnavailable, or says what is broken.
func Open(_ context.Context, opts Options) (run.Host, error) {
	if err := native.Check(); err != nil {
		return run.Host{}, err
	}
	where := discoverOptions(opts)
	found, err := discover.Discover(where)
	if err != nil {
		return run.Host{}, err
	}
	leaveGPUsAlone(&found.Topology)
	name, err := os.Hostname()
	if err != nil {
		return run.Host{}, fmt.Errorf("cannot read the host's name: %w", err)
	}
	watch := newMonitor(found, opts, "/sys")
	expected := baseline.Defaults(found.Topology)
	baseline.MarkClose(&found.Topology, expected)
	return run.Host{
		Backend:     "live",
		Name:        name,
		Platform:    discover.Platform(where),
		Topology:    found.Topology,
		Baselines:   expected,
		Prober:      NewProber(found.Topology, found.LinkDirs, native.Loopback),
		Monitor:     watch,
		Sampler:     watch,
		Traffic:     watch.Traffic,
		Probing:     watch.Probing,
		Close:       watch.Close,
		P2P:         analyzer.P2PSettings(found.P2P),
		Findings:    found.Findings,
		Limits:      engine.Limits{Parallel: engine.DefaultParallel(runtime.NumCPU())},
		LockPath:    LockPath,
		InhibitPath: InhibitPath,
	}, nil
}

// leaveGPUsAlone keeps GPU paths out of live plans: the data plane registers
// host memory only.
func leaveGPUsAlone(t *topology.Topology) {
	for i := range t.GPUs {
		if gpu := &t.GPUs[i]; gpu.Usable {
			gpu.Usable = false
			gpu.Reason = "unsupported: this version probes host memory only"
		}
	}
}
