package picture

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// SVG writes the host as a picture that stands alone: no script, no font, no other file.
// It follows the reader's light or dark scheme and prints on white. Each verdict has
// a shape and a word besides its colour, and the description says in
// sentences what the picture shows.
func SVG(w io.Writer, t topology.Topology, m Marks) error {
	d := layout(t, m)
	s := svgWriter{w: bufio.NewWriter(w)}
	s.open(d, describe(t, m))
	for _, p := range d.panels {
		s.rect("panel", p, 10)
	}
	for _, k := range d.links {
		s.link(k)
	}
	for _, b := range d.boxes {
		s.box(b)
	}
	for _, k := range d.links {
		s.linkWords(k)
	}
	s.header(d)
	s.raw("</svg>\n")
	return s.w.Flush()
}

type svgWriter struct{ w *bufio.Writer }

func (s svgWriter) raw(text string)                   { _, _ = s.w.WriteString(text) } // Flush reports what failed
func (s svgWriter) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }

// style is scoped to the picture, so that a page may hold it inline.
const style = `
.hostping{background:#fff;max-width:100%;height:auto;font:12px Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif}
.hostping text{fill:#1f2328}
.hostping .paper{fill:#fff}
.hostping .panel{fill:#f6f8fa;stroke:#d0d7de}
.hostping .title{font-size:15px;font-weight:bold}
.hostping .name{font-weight:bold}
.hostping .small{font-size:11px}
.hostping .dim{fill:#59636e}
.hostping .tag{font-size:10px;font-weight:bold;letter-spacing:.4px}
.hostping .mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;font-size:10.5px}
.hostping .warning{fill:#9a3412}
.hostping .socket{fill:#d0d7de;stroke:#59636e}
.hostping .switch{fill:#eaeef2;stroke:#59636e}
.hostping .memory{fill:#d8f3f0;stroke:#0f766e}
.hostping .rnic{fill:#ddf4ff;stroke:#0969da}
.hostping .gpu{fill:#f3e8ff;stroke:#8250df}
.hostping .joint,.hostping .port{fill:#59636e}
.hostping .unusable{stroke-dasharray:5 3;fill-opacity:.35}
.hostping .link{stroke:#59636e;stroke-width:2;fill:none}
.hostping .normal{stroke:#1a7f37;stroke-width:2.5}
.hostping .abnormal{stroke:#cf222e;stroke-width:5}
.hostping .gray{stroke:#9a6700;stroke-width:3;stroke-dasharray:10 4}
.hostping .flapping{stroke:#bc4c00;stroke-width:3;stroke-dasharray:10 3 2 3}
.hostping .uncertain{stroke-dasharray:2 4}
.hostping .badge{fill:#fff;stroke-width:1.8;stroke-dasharray:none}
.hostping .sign{fill:none;stroke-width:1.8;stroke-dasharray:none;stroke-linecap:round;stroke-linejoin:round}
.hostping .callout{fill:#a40e26}
.hostping .callout-text{fill:#fff;font-size:10px;font-weight:bold;text-anchor:middle}
@media screen and (prefers-color-scheme:dark){
.hostping{background:#0d1117}
.hostping text{fill:#e6edf3}
.hostping .paper{fill:#0d1117}
.hostping .panel{fill:#161b22;stroke:#3d444d}
.hostping .dim{fill:#9ea7b3}
.hostping .warning{fill:#ffa657}
.hostping .socket{fill:#3d444d;stroke:#9198a1}
.hostping .switch{fill:#262c36;stroke:#9198a1}
.hostping .memory{fill:#0b2f2c;stroke:#2dd4bf}
.hostping .rnic{fill:#0c2a4d;stroke:#4493f8}
.hostping .gpu{fill:#2a1f45;stroke:#ab7df8}
.hostping .joint,.hostping .port{fill:#9198a1}
.hostping .link{stroke:#9198a1}
.hostping .normal{stroke:#3fb950}
.hostping .abnormal{stroke:#f85149}
.hostping .gray{stroke:#d29922}
.hostping .flapping{stroke:#f0883e}
.hostping .badge{fill:#0d1117}
.hostping .callout{fill:#da3633}
.hostping .callout-text{fill:#fff}
}
`

func (s svgWriter) open(d drawing, description string) {
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="hostping" role="img" aria-labelledby="hostping-title hostping-description" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n",
		d.width, d.height+legendHeight, d.width, d.height+legendHeight)
	s.printf("<title id=\"hostping-title\">%s</title>\n", escape("Host with "+d.title))
	s.printf("<desc id=\"hostping-description\">%s</desc>\n", escape(description))
	s.raw("<style>" + style + "</style>\n")
	s.printf(`<rect class="paper" width="%d" height="%d"/>`+"\n", d.width, d.height+legendHeight)
}

func (s svgWriter) rect(class string, r rect, radius int) {
	s.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`+"\n", class, r.x, r.y, r.w, r.h, radius)
}

// text writes one line, cut to the room that it has.
func (s svgWriter) text(class string, x, y, room int, text string) {
	s.anchored(class, "", x, y, room, text)
}

func (s svgWriter) anchored(class, anchor string, x, y, room int, text string) {
	if text == "" {
		return
	}
	if anchor != "" {
		anchor = ` text-anchor="` + anchor + `"`
	}
	s.printf(`<text class="%s" x="%d" y="%d"%s>%s</text>`+"\n", class, x, y, anchor, escape(fit(text, room, sizeOf(class))))
}

func (s svgWriter) link(k line) {
	class := "link"
	if k.verdict != "" {
		class += " " + k.verdict
	}
	s.printf(`<g><title>%s</title><path class="%s" d="M%d %dL%d %d"/></g>`+"\n", escape(k.title), class, k.x1, k.y1, k.x2, k.y2)
}

const badgeSize = 7

// linkWords puts what is known of a link above and below it.
func (s svgWriter) linkWords(k line) {
	if k.x1 == k.x2 {
		s.busWords(k)
		return
	}
	if k.labelW == 0 {
		return
	}
	middle := k.labelX + k.labelW/2
	above, below := k.y1-6, k.y1+14
	if k.verdict != "" {
		above -= 5 // over the badge
	}
	s.anchored("small", "middle", middle, above, k.labelW-8, k.speed)
	if k.verdict != "" {
		s.badge(k.verdict, middle, k.y1)
		s.anchored("small", "middle", middle, below+4, k.labelW-8, k.verdict)
		below += 16
	}
	s.anchored("small dim", "middle", middle, below, k.labelW-8, k.note)
	s.callouts(k.blames, k.labelX+16, k.y1)
	if k.atSocket {
		s.printf(`<rect class="port" x="%d" y="%d" width="8" height="8"/>`+"\n", k.x1-4, k.y1-4)
		s.anchored("mono", "end", k.x1-8, k.y1+4, socketWidth-12, k.port)
	}
}

func (s svgWriter) busWords(k line) {
	y := (k.y1 + k.y2) / 2
	s.text("small", k.labelX, y+4, k.labelW, k.note)
	if k.verdict != "" {
		s.badge(k.verdict, k.x1, y)
		s.text("small", k.labelX, y+18, k.labelW, k.verdict)
	}
	s.callouts(k.blames, k.x1-20, y)
}

// callouts are the numbers of the diagnoses that blame a part.
func (s svgWriter) callouts(numbers []int, x, y int) {
	for i, n := range numbers {
		s.printf(`<g><circle class="callout" cx="%d" cy="%d" r="9"/><text class="callout-text" x="%d" y="%d">%d</text></g>`+"\n",
			x+20*i, y, x+20*i, y+4, n)
	}
}

// badge is a verdict's sign: a tick, a cross, a half disc, a flash, a question, a dash.
func (s svgWriter) badge(verdict string, x, y int) {
	shape := fmt.Sprintf(`<circle class="link %s badge" cx="%d" cy="%d" r="%d"/>`, verdict, x, y, badgeSize)
	sign := ""
	switch verdict {
	case "normal":
		sign = fmt.Sprintf("M%d %dl2 3l4 -6", x-3, y)
	case "abnormal":
		shape = fmt.Sprintf(`<path class="link %s badge" d="M%d %dl6 -6h4l6 6v4l-6 6h-4l-6 -6z"/>`, verdict, x-8, y-2)
		sign = fmt.Sprintf("M%d %dl6 6m0 -6l-6 6", x-3, y-3)
	case "gray":
		sign = fmt.Sprintf("M%d %dv10m2 -8v6m2 -5v4", x, y-5)
	case "flapping":
		shape = fmt.Sprintf(`<path class="link %s badge" d="M%d %dl9 15h-18z"/>`, verdict, x, y-9)
		sign = fmt.Sprintf("M%d %dl-3 4h4l-2 4", x+1, y-4)
	case "uncertain":
		sign = fmt.Sprintf("M%d %dc0 -4 5 -4 5 -1c0 2 -3 1 -3 3m0 2v0.2", x-2, y-1)
	default:
		sign = fmt.Sprintf("M%d %dh6", x-3, y)
	}
	s.printf(`<g>%s<path class="link %s sign" d="%s"/></g>`+"\n", shape, verdict, sign)
}

func (s svgWriter) box(b box) {
	if b.kind == "joint" {
		s.rect("joint", b.rect, 1)
		return
	}
	class := b.kind
	if b.dim {
		class += " unusable"
	}
	s.printf("<g><title>%s</title>\n", escape(b.title))
	s.rect(class, b.rect, 5)
	switch b.kind {
	case "socket":
		s.anchored("name", "middle", b.x+b.w/2, b.y+18, b.w-8, b.name)
	case "switch":
		s.anchored("tag dim", "middle", b.x+b.w/2, b.middle()-4, b.w-8, strings.ToUpper(b.tag))
		s.anchored("mono", "middle", b.x+b.w/2, b.middle()+11, b.w-8, b.name)
	default:
		s.words(b)
	}
	s.raw("</g>\n")
	s.callouts(b.blames, b.x+b.w-14, b.y+13)
}

// words are the lines in a device's or a memory node's box.
func (s svgWriter) words(b box) {
	x, room := b.x+10, b.w-20
	if b.tag != "" {
		s.text("tag dim", x, b.y+17, 40, b.tag)
		x, room = x+42, room-42
	}
	y := b.y + 17
	line := func(class, text string) {
		s.text(class, x, y, room, text)
		y += lineHeight
	}
	if b.kind == "memory" {
		line("name", b.name)
		line("small dim", b.facts[0])
	} else {
		s.printf(`<text x="%d" y="%d"><tspan class="name">%s</tspan><tspan dx="8">%s</tspan></text>`+"\n",
			x, y, escape(b.name), escape(fit(b.facts[0], room-8-textWidth(b.name, 13), 12)))
		y += lineHeight
		line("small dim", b.facts[1])
	}
	for _, text := range b.warning {
		line("small warning", text)
	}
	switch {
	case b.tally != "" && b.verdict != "":
		s.badge(b.verdict, x+8, y-3)
		s.text("small name", x+22, y, room-22, b.tally)
	case b.tally != "":
		s.text("small dim", x, y, room, b.tally)
	}
}

const legendHeight = 34

// header is the title with the diagnoses, and the legend at the foot.
func (s svgWriter) header(d drawing) {
	s.text("title", margin, margin+8, d.width-2*margin, d.title)
	for i, text := range d.blames {
		number, text, _ := strings.Cut(text, "  ")
		y := margin + 30 + 20*i
		s.printf(`<g><circle class="callout" cx="%d" cy="%d" r="9"/><text class="callout-text" x="%d" y="%d">%s</text></g>`+"\n",
			margin+9, y-4, margin+9, y, number)
		s.text("name", margin+26, y, d.width-2*margin-26, text)
	}
	x, y := margin, d.height+10
	for _, verdict := range verdicts {
		if !d.verdicts[verdict] {
			continue
		}
		s.printf(`<path class="link %s" d="M%d %dh36"/>`+"\n", verdict, x, y)
		s.badge(verdict, x+18, y)
		s.text("small", x+44, y+4, 200, legend[verdict])
		x += 44 + textWidth(legend[verdict], 11) + 26
	}
	if x > margin {
		return
	}
	s.printf(`<rect class="port" x="%d" y="%d" width="8" height="8"/>`+"\n", x, y-4)
	s.text("small dim", x+14, y+4, d.width-2*margin, "root port.  Over a link: what it should run at. Below: what it does, where that differs; at rest links may downshift.")
}

var legend = map[string]string{
	"normal":     "normal",
	"abnormal":   "abnormal",
	"gray":       "gray: abnormal now and then",
	"flapping":   "flapping",
	"uncertain":  "uncertain: proves nothing",
	"unmeasured": "unmeasured",
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}

// describe says in sentences what the picture shows.
func describe(t topology.Topology, m Marks) string {
	var b strings.Builder
	for i, blame := range m.Blames {
		fmt.Fprintf(&b, "Diagnosis %d: %s. ", i+1, blame.Text)
	}
	bad := map[string][]string{}
	for _, h := range t.Hops {
		if v := m.Hops[h.ID]; v != "" {
			bad[v] = append(bad[v], h.ID)
		}
	}
	for _, v := range verdicts {
		switch ids := bad[v]; {
		case len(ids) == 0:
		case v == "normal", v == "uncertain":
			fmt.Fprintf(&b, "%s %s. ", count(len(ids), "link"), v)
		default:
			fmt.Fprintf(&b, "%s %s: %s. ", count(len(ids), "link"), v, strings.Join(ids, ", "))
		}
	}
	for _, s := range Arrange(t).Sockets {
		var parts []string
		for _, n := range s.Memory {
			parts = append(parts, n.Node.ID)
		}
		for _, branch := range s.Branches {
			parts = append(parts, branchWords(branch))
		}
		fmt.Fprintf(&b, "%s%s: %s. ", strings.ToUpper(SocketName(s.ID)[:1]), SocketName(s.ID)[1:], strings.Join(parts, "; "))
	}
	return strings.TrimSpace(b.String())
}

func branchWords(b *Branch) string {
	var parts []string
	for _, r := range b.RNICs {
		parts = append(parts, known(", ", r.ID, NotUsable(r.Usable, r.Reason)))
	}
	for _, g := range b.GPUs {
		parts = append(parts, known(", ", g.ID, NotUsable(g.Usable, g.Reason)))
	}
	if b.Switch() == "" {
		return strings.Join(parts, ", ")
	}
	for _, below := range b.Branches {
		parts = append(parts, branchWords(below))
	}
	return "switch " + b.Switch() + " with " + strings.Join(parts, " and ")
}
