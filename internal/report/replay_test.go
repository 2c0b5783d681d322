package report_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/topology"
)

// judged is what a run makes of its outcomes: the input with the analyzer's result.
func judged(in report.Input) report.Input {
	found := in.Result.Findings
	in.Result = analyzer.Analyze(analyzer.Input{
		Topology: in.Topology, Baselines: in.Baselines, Outcomes: in.Outcomes, Busy: in.Run.Mode == "busy",
		Idle: in.Idle, RNICConfig: in.RNICConfig, P2P: in.P2P, Buses: in.Buses, Congestion: in.Congestion,
	})
	in.Result.Findings = append(found, in.Result.Findings...)
	return in
}

func reads(gbps ...float64) []probe.Reading {
	var list []probe.Reading
	for _, x := range gbps {
		list = append(list, reading(x, 2))
	}
	return list
}

// runs are outcomes whose every detail the analyzer looks at.
func runs() map[string]report.Input {
	all := map[string]report.Input{}
	for name, in := range cases() {
		in.Result = analyzer.Result{}
		all[name] = judged(in)
	}
	add := func(name string, change func(*report.Input)) {
		in := inputOf(hostOf(3, 2, 2))
		in.Result = analyzer.Result{}
		change(&in)
		all[name] = judged(in)
	}
	add("link downgraded in one read", func(in *report.Input) {
		in.Outcomes[0].Reads = reads(120, 119, 121)
		for i, gts := range []float64{16, 8, 8} {
			in.Outcomes[0].Reads[i].Links = []probe.LinkSample{{Hop: "rnic_pcie:mlx5_0", SpeedGTs: new(gts), Width: new(16)}, {Hop: "memory:mem0"}}
		}
	})
	add("link downgraded in all reads", func(in *report.Input) {
		for i := range 2 {
			in.Outcomes[i].Reads = reads(120, 119, 121)
			for j := range in.Outcomes[i].Reads {
				in.Outcomes[i].Reads[j].Links = []probe.LinkSample{{Hop: "rnic_pcie:mlx5_0", SpeedGTs: new(8.0), Width: new(16)}}
			}
		}
	})
	add("tool limited", func(in *report.Input) {
		in.Outcomes[0].Reads = reads(120, 119, 121)
		in.Outcomes[0].Reads[1].ToolLimited, in.Outcomes[0].Reads[2].ToolLimited = true, true
	})
	add("failed after some reads", func(in *report.Input) {
		in.Outcomes[1].Reads = reads(120, 119)
		in.Outcomes[1].Failure = &probe.Failure{Reason: probe.ReasonLostCompletion, Detail: "no completion within 10 s"}
	})
	add("an RNIC that failed", func(in *report.Input) {
		unread(in, of("mlx5_1", "*"), probe.Failure{Reason: probe.ReasonNoUsableGID, Detail: "the port has no GID"})
	})
	add("setup and self-noise", func(in *report.Input) {
		for i := range in.Outcomes {
			in.Outcomes[i].Reads[0].Setup = &probe.Setup{QueuePairs: 2, Depth: 64, MessageBytes: 131072, MTUBytes: 4096, GIDIndex: new(3), Pages: "2m"}
			in.Outcomes[i].Reads[0].SelfNoiseNs = new(41.5)
		}
	})
	add("findings about the host", func(in *report.Input) {
		in.Result.Findings = []diagnosis.Finding{
			{Code: diagnosis.TopologyUnreadable, Summary: "two files", Evidence: []string{"a", "b"}, Hint: "look"},
			{Code: diagnosis.BaselineIncomplete, Component: "mlx5_0", Summary: "three paths", Hint: "calibrate"},
		}
	})
	add("settings", func(in *report.Input) {
		for i := range 2 {
			in.Outcomes[i].Reads = reads(120, 119, 121)
		}
		in.RNICConfig = map[string]analyzer.RNICConfig{"mlx5_0": {SlowStart: new(true)}, "mlx5_1": {}}
		in.P2P = analyzer.P2PSettings{ACS: map[string]bool{"0000:20:00.0": true}, ATS: map[string]bool{"mlx5_0": false, "mlx5_1": true}}
	})
	add("busy", func(in *report.Input) {
		in.Run.Mode, in.Idle.State = "busy", monitor.Busy
		in.Idle.RNICs[0] = monitor.Utilization{ID: "mlx5_0", Utilization: new(0.4), Busy: new(true)}
		in.Idle.RNICs[1] = monitor.Utilization{ID: "mlx5_1"}
		leaveOut(in, "far_on_a_busy_run", func(p topology.Path) bool { return !p.Close })
		slower(in, 0.6, of("mlx5_0", "mem1"))
	})
	return all
}

// What replay needs is in the report, to the last detail.
func TestReplayOfEveryDetail(t *testing.T) {
	for name, in := range runs() {
		t.Run(name, func(t *testing.T) {
			doc := document(t, in)
			saved, err := report.Parse(doc)
			require.NoError(t, err)
			again, err := report.Replay(saved, report.Terms{Tool: in.Tool})
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, again.JSON(&out))
			require.Equal(t, string(doc), out.String())
		})
	}
}

// A replay names the program that judged, and the limits that it went by.
func TestReplayStatesItsTerms(t *testing.T) {
	saved := report.Build(runs()["settings"])
	tool := report.Tool{Version: "9.9", Revision: "fedcba"}
	again, err := report.Replay(saved, report.Terms{Tool: tool, Thresholds: analyzer.Thresholds{Path: 0.5}})
	require.NoError(t, err)
	require.Equal(t, tool, again.Tool)
	require.Equal(t, 0.5, again.Run.Thresholds.Path)
	require.Equal(t, saved.Run.ID, again.Run.ID)
	require.NotEmpty(t, saved.Diagnoses)
	require.Empty(t, again.Diagnoses, "40 %% below is within 50 %%")
}

func TestReplayWithOtherBaselines(t *testing.T) {
	in := runs()["findings about the host"]
	in.Outcomes[0].Reads = reads(195, 194, 196)
	saved := report.Build(in)
	require.Empty(t, saved.Diagnoses)
	about := diagnosis.Finding{Code: diagnosis.BaselineIncomplete, Component: "mlx5_2", Summary: "one path", Evidence: []string{}}
	again, err := report.Replay(saved, report.Terms{Baselines: func(r report.Report) (baseline.Set, []diagnosis.Finding, error) {
		set := baseline.Set{}
		for _, p := range r.Topology.Paths {
			set[p.Key()] = baseline.Expectation{BandwidthGbps: new(400.0), LatencyUs: new(2.0), Source: baseline.SourceCalibration}
		}
		return set, []diagnosis.Finding{about}, nil
	}})
	require.NoError(t, err)
	require.Equal(t, "abnormal", again.Measurements[0].Verdict, "it is below 400 Gb/s")
	require.Equal(t, baseline.SourceCalibration, again.Measurements[0].Baseline.Source)
	require.True(t, again.Measurements[2].Close, "what is close follows from the baselines")
	require.False(t, saved.Measurements[2].Close)
	var codes []string
	for _, f := range again.Findings {
		codes = append(codes, string(f.Code)+" "+f.Component)
	}
	require.Contains(t, codes, "topology_unreadable ")
	require.Contains(t, codes, "baseline_incomplete mlx5_2")
	require.NotContains(t, codes, "baseline_incomplete mlx5_0", "that was about the stored baselines")

	wrong := errors.New("of another kind of host")
	_, err = report.Replay(saved, report.Terms{Baselines: func(report.Report) (baseline.Set, []diagnosis.Finding, error) { return nil, nil, wrong }})
	require.ErrorIs(t, err, wrong)
}
