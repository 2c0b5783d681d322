package analyzer

import (
	"fmt"
	"strings"
)

// maxEvidence bounds each kind of evidence of one diagnosis, so that a report stays readable.
const maxEvidence = 8

// figure renders a bandwidth or a latency as people read it.
func figure(x float64) string {
	switch {
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	case x >= 1:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.01:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// share renders a share as percent.
func share(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// count renders a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// capped keeps the first lines and says how many it left out.
func capped(lines []string, limit int) []string {
	if len(lines) <= limit {
		return lines
	}
	return append(lines[:limit:limit], fmt.Sprintf("and %d more", len(lines)-limit))
}

// joined lists names as a sentence does.
func joined(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
