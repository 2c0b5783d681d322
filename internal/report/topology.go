package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/diagnosis"
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
			cell := Cell{Letter: classLetter(p.Class), Text: string(p.Class), color: dim}
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
	chains := linksAbove(t)
	hops := map[string]topology.Hop{}
	for _, h := range t.Hops {
		hops[h.ID] = h
	}
	sockets := map[string]*node{}
	bridges := map[string]*node{}
	var order []string
	socketNode := func(socket *int) *node {
		key := "socket unknown"
		if socket != nil {
			key = "socket " + strconv.Itoa(*socket)
		}
		if sockets[key] == nil {
			sockets[key] = &node{text: key}
			order = append(order, key)
		}
		return sockets[key]
	}
	// place hangs a device below its bridges, the outermost first.
	place := func(device, text string, socket *int) {
		at := socketNode(socket)
		for _, hop := range slices.Backward(chains[device]) {
			if bridges[hop] == nil {
				bridges[hop] = &node{text: hopText(hops[hop])}
				at.children = append(at.children, bridges[hop])
			}
			at = bridges[hop]
		}
		at.children = append(at.children, &node{text: text})
	}
	for _, n := range t.MemoryNodes {
		text := n.ID + "  NUMA node " + strconv.Itoa(n.NUMANode)
		if n.Bytes != nil {
			text += fmt.Sprintf(", %.0f GiB", float64(*n.Bytes)/(1<<30))
		}
		parent := socketNode(n.Socket)
		parent.children = append(parent.children, &node{text: text})
	}
	for _, r := range t.RNICs {
		place(r.ID, rnicText(r, ownLink(t, hops, topology.HopRNICPCIe, r.ID)), r.Socket)
	}
	for _, g := range t.GPUs {
		place(g.ID, gpuText(g, ownLink(t, hops, topology.HopGPUPCIe, g.ID)), g.Socket)
	}
	slices.SortFunc(order, topology.CompareNatural)
	var roots []*node
	for _, key := range order {
		roots = append(roots, sockets[key])
	}
	return roots
}

// linksAbove finds the bridge links between each device and its root complex,
// the nearest first, from the hops of the paths that end there.
func linksAbove(t topology.Topology) map[string][]string {
	chains := map[string][]string{}
	for _, p := range t.Paths {
		if _, known := chains[p.RNIC]; !known && strings.HasPrefix(string(p.Class), "mem_") {
			chains[p.RNIC] = bridgesOf(p)
		}
	}
	for _, p := range t.Paths {
		if _, known := chains[p.Endpoint]; known || strings.HasPrefix(string(p.Class), "mem_") {
			continue
		}
		// The path climbs some of the RNIC's links, then descends to the GPU:
		// what it did not climb lies above both.
		above, crossed := chains[p.RNIC], bridgesOf(p)
		climbed := 0
		for climbed < len(above) && climbed < len(crossed) && above[climbed] == crossed[climbed] {
			climbed++
		}
		chain := slices.Clone(crossed[climbed:])
		slices.Reverse(chain)
		if p.Class == topology.ClassPIX || p.Class == topology.ClassPXB {
			chain = append(chain, above[climbed:]...)
		}
		chains[p.Endpoint] = chain
	}
	return chains
}

func bridgesOf(p topology.Path) []string {
	var bridges []string
	for _, hop := range p.Hops {
		if strings.HasPrefix(hop, string(topology.HopSwitch)+":") || strings.HasPrefix(hop, string(topology.HopRootPort)+":") {
			bridges = append(bridges, hop)
		}
	}
	return bridges
}

// ownLink is the link of a device itself.
func ownLink(t topology.Topology, hops map[string]topology.Hop, kind topology.HopKind, device string) topology.Hop {
	if h, ok := hops[topology.HopID(kind, device)]; ok {
		return h
	}
	for _, h := range t.Hops { // functions of one card share a link
		if h.Kind == kind && slices.Contains(h.Members, device) {
			return h
		}
	}
	return topology.Hop{}
}

func hopText(h topology.Hop) string {
	kind := strings.ReplaceAll(string(h.Kind), "_", " ")
	_, part, _ := strings.Cut(h.ID, ":")
	return joined(kind+" "+part, linkText(h))
}

// linkText says what a PCIe link should carry, and what it runs at if that is
// less. "" where nothing is known.
func linkText(h topology.Hop) string {
	if h.Trust == topology.TrustNonsense {
		return "emulated link"
	}
	full := speedText(h.ExpectedSpeedGTs, h.ExpectedWidth)
	now := speedText(h.SpeedGTs, h.Width)
	switch {
	case full == "":
		return now
	case now == "" || now == full:
		return full
	default:
		return full + " (at rest " + now + ")"
	}
}

func speedText(speedGTs *float64, width *int) string {
	if speedGTs == nil || width == nil {
		return ""
	}
	return fmt.Sprintf("%g GT/s x%d", *speedGTs, *width)
}

func rnicText(r topology.RNIC, link topology.Hop) string {
	rate := "rate unknown"
	if r.RateGbps != nil {
		rate = fmt.Sprintf("%g Gb/s", *r.RateGbps)
	}
	text := joined(r.ID, rate, r.LinkLayer, r.State, r.PCI, strings.Join(r.Netdevs, ","), linkText(link))
	return text + unusable(r.Usable, r.Reason)
}

func gpuText(g topology.GPU, link topology.Hop) string {
	return joined(g.ID, strings.TrimSpace(g.Vendor+" "+g.Model), g.PCI, linkText(link)) + unusable(g.Usable, g.Reason)
}

func unusable(usable bool, reason string) string {
	if usable {
		return ""
	}
	return "  — not usable: " + cmp.Or(reason, "no reason given")
}

// joined puts what is known behind a name.
func joined(name string, facts ...string) string {
	facts = slices.DeleteFunc(facts, func(s string) bool { return s == "" })
	if len(facts) == 0 {
		return name
	}
	return name + "  " + strings.Join(facts, ", ")
}
