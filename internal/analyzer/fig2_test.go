package analyzer_test

// Goal: every fault that the simulator can inject into the host of Fig. 2 is
// blamed exactly, and a healthy host never is. Method: the run's own loop
// (read, ask Unsettled, read again) over the simulated prober.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// fig2Input is a healthy idle run of Fig. 2 before anything was measured.
func fig2Input() analyzer.Input {
	topo := sim.Fig2()
	set := baseline.Defaults(topo)
	baseline.MarkClose(&topo, set)
	return analyzer.Input{Topology: topo, Baselines: set, Thresholds: analyzer.DefaultThresholds()}
}

// simulate measures every path of in's topology and returns the input of the analysis.
func simulate(t *testing.T, in analyzer.Input, noise sim.Noise, seed uint64, faults ...string) analyzer.Input {
	t.Helper()
	return measure(t, in, simulated(t, in.Topology, noise, seed, nil, faults...))
}

// simulated is the topology as a simulated host.
func simulated(t *testing.T, topo topology.Topology, noise sim.Noise, seed uint64, busy []string, faults ...string) *sim.Host {
	t.Helper()
	opts := sim.Options{Seed: seed, Noise: noise}
	for _, text := range faults {
		fault, err := sim.ParseFault(text, topo)
		require.NoError(t, err)
		opts.Faults = append(opts.Faults, fault)
	}
	for _, text := range busy {
		service, err := sim.ParseBusy(text, topo)
		require.NoError(t, err)
		opts.Busy = append(opts.Busy, service)
	}
	host, err := sim.New(topo, opts)
	require.NoError(t, err)
	return host
}

// measure makes one run on the host.
func measure(t *testing.T, in analyzer.Input, host *sim.Host) analyzer.Input {
	t.Helper()
	in.RNICConfig, in.P2P = host.RNICConfig(), host.P2P()
	in.Idle, in.Buses, in.Congestion = host.Idle(monitor.DefaultThresholds()), host.Buses(), host.Congestion()
	in.Busy = in.Idle.State == monitor.Busy
	in.Outcomes = nil
	at := map[topology.PathKey]int{}
	var todo []topology.PathKey
	for _, p := range in.Topology.Paths {
		if in.Busy && !p.Close {
			continue
		}
		at[p.Key()] = len(in.Outcomes)
		in.Outcomes = append(in.Outcomes, probe.Outcome{Path: p})
		todo = append(todo, p.Key())
	}
	judge := analyzer.NewJudge(in)
	for len(todo) > 0 {
		for _, key := range todo {
			o := &in.Outcomes[at[key]]
			reading, err := host.Probe(context.Background(), probe.Request{Path: o.Path})
			require.NoError(t, err)
			o.Reads = append(o.Reads, reading)
		}
		todo = judge.Unsettled(in.Outcomes)
	}
	return in
}

// blames renders diagnoses as "code component" lines.
func blames(r analyzer.Result) []string {
	list := []string{}
	for _, d := range r.Diagnoses {
		list = append(list, string(d.Code)+" "+d.Component)
	}
	return list
}

// expected is what the tool must say of a fault on Fig. 2.
func expected(kind, target string) []string {
	codes := map[string]diagnosis.Code{
		"rnic_pcie": diagnosis.RNICPCIeFailure, "gpu_pcie": diagnosis.GPUPCIeFailure,
		"switch": diagnosis.SwitchLinkFailure, "root_port": diagnosis.RootPortFailure,
		"memory": diagnosis.MemoryChannelFailure, "inter_socket": diagnosis.InterSocketFailure,
		"slow_start": diagnosis.RNICSlowStart, "tx_window": diagnosis.RNICTxWindow,
	}
	switch kind {
	case "memory_overload":
		return []string{string(diagnosis.MemoryChannelOverload) + " memory:" + target}
	case "inter_socket_overload":
		return []string{string(diagnosis.InterSocketOverload) + " inter_socket:" + target}
	case "flapping":
		return []string{string(diagnosis.LinkFlapping) + " " + target}
	case "slow_start", "tx_window":
		return []string{string(codes[kind]) + " rnic_pcie:" + target}
	case "acs", "ats":
	default:
		return []string{string(codes[kind]) + " " + kind + ":" + target}
	}
	// The table of Fig. 2: GPUs below the lower switch with RNIC n, and beside it.
	lower, upper := [4]int{0, 3, 4, 7}, [4]int{1, 2, 5, 6}
	var gpus []int
	for n := range 4 {
		if target == "all" || target == fmt.Sprintf("low%d", n) || target == fmt.Sprintf("rnic%d", n) {
			gpus = append(gpus, lower[n])
		}
		if target == "all" || target == fmt.Sprintf("up%d", n) || target == fmt.Sprintf("rnic%d", n) {
			gpus = append(gpus, upper[n])
		}
	}
	slices.Sort(gpus)
	var list []string
	for _, g := range gpus {
		list = append(list, fmt.Sprintf("%s gpu_pcie:gpu%d", diagnosis.P2PMisconfiguration, g))
	}
	return list
}

func TestEveryFaultOnFig2IsBlamedExactly(t *testing.T) {
	in := fig2Input()
	targets, err := sim.Targets(in.Topology)
	require.NoError(t, err)
	require.NotEmpty(t, targets)
	for _, kind := range targets {
		for _, target := range kind.Targets {
			for _, severity := range []string{"", "=0.3", "=0.6"} {
				for seed := range uint64(3) {
					fault := kind.Kind + ":" + target + severity
					t.Run(fmt.Sprintf("%s seed %d", fault, seed+1), func(t *testing.T) {
						host := simulated(t, in.Topology, sim.NoiseTypical, seed+1, nil, fault)
						runs := 1
						if kind.Kind == "flapping" {
							runs = 3
						}
						in, result := in, analyzer.Result{}
						for range runs {
							in.History = result.History
							result = analyzer.Analyze(measure(t, in, host))
						}
						assert.Equal(t, expected(kind.Kind, target), blames(result))
					})
				}
			}
		}
	}
}

func TestHealthyFig2IsNeverBlamed(t *testing.T) {
	in := fig2Input()
	for _, noise := range []sim.Noise{sim.NoiseNone, sim.NoiseTypical} {
		for seed := range uint64(200) {
			result := analyzer.Analyze(simulate(t, in, noise, seed+1))
			require.Empty(t, blames(result), "%s noise, seed %d", noise, seed+1)
			require.Empty(t, result.Findings, "%s noise, seed %d", noise, seed+1)
		}
	}
}

// Harsh noise makes three low reads of one path now and then; they must not blame a part.
func TestHarshNoiseBlamesNoPart(t *testing.T) {
	in := fig2Input()
	for seed := range uint64(200) {
		for _, d := range analyzer.Analyze(simulate(t, in, sim.NoiseHarsh, seed+1)).Diagnoses {
			require.Equal(t, diagnosis.PathUnexplained, d.Code, "seed %d: %s", seed+1, d.Summary)
		}
	}
}

func TestMisconfigurationNamesTheBridges(t *testing.T) {
	for _, c := range []struct{ fault, gpu, evidence string }{
		{"acs:low0", "gpu0", "ACS is on at low0"},
		{"acs:up0", "gpu1", "ACS is on at up0"},
		{"ats:rnic2", "gpu5", "ATS is off on rnic2"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			result := analyzer.Analyze(simulate(t, fig2Input(), sim.NoiseTypical, 1, c.fault))
			i := slices.IndexFunc(result.Diagnoses, func(d diagnosis.Diagnosis) bool {
				return d.Component == "gpu_pcie:"+c.gpu
			})
			require.GreaterOrEqual(t, i, 0)
			assert.Contains(t, strings.Join(result.Diagnoses[i].Evidence, "\n"), c.evidence)
		})
	}
}

// A link that comes and goes slows some reads of all its paths. Neither the
// paths that were good at the right moments nor one disturbed read elsewhere
// may send the blame to another part.
func TestComingAndGoingBlamesNoOtherPart(t *testing.T) {
	in := fig2Input()
	for _, fault := range []string{"flapping:rnic_pcie:rnic0", "flapping:rnic_pcie:rnic0=0.8", "flapping:switch:low2=0.8", "flapping:memory:mem0=0.8"} {
		_, hop, _ := strings.Cut(strings.TrimSuffix(fault, "=0.8"), ":")
		for seed := range uint64(12) {
			for runs := 2; runs <= 3; runs++ {
				t.Run(fmt.Sprintf("%s seed %d, %d runs", fault, seed+1, runs), func(t *testing.T) {
					host := simulated(t, in.Topology, sim.NoiseTypical, seed+1, nil, fault)
					in, result := in, analyzer.Result{}
					for range runs {
						in.History = result.History
						result = analyzer.Analyze(measure(t, in, host))
					}
					for _, d := range result.Diagnoses {
						alternative := func(a diagnosis.Alternative) bool { return slices.Contains(a.Components, hop) }
						if d.Component != hop {
							assert.Truef(t, d.Confidence <= 0.5 && slices.ContainsFunc(d.Alternatives, alternative), "%s at %s, %v", d.Code, d.Component, d.Confidence)
						}
					}
				})
			}
		}
	}
}
