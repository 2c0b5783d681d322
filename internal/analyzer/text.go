package analyzer

import (
	"fmt"
	"strconv"
	"strings"
)

// maxEvidence bounds each kind of evidence, so that a report stays readable.
const maxEvidence = 8

// figure renders a bandwidth or a latency as people read it.
func figure(x float64) string {
	switch {
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 0.01:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// share renders a share as percent.
func share(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" }

// count renders a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// listed renders items up to maxEvidence and says how many it left out.
func listed[T any](items []T, render func(T) string) []string {
	var lines []string
	for i, item := range items {
		if i == maxEvidence {
			return append(lines, fmt.Sprintf("and %d more", len(items)-i))
		}
		lines = append(lines, render(item))
	}
	return lines
}

// joined lists names as a sentence does.
func joined(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
