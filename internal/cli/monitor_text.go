package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/report"
)

// notKnown stands for every figure that could not be read.
const notKnown = "?"

// monitorText is a sample for people: the idle decision, a line for each
// device, and what could not be read.
func monitorText(s monitor.Sample, pauseRatio float64, style report.Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  host: %s\n", s.At.Format("15:04:05"), s.Idle.State)
	for _, reason := range s.Idle.Reasons {
		b.WriteString(style.Wrap("  ", "  ", reason))
	}
	b.WriteString(rnicTable(s.RNICs, pauseRatio))
	b.WriteString(gpuTable(s.GPUs))
	b.WriteString(busTable(s.Buses))
	b.WriteString(linkTable(s.Links))
	b.WriteString(sourceList(s, style))
	return b.String()
}

// table lays out rows under a heading; nothing without rows.
func table(heading string, rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte('\n')
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	_ = w.Flush() // a strings.Builder takes everything
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func rnicTable(rnics []monitor.RNICSample, pauseRatio float64) string {
	var rows []string
	for _, r := range rnics {
		pause := percent(r.TxPauseRatio)
		if r.TxPauseRatio == nil && r.TxPauseRatioLimit != nil {
			pause = "<= " + percent(r.TxPauseRatioLimit)
		}
		congestion := monitor.Congestion{PauseRatio: r.TxPauseRatio, Drops: r.Drops}
		note := ""
		if congestion.Triggered(pauseRatio) {
			note = "congested"
		}
		rows = append(rows, strings.Join([]string{
			r.ID, word(r.State), number(r.RateGbps, 1, "%.0f"), gbps(r.OutBytesPerSecond), gbps(r.InBytesPerSecond), percent(r.Utilization),
			percent(r.PCIeUtilization), pause, number(r.Drops, 1, "%.0f"), increments(r.Errors), note,
		}, "\t"))
	}
	return table("RNIC\tport\tGb/s\tout Gb/s\tin Gb/s\tload\tPCIe\ttx pause\tdrops\terrors\t", rows)
}

func gpuTable(gpus []monitor.GPUSample) string {
	var rows []string
	for _, g := range gpus {
		mode := word(g.ComputeMode)
		if g.MIG != nil && *g.MIG {
			mode += ", MIG"
		}
		rows = append(rows, strings.Join([]string{
			g.ID, percent(g.Utilization), gbps(g.OutBytesPerSecond), gbps(g.InBytesPerSecond), count(g.ComputeProcesses), count(g.GraphicsProcesses), mode,
		}, "\t"))
	}
	return table("GPU\tload\tout Gb/s\tin Gb/s\tcompute\tgraphics\tmode", rows)
}

func busTable(buses []monitor.BusUtilization) string {
	var rows []string
	for _, bus := range buses {
		rows = append(rows, bus.Hop()+"\t"+percent(bus.Utilization))
	}
	return table("bus\tload", rows)
}

// linkTable is the links that are worth a look: those below what they can do,
// as links at rest may be, and those that reported errors.
func linkTable(links []monitor.LinkSample) string {
	var rows []string
	for _, l := range links {
		slow := below(l.SpeedGTs, l.ExpectedSpeedGTs) || below(l.Width, l.ExpectedWidth)
		if !slow && !above0(l.CorrectableErrors) && !above0(l.NonfatalErrors) && !above0(l.FatalErrors) {
			continue
		}
		rows = append(rows, strings.Join([]string{
			l.Hop, link(l.SpeedGTs, l.Width), link(l.ExpectedSpeedGTs, l.ExpectedWidth),
			whole(l.CorrectableErrors), whole(l.NonfatalErrors), whole(l.FatalErrors),
		}, "\t"))
	}
	return table("PCIe link\tat rest\tat best\tcorrectable\tnonfatal\tfatal", rows)
}

func below[T int | float64](is, could *T) bool { return is != nil && could != nil && *is < *could }

func above0(n *uint64) bool { return n != nil && *n > 0 }

// sourceList is what could not be read, and the sources that are well.
func sourceList(s monitor.Sample, style report.Style) string {
	var b strings.Builder
	var well []string
	b.WriteString("\nsources\n")
	for _, source := range s.Sources {
		if source.State == monitor.SourceOK {
			well = append(well, source.Name)
			continue
		}
		b.WriteString(style.Wrap("  ", "    ", fmt.Sprintf("%s %s: %s", source.Name, source.State, source.Reason)))
	}
	if len(well) > 0 {
		b.WriteString(style.Wrap("  ", "    ", "ok: "+strings.Join(well, ", ")))
	}
	return b.String()
}

func word(text string) string {
	if text == "" {
		return notKnown
	}
	return text
}

func number(value *float64, times float64, format string) string {
	if value == nil {
		return notKnown
	}
	return fmt.Sprintf(format, *value*times)
}

func percent(share *float64) string       { return number(share, 100, "%.1f %%") }
func gbps(bytesPerSecond *float64) string { return number(bytesPerSecond, 8e-9, "%.1f") }
func link(speedGTs *float64, width *int) string {
	return number(speedGTs, 1, "%g GT/s") + " x" + count(width)
}

func count(value *int) string {
	if value == nil {
		return notKnown
	}
	return fmt.Sprint(*value)
}

func whole(value *uint64) string {
	if value == nil {
		return notKnown
	}
	return fmt.Sprint(*value)
}

// increments are the counters that rose.
func increments(list []monitor.Increment) string {
	var risen []string
	for _, one := range list {
		if one.By > 0 {
			risen = append(risen, fmt.Sprintf("%s +%.0f", one.Name, one.By))
		}
	}
	switch {
	case len(list) == 0:
		return notKnown
	case len(risen) == 0:
		return "none"
	}
	return strings.Join(risen, ", ")
}
