package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/sim"
)

// open makes the simulated host that the flags describe.
func (f *simFlags) open(ctx context.Context, limits monitor.Thresholds) (run.Host, error) {
	topo, err := f.topology(ctx)
	if err != nil {
		return run.Host{}, err
	}
	expected := baseline.Defaults(topo)
	baseline.MarkClose(&topo, expected)
	options := sim.Options{Seed: f.seed, Noise: sim.Noise(f.noise)}
	placed := map[string]bool{}
	for _, text := range f.faults {
		fault, err := sim.ParseFault(text, topo)
		if err != nil {
			return run.Host{}, wrongFlagf("fault", text, ": %w", err)
		}
		place := fault.Kind + ":" + fault.Target
		if placed[place] {
			return run.Host{}, wrongFlagf("fault", text, ": %s is given twice", place)
		}
		placed[place] = true
		options.Faults = append(options.Faults, fault)
	}
	for _, text := range f.busy {
		busy, err := sim.ParseBusy(text, topo)
		if err != nil {
			return run.Host{}, wrongFlagf("busy", text, ": %w", err)
		}
		options.Busy = append(options.Busy, busy)
	}
	host, err := sim.New(topo, options)
	if err != nil {
		return run.Host{}, usagef("cannot simulate this host: %w", err)
	}
	return run.Host{
		Backend:    "sim",
		Name:       "simulated host",
		Topology:   topo,
		Baselines:  expected,
		Prober:     host,
		Monitor:    simMonitor{host, limits},
		Sampler:    simMonitor{host, limits},
		RNICConfig: host.RNICConfig(),
		P2P:        host.P2P(),
		Traffic: func(context.Context) ([]monitor.BusUtilization, []monitor.Congestion) {
			return host.Buses(), host.Congestion()
		},
	}, nil
}

// simMonitor reads a simulated host, whose load never changes.
type simMonitor struct {
	host   *sim.Host
	limits monitor.Thresholds
}

func (m simMonitor) Read(context.Context) (monitor.Reading, []monitor.Source) {
	return m.host.Idle(m.limits), m.host.Sources()
}

// Sample implements run.Sampler.
func (m simMonitor) Sample(context.Context) monitor.Sample { return m.host.Sample(m.limits) }

func (m simMonitor) StillIdle(context.Context) error {
	if reading := m.host.Idle(m.limits); reading.State != monitor.Idle {
		return errors.New(strings.Join(reading.Reasons, "; "))
	}
	return nil
}

// completeFaults lists the faults of the simulated host: kinds first, then
// the targets of the one that was typed.
func (f *simFlags) completeFaults(prefix string) []string {
	topo, err := f.topology(context.Background())
	if err != nil {
		return nil
	}
	kinds, err := sim.Targets(topo)
	if err != nil {
		return nil
	}
	var values []string
	for _, kind := range kinds {
		if !strings.HasPrefix(prefix, kind.Kind+":") {
			values = append(values, kind.Kind+":")
			continue
		}
		for _, target := range kind.Targets {
			values = append(values, kind.Kind+":"+target)
		}
	}
	return values
}

// completeRNICs lists the RNICs of the simulated host.
func (f *simFlags) completeRNICs() []string {
	topo, err := f.topology(context.Background())
	if err != nil {
		return nil
	}
	return rnicNames(topo)
}
