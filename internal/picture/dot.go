package picture

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// DOT writes the host as an undirected graph for Graphviz.
func DOT(w io.Writer, t topology.Topology, m Marks) error {
	d := dotWriter{bufio.NewWriter(w), t, m}
	d.line(0, "graph hostping {")
	d.line(1, "graph [rankdir=LR, label=%s, labelloc=t, fontname=Helvetica, fontsize=12, nodesep=0.3, ranksep=1.2, newrank=true]", quote(d.title()))
	d.line(1, `node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=11, color="#59636e", fillcolor="#eaeef2"]`)
	d.line(1, `edge [fontname=Helvetica, fontsize=9, color="#59636e"]`)
	tree := Arrange(t)
	// Graphviz builds from the bottom up.
	for i, s := range slices.Backward(tree.Sockets) {
		d.socket(i, s)
	}
	for _, bus := range tree.Buses {
		if len(bus.Members) == 2 {
			d.edge(1, "socket "+bus.Members[0], "socket "+bus.Members[1], &bus, "constraint=false")
		}
	}
	d.line(0, "}")
	return d.w.Flush()
}

type dotWriter struct {
	w     *bufio.Writer
	t     topology.Topology
	marks Marks
}

func (d *dotWriter) line(indent int, format string, args ...any) {
	fmt.Fprintf(d.w, strings.Repeat("  ", indent)+format+"\n", args...)
}

func (d *dotWriter) title() string {
	lines := []string{hostTitle(d.t)}
	for i, b := range d.marks.Blames {
		lines = append(lines, fmt.Sprintf("(%d) %s", i+1, b.Text))
	}
	return strings.Join(lines, "\n")
}

func (d *dotWriter) socket(i int, s *Socket) {
	name := SocketName(s.ID)
	d.line(1, "subgraph cluster_%d {", i)
	d.line(2, `graph [label=%s, style="rounded,filled", color="#d0d7de", fillcolor="#f6f8fa"]`, quote(name))
	d.line(2, `%s [shape=box, style=filled, fillcolor="#d0d7de", height=%.1f]`, quote(name), 0.5+0.2*float64(len(s.Branches)))
	for _, m := range slices.Backward(s.Memory) {
		d.device(2, m.Node.ID, "memory", `"#d8f3f0"`, known("\n", m.Node.ID, MemoryFacts(m.Node)), true)
		d.edge(2, m.Node.ID, name, m.Hop, "")
	}
	for _, b := range slices.Backward(s.Branches) {
		d.branch(name, b)
	}
	d.line(1, "}")
}

func (d *dotWriter) branch(parent string, b *Branch) {
	if len(b.Branches) > 0 {
		id := b.Hop.ID
		d.line(2, "%s [label=%s]", quote(id), quote("switch "+b.Switch()))
		d.edge(2, parent, id, b.Hop, "")
		for _, below := range slices.Backward(b.Branches) {
			d.branch(id, below)
		}
		return
	}
	for _, r := range b.RNICs {
		text := known("\n", r.ID+"  "+RateText(r), known(", ", r.PCI, r.State, strings.Join(r.Netdevs, ", ")), NotUsable(r.Usable, r.Reason))
		d.device(2, r.ID, "RNIC", `"#ddf4ff"`, text, r.Usable)
		d.edge(2, parent, r.ID, b.Hop, "")
	}
	for _, g := range b.GPUs {
		text := known("\n", g.ID+"  "+GPUName(g), g.PCI, NotUsable(g.Usable, g.Reason))
		d.device(2, g.ID, "GPU", `"#f3e8ff"`, text, g.Usable)
		d.edge(2, parent, g.ID, b.Hop, "")
	}
}

func (d *dotWriter) device(indent int, id, kind, fill, text string, usable bool) {
	if _, tally := d.marks.tally(d.t, id); tally != "" {
		text += "\n" + tally
	}
	for _, n := range d.marks.blamed(id) {
		text = fmt.Sprintf("(%d) %s", n, text)
	}
	style := `"rounded,filled"`
	if !usable {
		style = `"rounded,filled,dashed"`
	}
	d.line(indent, "%s [label=%s, tooltip=%s, fillcolor=%s, style=%s]", quote(id), quote(text), quote(kind+" "+id), fill, style)
}

// edge draws a link. Each verdict has a colour, a line of its own and its word.
func (d *dotWriter) edge(indent int, from, to string, h *topology.Hop, more string) {
	if h == nil {
		d.line(indent, "%s -- %s [style=invis]", quote(from), quote(to))
		return
	}
	text := linkWords(*h)
	attributes := ""
	if verdict := d.marks.Hops[h.ID]; verdict != "" {
		text = append(text, verdict)
		attributes = edgeStyle[verdict]
	}
	for _, n := range d.marks.blamed(h.ID) {
		text = append(text, fmt.Sprintf("(%d)", n))
	}
	if more != "" {
		attributes += ", " + more
	}
	d.line(indent, "%s -- %s [label=%s, tooltip=%s%s]", quote(from), quote(to), quote(strings.Join(text, "\n")), quote(h.ID), attributes)
}

var edgeStyle = map[string]string{
	"normal":    `, color="#1a7f37", penwidth=2`,
	"abnormal":  `, color="#cf222e", penwidth=4`,
	"gray":      `, color="#9a6700", penwidth=2, style=dashed`,
	"flapping":  `, color="#bc4c00", penwidth=3, style=dashed`,
	"uncertain": `, style=dotted`,
}

// linkWords is what stands at a link.
func linkWords(h topology.Hop) []string {
	var words []string
	switch {
	case h.Kind == topology.HopRootPort:
		_, port, _ := strings.Cut(h.ID, ":")
		words = append(words, "root port "+port)
	case h.Kind == topology.HopInterSocket:
		words = append(words, "inter-socket bus")
	}
	if isPCIe(h.Kind) {
		for _, text := range []string{LinkSpeed(h), LinkNote(h)} {
			if text != "" {
				words = append(words, text)
			}
		}
	}
	return words
}

// quote makes a DOT string, in which a newline stays one.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

func hostTitle(t topology.Topology) string {
	return known(", ", count(len(t.RNICs), "RNIC"), count(len(t.GPUs), "GPU"), count(len(t.MemoryNodes), "memory node"))
}
