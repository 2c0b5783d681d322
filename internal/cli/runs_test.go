package cli_test

// Goal: consecutive runs: what they carry from one to the next, what wrong
// values say, and what an interrupt leaves.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/run"
)

func TestRunsCarryTheirHistory(t *testing.T) {
	valid := schema(t, "report.schema.json")
	for n := 1; n <= 3; n++ {
		got := hostpingctl(t, fmt.Sprintf("diagnose --sim --fault flapping:inter_socket:0-1 --runs %d --format json", n))
		requireValid(t, valid, got.stdout)
		r := parseReport(t, got.stdout)
		require.NotEmpty(t, r.History)
		for _, h := range r.History {
			require.Len(t, h.Verdicts, n, h.Hop)
		}
		require.NotEmpty(t, r.PathHistory)
		flapping := false
		for _, d := range r.Diagnoses {
			flapping = flapping || d.Code == diagnosis.LinkFlapping
		}
		require.Equal(t, n == 3, flapping, "after %d runs", n)
	}
}

func TestRunsOfAHealthyHost(t *testing.T) {
	got := hostpingctl(t, "diagnose --sim --runs 5 --format json")
	require.Equal(t, 0, got.code)
	r := parseReport(t, got.stdout)
	require.Empty(t, r.PathHistory)
	require.Len(t, r.History[0].Verdicts, 5)
}

// A fault that stays is none that comes and goes.
func TestRunsOfASteadyFault(t *testing.T) {
	got := hostpingctl(t, "diagnose --sim --fault memory:mem0 --runs 4 --format json")
	require.Equal(t, 1, got.code)
	r := parseReport(t, got.stdout)
	require.Len(t, r.Diagnoses, 1)
	require.Equal(t, "memory_channel_failure", string(r.Diagnoses[0].Code))
}

// What the runs before the last one blamed is told in the text, and only there.
func TestRunsTellWhatEarlierOnesBlamed(t *testing.T) {
	got := hostpingctl(t, "diagnose --sim --fault memory:mem0 --runs 3")
	require.Contains(t, got.stdout, "\nrun 1 of 3 blamed memory:mem0 (memory_channel_failure)\nrun 2 of 3 blamed memory:mem0 (memory_channel_failure)\n")
	require.NotContains(t, got.stdout, "run 3 of 3")
	require.NotContains(t, hostpingctl(t, "diagnose --sim --runs 3").stdout, " of 3 blamed")
}

func TestWrongThresholdsAndRuns(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		env  map[string]string
		says []string
	}{
		"no runs":                 {"diagnose --sim --runs 0", nil, []string{"--runs", "whole number from 1 to 300"}},
		"half a run":              {"diagnose --sim --runs 1.5", nil, []string{"--runs", "whole number"}},
		"too many":                {"diagnose --sim --runs 301", nil, []string{"1 to 300"}},
		"mistyped":                {"diagnose --sim --run 3", nil, []string{"unknown flag --run", "--runs"}},
		"environment":             {"diagnose --sim", map[string]string{"HOSTPING_RUNS": "many"}, []string{"HOSTPING_RUNS=many", "whole number"}},
		"flap runs":               {"diagnose --sim --flap-runs 0", nil, []string{"--flap-runs", "whole number"}},
		"overload in percent":     {"diagnose --sim --overload-threshold 80", nil, []string{"--overload-threshold", "0.2"}},
		"pause not a number":      {"diagnose --sim --pause-threshold nan", nil, []string{"--pause-threshold", "share"}},
		"replay takes them too":   {"replay --overload-threshold 2 x.json", nil, []string{"--overload-threshold"}},
		"flapping of nothing":     {"diagnose --sim --fault flapping:mem0", nil, []string{"flapping:mem0", "flapping:KIND:TARGET"}},
		"flapping mistyped":       {"diagnose --sim --fault flaping:memory:mem0", nil, []string{"did you mean flapping?"}},
		"overload of the unknown": {"diagnose --sim --fault memory_overload:mem9", nil, []string{"memory_overload", "did you mean mem0?"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := call{args: strings.Fields(c.line), env: c.env}.run(t.Context())
			requireOneLine(t, got, 2)
			for _, text := range c.says {
				require.Contains(t, got.stderr, text)
			}
		})
	}
}

func TestThresholdsFromTheEnvironment(t *testing.T) {
	env := map[string]string{"HOSTPING_OVERLOAD_THRESHOLD": "0.97", "HOSTPING_RUNS": "2"}
	got := call{args: strings.Fields("diagnose --sim --fault memory_overload:mem0 --format json"), env: env}.run(t.Context())
	r := parseReport(t, got.stdout)
	require.Equal(t, "memory_channel_failure", string(r.Diagnoses[0].Code), "used at 92 %")
	require.Equal(t, 0.97, r.Run.Thresholds.Overload)
	require.Len(t, r.History[0].Verdicts, 2)
}

// An interrupt between or in runs leaves what was measured, and says so.
func TestInterruptedRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	live := func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
		opened, err := liveHost{}.open(ctx, opts)
		opened.Prober = &cancelAfter{Prober: opened.Prober, reads: 40 + 10, cancel: cancel}
		return opened, err
	}
	got := call{args: strings.Fields("diagnose --runs 3 --format json"), live: live}.run(ctx)
	require.Equal(t, 4, got.code, got.stderr)
	r := parseReport(t, got.stdout)
	require.True(t, r.Run.Interrupted)
	require.Len(t, r.History[0].Verdicts, 2, "in the second run")
}

// failAfter makes every probe after so many fail.
type failAfter struct {
	engine.Prober
	reads int
}

func (p *failAfter) Probe(ctx context.Context, req probe.Request) (probe.Reading, error) {
	if p.reads--; p.reads < 0 {
		return probe.Reading{}, &probe.Failure{Reason: probe.ReasonDeviceRemoved, Detail: "pulled"}
	}
	return p.Prober.Probe(ctx, req)
}

// Exit status and output are those of the last run.
func TestTheLastRunDecides(t *testing.T) {
	live := func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
		opened, err := liveHost{}.open(ctx, opts)
		opened.Prober = &failAfter{Prober: opened.Prober, reads: 40}
		return opened, err
	}
	require.Equal(t, 0, call{args: strings.Fields("diagnose --runs 1"), live: live}.run(t.Context()).code)
	require.Equal(t, 4, call{args: strings.Fields("diagnose --runs 2"), live: live}.run(t.Context()).code)
}

// Saved reports of consecutive runs say together what the runs said, and a
// report replayed alone remembers the runs before it.
func TestReplayCarriesHistory(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for n := 1; n <= 3; n++ {
		file := filepath.Join(dir, fmt.Sprintf("%d.json", n))
		got := hostpingctl(t, fmt.Sprintf("diagnose --sim --fault flapping:memory:mem1 --runs %d --format json --output %s", n, file))
		require.Contains(t, []int{0, 1}, got.code, got.stderr)
		files = append(files, file)
	}
	last, err := os.ReadFile(files[2])
	require.NoError(t, err)
	require.Contains(t, string(last), "link_flapping")
	alone := hostpingctl(t, "replay --format json "+files[2])
	require.Equal(t, 1, alone.code, alone.stderr)
	require.Equal(t, string(last), alone.stdout, "byte by byte")

	together := hostpingctl(t, "replay --format json "+strings.Join(files, " "))
	require.Equal(t, string(last), together.stdout, "the same simulated runs, one file each")

	fewer := hostpingctl(t, "replay --format json "+files[0])
	require.NotContains(t, fewer.stdout, "link_flapping")
}
