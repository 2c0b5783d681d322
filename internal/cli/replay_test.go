package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/sim"
)

// saved writes a text into a file of its own.
func saved(t *testing.T, text string) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "*.json")
	require.NoError(t, err)
	defer file.Close()
	_, err = file.WriteString(text)
	require.NoError(t, err)
	return file.Name()
}

// diagnosed runs a simulated diagnosis and saves its report.
func diagnosed(t *testing.T, line string) (file string, made result) {
	t.Helper()
	made = hostpingctl(t, "diagnose --sim --format json "+line)
	require.Empty(t, made.stderr)
	return saved(t, made.stdout), made
}

// A report that is judged anew on the same terms is the same report, whatever the run was.
func TestReplayGivesTheSameBytes(t *testing.T) {
	lines := map[string]string{
		"healthy":                     "",
		"quiet":                       "--noise none",
		"harsh noise":                 "--noise harsh --seed 7",
		"two faults":                  "--fault gpu_pcie:gpu2=0.6 --fault memory:mem0=0.6",
		"three runs":                  "--runs 3",
		"a fault that comes and goes": "--runs 4 --fault flapping:memory:mem0=0.6",
		"busy":                        "--busy rnic2",
		"busy and faulty":             "--busy rnic2=0.6 --fault gpu_pcie:gpu4",
		"all busy":                    "--busy rnic0 --busy rnic1 --busy rnic2 --busy rnic3 --fault memory:mem0=0.6",
		"selected":                    "--rnic rnic0,rnic2 --gpu gpu0",
		"another threshold":           "--path-threshold 0.1 --seed 3",
		"a blind threshold":           "--path-threshold 0.9 --fault rnic_pcie:rnic0",
		"idle though it is not":       "--busy rnic2=0.1 --rnic-idle-threshold 0.5 --mode idle",
	}
	kinds, err := sim.Targets(sim.Fig2())
	require.NoError(t, err)
	for _, kind := range kinds {
		for i, target := range kind.Targets {
			fault := kind.Kind + ":" + target
			lines[fault] = fmt.Sprintf("--fault %s --seed %d", fault, i+1)
			lines[fault+", busy"] = fmt.Sprintf("--fault %s --busy rnic1 --busy rnic2 --seed %d", fault, i+1)
		}
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			file, made := diagnosed(t, line)
			terms := ""
			if at := strings.Index(line, "--path-threshold"); at >= 0 {
				terms = strings.Join(strings.Fields(line[at:])[:2], " ")
			}
			again := hostpingctl(t, fmt.Sprintf("replay %s --format json %s", terms, file))
			require.Equal(t, made.code, again.code, again.stderr)
			require.Equal(t, made.stdout, again.stdout)
		})
	}
}

// A calibrated report keeps its baselines; any report can be judged by a file's.
func TestReplayWithBaselines(t *testing.T) {
	baselines := filepath.Join(t.TempDir(), "baselines.json")
	require.Equal(t, 0, hostpingctl(t, "calibrate --sim --noise none --out "+baselines).code)
	file, made := diagnosed(t, "--baseline-file "+baselines+" --fault gpu_pcie:gpu2")
	require.Equal(t, made.stdout, hostpingctl(t, "replay --format json "+file).stdout)
	require.Equal(t, made.stdout, hostpingctl(t, "replay --format json --baseline-file "+baselines+" "+file).stdout)

	byDefault, _ := diagnosed(t, "--fault gpu_pcie:gpu2")
	judged := parseReport(t, hostpingctl(t, "replay --format json --baseline-file "+baselines+" "+byDefault).stdout)
	require.Equal(t, baseline.SourceCalibration, judged.Measurements[0].Baseline.Source)
	other := hostpingctl(t, "replay --baseline-file "+file+" "+byDefault)
	requireOneLine(t, other, 2)
	require.Contains(t, other.stderr, "--baseline-file "+file)
}

func TestReplayOfAnInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	live := func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
		opened, err := liveHost{}.open(ctx, opts)
		opened.Prober = &cancelAfter{Prober: opened.Prober, reads: 17, cancel: cancel}
		return opened, err
	}
	made := call{args: strings.Fields("diagnose --format json"), live: live}.run(ctx)
	require.Equal(t, 4, made.code, made.stderr)
	again := hostpingctl(t, "replay --format json "+saved(t, made.stdout))
	require.Equal(t, 4, again.code)
	require.Equal(t, made.stdout, again.stdout)
}

// Verdicts in the file are ignored; the reads count.
func TestReplayJudgesAnew(t *testing.T) {
	_, made := diagnosed(t, "--fault rnic_pcie:rnic0")
	var doc map[string]any
	decoder := json.NewDecoder(strings.NewReader(made.stdout))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&doc))
	doc["diagnoses"], doc["hops"] = []any{}, []any{}
	for _, m := range doc["measurements"].([]any) {
		m := m.(map[string]any)
		m["verdict"], m["latency_verdict"], m["reason"], m["rule"] = "normal", "normal", "", ""
		m["reference_gbps"] = nil
	}
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	again := hostpingctl(t, "replay --format json "+saved(t, string(text)))
	require.Equal(t, 1, again.code)
	require.Equal(t, made.stdout, again.stdout)
}

func TestReplayOnOtherTerms(t *testing.T) {
	file, _ := diagnosed(t, "--fault rnic_pcie:rnic0")
	blind := hostpingctl(t, "replay --format json --path-threshold 0.9 "+file)
	require.Equal(t, 0, blind.code)
	r := parseReport(t, blind.stdout)
	require.Empty(t, r.Diagnoses)
	require.Equal(t, 0.9, r.Run.Thresholds.Path)
}

func TestReplayFormats(t *testing.T) {
	file, _ := diagnosed(t, "--fault rnic_pcie:rnic0 --seed 2")
	for format, begins := range map[string]string{"text": "1 DIAGNOSIS:", "tap": "TAP version 13\n1..41\n", "json": "{\n"} {
		fromFile := hostpingctl(t, "replay --format "+format+" "+file)
		require.Equal(t, 1, fromFile.code)
		require.True(t, strings.HasPrefix(fromFile.stdout, begins), fromFile.stdout[:40])

		text, err := os.ReadFile(file)
		require.NoError(t, err)
		fromStdin := call{args: []string{"replay", "--format", format, "-"}, stdin: bytes.NewReader(text)}.run(t.Context())
		require.Equal(t, fromFile, fromStdin)

		to := filepath.Join(t.TempDir(), "out")
		written := hostpingctl(t, "replay --format "+format+" --output "+to+" "+file)
		require.Equal(t, 1, written.code)
		require.Empty(t, written.stdout)
		got, err := os.ReadFile(to)
		require.NoError(t, err)
		require.Equal(t, fromFile.stdout, string(got))
	}
}

// Several files are consecutive runs of one host; the last one is printed.
func TestReplayOfSeveralRuns(t *testing.T) {
	first, _ := diagnosed(t, "--seed 1")
	second, made := diagnosed(t, "--seed 2 --fault memory:mem0")
	got := hostpingctl(t, "replay --format json "+first+" "+second)
	require.Equal(t, 1, got.code, got.stderr)
	require.Equal(t, parseReport(t, made.stdout).Run.ID, parseReport(t, got.stdout).Run.ID)
	require.Equal(t, parseReport(t, made.stdout).Diagnoses[0].Component, parseReport(t, got.stdout).Diagnoses[0].Component)
}

func TestWrongReports(t *testing.T) {
	good, made := diagnosed(t, "--seed 1")
	later, _ := diagnosed(t, "--seed 2")
	cut := saved(t, made.stdout[:len(made.stdout)/2])
	future := saved(t, strings.Replace(made.stdout, report.SchemaID, "hostping.report/v2", 1))
	nan := saved(t, strings.Replace(made.stdout, `"duration_ms": `, `"duration_ms": NaN, "x": `, 1))
	negative := saved(t, strings.Replace(made.stdout, `"bandwidth_gbps": `, `"bandwidth_gbps": -`, 1))
	twice := saved(t, strings.Replace(made.stdout, `"mode": `, `"mode": "busy", "mode": `, 1))
	stranger := saved(t, strings.Replace(made.stdout, `"measurements": [
    {
      "rnic": "rnic0"`, `"measurements": [
    {
      "rnic": "rnic9"`, 1))
	require.NotEqual(t, made.stdout, readAll(t, stranger))
	otherHost := saved(t, strings.Replace(readAll(t, later), `"name": "simulated host"`, `"name": "node17"`, 1))
	otherCards := saved(t, hostpingctl(t, "diagnose --sim-topology ../../testdata/topologies/dgx1-v100.json --format json").stdout)
	huge := filepath.Join(t.TempDir(), "huge.json")
	require.NoError(t, os.WriteFile(huge, []byte("{"), 0o644))
	require.NoError(t, os.Truncate(huge, 100<<20))
	dir := t.TempDir()

	for name, c := range map[string]struct {
		line string
		says []string
	}{
		"no file":               {"replay", []string{"replay needs the file of a report", "diagnose --format json"}},
		"missing file":          {"replay " + dir + "/none.json", []string{"none.json", "cannot be read", "no such file"}},
		"a folder":              {"replay " + dir, []string{dir, "cannot be read"}},
		"cut":                   {"replay " + cut, []string{cut, "measurements[", "cut short"}},
		"future schema":         {"replay " + future, []string{future, "schema", "hostping.report/v2", "hostping.report/v1"}},
		"NaN":                   {"replay " + nan, []string{nan, "run.duration_ms", "NaN"}},
		"negative":              {"replay " + negative, []string{negative, "bandwidth_gbps", "negative"}},
		"key given twice":       {"replay " + twice, []string{twice, "run.mode", "given twice"}},
		"unknown RNIC":          {"replay " + stranger, []string{stranger, "measurements[0].rnic", "rnic9"}},
		"100 MB":                {"replay " + huge, []string{huge, "longer than 32 MiB"}},
		"second file is wrong":  {"replay " + good + " " + cut, []string{cut, "cut short"}},
		"first file is wrong":   {"replay " + cut + " " + good, []string{cut, "cut short"}},
		"one run twice":         {"replay " + good + " " + good, []string{"run.id", "name each run once"}},
		"runs in wrong order":   {"replay " + later + " " + good, []string{"run.started_at", "oldest first"}},
		"runs of two hosts":     {"replay " + good + " " + otherHost, []string{otherHost, "host.name", "node17", "compare"}},
		"runs of a namesake":    {"replay " + good + " " + otherCards, []string{otherCards, "topology.rnics", "none of them", "compare"}},
		"nothing on stdin":      {"replay -", []string{"standard input", "the document is empty"}},
		"stdin twice":           {"replay - -", []string{"only once"}},
		"unknown format":        {"replay --format tpa " + good, []string{"--format tpa", "did you mean tap?"}},
		"threshold in percent":  {"replay --path-threshold 20 " + good, []string{"--path-threshold 20", "0.2"}},
		"flag of diagnose":      {"replay --sim " + good, []string{"unknown flag --sim"}},
		"compare with one":      {"compare " + good, []string{"two reports", "got 1"}},
		"compare with three":    {"compare " + good + " " + later + " " + good, []string{"two reports", "got 3"}},
		"compare: old is wrong": {"compare " + cut + " " + good, []string{cut, "cut short"}},
		"compare: new is wrong": {"compare " + good + " " + nan, []string{nan, "run.duration_ms"}},
		"compare: stdin twice":  {"compare - -", []string{"only once"}},
		"explain two":           {"explain rnic_slow_start rnic_tx_window", []string{"one code", `"rnic_tx_window"`}},
		"explain a near miss":   {"explain rnic_pci_failure", []string{`"rnic_pci_failure"`, "did you mean rnic_pcie_failure?"}},
		"explain a part":        {"explain p2p", []string{"did you mean"}},
		"explain nonsense":      {"explain frobnicate", []string{`"frobnicate"`, "hostpingctl explain"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := hostpingctl(t, c.line)
			requireOneLine(t, got, 2)
			for _, text := range c.says {
				require.Contains(t, got.stderr, text)
			}
		})
	}
}

func readAll(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// Whoever pipes nothing into replay may interrupt it.
func TestReplayOfASilentPipe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reader, writer := io.Pipe()
	defer writer.Close()
	got := call{args: []string{"replay", "-"}, stdin: reader}.run(ctx)
	requireOneLine(t, got, cli.ExitInconclusive)
	require.Contains(t, got.stderr, "standard input: interrupted while it was read")
}

func TestCompareReports(t *testing.T) {
	healthy, _ := diagnosed(t, "--seed 1")
	again, _ := diagnosed(t, "--seed 2")
	sick, _ := diagnosed(t, "--seed 3 --fault rnic_pcie:rnic0")
	busy, _ := diagnosed(t, "--seed 4 --busy rnic2")
	for name, c := range map[string]struct {
		old, new string
		code     int
		says     string
	}{
		"healthy twice":        {healthy, again, 0, "NO REGRESSION: 40 paths compared"},
		"it fell ill":          {healthy, sick, 1, "WORSE: 1 new diagnosis"},
		"it got well":          {sick, healthy, 0, "better: 1 cleared diagnosis"},
		"it is busy":           {healthy, busy, 0, "NO REGRESSION: 12 paths compared"},
		"it is no longer busy": {busy, healthy, 0, "Newly measured"},
	} {
		t.Run(name, func(t *testing.T) {
			got := hostpingctl(t, "compare "+c.old+" "+c.new)
			require.Equal(t, c.code, got.code, got.stderr)
			require.Empty(t, got.stderr)
			require.Contains(t, strings.Join(strings.Fields(got.stdout), " "), c.says)
			requireValid(t, schema(t, "comparison.schema.json"), hostpingctl(t, "compare --format json "+c.old+" "+c.new).stdout)
			tap := hostpingctl(t, "compare --format tap "+c.old+" "+c.new)
			require.Equal(t, c.code, tap.code)
			require.Equal(t, c.code == 1, strings.Contains(tap.stdout, "\nnot ok "))
		})
	}
}

func TestExplain(t *testing.T) {
	list := hostpingctl(t, "explain")
	require.Equal(t, 0, list.code)
	require.Contains(t, list.stdout, "rnic_pcie_failure")

	one := hostpingctl(t, "explain memory_channel_failure")
	require.Equal(t, 0, one.code)
	require.Contains(t, one.stdout, "Check first\n  1. ")

	var document struct {
		Schema string
		Codes  []struct {
			Code       string
			CheckFirst []string `json:"check_first"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(hostpingctl(t, "explain --format json memory_channel_failure").stdout), &document))
	require.Equal(t, "hostping.explanation/v1", document.Schema)
	require.Len(t, document.Codes, 1)
	require.Equal(t, "memory_channel_failure", document.Codes[0].Code)
	require.NotEmpty(t, document.Codes[0].CheckFirst)
	require.NoError(t, json.Unmarshal([]byte(hostpingctl(t, "explain --format json").stdout), &document))
	require.Greater(t, len(document.Codes), 15)
}

func TestCompletionOfCodes(t *testing.T) {
	got := hostpingctl(t, "__complete explain memory_")
	require.Contains(t, got.stdout, "memory_channel_failure\tThe memory of a NUMA node is slow\n")
	require.NotContains(t, got.stdout, "rnic_")
}

// Of a sound report and a wrong baseline file, the file alone is named.
func TestReplayNamesTheGuiltyFile(t *testing.T) {
	dir := t.TempDir()
	report, topology := filepath.Join(dir, "report.json"), filepath.Join(dir, "topology.json")
	require.Equal(t, 0, hostpingctl(t, "diagnose --sim --format json --output "+report).code)
	require.Equal(t, 0, hostpingctl(t, "topology --sim --format json --output "+topology).code)
	got := hostpingctl(t, "replay "+report+" --baseline-file "+topology)
	requireOneLine(t, got, 2)
	require.Contains(t, got.stderr, ": --baseline-file "+topology+": ")
	require.NotContains(t, got.stderr, report)
}
