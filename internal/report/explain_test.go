package report_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/report"
)

// docs/runbook.md is what the catalogue says; with -update it is written anew.
func TestRunbookIsFresh(t *testing.T) {
	var want bytes.Buffer
	require.NoError(t, report.Runbook(&want, diagnosis.All()))
	const path = "../../docs/runbook.md"
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "the catalogue changed: go test ./internal/report -run Runbook -update")
}

// A report's runbook field leads to a heading of the runbook.
func TestRunbookHasEveryAnchor(t *testing.T) {
	text, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	headings := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			headings[heading]++
		}
	}
	for _, e := range diagnosis.All() {
		file, anchor, _ := strings.Cut(diagnosis.Runbook(e.Code), "#")
		require.Equal(t, "docs/runbook.md", file)
		require.Equal(t, 1, headings[anchor], "%s", e.Code)
	}
	require.Len(t, headings, len(diagnosis.All()))
}

func TestExplainText(t *testing.T) {
	for _, e := range diagnosis.All() {
		for width, style := range map[int]report.Style{80: {}, 60: {Width: 60}} {
			var out bytes.Buffer
			require.NoError(t, report.ExplainText(&out, e, style))
			flat := strings.Join(strings.Fields(out.String()), " ")
			for _, text := range append(append([]string{string(e.Code), e.Title, e.Meaning, e.Confirm, e.Clears}, e.Causes...), e.CheckFirst...) {
				require.Contains(t, flat, text, "%s", e.Code)
			}
			for line := range strings.Lines(out.String()) {
				require.LessOrEqual(t, len([]rune(line)), width+1, "%s: %q", e.Code, line)
			}
		}
	}
}

func TestCodesText(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.CodesText(&out, diagnosis.All(), report.Style{}))
	diagnoses, findings, ok := strings.Cut(out.String(), "Findings")
	require.True(t, ok)
	for _, e := range diagnosis.All() {
		part := diagnoses
		if e.Finding {
			part = findings
		}
		require.Contains(t, part, "  "+string(e.Code)+" ")
	}
}
