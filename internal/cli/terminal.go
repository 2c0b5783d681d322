package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/yuuki/hostping/internal/report"
)

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// styleOf decides how text for w may look: colour only on a terminal whose
// user did not ask for none, and the terminal's width, which COLUMNS overrides.
func styleOf(w io.Writer, lookup func(string) (string, bool)) report.Style {
	var style report.Style
	if isTerminal(w) {
		noColor, _ := lookup("NO_COLOR")
		kind, _ := lookup("TERM")
		style.Color = noColor == "" && kind != "dumb"
		if columns, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil {
			style.Width = columns
		}
	}
	if text, ok := lookup("COLUMNS"); ok {
		if columns, err := strconv.Atoi(text); err == nil && columns > 0 {
			style.Width = columns
		}
	}
	return style
}
