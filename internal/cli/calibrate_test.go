package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/sim"
)

func readBaseline(t *testing.T, path string) baseline.File {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	requireValid(t, schema(t, "baseline.schema.json"), string(text))
	file, err := baseline.Parse(text)
	require.NoError(t, err)
	return file
}

// calibrateSim writes the baseline file of the simulated host.
func calibrateSim(t *testing.T, flags string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "baseline.json")
	got := hostpingctl(t, "calibrate --sim --rounds 3 --out "+path+" "+flags)
	require.Equal(t, 0, got.code, got.stderr)
	require.Empty(t, got.stderr)
	requireAlone(t, path)
	return path
}

func TestCalibrateWritesWhatItTells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my baseline.json")
	got := call{args: []string{"calibrate", "--sim", "--out", path}}.run(t.Context())
	require.Equal(t, 0, got.code, got.stderr)
	require.True(t, strings.HasPrefix(got.stdout, "CALIBRATED on simulated host (sim): 5 rounds, "), got.stdout)
	for _, text := range []string{fmt.Sprintf("%q", path), "mem_local", "mem_remote", "pix", "pxb", "phb", "sys", "16 GT/s x16", "nvidia simulated"} {
		require.Contains(t, got.stdout, text)
	}
	file := readBaseline(t, path)
	require.Equal(t, "sim", file.Backend)
	require.Equal(t, baseline.Tool{Version: "1.2.3", Revision: "abcdef"}, file.Calibrations[0].Tool)
	require.Equal(t, 5, file.Calibrations[0].Rounds)
	require.WithinDuration(t, time.Now(), file.Calibrations[0].FinishedAt, time.Hour)

	asJSON := call{args: []string{"calibrate", "--sim", "--format", "json", "--out", path}}.run(t.Context())
	require.Equal(t, 0, asJSON.code)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(text), asJSON.stdout)
}

// Equal seeds give equal figures, whatever the time.
func TestCalibrationOfTheSimulatedHostFollowsItsSeed(t *testing.T) {
	figures := func(flags string) string {
		text, err := json.Marshal(readBaseline(t, calibrateSim(t, flags)).Entries)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, figures("--seed 7"), figures("--seed 7"))
	require.NotEqual(t, figures("--seed 7"), figures("--seed 8"))
}

func TestDiagnoseByABaselineFile(t *testing.T) {
	valid := schema(t, "report.schema.json")
	file := calibrateSim(t, "--seed 7")
	for name, c := range map[string]struct {
		flags     string
		code      int
		component string
	}{
		"healthy": {"", 0, ""},
		"sick":    {"--fault gpu_pcie:gpu3", 1, "gpu_pcie:gpu3"},
		"busy":    {"--busy rnic2", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := hostpingctl(t, "diagnose --sim --format json --baseline-file "+file+" "+c.flags)
			require.Equal(t, c.code, got.code, got.stderr)
			requireValid(t, valid, got.stdout)
			r := parseReport(t, got.stdout)
			for _, m := range r.Measurements {
				require.Equal(t, baseline.SourceCalibration, m.Baseline.Source)
				require.NotNil(t, m.Baseline.LatencyUs)
				require.NotNil(t, m.Baseline.SpreadShare)
				require.Regexp(t, `^baseline.json: calibrated on simulated host, \d+ reads, 20\d\d-\d\d-\d\d$`, m.Baseline.Rule)
			}
			if c.component != "" {
				require.Equal(t, c.component, r.Diagnoses[0].Component)
			}
		})
	}
	t.Run("from the environment", func(t *testing.T) {
		got := call{args: strings.Fields("diagnose --sim --format json"), env: map[string]string{"HOSTPING_BASELINE_FILE": file}}.run(t.Context())
		require.Equal(t, 0, got.code, got.stderr)
		require.Equal(t, baseline.SourceCalibration, parseReport(t, got.stdout).Measurements[0].Baseline.Source)
	})
}

// A platform whose bus between the sockets is slow: the defaults blame it, a
// calibration knows it, and a fault on top of it is still seen.
func TestCalibrationKnowsTheLimitsOfThePlatform(t *testing.T) {
	const platform = "--fault inter_socket:0-1=0.5"
	file := calibrateSim(t, platform)
	require.Equal(t, 1, hostpingctl(t, "diagnose --sim "+platform).code)
	require.Equal(t, 0, hostpingctl(t, "diagnose --sim --baseline-file "+file+" "+platform).code)
	worse := hostpingctl(t, "diagnose --sim --format json --baseline-file "+file+" --fault inter_socket:0-1=0.8")
	require.Equal(t, 1, worse.code)
	require.Equal(t, "inter_socket:0-1", parseReport(t, worse.stdout).Diagnoses[0].Component)
}

func TestCalibrateRefusesTheHost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "baseline.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	for name, c := range map[string]struct {
		host liveHost
		says []string
	}{
		"sick": {liveHost{faults: []sim.Fault{{Kind: "rnic_pcie", Target: "rnic0", Severity: 0.4}}},
			[]string{"like parts", "rnic0→mem0", "--accept-asymmetric"}},
		"idle unknown": {liveHost{idle: monitor.Reading{State: monitor.Unknown, Reasons: []string{"rnic0: no counters"}}}, []string{"idle state", "no counters"}},
		"busy":         {liveHost{idle: monitor.Reading{State: monitor.Busy, Reasons: []string{"rnic2: busy for 40 %"}}}, []string{"busy", "rnic2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := call{args: []string{"calibrate", "--out", path}, live: c.host.open}.run(t.Context())
			requireOneLine(t, got, 3)
			for _, text := range c.says {
				require.Contains(t, got.stderr, text)
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "old", string(text), "a refusal leaves the old file")
			requireAlone(t, path)
		})
	}
	t.Run("accepted", func(t *testing.T) {
		accepted := filepath.Join(t.TempDir(), "baseline.json")
		got := hostpingctl(t, "calibrate --sim --fault rnic_pcie:rnic0 --accept-asymmetric --out "+accepted)
		require.Equal(t, 0, got.code, got.stderr)
		require.Contains(t, got.stdout, "which was accepted")
		require.NotEmpty(t, readBaseline(t, accepted).Calibrations[0].AcceptedAsymmetry)
	})
}

func TestMergeJoinsHosts(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i := range 10 {
		h := liveHost{}
		if i == 3 {
			h.faults = []sim.Fault{{Kind: "rnic_pcie", Target: "rnic0", Severity: 0.6}}
		}
		path := filepath.Join(dir, fmt.Sprintf("node%d.json", i))
		files = append(files, path)
		require.Equal(t, 0, call{args: []string{"calibrate", "--rounds", "3", "--accept-asymmetric", "--out", path}, live: h.open}.run(t.Context()).code)
		renamed, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(renamed), `"host": "node17"`, fmt.Sprintf(`"host": "node%d"`, i))), 0o644))
	}
	fleet := filepath.Join(dir, "fleet.json")
	got := call{args: append([]string{"calibrate", "--merge", "--out", fleet}, files...)}.run(t.Context())
	require.Equal(t, 0, got.code, got.stderr)
	require.True(t, strings.HasPrefix(got.stdout, "MERGED 10 calibrations of 10 files"), got.stdout)
	require.Contains(t, got.stdout, "node3 at ")
	for _, f := range readBaseline(t, fleet).Figures() {
		require.Equal(t, 10, f.Hosts)
		if f.Key.Class == "mem_local" {
			require.InDelta(t, 195, f.BandwidthGbps, 5, "the sick one does not move it")
		}
	}
	again := filepath.Join(dir, "again.json")
	require.Equal(t, 0, call{args: []string{"calibrate", "--merge", files[2], fleet, files[2], "--out", again}}.run(t.Context()).code)
	want, err := os.ReadFile(fleet)
	require.NoError(t, err)
	have, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "merged files merge again, and nothing counts twice")
}

// A file whose kinds are not this host's, or only in part.
func TestBaselineFileOfAnotherKindOfHost(t *testing.T) {
	file := calibrateSim(t, "")
	topo := hostpingctl(t, "topology --sim --format json").stdout
	edited := func(edit func(*map[string]any)) string {
		var doc map[string]any
		require.NoError(t, json.Unmarshal([]byte(topo), &doc))
		edit(&doc)
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "host.json")
		require.NoError(t, os.WriteFile(path, text, 0o644))
		return path
	}
	rnics := func(n int, field string, value any) func(*map[string]any) {
		return func(doc *map[string]any) {
			for _, r := range (*doc)["rnics"].([]any)[:n] {
				r.(map[string]any)[field] = value
			}
		}
	}
	t.Run("all RNICs differ", func(t *testing.T) {
		got := hostpingctl(t, "diagnose --baseline-file "+file+" --sim-topology "+edited(rnics(4, "mtu", 1024)))
		requireOneLine(t, got, 2)
		require.Contains(t, got.stderr, "--baseline-file "+file+": the file does not fit this hardware: mtu_bytes is 1024 here and 4096 in the file")
	})
	t.Run("one RNIC differs", func(t *testing.T) {
		got := hostpingctl(t, "diagnose --format json --baseline-file "+file+" --sim-topology "+edited(rnics(1, "mtu", 1024)))
		require.Equal(t, 0, got.code, got.stderr)
		r := parseReport(t, got.stdout)
		require.Equal(t, "baseline_incomplete", string(r.Findings[0].Code))
		require.Equal(t, "rnic0", r.Findings[0].Component)
		for _, m := range r.Measurements {
			want := baseline.SourceCalibration
			if m.RNIC == "rnic0" {
				want = baseline.SourceDefault
			}
			require.Equal(t, want, m.Baseline.Source)
		}
	})
	t.Run("a simulated host's file on a live one", func(t *testing.T) {
		got := call{args: []string{"diagnose", "--baseline-file", file}, live: liveHost{}.open}.run(t.Context())
		requireOneLine(t, got, 2)
		require.Contains(t, got.stderr, "the file holds sim hosts and this one is live")
	})
}

func TestWrongUsageOfBaselines(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	good := calibrateSim(t, "")
	text, err := os.ReadFile(good)
	require.NoError(t, err)
	cut := write("cut.json", string(text[:len(text)/2]))
	nan := write("nan.json", strings.Replace(string(text), `"median": `, `"median": NaN, "x": `, 1))
	future := write("future.json", strings.Replace(string(text), "baseline/v1", "baseline/v9", 1))
	huge := filepath.Join(dir, "huge.json")
	require.NoError(t, os.WriteFile(huge, nil, 0o644))
	require.NoError(t, os.Truncate(huge, 100<<20))
	out := " --out " + filepath.Join(dir, "out.json")

	for name, c := range map[string]struct {
		line string
		says []string
	}{
		"no --out":                    {"calibrate --sim", []string{"calibrate needs --out FILE"}},
		"files without --merge":       {"calibrate --sim a.json" + out, []string{`"a.json"`, "--merge"}},
		"--merge without files":       {"calibrate --merge" + out, []string{"--merge needs the baseline files"}},
		"--merge of the simulator":    {"calibrate --merge --sim " + good + out, []string{"--sim", "--merge measures nothing"}},
		"--merge with rounds":         {"calibrate --merge --rounds 4 " + good + out, []string{"--rounds", "--merge measures nothing"}},
		"--merge of a host tree":      {"calibrate --merge --sysfs /sys " + good + out, []string{"--sysfs", "--merge measures nothing"}},
		"--merge of no such file":     {"calibrate --merge nowhere.json" + out, []string{"nowhere.json: cannot be read", "no such file"}},
		"--merge of a broken file":    {"calibrate --merge " + good + " " + cut + out, []string{cut + ": entries", "cut short"}},
		"too few rounds":              {"calibrate --sim --rounds 0" + out, []string{"--rounds 0: it is from 3 to 100"}},
		"rounds are a word":           {"calibrate --sim --rounds many" + out, []string{"--rounds many", "whole number"}},
		"out is a folder":             {"calibrate --sim --out " + dir, []string{"--out", "folder"}},
		"out's folder is missing":     {"calibrate --sim --out " + dir + "/no/x.json", []string{"--out", "no such file"}},
		"a format that it has not":    {"calibrate --sim --format tap" + out, []string{"--format tap", "text, json"}},
		"a fault without sim":         {"calibrate --fault rnic_pcie:rnic0" + out, []string{"--fault", "add --sim"}},
		"a flag like --out":           {"calibrate --sim --ou x.json", []string{"did you mean --out?"}},
		"baseline: no such file":      {"diagnose --sim --baseline-file nowhere.json", []string{"--baseline-file nowhere.json: cannot be read", `"hostpingctl calibrate`}},
		"baseline: a folder":          {"diagnose --sim --baseline-file " + dir, []string{"--baseline-file", "it is a folder"}},
		"baseline: cut off":           {"diagnose --sim --baseline-file " + cut, []string{"--baseline-file " + cut + ": entries", "cut short"}},
		"baseline: NaN":               {"diagnose --sim --baseline-file " + nan, []string{nan + ": entries[0].measured[0].bandwidth_gbps.median: is NaN"}},
		"baseline: of the future":     {"diagnose --sim --baseline-file " + future, []string{future + ": schema", "hostping.baseline/v9"}},
		"baseline: 100 MB":            {"diagnose --sim --baseline-file " + huge, []string{huge + ": the document is longer than 32 MiB"}},
		"baseline: another document":  {"diagnose --sim --baseline-file ../../docs/baseline.schema.json", []string{"schema: is missing"}},
		"calibrate has no such flag":  {"calibrate --sim --baseline-file " + good + out, []string{"unknown flag --baseline-file"}},
		"unknown device":              {"calibrate --sim --rnic rnic9" + out, []string{"--rnic rnic9", "did you mean rnic"}},
		"a selection without devices": {"calibrate --sim --rnic mlx5_*" + out, []string{"no RNIC matches"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := hostpingctl(t, c.line)
			requireOneLine(t, got, 2)
			for _, text := range c.says {
				require.Contains(t, got.stderr, text)
			}
		})
	}
	require.NoFileExists(t, filepath.Join(dir, "out.json"), "nothing was written")
}

func TestInterruptedCalibrationWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "baseline.json")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	got := call{args: []string{"calibrate", "--out", path}, live: liveHost{probeTime: 50 * time.Millisecond}.open}.run(ctx)
	requireOneLine(t, got, 3)
	require.Contains(t, got.stderr, "interrupted: nothing was written")
	require.NoFileExists(t, path)
}

// The table fits the terminal, and nothing that tells kinds of paths apart is lost.
func TestCalibrationFitsTheTerminal(t *testing.T) {
	for columns, hasAll := range map[string]bool{"120": false, "80": true, "60": true, "40": true} {
		t.Run(columns, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "b.json")
			got := call{args: []string{"calibrate", "--sim", "--out", out}, env: map[string]string{"COLUMNS": columns}}.run(t.Context())
			require.Equal(t, 0, got.code, got.stderr)
			width, err := strconv.Atoi(columns)
			require.NoError(t, err)
			_, table, _ := strings.Cut(got.stdout, "\n\n")
			for line := range strings.Lines(table) {
				require.LessOrEqual(t, len([]rune(line)), width+1, line)
			}
			words := strings.Join(strings.Fields(table), " ")
			require.Equal(t, hasAll, strings.Contains(words, "All have: RNIC mlx5_core 200 Gb/s MTU 4096, PCIe 16 GT/s x16, hosts 1"), table)
			for _, class := range []string{"mem_local", "mem_remote", "pix", "pxb", "phb", "sys", "Gb/s", "µs", "nvidia simulated"} {
				require.Contains(t, words, class)
			}
		})
	}
}
