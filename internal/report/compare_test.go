package report_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/topology"
)

// noisy is a run on a healthy host of 4 RNICs, 2 memory nodes and 6 GPUs, with 2 % of noise.
func noisy(seed uint64) report.Input {
	return withNoise(inputOf(hostOf(4, 2, 6)), seed)
}

func withNoise(in report.Input, seed uint64) report.Input {
	random := rand.New(rand.NewPCG(seed, 1))
	in.Run.ID = fmt.Sprintf("run-%d", seed)
	for i := range in.Outcomes {
		for j := range in.Outcomes[i].Reads {
			in.Outcomes[i].Reads[j].BandwidthGbps *= 1 + 0.02*random.NormFloat64()
		}
	}
	return in
}

// slower multiplies the bandwidth of the paths that match.
func slower(in *report.Input, factor float64, match func(topology.Path) bool) {
	for i := range in.Outcomes {
		if match(in.Outcomes[i].Path) {
			for j := range in.Outcomes[i].Reads {
				in.Outcomes[i].Reads[j].BandwidthGbps *= factor
			}
		}
	}
}

func of(rnic, endpoint string) func(topology.Path) bool {
	return func(p topology.Path) bool {
		return (rnic == "*" || p.RNIC == rnic) && (endpoint == "*" || p.Endpoint == endpoint)
	}
}

func unread(in *report.Input, match func(topology.Path) bool, why probe.Failure) {
	for i := range in.Outcomes {
		if match(in.Outcomes[i].Path) {
			in.Outcomes[i].Reads, in.Outcomes[i].Failure = nil, &why
			if in.Result.Paths != nil {
				in.Result.Paths[i].Verdict = analyzer.Unmeasured
			}
		}
	}
}

// leaveOut takes paths out of the plan.
func leaveOut(in *report.Input, reason string, match func(topology.Path) bool) {
	var kept []probe.Outcome
	for _, o := range in.Outcomes {
		if match(o.Path) {
			in.Unplanned = append(in.Unplanned, report.Unmeasured{RNIC: o.Path.RNIC, Endpoint: o.Path.Endpoint, Reason: reason})
		} else {
			kept = append(kept, o)
		}
	}
	in.Outcomes = kept
}

// renumbered is a run on the host without its first RNIC, whose names the others take.
func renumbered(seed uint64) report.Input {
	host := hostOf(4, 2, 6)
	host.RNICs = host.RNICs[1:]
	drop := func(id string) bool { return strings.Contains(id, "mlx5_0") }
	host.Hops = slices.DeleteFunc(host.Hops, func(h topology.Hop) bool { return drop(h.ID) })
	host.Paths = slices.DeleteFunc(host.Paths, func(p topology.Path) bool { return drop(p.RNIC) })
	for i := 1; i < 4; i++ {
		was, is := fmt.Sprintf("mlx5_%d", i), fmt.Sprintf("mlx5_%d", i-1)
		for j := range host.RNICs {
			if host.RNICs[j].ID == was {
				host.RNICs[j].ID, host.RNICs[j].Name = is, is
			}
		}
		for j := range host.Hops {
			host.Hops[j].ID = strings.Replace(host.Hops[j].ID, was, is, 1)
			for k := range host.Hops[j].Members {
				host.Hops[j].Members[k] = strings.Replace(host.Hops[j].Members[k], was, is, 1)
			}
		}
		for j := range host.Paths {
			host.Paths[j].RNIC = strings.Replace(host.Paths[j].RNIC, was, is, 1)
			for k := range host.Paths[j].Hops {
				host.Paths[j].Hops[k] = strings.Replace(host.Paths[j].Hops[k], was, is, 1)
			}
		}
	}
	return withNoise(inputOf(host), seed)
}

type comparisonCase struct {
	old, new   func() report.Input
	regression bool
	says       []string // lines of changes, "worse path mlx5_0→mem0", each of them and no other
}

func edit(in report.Input, changes ...func(*report.Input)) func() report.Input {
	return func() report.Input {
		for _, change := range changes {
			change(&in)
		}
		return in
	}
}

func comparisons() map[string]comparisonCase {
	healthy := edit(noisy(1))
	slowPath := edit(noisy(2), func(in *report.Input) { slower(in, 0.6, of("mlx5_2", "gpu3")) })
	diagnosed := edit(noisy(2), func(in *report.Input) {
		in.Result.Diagnoses = []diagnosis.Diagnosis{{Code: diagnosis.RNICPCIeFailure, Severity: diagnosis.Critical, Component: "rnic_pcie:mlx5_1", Components: []string{"rnic_pcie:mlx5_1"}, Summary: "it is slow"}}
	})
	return map[string]comparisonCase{
		"noise alone":         {healthy, edit(noisy(2)), false, nil},
		"with itself":         {healthy, healthy, false, nil},
		"one path slower":     {healthy, slowPath, true, []string{"worse path mlx5_2→gpu3"}},
		"one path faster":     {slowPath, healthy, false, []string{"better path mlx5_2→gpu3"}},
		"diagnosis appeared":  {healthy, diagnosed, true, []string{"appeared rnic_pcie_failure rnic_pcie:mlx5_1"}},
		"diagnosis cleared":   {diagnosed, healthy, false, []string{"cleared rnic_pcie_failure rnic_pcie:mlx5_1"}},
		"diagnosis stayed":    {diagnosed, diagnosed, false, []string{"stayed rnic_pcie_failure rnic_pcie:mlx5_1"}},
		"a little, on a hop":  {healthy, edit(noisy(2), func(in *report.Input) { slower(in, 0.88, of("*", "mem1")) }), true, []string{"worse hop memory:mem1"}},
		"a little, on a path": {healthy, edit(noisy(2), func(in *report.Input) { slower(in, 0.92, of("mlx5_2", "gpu3")) }), false, nil},
		"latency": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Outcomes[3].Reads[0].Latency = latency(5)
		}), true, []string{"worse path mlx5_0→gpu1"}},
		"latency under load": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Outcomes[3].Reads[0].Latency = latency(5)
			in.Run.Mode = "busy"
		}), false, nil},
		"hop turned abnormal": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Result.Hops[0].Verdict = analyzer.Abnormal
		}), true, []string{"worse hop memory:mem0"}},
		"hops that a diagnosis explains": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Result.Diagnoses = []diagnosis.Diagnosis{{Code: diagnosis.GPUPCIeFailure, Severity: diagnosis.Critical, Component: "gpu_pcie:gpu3", Components: []string{"gpu_pcie:gpu3"}, Summary: "it is slow"}}
			slower(in, 0.6, of("mlx5_2", "gpu3"))
			for i := range in.Result.Paths {
				if v := &in.Result.Paths[i]; v.Path.RNIC == "mlx5_2" && v.Path.Endpoint == "gpu3" {
					v.Verdict = analyzer.Abnormal
				}
			}
			for i := range in.Result.Hops {
				if h := &in.Result.Hops[i]; h.Hop == "rnic_pcie:mlx5_2" || h.Hop == "gpu_pcie:gpu3" {
					h.Verdict = analyzer.Abnormal
				}
			}
		}), true, []string{"appeared gpu_pcie_failure gpu_pcie:gpu3", "worse hop gpu_pcie:gpu3", "worse hop rnic_pcie:mlx5_2, explained", "worse path mlx5_2→gpu3"}},
		"hop turned gray": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Result.Hops[0].Verdict = analyzer.Gray
		}), false, nil},
		"hop is well again": {edit(noisy(2), func(in *report.Input) {
			in.Result.Hops[0].Verdict = analyzer.Abnormal
		}), healthy, false, []string{"better hop memory:mem0"}},
		"coverage lost": {healthy, edit(noisy(2), func(in *report.Input) {
			unread(in, of("mlx5_1", "mem0"), probe.Failure{Reason: probe.ReasonDeviceRemoved, Detail: "it is gone"})
		}), true, []string{"lost path mlx5_1→mem0"}},
		"coverage gained": {edit(noisy(2), func(in *report.Input) {
			unread(in, of("mlx5_1", "mem0"), probe.Failure{Reason: probe.ReasonDeviceRemoved, Detail: "it is gone"})
		}), healthy, false, []string{"gained path mlx5_1→mem0"}},
		"left out by the operator": {healthy, edit(noisy(2), func(in *report.Input) {
			leaveOut(in, "excluded", of("mlx5_1", "mem0"))
		}), false, []string{"lost path mlx5_1→mem0"}},
		"left out for it cannot be probed": {healthy, edit(noisy(2), func(in *report.Input) {
			leaveOut(in, "unusable", of("mlx5_1", "mem0"))
		}), true, []string{"lost path mlx5_1→mem0"}},
		"service traffic": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Run.Mode = "busy"
			in.Idle.State = monitor.Busy
			in.Idle.RNICs[0].Busy = new(true)
			leaveOut(in, "far_on_a_busy_run", func(p topology.Path) bool { return !p.Close })
			slower(in, 0.5, of("mlx5_0", "*"))
		}), false, []string{"not_compared path mlx5_0→mem0", "not_compared path mlx5_0→mem1", "lost path … 24"}},
		"RNIC gone, the others renamed": {healthy, edit(renumbered(2)), true, []string{
			"renamed rnic:mlx5_0", "renamed rnic:mlx5_1", "renamed rnic:mlx5_2", "removed rnic:mlx5_0 (removed)", "removed rnic_pcie:mlx5_0 (removed)",
			"lost path … 8",
		}},
		"RNIC new, the others renamed": {edit(renumbered(2)), healthy, false, []string{
			"added rnic:mlx5_0", "renamed rnic:mlx5_1", "renamed rnic:mlx5_2", "renamed rnic:mlx5_3", "added rnic_pcie:mlx5_0", "gained path … 8",
		}},
		"RNIC moved": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Topology.RNICs[2].PCI = "0000:f0:00.0"
		}), false, []string{"moved rnic:mlx5_2"}},
		"port trained lower": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Topology.RNICs[2].RateGbps = new(100.0)
		}), true, []string{"rate_gbps rnic:mlx5_2"}},
		"link can do less": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Topology.Hops[3].ExpectedWidth = new(8)
		}), true, []string{"expected_width gpu_pcie:gpu1"}},
		"link can do more": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Topology.Hops[3].ExpectedSpeedGTs = new(32.0)
		}), false, []string{"expected_speed_gts gpu_pcie:gpu1"}},
		"link at rest": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Topology.Hops[3].SpeedGTs = new(2.5)
		}), false, nil},
		"other firmware": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Topology.RNICs[2].FWVersion = "28.43"
		}), false, []string{"fw_version rnic:mlx5_2"}},
		"GPU fell off the bus": {healthy, edit(noisy(2), func(in *report.Input) {
			in.Topology.GPUs[5].Usable, in.Topology.GPUs[5].Reason = false, "gone"
		}), true, []string{"usable gpu:gpu5"}},
	}
}

// changesOf lists what a comparison holds, in the words of the table above.
// More than four paths with one change are only counted.
func changesOf(c report.Comparison) []string {
	lines := []string{}
	for _, x := range c.Diagnoses {
		lines = append(lines, fmt.Sprintf("%s %s %s", x.Change, x.Code, x.Component))
	}
	for _, x := range c.Topology {
		lines = append(lines, x.Change+" "+x.Component)
	}
	for _, x := range c.Hops {
		if x.Change == report.Worse || x.Change == report.Better {
			line := fmt.Sprintf("%s hop %s", x.Change, x.ID)
			if strings.HasSuffix(x.Reason, " explains it") {
				line += ", explained"
			}
			lines = append(lines, line)
		}
	}
	paths := map[report.Change][]string{}
	for _, x := range c.Paths {
		if x.Change != report.Same {
			paths[x.Change] = append(paths[x.Change], fmt.Sprintf("%s path %s→%s", x.Change, x.RNIC, x.Endpoint))
		}
	}
	for change, list := range paths {
		if len(list) > 4 {
			list = []string{fmt.Sprintf("%s path … %d", change, len(list))}
		}
		lines = append(lines, list...)
	}
	return lines
}

func TestCompare(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("../../docs/comparison.schema.json")
	require.NoError(t, err)
	for name, c := range comparisons() {
		t.Run(name, func(t *testing.T) {
			comparison, ok := report.Compare(report.Build(c.old()), report.Build(c.new()))
			require.True(t, ok)
			require.ElementsMatch(t, c.says, changesOf(comparison))
			require.Equal(t, c.regression, comparison.Regression)

			var out bytes.Buffer
			require.NoError(t, comparison.JSON(&out))
			validate(t, schema, out.Bytes())

			out.Reset()
			require.NoError(t, comparison.Text(&out, report.Style{}))
			require.Equal(t, c.regression, strings.HasPrefix(out.String(), "WORSE: "), out.String())
			for line := range strings.Lines(out.String()) {
				require.LessOrEqual(t, len([]rune(line)), report.DefaultWidth+1, "%q is too wide", line)
			}

			out.Reset()
			require.NoError(t, comparison.TAP(&out))
			got := parseTAP(t, out.String())
			require.Equal(t, c.regression, got.failed > 0, out.String())
		})
	}
}

func TestCompareOfUnlikeHosts(t *testing.T) {
	other := hostOf(2, 1, 1)
	for i := range other.RNICs {
		was, is := other.RNICs[i].ID, fmt.Sprintf("bnxt_re%d", i)
		other.RNICs[i].ID, other.RNICs[i].Name, other.RNICs[i].PCI = is, is, fmt.Sprintf("0001:%02x:00.0", i)
		for j := range other.Paths {
			other.Paths[j].RNIC = strings.Replace(other.Paths[j].RNIC, was, is, 1)
		}
	}
	_, ok := report.Compare(report.Build(noisy(1)), report.Build(inputOf(other)))
	require.False(t, ok)
}

// The rule of the spread: what is beyond it depends on how much the readings scatter.
func TestCompareGoesByTheSpread(t *testing.T) {
	noise := func(seed uint64, share float64) report.Input {
		in := inputOf(hostOf(4, 2, 6))
		random := rand.New(rand.NewPCG(seed, 2))
		for i := range in.Outcomes {
			in.Outcomes[i].Reads[0].BandwidthGbps *= 1 + share*random.NormFloat64()
		}
		return in
	}
	for _, c := range []struct {
		noise, factor float64
		worse         bool
	}{
		{0.001, 0.97, false}, // below what anybody would act on
		{0.001, 0.92, true},
		{0.02, 0.92, false},
		{0.02, 0.7, true},
		{0.06, 0.7, false},
	} {
		after := noise(4, c.noise)
		slower(&after, c.factor, of("mlx5_1", "gpu2"))
		comparison, ok := report.Compare(report.Build(noise(3, c.noise)), report.Build(after))
		require.True(t, ok)
		require.Equal(t, c.worse, comparison.Regression, "noise %v, factor %v: %v", c.noise, c.factor, changesOf(comparison))
	}
}

// No false alarm among comparisons of a healthy host with itself.
func TestCompareRaisesNoFalseAlarm(t *testing.T) {
	const runs = 1000
	before, alarms := report.Build(noisy(0)), 0
	for seed := range uint64(runs) {
		after := report.Build(noisy(seed + 1))
		if c, _ := report.Compare(before, after); c.Regression {
			alarms++
			t.Logf("seeds %d and %d: %v", seed, seed+1, changesOf(c))
		}
		before = after
	}
	require.Zero(t, alarms, "of %d comparisons", runs)
}

func TestCompareUsesTheCalibratedSpread(t *testing.T) {
	calibrated := func(seed uint64) report.Input {
		in := noisy(seed)
		for key, e := range in.Baselines {
			e.SpreadShare = new(0.05)
			in.Baselines[key] = e
		}
		return in
	}
	after := calibrated(2)
	slower(&after, 0.75, of("mlx5_1", "gpu2"))
	c, _ := report.Compare(report.Build(calibrated(1)), report.Build(after))
	require.False(t, c.Regression, "25 %% is within five times 7 %%: %v", changesOf(c))
	after = noisy(2)
	slower(&after, 0.75, of("mlx5_1", "gpu2"))
	c, _ = report.Compare(report.Build(noisy(1)), report.Build(after))
	require.True(t, c.Regression)
}

// The first line counts with the right words, and counts what a diagnosis explains once.
func TestCompareCounts(t *testing.T) {
	for name, says := range map[string]string{
		"hops that a diagnosis explains": "WORSE: 1 new diagnosis, 1 slower hop, 1 worse path.",
		"RNIC gone, the others renamed":  "WORSE: 1 part lost or degraded, 8 paths no longer measured.",
	} {
		t.Run(name, func(t *testing.T) {
			c := comparisons()[name]
			comparison, _ := report.Compare(report.Build(c.old()), report.Build(c.new()))
			var out bytes.Buffer
			require.NoError(t, comparison.Text(&out, report.Style{}))
			first, _, _ := strings.Cut(out.String(), "\n")
			require.Equal(t, says, first)
		})
	}
}
