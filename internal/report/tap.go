package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// TAP writes the report as a document of the Test Anything Protocol, version
// 13: a test point for each path, then one for each diagnosis. Only abnormal
// paths and diagnoses are "not ok". An uncertain path is ok, for it was not
// found slow, and says that it proves nothing; an unmeasured one is skipped
// with its reason. Whether the run as a whole is conclusive is in a comment,
// and in the exit status.
func (r *Report) TAP(w io.Writer) error {
	var t tapWriter
	t.comment("%s: %s run on %s (%s), %s", r.Run.ID, r.Run.Mode, r.Host.Name, r.Run.Backend, r.Outcome())
	measured := make(map[topology.PathKey]*Measurement, len(r.Measurements))
	for i := range r.Measurements {
		m := &r.Measurements[i]
		measured[topology.PathKey{RNIC: m.RNIC, Endpoint: m.Endpoint}] = m
	}
	missed := make(map[topology.PathKey]Unmeasured, len(r.Unmeasured))
	for _, u := range r.Unmeasured {
		missed[topology.PathKey{RNIC: u.RNIC, Endpoint: u.Endpoint}] = u
	}
	for _, p := range r.Topology.Paths {
		name := pathName(p.RNIC, p.Endpoint)
		if m := measured[p.Key()]; m != nil {
			t.path(name, m)
		} else if u, ok := missed[p.Key()]; ok {
			t.skip(name, reasonText(u.Reason, u.Detail))
		}
	}
	for _, d := range r.Diagnoses {
		t.diagnosis(d)
	}
	for _, f := range r.Findings {
		t.comment("finding %s: %s", strings.TrimSpace(string(f.Code)+" "+f.Component), f.Summary)
	}
	return t.write(w)
}

func pathName(rnic, endpoint string) string { return "path " + rnic + " to " + endpoint }

func reasonText(reason, detail string) string {
	if detail == "" {
		return reason
	}
	return reason + ": " + detail
}

// tapWriter collects test points; the plan in front of them needs their number.
type tapWriter struct {
	points int
	b      strings.Builder
}

func (t *tapWriter) path(name string, m *Measurement) {
	figures := fmt.Sprintf("%s, %.4g Gb/s", m.Verdict, m.BandwidthGbps)
	if m.ReferenceGbps != nil {
		figures += fmt.Sprintf(" of an expected %.4g", *m.ReferenceGbps)
	}
	ok := m.Verdict != string(analyzer.Abnormal)
	t.point(ok, name+": "+figures)
	if ok {
		return
	}
	t.yaml(
		tapField{"message", m.Reason},
		tapField{"class", string(m.Class)},
		tapField{"reads_gbps", m.gbps()},
		tapField{"latency_verdict", m.LatencyVerdict},
	)
}

// gbps are the bandwidths of the reads.
func (m *Measurement) gbps() []float64 {
	var figures []float64
	for _, x := range m.Reads {
		figures = append(figures, x.BandwidthGbps)
	}
	return figures
}

func (t *tapWriter) diagnosis(d diagnosis.Diagnosis) {
	t.point(false, fmt.Sprintf("diagnosis %s at %s", d.Code, d.Component))
	var alternatives []string
	for _, a := range d.Alternatives {
		alternatives = append(alternatives, strings.TrimSpace(string(a.Code)+" "+strings.Join(a.Components, " ")))
	}
	entry, _ := diagnosis.Lookup(d.Code)
	t.yaml(
		tapField{"message", d.Summary},
		tapField{"severity", string(d.Severity)},
		tapField{"confidence", d.Confidence},
		tapField{"components", d.Components},
		tapField{"evidence", d.Evidence},
		tapField{"alternatives", alternatives},
		tapField{"check_first", entry.CheckFirst},
		tapField{"runbook", d.Runbook},
	)
}

func (t *tapWriter) point(ok bool, description string) {
	t.points++
	result := "ok"
	if !ok {
		result = "not ok"
	}
	fmt.Fprintf(&t.b, "%s %d - %s\n", result, t.points, tapText(description))
}

func (t *tapWriter) skip(description, reason string) {
	t.points++
	fmt.Fprintf(&t.b, "ok %d - %s # SKIP %s\n", t.points, tapText(description), tapText(reason))
}

func (t *tapWriter) comment(format string, args ...any) {
	t.b.WriteString("# " + oneLine(fmt.Sprintf(format, args...)) + "\n")
}

// tapField is a fact below a test point: a string, a number, a list of numbers
// or a list of lines.
type tapField struct {
	name  string
	value any
}

// yaml writes the block of facts that TAP 13 allows below a test point, in the
// part of YAML that the parser of Perl's TAP::Harness reads too: its lists
// stumble over items with a colon, so lines go into a literal block. What is
// empty is left out.
func (t *tapWriter) yaml(fields ...tapField) {
	t.b.WriteString("  ---\n")
	for _, f := range fields {
		switch value := f.value.(type) {
		case string:
			if value != "" {
				quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(oneLine(value))
				fmt.Fprintf(&t.b, "  %s: \"%s\"\n", f.name, quoted)
			}
		case float64:
			fmt.Fprintf(&t.b, "  %s: %.4g\n", f.name, value)
		case []float64:
			var numbers []string
			for _, x := range value {
				numbers = append(numbers, fmt.Sprintf("%.4g", x))
			}
			fmt.Fprintf(&t.b, "  %s: [%s]\n", f.name, strings.Join(numbers, ", "))
		case []string:
			if len(value) > 0 {
				fmt.Fprintf(&t.b, "  %s: |\n", f.name)
			}
			for _, line := range value {
				fmt.Fprintf(&t.b, "    %s\n", oneLine(line))
			}
		}
	}
	t.b.WriteString("  ...\n")
}

// tapText keeps a text on one line and free of what begins a directive.
func tapText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(oneLine(s))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (t *tapWriter) write(w io.Writer) error {
	plan := fmt.Sprintf("1..%d", t.points)
	if t.points == 0 {
		plan = "1..0 # SKIP there is no path"
	}
	_, err := io.WriteString(w, "TAP version 13\n"+plan+"\n"+t.b.String())
	return err
}
