package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// hostOf makes a host of one socket: RNICs and GPUs directly below root
// ports, so that every path to memory is close and every path to a GPU is not.
func hostOf(rnics, memories, gpus int) topology.Topology {
	t := topology.Topology{Schema: topology.SchemaID}
	hop := func(kind topology.HopKind, part string) string {
		id := topology.HopID(kind, part)
		h := topology.Hop{ID: id, Kind: kind, Members: []string{part}, Trust: topology.TrustUnknown}
		if kind != topology.HopMemory {
			h.SpeedGTs, h.Width, h.ExpectedSpeedGTs, h.ExpectedWidth = new(16.0), new(16), new(16.0), new(16)
			h.CapacityGbps, h.Trust = new(252.06), topology.TrustStatic
		}
		t.Hops = append(t.Hops, h)
		return id
	}
	for i := range memories {
		id := fmt.Sprintf("mem%d", i)
		t.MemoryNodes = append(t.MemoryNodes, topology.MemoryNode{ID: id, NUMANode: i, Socket: new(0), Bytes: new(int64(256 << 30))})
		hop(topology.HopMemory, id)
	}
	for i := range gpus {
		id := fmt.Sprintf("gpu%d", i)
		t.GPUs = append(t.GPUs, topology.GPU{ID: id, PCI: fmt.Sprintf("0000:%02x:00.0", 128+i), Vendor: "nvidia", Model: "A100", NUMANode: new(0), Socket: new(0), Usable: true})
		hop(topology.HopGPUPCIe, id)
	}
	for i := range rnics {
		id := fmt.Sprintf("mlx5_%d", i)
		t.RNICs = append(t.RNICs, topology.RNIC{
			ID: id, Name: id, PCI: fmt.Sprintf("0000:%02x:00.0", 16+i), Port: 1, LinkLayer: "Ethernet", State: "ACTIVE",
			RateGbps: new(200.0), NUMANode: new(0), Socket: new(0), Netdevs: []string{fmt.Sprintf("eth%d", i)},
			Driver: "mlx5_core", Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true, MTU: new(4096),
		})
		own := hop(topology.HopRNICPCIe, id)
		for _, n := range t.MemoryNodes {
			class := topology.ClassMemSocket
			if n.ID == "mem0" {
				class = topology.ClassMemLocal
			}
			t.Paths = append(t.Paths, topology.Path{RNIC: id, Endpoint: n.ID, Class: class, Close: true,
				Hops: []string{own, topology.HopID(topology.HopMemory, n.ID)}})
		}
		for _, g := range t.GPUs {
			t.Paths = append(t.Paths, topology.Path{RNIC: id, Endpoint: g.ID, Class: topology.ClassPHB,
				Hops: []string{own, topology.HopID(topology.HopGPUPCIe, g.ID)}})
		}
	}
	return t
}

func latency(p50Us float64) probe.Latency {
	return probe.Latency{P50Us: p50Us, P99Us: 1.4 * p50Us, MinUs: 0.9 * p50Us, MaxUs: 3 * p50Us, Samples: 1000}
}

func reading(gbps, p50Us float64) probe.Reading {
	return probe.Reading{BandwidthGbps: gbps, PaperBandwidthGbps: new(gbps * 0.98), Latency: latency(p50Us)}
}

// inputOf is a run on the host in which every path meets its expectation.
func inputOf(t topology.Topology) report.Input {
	started := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	in := report.Input{
		Tool: report.Tool{Version: "1.2.3", Revision: "abcdef"},
		Host: report.Host{Name: "node17"},
		Run: report.Run{ID: "20260304T050607Z-0a0b0c0d", Trigger: "manual", Mode: "idle", Backend: "live",
			StartedAt: started, FinishedAt: started.Add(2345 * time.Millisecond), DurationMs: 2345,
			Thresholds: report.ThresholdsOf(analyzer.Thresholds{})},
		Topology:  t,
		Baselines: baseline.Set{},
		Sources: []monitor.Source{
			{Name: "rnic_port", State: monitor.SourceOK},
			{Name: "rnic_config", State: monitor.SourceUnavailable, Reason: "no driver tells these settings"},
		},
		Idle: monitor.Reading{State: monitor.Idle},
	}
	for _, r := range t.RNICs {
		in.Idle.RNICs = append(in.Idle.RNICs, monitor.Utilization{ID: r.ID, Utilization: new(0.0), Busy: new(false)})
	}
	for _, p := range t.Paths {
		gbps, p50, verdict := 125.5, 3.2, analyzer.Uncertain
		if p.Close {
			gbps, p50, verdict = 195, 2, analyzer.Normal
		}
		in.Baselines[p.Key()] = baseline.Expectation{BandwidthGbps: new(gbps), LatencyAboveCloseUs: new(p50 - 2), Source: baseline.SourceDefault}
		in.Outcomes = append(in.Outcomes, probe.Outcome{Path: p, Reads: []probe.Reading{reading(gbps, p50)}})
		in.Result.Paths = append(in.Result.Paths, analyzer.PathVerdict{
			Path: p, Verdict: verdict, LatencyVerdict: analyzer.Normal,
			ReferenceGbps: new(gbps), ReferenceUs: new(p50), Rule: analyzer.RuleBaseline,
		})
	}
	for _, h := range t.Hops {
		in.Result.Hops = append(in.Result.Hops, analyzer.HopVerdict{Hop: h.ID, Kind: h.Kind, Verdict: analyzer.Normal, EstimatedCapacityGbps: new(195.0)})
	}
	return in
}

// slow makes the RNIC's paths abnormal, as read three times.
func slow(in *report.Input, rnic string) {
	for i := range in.Outcomes {
		if in.Outcomes[i].Path.RNIC != rnic {
			continue
		}
		in.Outcomes[i].Reads = []probe.Reading{reading(119, 2.1), reading(121, 2), reading(120, 2.2)}
		in.Result.Paths[i].Verdict = analyzer.Abnormal
	}
	hop := topology.HopID(topology.HopRNICPCIe, rnic)
	in.Result.Diagnoses = append(in.Result.Diagnoses, diagnosis.Diagnosis{
		Code: diagnosis.RNICPCIeFailure, Severity: diagnosis.Critical, Component: hop, Components: []string{hop}, Confidence: 0.87,
		Summary:  hop + " carries 120 Gb/s of an expected 195: all close paths of " + rnic + " are slow, and no other RNIC's are.",
		Evidence: []string{rnic + "→mem0: 120 Gb/s, 38 % below its baseline of 195 Gb/s in 3 of 3 reads", "memory:mem0 is healthy: mlx5_1→mem0 carries 195 Gb/s"},
		Alternatives: []diagnosis.Alternative{
			{Code: diagnosis.RNICSlowStart, Components: []string{hop}, Reason: "slow start limits the same paths, and its setting could not be read"},
		},
		Runbook: "rnic_pcie_failure",
	})
}

// cases are the runs that every rendering is tested with.
func cases() map[string]report.Input {
	healthy := inputOf(hostOf(2, 2, 2))

	faulty := inputOf(hostOf(2, 2, 2))
	slow(&faulty, "mlx5_0")
	faulty.Result.Paths[7].LatencyVerdict = analyzer.Abnormal
	faulty.Result.Findings = []diagnosis.Finding{{
		Code: "latency_abnormal", Component: "gpu_pcie:gpu1", Summary: "mlx5_1→gpu1 answers in 5.1 µs, 60 % above its reference.",
		Evidence: []string{"3 of 3 reads"}, Hint: "Compare the IOMMU settings with those of a healthy host.",
	}}
	faulty.RNICConfig = map[string]analyzer.RNICConfig{"mlx5_1": {}, "mlx5_0": {SlowStart: new(false)}}
	faulty.P2P = analyzer.P2PSettings{ACS: map[string]bool{"0000:20:00.0": true}, ATS: map[string]bool{"mlx5_0": false}}

	interrupted := inputOf(hostOf(2, 2, 2))
	interrupted.Run.Interrupted, interrupted.Run.EndReason = true, "the run was cancelled"
	for i := 3; i < len(interrupted.Outcomes); i++ {
		interrupted.Outcomes[i].Reads = nil
		interrupted.Outcomes[i].Failure = &probe.Failure{Reason: probe.ReasonNotReached, Detail: "the run was cancelled"}
		interrupted.Result.Paths[i].Verdict = analyzer.Unmeasured
	}

	removed := inputOf(hostOf(3, 2, 2))
	slow(&removed, "mlx5_0")
	for i := range removed.Outcomes {
		if removed.Outcomes[i].Path.RNIC == "mlx5_2" {
			removed.Outcomes[i].Reads = nil
			removed.Outcomes[i].Failure = &probe.Failure{Reason: probe.ReasonDeviceRemoved, Detail: "ibv_poll_cq on mlx5_2: no such device"}
		}
	}

	unusable := inputOf(hostOf(2, 1, 1))
	unusable.Topology.RNICs[1].Usable, unusable.Topology.RNICs[1].Reason = false, "port is DOWN"
	unusable.Outcomes, unusable.Result.Paths = unusable.Outcomes[:2], unusable.Result.Paths[:2]
	for _, endpoint := range []string{"mem0", "gpu0"} {
		unusable.Unplanned = append(unusable.Unplanned, report.Unmeasured{RNIC: "mlx5_1", Endpoint: endpoint, Reason: "unusable", Detail: "mlx5_1: port is DOWN"})
	}

	soft := inputOf(hostOf(2, 2, 0))
	for i := range soft.Outcomes {
		soft.Outcomes[i].Reads = []probe.Reading{reading(0.324, 31.5)}
		soft.Result.Paths[i].Verdict, soft.Result.Paths[i].Rule, soft.Result.Paths[i].ReferenceGbps = analyzer.Uncertain, "", nil
		soft.Baselines[soft.Outcomes[i].Path.Key()] = baseline.Expectation{Source: baseline.SourceNone}
	}

	nothing := inputOf(hostOf(1, 1, 0))
	nothing.Outcomes[0] = probe.Outcome{Path: nothing.Outcomes[0].Path, Failure: &probe.Failure{Reason: probe.ReasonMemlockLimit, Detail: "ibv_reg_mr of 256 KiB: cannot allocate memory; the limit on locked memory is 64 KiB"}}

	several := inputOf(hostOf(3, 2, 1))
	slow(&several, "mlx5_0")
	slow(&several, "mlx5_2")

	busy := inputOf(hostOf(5, 1, 3))
	busy.Run.Mode, busy.Idle.State = "busy", monitor.Busy
	var near []probe.Outcome
	for _, o := range busy.Outcomes {
		if o.Path.Close {
			near = append(near, o)
		} else {
			busy.Unplanned = append(busy.Unplanned, report.Unmeasured{RNIC: o.Path.RNIC, Endpoint: o.Path.Endpoint, Reason: "far_on_a_busy_run", Detail: "a busy run touches close endpoints only"})
		}
	}
	busy.Outcomes = near
	busy.Result.Paths[0].Verdict, busy.Result.Paths[0].Rule = analyzer.Uncertain, analyzer.RuleOwnClosePaths

	// incomparable is a host of which one RNIC, or one GPU, has nothing to be compared with.
	incomparable := func(match func(topology.Path) bool) report.Input {
		in := inputOf(hostOf(3, 2, 2))
		for i := range in.Result.Paths {
			if v := &in.Result.Paths[i]; match(v.Path) {
				v.Verdict, v.Rule, v.ReferenceGbps = analyzer.Uncertain, "", nil
				in.Baselines[v.Path.Key()] = baseline.Expectation{Source: baseline.SourceNone}
			}
		}
		return in
	}
	blamed := incomparable(func(p topology.Path) bool { return p.RNIC == "mlx5_1" })
	slow(&blamed, "mlx5_0")
	undecided := inputOf(hostOf(2, 2, 1))
	undecided.Result.Paths[0].Verdict, undecided.Result.Paths[1].Verdict = analyzer.Uncertain, analyzer.Uncertain
	excluded := inputOf(hostOf(2, 1, 2))
	excluded.Outcomes = excluded.Outcomes[:2]
	for _, p := range excluded.Topology.Paths[2:] {
		excluded.Unplanned = append(excluded.Unplanned, report.Unmeasured{RNIC: p.RNIC, Endpoint: p.Endpoint, Reason: "excluded", Detail: "not selected"})
	}

	wide := inputOf(hostOf(16, 8, 72))
	slow(&wide, "mlx5_11")

	return map[string]report.Input{
		"healthy": healthy, "faulty": faulty, "interrupted": interrupted, "device_removed": removed,
		"unusable_rnic": unusable, "nothing_proven": soft, "nothing_measured": nothing, "several": several, "busy": busy, "wide": wide,
		"incomparable_rnic":  incomparable(func(p topology.Path) bool { return p.RNIC == "mlx5_1" }),
		"incomparable_gpu":   incomparable(func(p topology.Path) bool { return p.Endpoint == "gpu1" }),
		"faulty_and_unknown": blamed, "undecided": undecided, "excluded": excluded,
	}
}

func TestOutcome(t *testing.T) {
	want := map[string]report.Outcome{
		"healthy": report.Healthy, "faulty": report.Diagnosed, "interrupted": report.Inconclusive, "device_removed": report.Diagnosed,
		"unusable_rnic": report.Healthy, "nothing_proven": report.Inconclusive, "nothing_measured": report.Inconclusive, "several": report.Diagnosed, "busy": report.Healthy, "wide": report.Diagnosed,
		"incomparable_rnic": report.Inconclusive, "incomparable_gpu": report.Inconclusive, "faulty_and_unknown": report.Diagnosed,
		"undecided": report.Inconclusive, "excluded": report.Healthy,
	}
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			r := report.Build(in)
			require.Equal(t, want[name], r.Outcome())
		})
	}
}

func TestText(t *testing.T) {
	styles := map[string]report.Style{"": {}, "_color_120": {Width: 120, Color: true}, "_60": {Width: 60}}
	for name, in := range cases() {
		for suffix, style := range styles {
			t.Run(name+suffix, func(t *testing.T) {
				r := report.Build(in)
				var out bytes.Buffer
				require.NoError(t, r.Text(&out, style))
				golden(t, name+suffix+".txt", out.Bytes())
				if style.Color {
					return
				}
				require.NotContains(t, out.String(), "\x1b", "escape sequences without colour")
				width := style.Width
				if width == 0 {
					width = report.DefaultWidth
				}
				for line := range strings.Lines(out.String()) {
					line = strings.TrimSuffix(line, "\n")
					require.Equal(t, strings.TrimRight(line, " "), line, "trailing spaces")
					if strings.Contains(strings.TrimSpace(line), " ") {
						require.LessOrEqual(t, utf8.RuneCountInString(line), width, "%q is too wide", line)
					}
				}
			})
		}
	}
}

func TestTopologyText(t *testing.T) {
	hosts := map[string]topology.Topology{"topology_plain": hostOf(2, 2, 2), "topology_wide": hostOf(16, 8, 72)}
	sick := hostOf(2, 1, 1)
	sick.RNICs[1].Usable, sick.RNICs[1].Reason, sick.RNICs[1].RateGbps = false, "port is DOWN", nil
	sick.RNICs[1].State, sick.RNICs[1].Socket = "DOWN", nil
	sick.Hops[2].Width = new(8)
	sick.Hops[1].Trust = topology.TrustNonsense
	hosts["topology_odd"] = sick
	for name, host := range hosts {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, report.TopologyText(&out, host, cases()["faulty"].Result.Findings, report.Style{}))
			golden(t, name+".txt", out.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update once, and read what it wrote")
	require.Equal(t, string(want), string(got))
}

func TestJSONMatchesTheSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	reportSchema, err := compiler.Compile("../../docs/report.schema.json")
	require.NoError(t, err)
	topologySchema, err := compiler.Compile("../../docs/topology.schema.json")
	require.NoError(t, err)
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			r := report.Build(in)
			var out bytes.Buffer
			require.NoError(t, r.JSON(&out))
			validate(t, reportSchema, out.Bytes())
			out.Reset()
			require.NoError(t, report.WriteJSON(&out, r.Topology))
			validate(t, topologySchema, out.Bytes())
		})
	}
}

func TestSchemaRefusesWhatNoRunLeaves(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile("../../docs/report.schema.json")
	require.NoError(t, err)
	for name, spoil := range map[string]func(map[string]any){
		"unknown field":         func(d map[string]any) { d["surprise"] = 1 },
		"list is null":          func(d map[string]any) { d["diagnoses"] = nil },
		"no verdict":            func(d map[string]any) { delete(d["measurements"].([]any)[0].(map[string]any), "verdict") },
		"unknown verdict":       func(d map[string]any) { d["hops"].([]any)[0].(map[string]any)["verdict"] = "fine" },
		"topology is malformed": func(d map[string]any) { d["topology"].(map[string]any)["schema"] = "other/v1" },
	} {
		t.Run(name, func(t *testing.T) {
			r := report.Build(cases()["healthy"])
			var out bytes.Buffer
			require.NoError(t, r.JSON(&out))
			var document map[string]any
			require.NoError(t, json.Unmarshal(out.Bytes(), &document))
			require.NoError(t, schema.Validate(document))
			spoil(document)
			require.Error(t, schema.Validate(document))
		})
	}
}

func validate(t *testing.T, schema *jsonschema.Schema, document []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value))
}

func TestJSONIsStableAndReadsBack(t *testing.T) {
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			var first, second bytes.Buffer
			r := report.Build(in)
			require.NoError(t, r.JSON(&first))
			var back report.Report
			decoder := json.NewDecoder(bytes.NewReader(first.Bytes()))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(&back))
			require.NoError(t, back.JSON(&second))
			require.Equal(t, first.String(), second.String())
			require.NotContains(t, first.String(), ": null,\n  \"", "a top-level field is null")
		})
	}
}

func TestJSONRefusesWhatItCannotSay(t *testing.T) {
	in := inputOf(hostOf(1, 1, 0))
	in.Outcomes[0].Reads[0].BandwidthGbps = math.NaN()
	r := report.Build(in)
	require.ErrorContains(t, r.JSON(&bytes.Buffer{}), "NaN")
}

func TestMeasurementIsTheMedianRead(t *testing.T) {
	for name, c := range map[string]struct {
		gbps, p50Us         []float64
		wantGbps, wantP50Us float64
	}{
		"one read":                         {[]float64{195}, []float64{2}, 195, 2},
		"three reads":                      {[]float64{100, 195, 190}, []float64{2, 9, 3}, 190, 3},
		"an even number takes the lower":   {[]float64{120, 190}, []float64{3, 2}, 120, 2},
		"latency has a median of its own":  {[]float64{1, 2, 3}, []float64{3, 2, 1}, 2, 2},
		"five reads with a single outlier": {[]float64{195, 80, 194, 196, 193}, []float64{2, 2, 2, 2, 7}, 194, 2},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(hostOf(1, 1, 0))
			in.Outcomes[0].Reads = nil
			for i := range c.gbps {
				in.Outcomes[0].Reads = append(in.Outcomes[0].Reads, reading(c.gbps[i], c.p50Us[i]))
			}
			m := report.Build(in).Measurements[0]
			require.Equal(t, c.wantGbps, m.BandwidthGbps)
			require.Equal(t, c.wantP50Us, m.LatencyUs.P50Us)
			require.Len(t, m.Reads, len(c.gbps))
			for i := range c.gbps {
				require.Equal(t, c.gbps[i], m.Reads[i].BandwidthGbps, "reads stay in the order in which they were made")
			}
		})
	}
}

func TestTextTellsOfEarlierRuns(t *testing.T) {
	r := report.Build(inputOf(hostOf(1, 1, 0)))
	blamed := []diagnosis.Diagnosis{{Code: diagnosis.MemoryChannelFailure, Component: "memory:mem0"}}
	for name, c := range map[string]struct {
		earlier []int // runs that blamed it, of 12
		says    string
	}{
		"none":     {nil, ""},
		"one":      {[]int{2}, "run 2 of 12 blamed memory:mem0 (memory_channel_failure)\n"},
		"too many": {[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "2 runs before these blamed something too\nrun 3 of 12 blamed memory:mem0 (memory_channel_failure)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var earlier []report.Earlier
			for _, run := range c.earlier {
				earlier = append(earlier, report.Earlier{Run: run, Runs: 12, Diagnoses: blamed})
			}
			var out bytes.Buffer
			require.NoError(t, r.Text(&out, report.Style{}, earlier...))
			require.Contains(t, out.String(), c.says)
			require.Equal(t, min(len(c.earlier), 8), strings.Count(out.String(), "of 12 blamed"))
		})
	}
}
