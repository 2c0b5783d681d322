package analyzer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// bigHost is a run over a made-up host of RNICs below switches of their own, eight memory nodes
// and GPUs shared out among the switches. slow picks the paths that are slow.
func bigHost(rnics, endpoints int, slow func(topology.Path) bool) analyzer.Input {
	in := analyzer.Input{Baselines: baseline.Set{}, Thresholds: analyzer.DefaultThresholds()}
	seen := map[string]bool{}
	for r := range rnics {
		id := fmt.Sprintf("rnic%d", r)
		in.Topology.RNICs = append(in.Topology.RNICs, topology.RNIC{ID: id, Driver: "mlx5_core", Usable: true, RateGbps: new(200.0)})
		for e := range endpoints {
			p := topology.Path{RNIC: id, Hops: []string{"rnic_pcie:" + id, fmt.Sprintf("switch:s%d", r), fmt.Sprintf("root_port:r%d", r)}}
			expected, socket, far := 195.0, r*2/rnics, 0
			if e < 8 {
				p.Endpoint, p.Class, p.Close, far = fmt.Sprintf("mem%d", e), topology.ClassMemLocal, true, e/4
			} else {
				g := e - 8
				p.Endpoint, p.Class, far = fmt.Sprintf("gpu%d", g), topology.ClassNode, g%rnics*2/rnics
				expected = 125.5
			}
			if far != socket {
				p.Hops = append(p.Hops, "inter_socket:0-1")
				p.Class = map[bool]topology.Class{true: topology.ClassMemRemote, false: topology.ClassSys}[e < 8]
			}
			switch g := e - 8; {
			case g < 0:
				p.Hops = append(p.Hops, "memory:"+p.Endpoint)
			case g%rnics == r:
				p.Class, p.Close, expected = topology.ClassPIX, true, 195
				p.Hops = []string{"rnic_pcie:" + id, "gpu_pcie:" + p.Endpoint}
			default:
				p.Hops = append(p.Hops, fmt.Sprintf("root_port:r%d", g%rnics), fmt.Sprintf("switch:s%d", g%rnics), "gpu_pcie:"+p.Endpoint)
			}
			for _, h := range p.Hops {
				if kind, part, _ := strings.Cut(h, ":"); !seen[h] {
					seen[h] = true
					in.Topology.Hops = append(in.Topology.Hops, topology.Hop{ID: h, Kind: topology.HopKind(kind), Members: []string{part}})
				}
			}
			in.Topology.Paths = append(in.Topology.Paths, p)
			in.Baselines[p.Key()] = baseline.Expectation{
				BandwidthGbps: new(expected), LatencyAboveCloseUs: new(0.0), Source: baseline.SourceDefault,
			}
			read := probe.Reading{BandwidthGbps: expected, Latency: probe.Latency{P50Us: 2}}
			o := probe.Outcome{Path: p, Reads: []probe.Reading{read}}
			if slow(p) {
				read.BandwidthGbps *= 0.5
				o.Reads = []probe.Reading{read, read, read}
			}
			in.Outcomes = append(in.Outcomes, o)
		}
	}
	return in
}

// The analysis is to stay under 10 ms at 16 RNICs × 80 endpoints and to grow linearly with the paths.
func BenchmarkAnalyze(b *testing.B) {
	states := []struct {
		name string
		slow func(topology.Path) bool
	}{
		{"healthy", func(topology.Path) bool { return false }},
		{"rnic", func(p topology.Path) bool { return p.RNIC == "rnic0" }},
		{"bus", func(p topology.Path) bool { return strings.Contains(strings.Join(p.Hops, " "), "inter_socket") }},
		{"everything", func(topology.Path) bool { return true }},
		{"random", func() func(topology.Path) bool {
			random := rand.New(rand.NewPCG(1, 1))
			return func(topology.Path) bool { return random.Float64() < 0.5 }
		}()},
	}
	for _, state := range states {
		for _, size := range []struct{ rnics, endpoints int }{{8, 40}, {16, 80}} {
			in := bigHost(size.rnics, size.endpoints, state.slow)
			b.Run(fmt.Sprintf("%s/%dx%d", state.name, size.rnics, size.endpoints), func(b *testing.B) {
				for b.Loop() {
					analyzer.Analyze(in)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in.Outcomes)), "ns/path")
			})
		}
	}
}

func BenchmarkUnsettled(b *testing.B) {
	in := bigHost(16, 80, func(p topology.Path) bool { return p.RNIC == "rnic0" })
	for b.Loop() {
		analyzer.Unsettled(in)
	}
}
