package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// scene is one run before it is played.
type scene struct {
	host   *host
	mode   engine.Mode
	noise  sim.Noise
	busy   []sim.Busy
	load   int // which of the row's services busy is
	faults []sim.Fault
	seed   uint64
	plain  analyzer.Plain // what the analyzer has to do without
}

// String is the command that repeats the run.
func (s scene) String() string {
	var b strings.Builder
	b.WriteString("hostpingctl diagnose --sim")
	if s.host.file != "" {
		fmt.Fprintf(&b, "-topology %s", s.host.file)
	}
	for _, f := range s.faults {
		fmt.Fprintf(&b, " --fault %v", f)
	}
	for _, x := range s.busy {
		fmt.Fprintf(&b, " --busy %s=%g", x.RNIC, x.Share)
	}
	fmt.Fprintf(&b, " --noise %s --seed %d", s.noise, s.seed)
	return b.String()
}

func (s scene) simulate() (*sim.Host, error) {
	return sim.New(s.host.topo, sim.Options{Faults: s.faults, Busy: s.busy, Seed: s.seed, Noise: s.noise})
}

// facts is what a run knows beside its readings, as hostpingctl gathers it.
func (s scene) facts(simulated *sim.Host) analyzer.Input {
	return analyzer.Input{
		Topology: s.host.topo, Baselines: s.host.baselines, Busy: s.mode == engine.ModeBusy,
		Idle:       simulated.Idle(monitor.DefaultThresholds()),
		RNICConfig: simulated.RNICConfig(), P2P: simulated.P2P(),
		Buses: simulated.Buses(), Congestion: simulated.Congestion(), Plain: s.plain,
	}
}

// play reads every path of the plan and the unsettled ones again, as
// engine.Run does, without its goroutines and deadlines: a simulated probe
// takes no time, and they would be half the cost of a run. What the run learned
// is in the input, with the analyzer's answer to it.
func (s scene) play() (analyzer.Input, analyzer.Result, error) {
	simulated, err := s.simulate()
	if err != nil {
		return analyzer.Input{}, analyzer.Result{}, fmt.Errorf("%v: %w", s, err)
	}
	in := s.facts(simulated)
	in.Outcomes, err = measure(simulated, s.host.plans[s.mode], analyzer.NewJudge(in))
	if err != nil {
		return analyzer.Input{}, analyzer.Result{}, fmt.Errorf("%v: %w", s, err)
	}
	return in, analyzer.Analyze(in), nil
}

// measure reads the plan's paths until the judge is content.
func measure(prober engine.Prober, plan engine.Plan, judge engine.Judge) ([]probe.Outcome, error) {
	outcomes := make([]probe.Outcome, len(plan.Steps))
	step := make(map[topology.PathKey]int, len(plan.Steps))
	pending := make([]topology.PathKey, len(plan.Steps))
	for i := range plan.Steps {
		path := plan.Steps[i].Request.Path
		outcomes[i].Path, pending[i], step[path.Key()] = path, path.Key(), i
	}
	for len(pending) > 0 {
		read := false
		for _, key := range pending {
			i := step[key]
			if len(outcomes[i].Reads) == plan.Limits.MaxReads {
				continue
			}
			reading, err := prober.Probe(context.Background(), plan.Steps[i].Request)
			if err != nil {
				return nil, err
			}
			outcomes[i].Reads, read = append(outcomes[i].Reads, reading), true
		}
		if !read {
			break
		}
		pending = judge.Unsettled(outcomes)
	}
	return outcomes, nil
}
