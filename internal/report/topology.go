package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/picture"
	"github.com/yuuki/hostping/internal/topology"
)

// TopologyText writes the host for people: the tree of sockets, links and
// devices, then the distance class of every path, and what discovery noticed.
func TopologyText(w io.Writer, t topology.Topology, findings []diagnosis.Finding, style Style) error {
	var b strings.Builder
	b.WriteString(style.paint(bold, fmt.Sprintf("%s, %s, %s, %s", count(len(t.RNICs), "RNIC"), count(len(t.GPUs), "GPU"),
		count(len(t.MemoryNodes), "memory node"), count(len(t.Paths), "path"))) + "\n\n")
	for _, n := range hostTree(t) {
		n.write(&b, style, "", "")
	}
	m := NewMatrix(t)
	if len(m.Rows) > 0 {
		for _, p := range t.Paths {
			// Above a column of memory the prefix says nothing.
			cell := Cell{Letter: classLetter(p.Class), Text: strings.TrimPrefix(string(p.Class), "mem_"), color: dim}
			if p.Close {
				cell.color = green
				cell.Text += "*"
			}
			m.Cells[p.Key()] = cell
		}
		b.WriteString("\n" + style.paint(bold, "Distance classes") + "\n")
		text, full := m.Render(style)
		b.WriteString(text)
		if full {
			b.WriteString("* close: the path reaches line rate when healthy\n")
		} else {
			b.WriteString(style.Wrap("", "", "x pix, b pxb, h phb, n node, s sys, c c2c, v virt; memory: L local, S same socket, R remote"))
		}
	}
	b.WriteString(findingsText(style, findings))
	_, err := io.WriteString(w, b.String())
	return err
}

func classLetter(c topology.Class) string {
	switch c {
	case topology.ClassPIX:
		return "x"
	case topology.ClassPXB:
		return "b"
	case topology.ClassPHB:
		return "h"
	case topology.ClassNode:
		return "n"
	case topology.ClassSys:
		return "s"
	case topology.ClassC2C:
		return "c"
	case topology.ClassVirt:
		return "v"
	case topology.ClassMemLocal:
		return "L"
	case topology.ClassMemSocket:
		return "S"
	case topology.ClassMemRemote:
		return "R"
	default:
		return "?"
	}
}

// node is a line of the tree with the lines below it.
type node struct {
	text     string
	children []*node
}

func (n *node) write(b *strings.Builder, style Style, first, rest string) {
	b.WriteString(first + n.text + "\n")
	for i, child := range n.children {
		branch, below := "├─ ", "│  "
		if i == len(n.children)-1 {
			branch, below = "└─ ", "   "
		}
		child.write(b, style, rest+style.paint(dim, branch), rest+style.paint(dim, below))
	}
}

// hostTree arranges the parts by socket and by the links above them.
func hostTree(t topology.Topology) []*node {
	var roots []*node
	for _, s := range picture.Arrange(t).Sockets {
		root := &node{text: picture.SocketName(s.ID)}
		for _, m := range s.Memory {
			root.children = append(root.children, &node{text: joined(m.Node.ID, picture.MemoryFacts(m.Node))})
		}
		for _, b := range s.Branches {
			root.children = append(root.children, branchNodes(b)...)
		}
		roots = append(roots, root)
	}
	return roots
}

// branchNodes is a switch with what is below it, or the functions of a device.
func branchNodes(b *picture.Branch) []*node {
	link := ""
	if b.Hop != nil {
		link = linkText(*b.Hop)
	}
	if len(b.Branches) > 0 {
		n := &node{text: hopText(*b.Hop, b.Switch())}
		for _, below := range b.Branches {
			n.children = append(n.children, branchNodes(below)...)
		}
		return []*node{n}
	}
	var nodes []*node
	for _, r := range b.RNICs {
		nodes = append(nodes, &node{text: rnicText(r, link)})
	}
	for _, g := range b.GPUs {
		nodes = append(nodes, &node{text: gpuText(g, link)})
	}
	return nodes
}

// hopText names a link and, where it bears another name, the switch below it.
func hopText(h topology.Hop, below string) string {
	kind := strings.ReplaceAll(string(h.Kind), "_", " ")
	_, part, _ := strings.Cut(h.ID, ":")
	name := kind + " " + part
	if below != "" && below != part {
		name += " → switch " + below
	}
	return joined(name, linkText(h))
}

// linkText says what a PCIe link should carry, and what it runs at if that is
// less. "" where nothing is known.
func linkText(h topology.Hop) string {
	full, note := picture.LinkSpeed(h), picture.LinkNote(h)
	if full != "" && note != "" {
		return full + " (" + note + ")"
	}
	return full + note
}

func rnicText(r topology.RNIC, link string) string {
	return withReason(joined(r.ID, picture.RateText(r), r.State, r.PCI, strings.Join(r.Netdevs, ","), link), r.Usable, r.Reason)
}

func gpuText(g topology.GPU, link string) string {
	return withReason(joined(g.ID, picture.GPUName(g), g.PCI, link), g.Usable, g.Reason)
}

func withReason(text string, usable bool, reason string) string {
	if why := picture.NotUsable(usable, reason); why != "" {
		text += "  — " + why
	}
	return text
}

// joined puts what is known behind a name.
func joined(name string, facts ...string) string {
	facts = slices.DeleteFunc(facts, func(s string) bool { return s == "" })
	if len(facts) == 0 {
		return name
	}
	return name + "  " + strings.Join(facts, ", ")
}
