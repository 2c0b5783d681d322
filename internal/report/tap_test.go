package report_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/report"
)

// tapResult is what a harness makes of a document.
type tapResult struct {
	points, failed, skipped int
	lines                   []string // the test points
}

var tapPoint = regexp.MustCompile(`^(not )?ok (\d+) - (.*?)( # SKIP (.+))?$`)

// parseTAP reads a document as TAP 13 specifies it, and refuses what is not so.
func parseTAP(t *testing.T, text string) (r tapResult) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Equal(t, "TAP version 13", lines[0])
	plan := strings.TrimPrefix(lines[1], "1..")
	inBlock := false
	for _, line := range lines[2:] {
		switch {
		case line == "  ---":
			require.False(t, inBlock)
			inBlock = true
		case line == "  ...":
			require.True(t, inBlock)
			inBlock = false
		case inBlock:
			require.Regexp(t, `^  ( {2}\S.*|[a-z_]+: (\||\[.*\]|".*"|[0-9.e+-]+))$`, line)
		case strings.HasPrefix(line, "# "):
		default:
			parts := tapPoint.FindStringSubmatch(line)
			require.NotNil(t, parts, "no test point: %q", line)
			r.points++
			require.Equal(t, strconv.Itoa(r.points), parts[2])
			require.NotContains(t, strings.ReplaceAll(parts[3], `\#`, ""), "#", "an unescaped directive")
			if parts[1] != "" {
				r.failed++
				require.Empty(t, parts[4])
			}
			if parts[4] != "" {
				r.skipped++
			}
			r.lines = append(r.lines, line)
		}
	}
	require.False(t, inBlock)
	require.Equal(t, strconv.Itoa(r.points), plan)
	return r
}

func TestTAP(t *testing.T) {
	for name, c := range map[string]struct{ points, failed, skipped int }{
		"healthy":          {8, 0, 0},
		"faulty":           {9, 5, 0}, // four paths, one diagnosis
		"interrupted":      {8, 0, 5},
		"device_removed":   {13, 5, 4},
		"unusable_rnic":    {4, 0, 2},
		"nothing_proven":   {4, 0, 0},
		"nothing_measured": {1, 0, 1},
		"several":          {11, 8, 0},
		"busy":             {20, 0, 15},
	} {
		t.Run(name, func(t *testing.T) {
			r := report.Build(cases()[name])
			var out bytes.Buffer
			require.NoError(t, r.TAP(&out))
			got := parseTAP(t, out.String())
			require.Equal(t, tapResult{c.points, c.failed, c.skipped, got.lines}, got, out.String())
		})
	}
}

// Texts from outside cannot forge a directive, a test point or a line.
func TestTAPEscapes(t *testing.T) {
	in := cases()["nothing_measured"]
	in.Outcomes[0].Failure.Detail = "it failed # TODO later\nok 2 - forged \\ x"
	in.Host.Name = "node\nBail out!"
	r := report.Build(in)
	var out bytes.Buffer
	require.NoError(t, r.TAP(&out))
	got := parseTAP(t, out.String())
	require.Equal(t, []string{`ok 1 - path mlx5_0 to mem0 # SKIP memlock_limit: it failed \# TODO later ok 2 - forged \\ x`}, got.lines)
}

// Perl's TAP::Harness, which most pipelines build on, reads every document as meant.
func TestTAPByHarness(t *testing.T) {
	prove, err := exec.LookPath("prove")
	if err != nil {
		_, statErr := os.Stat("/usr/bin/prove")
		require.ErrorIs(t, statErr, os.ErrNotExist, "prove is there but not in PATH")
		t.Skip("prove, of Perl's Test::Harness, is not installed")
	}
	documents := map[string]func(*bytes.Buffer) error{}
	for name, in := range cases() {
		documents[name] = func(out *bytes.Buffer) error { r := report.Build(in); return r.TAP(out) }
	}
	for name, c := range comparisons() {
		documents["comparison: "+name] = func(out *bytes.Buffer) error {
			comparison, _ := report.Compare(report.Build(c.old()), report.Build(c.new()))
			return comparison.TAP(out)
		}
	}
	dir := t.TempDir()
	var passing, failing []string
	points, summaries := 0, []string{}
	for name, write := range documents {
		var text bytes.Buffer
		require.NoError(t, write(&text))
		want := parseTAP(t, text.String())
		file := filepath.Join(dir, regexp.MustCompile(`\W+`).ReplaceAllString(name, "_")+".tap")
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
		if want.failed == 0 {
			passing, points = append(passing, file), points+want.points
			continue
		}
		failing = append(failing, file)
		summaries = append(summaries, file+` +\(Wstat: \S+ Tests: `+strconv.Itoa(want.points)+` Failed: `+strconv.Itoa(want.failed)+`\)`)
	}
	out, err := exec.Command(prove, append([]string{"--exec", "cat"}, passing...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), fmt.Sprintf("Files=%d, Tests=%d,", len(passing), points), "%s", out)

	out, err = exec.Command(prove, append([]string{"--exec", "cat"}, failing...)...).CombinedOutput()
	require.Error(t, err)
	require.NotContains(t, string(out), "Parse errors", "%s", out)
	for _, summary := range summaries {
		require.Regexp(t, summary, string(out))
	}
}
