package report

import (
	"strings"

	"github.com/yuuki/hostping/internal/diagnosis"
)

// findingsText lists what an operator should know although it blames nothing;
// "" when there is nothing.
func findingsText(style Style, findings []diagnosis.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(style.heading("Findings (no effect on the answer)"))
	for _, f := range findings {
		text := string(f.Code)
		if f.Component != "" {
			text += " at " + f.Component
		}
		b.WriteString(style.item("  ", text+": "+f.Summary))
		b.WriteString(style.items("    ", f.Evidence))
		if f.Hint != "" {
			b.WriteString(style.Wrap("    Hint: ", "    ", f.Hint))
		}
	}
	return b.String()
}
