package analyzer_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// describe reads a run from lines of
//
//	RNIC ENDPOINT CLASS BASELINE HOPS : READ...
//
// where CLASS ends with * on close paths, BASELINE is Gb/s or - for none,
// HOPS are separated by commas, and a READ is a bandwidth in Gb/s, with
// @latency_us, and with ? where the tool was the limit; !reason is a failure.
// RNICs are of one model with 200 Gb/s, baselines are defaults.
func describe(t *testing.T, text string) analyzer.Input {
	t.Helper()
	in := analyzer.Input{Baselines: baseline.Set{}, Thresholds: analyzer.DefaultThresholds()}
	rnics, endpoints, hops := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		facts, reads, _ := strings.Cut(line, ":"+" ")
		f := strings.Fields(facts)
		if len(f) == 0 {
			continue
		}
		require.Len(t, f, 5, line)
		class, isClose := strings.CutSuffix(f[2], "*")
		p := topology.Path{RNIC: f[0], Endpoint: f[1], Class: topology.Class(class), Close: isClose, Hops: strings.Split(f[4], ",")}
		in.Topology.Paths = append(in.Topology.Paths, p)
		if !rnics[p.RNIC] {
			rnics[p.RNIC] = true
			in.Topology.RNICs = append(in.Topology.RNICs, topology.RNIC{
				ID: p.RNIC, Driver: "mlx5_core", Role: topology.RoleRNIC, Usable: true, RateGbps: new(200.0),
			})
		}
		if !endpoints[p.Endpoint] && strings.HasPrefix(p.Endpoint, "gpu") {
			endpoints[p.Endpoint] = true
			in.Topology.GPUs = append(in.Topology.GPUs, topology.GPU{ID: p.Endpoint, Vendor: "nvidia", Model: "H100", Usable: true})
		}
		for _, id := range p.Hops {
			if !hops[id] {
				hops[id] = true
				kind, part, _ := strings.Cut(id, ":")
				in.Topology.Hops = append(in.Topology.Hops, topology.Hop{
					ID: id, Kind: topology.HopKind(kind), Members: []string{part}, Trust: topology.TrustStatic,
				})
			}
		}
		expected := baseline.Expectation{Source: baseline.SourceNone}
		if f[3] != "-" {
			expected = baseline.Expectation{
				Source: baseline.SourceDefault, BandwidthGbps: new(number(t, f[3])), LatencyAboveCloseUs: new(0.0),
			}
		}
		in.Baselines[p.Key()] = expected
		in.Outcomes = append(in.Outcomes, outcome(t, p, strings.Fields(reads)))
	}
	return in
}

func outcome(t *testing.T, p topology.Path, reads []string) probe.Outcome {
	t.Helper()
	o := probe.Outcome{Path: p}
	for _, text := range reads {
		if reason, ok := strings.CutPrefix(text, "!"); ok {
			o.Failure = &probe.Failure{Reason: probe.Reason(reason), Detail: "as told"}
			continue
		}
		text, limited := strings.CutSuffix(text, "?")
		gbps, us, late := strings.Cut(text, "@")
		read := probe.Reading{BandwidthGbps: number(t, gbps), Latency: probe.Latency{P50Us: 2}, ToolLimited: limited}
		if late {
			read.Latency.P50Us = number(t, us)
		}
		o.Reads = append(o.Reads, read)
	}
	return o
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

// software turns the run's RNICs into soft-RoCE devices: no baseline, no true rate.
func software(in analyzer.Input) analyzer.Input {
	for i := range in.Topology.RNICs {
		x := &in.Topology.RNICs[i]
		x.Role, x.Driver, x.RateGbps = topology.RoleSoftware, "rdma_rxe", new(2.5)
	}
	return in
}
