package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Text writes the report for people: the answer first, then the matrix of
// paths, then what the answer rests on. earlier are the runs before it that
// blamed something, oldest first.
func (r *Report) Text(w io.Writer, style Style, earlier ...Earlier) error {
	t := textWriter{report: r, style: style}
	t.answer()
	t.earlier(earlier)
	t.matrix()
	t.evidence()
	t.b.WriteString(findingsText(style, r.Findings))
	t.unmeasured()
	t.sources()
	t.foot()
	_, err := io.WriteString(w, t.b.String())
	return err
}

type textWriter struct {
	report *Report
	style  Style
	b      strings.Builder
}

func (t *textWriter) line(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

func (t *textWriter) heading(text string) { t.b.WriteString(t.style.heading(text)) }

// answer says what is wrong and what to do about it.
func (t *textWriter) answer() {
	r := t.report
	planned := len(r.Measurements) + r.missed()
	untold := t.untold()
	switch r.Outcome() {
	case Healthy:
		t.lead(green, "HEALTHY", fmt.Sprintf(": all %s measured, no link to blame.%s", count(planned, "path"), t.leftOut()))
	case Inconclusive:
		text := ": nothing to blame so far, but " + t.gap(planned) + "."
		if r.missed() == 0 && !r.Run.Interrupted {
			text = fmt.Sprintf(": all %s measured and nothing to blame, but ", count(planned, "path"))
			if r.proven() == 0 && !r.unjudged().any() {
				text += "no reading proves a path healthy."
			} else {
				text += strings.Join(untold, ". ") + "."
			}
		} else if r.proven() > 0 && len(untold) > 0 {
			text += " Besides, " + strings.Join(untold, ". ") + "."
		}
		t.lead(yellow, "INCONCLUSIVE", text+t.leftOut())
	case Diagnosed:
		text := strings.Join(append([]string{t.partial(planned)}, untold...), "; ")
		t.lead(red, strings.ToUpper(count(len(r.Diagnoses), "diagnosis")), text+":")
		alike := 0
		for i, d := range r.Diagnoses {
			t.diagnosis(d)
			alike++
			if i+1 == len(r.Diagnoses) || r.Diagnoses[i+1].Code != d.Code {
				t.checkFirst(d.Code, alike)
				alike = 0
			}
		}
	}
}

// untold names the parts that nothing can be said of, each with what to do
// about it.
func (t *textWriter) untold() (texts []string) {
	u := t.report.unjudged()
	const calibrate = "calibrate on this host while it is known to be healthy"
	way := calibrate
	if t.report.Run.Mode == string(engine.ModeBusy) {
		way = "run again without service traffic"
	}
	tell := func(names []string, noun, why, way, flag string) {
		if len(names) == 0 {
			return
		}
		text := "nothing is proven of " + fewOf(names, noun) + why + ": " + way
		if flag != "" && t.report.proven() > 0 { // what is left then says something
			text += fmt.Sprintf(", or leave %s out with --%s %s", itThem(len(names)), flag, excluding(names))
		}
		texts = append(texts, text)
	}
	tell(u.incomparable, "RNIC", ", for there is too little to compare the figures with", way, "rnic")
	tell(u.undecided, "RNIC", ", whose readings do not agree or are of far endpoints alone", "run again", "rnic")
	isGPU := func(id string) bool {
		return slices.ContainsFunc(t.report.Topology.GPUs, func(g topology.GPU) bool { return g.ID == id })
	}
	memory := slices.DeleteFunc(slices.Clone(u.endpoints), isGPU)
	tell(slices.DeleteFunc(u.endpoints, func(id string) bool { return !isGPU(id) }), "GPU",
		", for there is nothing to compare the figures with", calibrate, "gpu")
	tell(memory, "memory node", ", for there is nothing to compare the figures with", calibrate, "")
	return texts
}

// fewOf names parts, or only counts them when they are many.
func fewOf(names []string, noun string) string {
	if len(names) > maxListedRNICs {
		return count(len(names), noun)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// excluding is a selection of all but the named parts, as a shell takes it.
func excluding(names []string) string { return "'!" + strings.Join(names, ",!") + "'" }

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// leftOut keeps a good answer from claiming what it says nothing about.
func (t *textWriter) leftOut() string {
	r := t.report
	unusable, unproven := 0, 0
	for _, u := range r.Unmeasured {
		if u.Reason == string(probe.ReasonUnusable) {
			unusable++
		}
	}
	u := r.unjudged()
	told := slices.Concat(u.incomparable, u.undecided)
	for _, m := range r.Measurements {
		if m.Close && !slices.Contains(told, m.RNIC) && m.Verdict != string(analyzer.Normal) && m.Rule != string(analyzer.RuleOwnClosePaths) {
			unproven++
		}
	}
	text := ""
	if unproven > 0 && r.proven() > 0 {
		text += fmt.Sprintf(" The readings of %s prove nothing.", count(unproven, "close path"))
	}
	if names := r.besideService(); len(names) > 0 {
		text += " Service traffic on " + fewOf(names, "RNIC") + ": compared with " + ownPaths(len(names)) + " only."
	}
	if n := countIf(r.Hops, func(h Hop) bool { return h.Verdict == string(analyzer.Gray) }); n > 0 {
		text += fmt.Sprintf(" %s gray, slow at times and healthy at others: --runs 3 tells whether a fault comes and goes.", countAre(n, "hop"))
	}
	if unusable > 0 {
		text += fmt.Sprintf(" Nothing is known about %s of devices that cannot be probed (below).", count(unusable, "path"))
	}
	rnics, gpus := r.leftOutByFlag()
	if len(rnics) > 0 {
		text += " Left out by --rnic: " + fewOf(rnics, "RNIC") + "."
	}
	if len(gpus) > 0 {
		text += " Left out by --gpu: " + fewOf(gpus, "GPU") + "."
	}
	return text
}

func ownPaths(rnics int) string {
	if rnics == 1 {
		return "its own other paths"
	}
	return "their own other paths"
}

// lead writes the answer's first words in colour.
func (t *textWriter) lead(c color, words, text string) {
	t.b.WriteString(strings.Replace(t.style.Wrap("", "", words+text), words, t.style.paint(c, words), 1))
}

// gap says what keeps an inconclusive run from an answer.
func (t *textWriter) gap(planned int) string {
	r := t.report
	if len(r.Measurements) == 0 {
		return "not one path was measured"
	}
	text := fmt.Sprintf("%d of %s measured", len(r.Measurements), count(planned, "planned path"))
	if r.missed() > 0 {
		text = "only " + text
	}
	if r.Run.Interrupted {
		text += " when the run was cut short"
		if r.Run.EndReason != "" {
			text += " (" + r.Run.EndReason + ")"
		}
	}
	return text
}

// partial warns when the diagnoses come from less than the plan.
func (t *textWriter) partial(planned int) string {
	if t.report.missed() == 0 && !t.report.Run.Interrupted {
		return ""
	}
	if len(t.report.Measurements) == 0 {
		return ", though " + t.gap(planned)
	}
	return ", from " + strings.TrimPrefix(t.gap(planned), "only ")
}

func (t *textWriter) diagnosis(d diagnosis.Diagnosis) {
	paint := yellow
	if d.Severity == diagnosis.Critical {
		paint = red
	}
	t.line("")
	t.lead(paint, strings.ToUpper(string(d.Severity)),
		fmt.Sprintf(" %s at %s (confidence %.0f %%)", d.Code, d.Component, 100*d.Confidence))
	t.b.WriteString(t.style.Wrap("  ", "  ", d.Summary))
	if others := slices.DeleteFunc(slices.Clone(d.Components), func(c string) bool { return c == d.Component }); len(others) > 0 {
		t.b.WriteString(t.style.Wrap("  Also named: ", "  ", strings.Join(others, ", ")))
	}
}

// checkFirst says what to do about a code, once for the n diagnoses that bear it.
func (t *textWriter) checkFirst(code diagnosis.Code, n int) {
	entry, ok := diagnosis.Lookup(code)
	if !ok || len(entry.CheckFirst) == 0 {
		return
	}
	if n > 1 {
		t.line("\n  Check first, at each of these %d:", n)
	} else {
		t.line("  Check first:")
	}
	for i, step := range entry.CheckFirst {
		t.b.WriteString(t.style.Wrap(fmt.Sprintf("  %d. ", i+1), "     ", step))
	}
}

// matrix draws the verdicts with their figures.
func (t *textWriter) matrix() {
	r := t.report
	m := NewMatrix(r.Topology)
	letters, lateMark := map[string]bool{}, false
	for _, x := range r.Measurements {
		letter, paint := verdictLetter(x.Verdict)
		letters[letter] = true
		mark := " "
		if x.LatencyVerdict == string(analyzer.Abnormal) {
			mark, lateMark = "*", true
		}
		m.Cells[topology.PathKey{RNIC: x.RNIC, Endpoint: x.Endpoint}] = Cell{
			Letter: letter, Text: letter + mark + figure(x.BandwidthGbps), color: paint,
		}
	}
	for _, u := range r.Unmeasured {
		if u.Planned {
			letters["–"] = true
			m.Cells[topology.PathKey{RNIC: u.RNIC, Endpoint: u.Endpoint}] = Cell{Letter: "–", Text: "–", color: yellow}
		}
	}
	m.dropEmpty()
	if len(m.Rows) == 0 {
		return
	}
	text, full := m.Render(t.style)
	title := "Paths: verdict"
	if full {
		title = "Paths: verdict and bandwidth in Gb/s"
	}
	t.heading(title)
	t.b.WriteString(text)
	var legend []string
	for _, entry := range []struct{ letter, meaning string }{
		{"N", "N normal"}, {"A", "A abnormal"}, {".", ". uncertain (proves nothing)"}, {"–", "– not measured"},
	} {
		if letters[entry.letter] {
			legend = append(legend, entry.meaning)
		}
	}
	if lateMark && full {
		legend = append(legend, "* latency abnormal")
	}
	if !full {
		legend = append(legend, "figures: in a wider terminal or with --format json")
	}
	t.b.WriteString(t.style.Wrap("", "", strings.Join(legend, ", ")))
}

func verdictLetter(verdict string) (string, color) {
	switch analyzer.Verdict(verdict) {
	case analyzer.Normal:
		return "N", green
	case analyzer.Abnormal:
		return "A", red
	default:
		return ".", dim
	}
}

// evidence says for each diagnosis what it rests on and what else could be.
func (t *textWriter) evidence() {
	for _, d := range t.report.Diagnoses {
		if len(d.Evidence)+len(d.Alternatives) == 0 {
			continue
		}
		t.heading("Evidence for " + string(d.Code) + " at " + d.Component)
		t.b.WriteString(t.style.items("  ", d.Evidence))
		if len(d.Alternatives) > 0 {
			t.line("  It could also be:")
			var texts []string
			for _, a := range d.Alternatives {
				text := string(a.Code)
				if len(a.Components) > 0 {
					text += " at " + strings.Join(a.Components, ", ")
				}
				texts = append(texts, text+": "+a.Reason)
			}
			t.b.WriteString(t.style.items("  ", texts))
		}
	}
}

// unmeasured groups the paths without a reading by their reason.
func (t *textWriter) unmeasured() {
	type key struct {
		planned bool
		reason  string
	}
	groups, order := map[key][]Unmeasured{}, []key{}
	for _, u := range t.report.Unmeasured {
		k := key{u.Planned, u.Reason}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], u)
	}
	if len(order) == 0 {
		return
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Compare(btoi(b.planned), btoi(a.planned)) // what makes the run inconclusive comes first
	})
	t.heading("Not measured")
	for _, k := range order {
		text := k.reason
		if !k.planned {
			text += ", not in the plan"
		}
		text += ": " + t.pathList(groups[k])
		if detail := groups[k][0].Detail; detail != "" {
			text += " — " + detail
		}
		t.b.WriteString(t.style.item("  ", text))
	}
}

// maxListedRNICs is how many RNICs a list of paths names before it only counts.
const maxListedRNICs = 4

// pathList names paths by RNIC, in few words when an RNIC has lost them all.
func (t *textWriter) pathList(missed []Unmeasured) string {
	total := map[string]int{}
	for _, p := range t.report.Topology.Paths {
		total[p.RNIC]++
	}
	endpoints, order := map[string][]string{}, []string{}
	for _, u := range missed {
		if endpoints[u.RNIC] == nil {
			order = append(order, u.RNIC)
		}
		endpoints[u.RNIC] = append(endpoints[u.RNIC], u.Endpoint)
	}
	if len(order) > maxListedRNICs {
		return fmt.Sprintf("%s of %s", count(len(missed), "path"), count(len(order), "RNIC"))
	}
	var parts []string
	for _, rnic := range order {
		switch n := len(endpoints[rnic]); {
		case n == total[rnic]:
			parts = append(parts, rnic+" (all paths)")
		case n > 4:
			parts = append(parts, fmt.Sprintf("%s (%d of %d paths)", rnic, n, total[rnic]))
		default:
			parts = append(parts, rnic+"→"+strings.Join(endpoints[rnic], ","))
		}
	}
	return strings.Join(parts, "; ")
}

// sources lists what the monitor could not read and the answer would be surer
// with, by the reason.
func (t *textWriter) sources() {
	names, order := map[string][]string{}, []string{}
	for _, s := range t.report.Sources {
		if s.State == monitor.SourceOK || s.State == monitor.SourceUnavailable && !t.matters(s.Name) {
			continue
		}
		why := fmt.Sprintf("%s (%s)", s.Reason, s.State)
		if names[why] == nil {
			order = append(order, why)
		}
		names[why] = append(names[why], s.Name)
	}
	if len(order) == 0 {
		return
	}
	t.heading("Unknown, because it could not be read")
	for _, why := range order {
		t.b.WriteString(t.style.item("  ", strings.Join(names[why], ", ")+": "+why))
	}
}

// matters reports whether the answer hangs on a source that this host, or the
// simulator, does not have. The report's JSON form lists all of them.
func (t *textWriter) matters(source string) bool {
	blamed := func(kind topology.HopKind) bool {
		return slices.ContainsFunc(t.report.Diagnoses, func(d diagnosis.Diagnosis) bool {
			return strings.HasPrefix(d.Component, string(kind)+":")
		})
	}
	switch source {
	case "rnic_errors": // evidence alone
		return false
	case "rnic_config":
		return blamed(topology.HopRNICPCIe)
	case "memory_bus":
		return blamed(topology.HopMemory)
	case "inter_socket_bus":
		return blamed(topology.HopInterSocket)
	case "rnic_pause", "rnic_drops":
		return t.report.Run.Mode == string(engine.ModeBusy)
	}
	return true
}

// foot says how the figures came about.
func (t *textWriter) foot() {
	r := t.report
	reReads, reRead := 0, 0
	for _, m := range r.Measurements {
		if n := len(m.Reads); n > 1 {
			reRead++
			reReads += n - 1
		}
	}
	text := fmt.Sprintf("%s: %s run on %s (%s), %s of %s in %s", r.Run.ID, r.Run.Mode, r.Host.Name, r.Run.Backend,
		count(len(r.Measurements)+reReads, "reading"), count(len(r.Measurements), "path"), duration(r.Run.DurationMs))
	if reReads > 0 {
		text += fmt.Sprintf("; %s read again", count(reRead, "suspect path"))
	}
	t.line("")
	t.b.WriteString(t.style.paint(dim, strings.TrimSuffix(t.style.Wrap("", "", text), "\n")) + "\n")
}

func duration(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// count writes a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "is"):
		return fmt.Sprintf("%d %ses", n, strings.TrimSuffix(noun, "is"))
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

// countAre writes a number with its noun and verb.
func countAre(n int, noun string) string {
	if n == 1 {
		return count(n, noun) + " is"
	}
	return count(n, noun) + " are"
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
