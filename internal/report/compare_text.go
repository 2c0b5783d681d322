package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// JSON writes the comparison as an indented hostping.comparison/v1 document.
func (c *Comparison) JSON(w io.Writer) error { return WriteJSON(w, *c) }

// Text writes the comparison for people: the answer first, then the changes
// that it rests on, then the matrix of paths.
func (c *Comparison) Text(w io.Writer, style Style) error {
	t := comparisonWriter{c, style, strings.Builder{}}
	t.answer()
	t.diagnoses()
	t.topology()
	t.hops()
	t.paths()
	t.matrix()
	t.foot()
	_, err := io.WriteString(w, t.b.String())
	return err
}

type comparisonWriter struct {
	*Comparison
	style Style
	b     strings.Builder
}

// answer says whether anything got worse, and how much of what.
func (t *comparisonWriter) answer() {
	var worse, better []string
	tell := func(list *[]string, n int, noun string, what ...string) {
		if n > 0 {
			*list = append(*list, strings.Join(append([]string{count(n, noun)}, what...), " "))
		}
	}
	tell(&worse, countIf(t.Diagnoses, func(x DiagnosisChange) bool { return x.Regression }), "new diagnosis")
	tell(&worse, countIf(t.Topology, func(x TopologyChange) bool { return x.Regression }), "part", "lost or degraded")
	tell(&worse, countIf(t.Hops, func(x HopChange) bool { return x.Regression }), "slower hop")
	tell(&worse, countIf(t.Paths, func(x PathChange) bool { return x.Change == Worse }), "worse path")
	tell(&worse, countIf(t.Paths, func(x PathChange) bool { return x.Change == Lost && x.Regression }), "path", "no longer measured")
	tell(&better, countIf(t.Diagnoses, func(x DiagnosisChange) bool { return x.Change == Cleared }), "cleared diagnosis")
	tell(&better, countIf(t.Hops, func(x HopChange) bool { return x.Change == Better && x.explainedBy == "" }), "better hop")
	tell(&better, countIf(t.Paths, func(x PathChange) bool { return x.Change == Better }), "better path")
	compared := countIf(t.Paths, func(x PathChange) bool { return x.Bandwidth.ChangeShare != nil })

	words, text, c := "NO REGRESSION", fmt.Sprintf(": %s compared, none worse beyond the spread", count(compared, "path")), green
	if t.Regression {
		words, text, c = "WORSE", ": "+strings.Join(worse, ", "), red
	} else if compared == 0 {
		words, text, c = "NOTHING COMPARED", ": no path has a figure in both reports that says anything about the host", yellow
	}
	if len(better) > 0 {
		text += "; better: " + strings.Join(better, ", ")
	}
	t.b.WriteString(strings.Replace(t.style.Wrap("", "", words+text+"."), words, t.style.paint(c, words), 1))
}

func countIf[T any](list []T, holds func(T) bool) (n int) {
	for _, x := range list {
		n += btoi(holds(x))
	}
	return n
}

func (t *comparisonWriter) diagnoses() {
	if len(t.Diagnoses) == 0 {
		return
	}
	t.b.WriteString(t.style.heading("Diagnoses"))
	for _, x := range t.Diagnoses {
		t.item(x.Regression, fmt.Sprintf("%s: %s at %s: %s", x.Change, x.Code, x.Component, x.Summary))
	}
}

func (t *comparisonWriter) topology() {
	if len(t.Topology) == 0 {
		return
	}
	t.b.WriteString(t.style.heading("Topology"))
	for _, x := range t.Topology {
		t.item(x.Regression, x.text())
	}
}

func (x TopologyChange) text() string {
	switch x.Change {
	case "added":
		return strings.TrimSpace(x.Component + " is new " + parenthesis(x.New))
	case "removed":
		return strings.TrimSpace(x.Component + " is gone " + parenthesis(x.Old))
	case "renamed":
		return x.Component + " was called " + x.Old
	case "moved":
		return fmt.Sprintf("%s moved from %s to %s", x.Component, cmp.Or(x.Old, "nowhere"), cmp.Or(x.New, "nowhere"))
	}
	return fmt.Sprintf("%s: %s is %s, was %s", x.Component, x.Change, cmp.Or(x.New, "unknown"), cmp.Or(x.Old, "unknown"))
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// hops lists the hops that changed, and in one line those that a blamed part explains.
func (t *comparisonWriter) hops() {
	explained, order := map[string][]string{}, []string{}
	var changed []HopChange
	for _, x := range t.Hops {
		switch {
		case x.explainedBy != "":
			why := string(x.Change) + ", as " + x.explainedBy + " explains: "
			if explained[why] == nil {
				order = append(order, why)
			}
			explained[why] = append(explained[why], x.ID)
		case x.Reason != "":
			changed = append(changed, x)
		}
	}
	if len(changed)+len(order) == 0 {
		return
	}
	t.b.WriteString(t.style.heading("Hops"))
	for _, x := range changed {
		t.item(x.Regression, fmt.Sprintf("%s: %s: %s", x.Change, x.ID, x.Reason))
	}
	for _, why := range order {
		t.item(false, why+strings.Join(explained[why], ", "))
	}
}

// maxPaths is how many paths of one kind of change are listed before the rest is only counted.
const maxPaths = 12

func (t *comparisonWriter) paths() {
	headings := map[Change]string{
		Worse: "Worse paths", Lost: "No longer measured", Better: "Better paths", Gained: "Newly measured", NotCompared: "Not compared",
	}
	for _, change := range []Change{Worse, Lost, Better, Gained, NotCompared} {
		t.pathsThat(change, headings[change])
	}
}

// pathsThat lists the paths with one change; those that share a reason in one line.
func (t *comparisonWriter) pathsThat(change Change, heading string) {
	byReason, order := map[string][]string{}, []string{}
	for _, x := range t.Paths {
		if x.Change != change {
			continue
		}
		if byReason[x.Reason] == nil {
			order = append(order, x.Reason)
		}
		byReason[x.Reason] = append(byReason[x.Reason], topology.PathKey{RNIC: x.RNIC, Endpoint: x.Endpoint}.String())
	}
	if len(order) == 0 {
		return
	}
	t.b.WriteString(t.style.heading(heading))
	for i, reason := range order {
		if i == maxPaths && len(order) > maxPaths+1 {
			t.item(false, fmt.Sprintf("and %d more (all of them with --format json)", len(order)-i))
			return
		}
		names := byReason[reason]
		who := strings.Join(names, ", ")
		if len(names) > maxListedRNICs {
			who = fmt.Sprintf("%s and %d more", strings.Join(names[:maxListedRNICs-1], ", "), len(names)-maxListedRNICs+1)
		}
		t.item(change == Worse, who+": "+reason)
	}
}

func (t *comparisonWriter) item(regression bool, text string) {
	line := t.style.item("  ", text)
	if regression {
		line = strings.Replace(line, "- ", t.style.paint(red, "-")+" ", 1)
	}
	t.b.WriteString(line)
}

// matrix shows how each path's bandwidth changed.
func (t *comparisonWriter) matrix() {
	m := Matrix{Cells: map[topology.PathKey]Cell{}}
	for _, x := range t.Paths {
		if !slices.Contains(m.Rows, x.RNIC) {
			m.Rows = append(m.Rows, x.RNIC)
		}
		if !slices.Contains(m.Columns, x.Endpoint) {
			m.Columns = append(m.Columns, x.Endpoint)
		}
		m.Cells[topology.PathKey{RNIC: x.RNIC, Endpoint: x.Endpoint}] = changeCell(x)
	}
	text, full := m.Render(t.style)
	title, legend := "Bandwidth: change in percent", "- worse, + better, = the same, ! no longer measured, – not compared"
	if full {
		legend = "! no longer measured, – not compared"
	} else {
		title = "Paths: change"
	}
	t.b.WriteString(t.style.heading(title) + text + t.style.Wrap("", "", legend))
}

func changeCell(x PathChange) Cell {
	cell := Cell{Letter: "–", Text: "–", color: dim}
	switch x.Change {
	case Worse:
		cell = Cell{Letter: "-", color: red}
	case Better:
		cell = Cell{Letter: "+", color: green}
	case Same:
		cell = Cell{Letter: "="}
	case Lost:
		cell = Cell{Letter: "!", Text: "!", color: yellow}
	}
	if x.Bandwidth.ChangeShare != nil {
		cell.Text = fmt.Sprintf("%+.0f", 100**x.Bandwidth.ChangeShare)
	}
	return cell
}

func (t *comparisonWriter) foot() {
	side := func(s Side) string {
		return fmt.Sprintf("%s (%s run on %s, %s)", s.Run, s.Mode, s.Host, s.StartedAt.Format(time.RFC3339))
	}
	t.b.WriteString("\n" + t.style.paint(dim, strings.TrimSuffix(t.style.Wrap("", "", "old: "+side(t.Old)), "\n")) + "\n")
	t.b.WriteString(t.style.paint(dim, strings.TrimSuffix(t.style.Wrap("", "", "new: "+side(t.New)), "\n")) + "\n")
}

// TAP writes the comparison as a document of the Test Anything Protocol,
// version 13: a test point for each path, hop, change of the topology and
// diagnosis. Only regressions are "not ok"; what could not be compared is
// skipped with its reason.
func (c *Comparison) TAP(w io.Writer) error {
	var t tapWriter
	t.comment("%s of %s against %s of %s", c.New.Run, c.New.Host, c.Old.Run, c.Old.Host)
	for _, x := range c.Paths {
		t.change(pathName(x.RNIC, x.Endpoint), x.Change, x.Regression, x.Reason)
	}
	for _, x := range c.Hops {
		t.change("hop "+x.ID, x.Change, x.Regression, cmp.Or(x.Reason, "too few close paths cross it"))
	}
	for _, x := range c.Topology {
		t.point(!x.Regression, "topology: "+x.text())
	}
	for _, x := range c.Diagnoses {
		t.point(!x.Regression, fmt.Sprintf("diagnosis %s at %s: %s", x.Code, x.Component, x.Change))
		if x.Regression {
			t.yaml(tapField{"message", x.Summary})
		}
	}
	return t.write(w)
}

func (t *tapWriter) change(name string, change Change, regression bool, reason string) {
	switch {
	case regression:
		t.point(false, name+": "+string(change))
		t.yaml(tapField{"message", reason})
	case change == NotCompared || change == Lost || change == Gained:
		t.skip(name, reason)
	default:
		t.point(true, name+": "+string(change))
	}
}
