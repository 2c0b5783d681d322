package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/suggest"
	"github.com/yuuki/hostping/internal/topology"
)

// Options is what is simulated beside the topology. The zero value is a
// healthy, idle host with typical noise.
type Options struct {
	Faults []Fault
	Busy   []Busy
	Seed   uint64 // the same seed gives the same figures
	Noise  Noise  // "" is NoiseTypical
	// ProbeTime is how long a probe takes; 0 is no time at all.
	ProbeTime time.Duration
}

// Host is a simulated host. It is safe for concurrent use.
type Host struct {
	topo   topology.Topology
	opts   Options
	routes map[topology.PathKey]*route
	// with and without the faults that come and go
	with, without state

	mu    sync.Mutex
	reads map[topology.PathKey]uint64
	clock time.Duration // since the simulation began
}

// state is a host under its service traffic.
type state struct {
	*physics
	load load
}

// New simulates the topology. The error says in one line which fact the
// topology lacks, or which option does not fit it.
func New(t topology.Topology, opts Options) (*Host, error) {
	if opts.Noise == "" {
		opts.Noise = NoiseTypical
	}
	if _, err := ParseNoise(string(opts.Noise)); err != nil {
		return nil, err
	}
	healthy, err := newPhysics(t)
	if err != nil {
		return nil, err
	}
	if err := healthy.checkBusy(opts.Busy); err != nil {
		return nil, err
	}
	h := &Host{
		topo:   t,
		opts:   opts,
		routes: make(map[topology.PathKey]*route, len(healthy.routes)),
		reads:  map[topology.PathKey]uint64{},
	}
	for i := range healthy.routes {
		r := &healthy.routes[i]
		h.routes[r.path.Key()] = r
	}
	if h.with, err = healthy.stateWith(opts, true); err != nil {
		return nil, err
	}
	h.without = h.with
	if slices.ContainsFunc(opts.Faults, func(f Fault) bool { return f.Kind == flappingKind }) {
		h.without, err = healthy.stateWith(opts, false)
	}
	return h, err
}

func (p *physics) stateWith(opts Options, there bool) (state, error) {
	sick, err := p.inject(opts.Faults, there)
	if err != nil {
		return state{}, err
	}
	return state{sick, sick.serve(opts.Busy)}, nil
}

// now is the host's present state.
func (h *Host) now() state {
	h.mu.Lock()
	defer h.mu.Unlock()
	if there(h.clock) {
		return h.with
	}
	return h.without
}

// Topology is the host that is simulated.
func (h *Host) Topology() topology.Topology { return h.topo }

// Probe reads one path. The error is a *probe.Failure.
func (h *Host) Probe(ctx context.Context, req probe.Request) (probe.Reading, error) {
	key := req.Path.Key()
	if err := h.takeTime(ctx); err != nil {
		return probe.Reading{}, &probe.Failure{Reason: endOf(err), Detail: fmt.Sprintf("probe of %v: %v", key, err)}
	}
	r := h.routes[key]
	if r == nil {
		return probe.Reading{}, &probe.Failure{Reason: probe.ReasonUnusable, Detail: h.whyUnusable(key)}
	}
	if state := h.portState(key.RNIC); state != "" && state != "ACTIVE" {
		return probe.Reading{}, &probe.Failure{Reason: probe.ReasonPortNotActive, Detail: fmt.Sprintf("port of %s is %s", key.RNIC, state)}
	}
	now := h.now()
	reading := h.opts.Noise.read(now.figure(r, now.load), h.opts.Seed, key, h.nextRead(key))
	reading.Links = now.links(r)
	return reading, nil
}

func (h *Host) takeTime(ctx context.Context) error {
	if h.opts.ProbeTime <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(h.opts.ProbeTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func endOf(err error) probe.Reason {
	if errors.Is(err, context.DeadlineExceeded) {
		return probe.ReasonDeadline
	}
	return probe.ReasonCancelled
}

// nextRead numbers the reads of a path, each of which takes its time.
func (h *Host) nextRead(key topology.PathKey) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock += readTime
	h.reads[key]++
	return h.reads[key]
}

func (h *Host) portState(rnic string) string {
	for _, r := range h.topo.RNICs {
		if r.ID == rnic {
			return r.State
		}
	}
	return ""
}

// whyUnusable says in one line why the path has no route.
func (h *Host) whyUnusable(key topology.PathKey) string {
	for _, r := range h.topo.RNICs {
		if r.ID == key.RNIC && !r.Usable {
			return fmt.Sprintf("RNIC %s is not usable: %s", r.ID, r.Reason)
		}
	}
	for _, g := range h.topo.GPUs {
		if g.ID == key.Endpoint && !g.Usable {
			return fmt.Sprintf("GPU %s is not usable: %s", g.ID, g.Reason)
		}
	}
	return fmt.Sprintf("the topology has no path %v", key)
}

// links samples the PCIe links of the route, which run at their full speed
// and width while a probe loads them: faults lower what a link carries, not
// what it has negotiated.
func (p *physics) links(r *route) []probe.LinkSample {
	var samples []probe.LinkSample
	hops, _ := p.way(r)
	for _, id := range hops {
		hop := p.hops[id]
		if hop.Trust == topology.TrustNonsense || (hop.ExpectedSpeedGTs == nil && hop.ExpectedWidth == nil) {
			continue
		}
		samples = append(samples, probe.LinkSample{Hop: id, SpeedGTs: hop.ExpectedSpeedGTs, Width: hop.ExpectedWidth})
	}
	return samples
}

// ParseNoise reads the name of a noise.
func ParseNoise(text string) (Noise, error) {
	noises := Noises()
	if i := slices.Index(noises, Noise(text)); i >= 0 {
		return noises[i], nil
	}
	names := make([]string, len(noises))
	for i, n := range noises {
		names[i] = string(n)
	}
	return "", fmt.Errorf("unknown noise %q; %s", text, suggest.For(text, names))
}
