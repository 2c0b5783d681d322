package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/yuuki/hostping/internal/diagnosis"
)

// ExplainText writes one entry of the catalogue for people.
func ExplainText(w io.Writer, e diagnosis.Entry, style Style) error {
	var b strings.Builder
	b.WriteString(style.paint(bold, string(e.Code)) + "\n")
	b.WriteString(style.Wrap("", "", e.Title) + "\n")
	b.WriteString(style.Wrap("", "", e.Meaning))
	b.WriteString(style.heading("Likely causes"))
	for _, cause := range e.Causes {
		b.WriteString(style.item("  ", cause))
	}
	b.WriteString(style.heading("Check first"))
	for i, check := range e.CheckFirst {
		number := fmt.Sprintf("  %d. ", i+1)
		b.WriteString(style.Wrap(number, strings.Repeat(" ", len(number)), check))
	}
	b.WriteString(style.heading("How to confirm"))
	b.WriteString(style.Wrap("  ", "  ", e.Confirm))
	b.WriteString(style.heading("How it clears"))
	b.WriteString(style.Wrap("  ", "  ", e.Clears))
	_, err := io.WriteString(w, b.String())
	return err
}

// CodesText lists the entries of the catalogue for people: what makes a run
// end with a diagnosis first, then what is merely worth knowing.
func CodesText(w io.Writer, entries []diagnosis.Entry, style Style) error {
	widest := 0
	for _, e := range entries {
		widest = max(widest, utf8.RuneCountInString(string(e.Code)))
	}
	var b strings.Builder
	b.WriteString(style.paint(bold, "Diagnoses") + "\n")
	list := func(findings bool) {
		for _, e := range entries {
			if e.Finding == findings {
				b.WriteString(style.Wrap("  "+pad(string(e.Code), widest)+"  ", strings.Repeat(" ", widest+4), e.Title))
			}
		}
	}
	list(false)
	b.WriteString(style.heading("Findings (no effect on the answer)"))
	list(true)
	b.WriteString(style.Wrap("\n", "", "More about one of them: hostpingctl explain CODE"))
	_, err := io.WriteString(w, b.String())
	return err
}

// Runbook writes the catalogue as the Markdown of docs/runbook.md. Each code
// is a heading, so that diagnosis.Runbook names its anchor.
func Runbook(w io.Writer, entries []diagnosis.Entry) error {
	var b strings.Builder
	b.WriteString(`# Runbook

What each code means, what to check first, and how it clears. ` + "`hostpingctl explain CODE`" + ` prints the same in the terminal.
This file is generated from the catalogue in ` + "`internal/diagnosis/entries.go`" + `; change it there, then run
` + "`go test ./internal/report -run Runbook -update`" + `.
`)
	table := func(title, about string, findings bool) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| code | in short |\n|---|---|\n", title, about)
		for _, e := range entries {
			if e.Finding == findings {
				fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", e.Code, e.Code, e.Title)
			}
		}
		for _, e := range entries {
			if e.Finding == findings {
				runbookEntry(&b, e)
			}
		}
	}
	table("Diagnoses", "A diagnosis blames a part: `hostpingctl diagnose` ends with exit status 1.", false)
	table("Findings", "A finding is worth knowing and blames nothing: it never changes the exit status.", true)
	_, err := io.WriteString(w, b.String())
	return err
}

func runbookEntry(b *strings.Builder, e diagnosis.Entry) {
	fmt.Fprintf(b, "\n### %s\n\n**%s.** %s\n\nLikely causes:\n\n", e.Code, e.Title, e.Meaning)
	for _, cause := range e.Causes {
		fmt.Fprintf(b, "- %s\n", cause)
	}
	b.WriteString("\nCheck first:\n\n")
	for i, check := range e.CheckFirst {
		fmt.Fprintf(b, "%d. %s\n", i+1, check)
	}
	fmt.Fprintf(b, "\nTo confirm: %s\n\nClears with: %s\n", e.Confirm, e.Clears)
}
