package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/report"
)

// calibrationText is what a person reads about a baseline file that was written.
type calibrationText struct {
	title   string
	written string // the file's path
	file    baseline.File
	notes   []note
}

// note is a sentence with the lines that belong to it.
type note struct {
	text  string
	lines []string
}

// maxNoteLines bounds the lines of a note.
const maxNoteLines = 8

func (t calibrationText) render(style report.Style) string {
	var b strings.Builder
	b.WriteString(t.title + "\nWritten to " + quoteOdd(t.written) + "\n\n")
	b.WriteString(figuresTable(t.file, style))
	for _, n := range t.notes {
		b.WriteString("\n" + style.Wrap("", "", n.text))
		for i, line := range n.lines {
			if i == maxNoteLines {
				fmt.Fprintf(&b, "- and %d more\n", len(n.lines)-i)
				break
			}
			b.WriteString(style.Wrap("- ", "  ", line))
		}
	}
	return b.String()
}

// figuresTable is a line for each kind of path. Where that is wider than the terminal,
// what is the same for all goes on top; where that does not help, lines are wrapped.
func figuresTable(file baseline.File, style report.Style) string {
	rows := [][]string{{"class", "RNIC", "PCIe", "endpoint", "Gb/s", "spread", "µs", "hosts"}}
	for _, f := range file.Figures() {
		rows = append(rows, []string{
			string(f.Key.Class), rnicText(f.Key), pcieText(f.Key), endpointText(f.Key),
			fmt.Sprintf("%.4g", f.BandwidthGbps), spreadText(f.SpreadShare), fmt.Sprintf("%.3g", f.LatencyUs), strconv.Itoa(f.Hosts),
		})
	}
	whole := aligned(rows)
	if fits(whole, style) || len(rows) < 2 {
		return whole
	}
	shared := ""
	for column := len(rows[0]) - 1; column > 0; column-- {
		value := rows[1][column]
		if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != value }) {
			continue
		}
		shared = rows[0][column] + " " + value + ", " + shared
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	table := aligned(rows)
	if !fits(table, style) {
		table = ""
		for _, row := range rows[1:] {
			for column := 1; column < len(row); column++ {
				row[column] = rows[0][column] + " " + row[column]
			}
			table += style.Wrap("", "  ", strings.Join(row, ", "))
		}
	}
	if shared == "" {
		return table
	}
	return style.Wrap("All have: ", "  ", strings.TrimSuffix(shared, ", ")) + table
}

func aligned(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
	return b.String()
}

func fits(text string, style report.Style) bool {
	width := cmp.Or(max(style.Width, 0), report.DefaultWidth)
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(line)-1 > width { // the newline takes no room
			return false
		}
	}
	return true
}

func rnicText(k baseline.Key) string {
	text := cmp.Or(k.Driver, "unknown")
	if k.RateGbps != nil {
		text += fmt.Sprintf(" %g Gb/s", *k.RateGbps)
	}
	if k.LAGPorts != nil {
		text += fmt.Sprintf(" LAG of %d", *k.LAGPorts)
	}
	if k.MTUBytes != nil {
		text += fmt.Sprintf(" MTU %d", *k.MTUBytes)
	}
	return text
}

func pcieText(k baseline.Key) string {
	if k.PCIeSpeedGTs == nil || k.PCIeWidth == nil {
		return "-"
	}
	return fmt.Sprintf("%g GT/s x%d", *k.PCIeSpeedGTs, *k.PCIeWidth)
}

func endpointText(k baseline.Key) string {
	if k.Endpoint == baseline.EndpointGPU {
		return cmp.Or(strings.TrimSpace(k.GPUVendor+" "+k.GPUModel), "gpu")
	}
	return string(k.Endpoint)
}

func spreadText(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**share)
}
