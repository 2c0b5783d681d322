package picture

import (
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// drawing is a picture as shapes with places, before anybody chose how they
// look. Lengths are in pixels.
//
// Each socket is a panel. In it the tree lies on its side: memory, socket, switches and devices are
// columns, each link is one level line, and what holds several things is as
// tall as all of them. So no line bends or crosses another, and there is room
// for words on each.
type drawing struct {
	width, height int
	title         string
	blames        []string
	panels        []rect
	boxes         []box
	links         []line
	verdicts      map[string]bool // those that occur
}

type rect struct{ x, y, w, h int }

func (r rect) middle() int { return r.y + r.h/2 }

// box is a part of the host.
type box struct {
	rect
	kind    string // "socket", "switch", "memory", "rnic", "gpu"
	tag     string // the kind in a word, "" where the name tells
	name    string
	facts   []string
	warning []string // why it is not usable
	verdict string   // of its paths
	tally   string
	blames  []int
	dim     bool
	title   string // all of it, for a tooltip
}

// line is a hop.
type line struct {
	x1, y1, x2, y2 int
	labelX         int // where its words begin
	labelW         int
	atSocket       bool   // it leaves from a root port
	port           string // of this name, where that is known
	speed, note    string
	verdict        string
	blames         []int
	title          string
}

const (
	margin      = 20
	lineHeight  = 15
	boxPad      = 8
	rowGap      = 8
	branchGap   = 16
	panelPad    = 14
	panelGap    = 24
	busGap      = 60 // between panels that a bus joins
	memoryWidth = 168
	memoryLink  = 76
	socketWidth = 108
	socketName  = 22 // what the name of a socket takes of its height
	linkWidth   = 116
	switchWidth = 100
	deviceWidth = 290
	boxText     = 62 // what a device's box does not leave for text
	busLane     = 16
)

// layout places everything.
func layout(t topology.Topology, m Marks) drawing {
	l := layouter{t: t, marks: m, tree: Arrange(t)}
	l.d.verdicts = map[string]bool{}
	l.d.title = hostTitle(t)
	for i, b := range m.Blames {
		l.d.blames = append(l.d.blames, strconv.Itoa(i+1)+"  "+b.Text)
	}

	neighbours := map[string]bool{}
	for i := 1; i < len(l.tree.Sockets); i++ {
		if a, b := l.tree.Sockets[i-1].ID, l.tree.Sockets[i].ID; a != nil && b != nil {
			neighbours[strconv.Itoa(*a)+"-"+strconv.Itoa(*b)] = true
		}
	}
	for _, bus := range l.tree.Buses {
		if !neighbours[strings.Join(bus.Members, "-")] {
			l.farBuses = append(l.farBuses, bus)
		}
	}

	l.left = margin
	if len(l.farBuses) > 0 {
		l.left += busLane*len(l.farBuses) + 140
	}
	l.memory = l.left + panelPad
	l.socketX = l.memory
	for _, s := range l.tree.Sockets {
		if len(s.Memory) > 0 {
			l.socketX = l.memory + memoryWidth + memoryLink
		}
	}
	depth := 0
	for _, s := range l.tree.Sockets {
		depth = max(depth, depthOf(s.Branches))
	}
	l.deviceX = l.column(depth)

	y := margin + 26 + 20*len(l.d.blames)
	for i, s := range l.tree.Sockets {
		if i > 0 && s.ID != nil {
			y += busGap
		} else if i > 0 {
			y += panelGap
		}
		y = l.socket(s, y)
	}
	l.buses()
	l.d.width = l.deviceX + deviceWidth + panelPad + margin
	l.d.height = y + margin
	return l.d
}

type layouter struct {
	t        topology.Topology
	marks    Marks
	tree     Tree
	d        drawing
	farBuses []topology.Hop // between sockets that do not stand one above the other

	left, memory, socketX, deviceX int
	bars                           []rect // by socket
}

// column is where switches of this depth stand, from 0.
func (l *layouter) column(depth int) int {
	return l.socketX + socketWidth + linkWidth + depth*(switchWidth+linkWidth)
}

// depthOf is how many switches stand one behind the other.
func depthOf(branches []*Branch) int {
	depth := 0
	for _, b := range branches {
		if len(b.Branches) > 0 {
			depth = max(depth, 1+depthOf(b.Branches))
		}
	}
	return depth
}

// socket draws a panel from y down and returns where it ends.
func (l *layouter) socket(s *Socket, y int) int {
	top := y + panelPad
	below := top
	if len(s.Branches) > 0 {
		below += socketName
	}
	for i, b := range s.Branches {
		if i > 0 {
			below += branchGap
		}
		_, below = l.branch(b, 0, l.socketX+socketWidth, below)
	}
	bar := rect{l.socketX, top, socketWidth, 0}

	// Memory nodes share the height, or make more of it.
	var boxes []box
	heights := 0
	for _, m := range s.Memory {
		b := l.box("memory", "", m.Node.ID, []string{MemoryFacts(m.Node)}, "")
		b.x, b.w = l.memory, memoryWidth
		boxes = append(boxes, b)
		heights += b.h
	}
	if len(boxes) > 0 {
		below = max(below, top+heights+rowGap*(len(boxes)-1))
	}
	below = max(below, top+70)
	bar.h = below - top
	free := bar.h - heights
	at := top
	for i, b := range boxes {
		gap := free / (2 * len(boxes))
		b.y = at + gap
		at = b.y + b.h + gap
		l.d.boxes = append(l.d.boxes, b)
		if hop := s.Memory[i].Hop; hop != nil {
			l.link(hop, b.x+b.w, l.socketX, b.middle(), b.x+b.w, memoryLink)
		}
	}

	b := box{rect: bar, kind: "socket", name: SocketName(s.ID), title: SocketName(s.ID), dim: s.ID == nil}
	l.d.boxes = append(l.d.boxes, b)
	l.bars = append(l.bars, bar)
	l.d.panels = append(l.d.panels, rect{l.left, y, l.deviceX + deviceWidth + panelPad - l.left, below + panelPad - y})
	return below + panelPad
}

// branch draws what hangs on a link from y down, and the link from x. It
// returns the middle of what it drew, and its end.
func (l *layouter) branch(b *Branch, depth, x, y int) (middle, below int) {
	if len(b.Branches) == 0 {
		return l.device(b, x, y)
	}
	at := l.column(depth)
	below = y
	for i, child := range b.Branches {
		if i > 0 {
			below += rowGap
		}
		_, below = l.branch(child, depth+1, at+switchWidth, below)
	}
	s := box{
		rect: rect{at, y, switchWidth, below - y}, kind: "switch", tag: "switch", name: b.Switch(),
		title: "PCIe switch " + b.Switch(),
	}
	l.d.boxes = append(l.d.boxes, s)
	l.link(b.Hop, x, at, s.middle(), at-linkWidth, linkWidth)
	return s.middle(), below
}

// device draws the functions on one link.
func (l *layouter) device(b *Branch, x, y int) (middle, below int) {
	var boxes []box
	for _, r := range b.RNICs {
		facts := []string{RateText(r), known(" · ", r.PCI, r.State, strings.Join(r.Netdevs, ","))}
		boxes = append(boxes, l.box("rnic", "RNIC", r.ID, facts, NotUsable(r.Usable, r.Reason)))
	}
	for _, g := range b.GPUs {
		boxes = append(boxes, l.box("gpu", "GPU", g.ID, []string{GPUName(g), g.PCI}, NotUsable(g.Usable, g.Reason)))
	}
	below = y
	for i := range boxes {
		if i > 0 {
			below += rowGap / 2
		}
		boxes[i].x, boxes[i].y, boxes[i].w = l.deviceX, below, deviceWidth
		below += boxes[i].h
	}
	l.d.boxes = append(l.d.boxes, boxes...)
	middle = (y + below) / 2
	if b.Hop != nil {
		end := l.deviceX
		if len(boxes) > 1 {
			// One link for several functions: it ends at a bar before them.
			end -= 7
			l.d.boxes = append(l.d.boxes, box{rect: rect{end, y, 3, below - y}, kind: "joint"})
		}
		l.link(b.Hop, x, end, middle, l.deviceX-linkWidth, linkWidth)
	}
	return middle, below
}

// box describes a part; its place is set by whoever has room for it.
func (l *layouter) box(kind, tag, id string, facts []string, warning string) box {
	b := box{kind: kind, tag: tag, name: id, facts: facts, dim: warning != "", blames: l.marks.blamed(id)}
	b.warning = wrap(warning, deviceWidth-boxText, sizeOf("small"), 2)
	b.verdict, b.tally = l.marks.tally(l.t, id)
	l.d.verdicts[b.verdict] = true
	lines := 2 + len(b.warning)
	if b.tally != "" {
		lines++
	}
	b.h = lines*lineHeight + boxPad
	b.title = known(", ", append(append([]string{known(" ", tag, id)}, facts...), warning, b.tally)...)
	return b
}

func (l *layouter) link(h *topology.Hop, x1, x2, y, labelX, labelW int) {
	k := l.describe(h)
	k.atSocket = isPCIe(h.Kind) && x1 == l.socketX+socketWidth
	k.x1, k.y1, k.x2, k.y2, k.labelX, k.labelW = x1, y, x2, y, labelX, labelW
	l.d.links = append(l.d.links, k)
}

func (l *layouter) describe(h *topology.Hop) line {
	k := line{verdict: l.marks.Hops[h.ID], blames: l.marks.blamed(h.ID)}
	l.d.verdicts[k.verdict] = true
	if isPCIe(h.Kind) {
		k.speed, k.note = LinkSpeed(*h), LinkNote(*h)
		if k.speed == "" && k.note == "" {
			k.note = "speed unknown"
		}
	}
	if h.Kind == topology.HopRootPort {
		_, k.port, _ = strings.Cut(h.ID, ":")
	}
	k.title = known(", ", h.ID, k.speed, k.note, k.verdict)
	return k
}

// buses draws what joins the sockets: straight down where they stand one above
// the other, else through lanes on the left.
func (l *layouter) buses() {
	far := map[string]int{}
	for i, bus := range l.farBuses {
		far[bus.ID] = i
	}
	place := map[string]int{}
	for i, s := range l.tree.Sockets {
		if s.ID != nil {
			place[strconv.Itoa(*s.ID)] = i
		}
	}
	for i := range l.tree.Buses {
		bus := &l.tree.Buses[i]
		if len(bus.Members) != 2 {
			continue
		}
		a, okA := place[bus.Members[0]]
		b, okB := place[bus.Members[1]]
		if !okA || !okB {
			continue
		}
		k := l.describe(bus)
		k.note = "inter-socket bus " + strings.Join(bus.Members, "–")
		lane, isFar := far[bus.ID]
		if !isFar {
			x := l.socketX + socketWidth/2
			k.x1, k.y1, k.x2, k.y2 = x, l.bars[a].y+l.bars[a].h, x, l.bars[b].y
			k.labelX, k.labelW = x+14, 240
			l.d.links = append(l.d.links, k)
			continue
		}
		x := margin + 140 + lane*busLane
		k.x1, k.y1, k.x2, k.y2 = x, l.d.panels[a].middle()+lane*6, x, l.d.panels[b].middle()+lane*6
		k.labelX, k.labelW = margin, 132
		l.d.links = append(l.d.links, k)
		for _, y := range []int{k.y1, k.y2} {
			l.d.links = append(l.d.links, line{x1: x, y1: y, x2: l.left, y2: y, verdict: k.verdict, title: k.title})
		}
	}
}
