package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

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
	b.WriteString(figuresTable(t.file))
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

// figuresTable is a line for each kind of path.
func figuresTable(file baseline.File) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "CLASS\tRNIC\tPCIE\tENDPOINT\tGB/S\tSPREAD\tµS\tHOSTS\n")
	for _, f := range file.Figures() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.4g\t%s\t%.3g\t%d\n",
			f.Key.Class, rnicText(f.Key), pcieText(f.Key), endpointText(f.Key), f.BandwidthGbps, spreadText(f.SpreadShare), f.LatencyUs, f.Hosts)
	}
	_ = w.Flush() // into memory
	return b.String()
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
