package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuuki/hostping/internal/topology"
)

// Matrix is a table with a row for each RNIC and a column for each endpoint.
// It is drawn with the cells' full text where that needs at most maxBlocks
// blocks of columns, and with their letters alone where it does not.
type Matrix struct {
	Rows, Columns []string
	Cells         map[topology.PathKey]Cell
}

// Cell is one path's entry.
type Cell struct {
	Letter string // one column wide; what the compact form shows
	Text   string // what the full form shows
	color  color
}

// maxBlocks is how often the columns of a full matrix may be broken: beyond
// that the eye no longer finds a column again, and a row of letters says more.
const maxBlocks = 2

// NewMatrix is an empty matrix over the topology's paths: RNICs and endpoints
// that have none are left out.
func NewMatrix(t topology.Topology) Matrix {
	rnics, endpoints := map[string]bool{}, map[string]bool{}
	for _, p := range t.Paths {
		rnics[p.RNIC], endpoints[p.Endpoint] = true, true
	}
	m := Matrix{Cells: make(map[topology.PathKey]Cell, len(t.Paths))}
	for _, r := range t.RNICs {
		if rnics[r.ID] {
			m.Rows = append(m.Rows, r.ID)
		}
	}
	for _, n := range t.MemoryNodes {
		if endpoints[n.ID] {
			m.Columns = append(m.Columns, n.ID)
		}
	}
	for _, g := range t.GPUs {
		if endpoints[g.ID] {
			m.Columns = append(m.Columns, g.ID)
		}
	}
	return m
}

// dropEmpty leaves out the RNICs and endpoints without a single cell.
func (m *Matrix) dropEmpty() {
	rows, columns := map[string]bool{}, map[string]bool{}
	for key := range m.Cells {
		rows[key.RNIC], columns[key.Endpoint] = true, true
	}
	m.Rows = slices.DeleteFunc(m.Rows, func(row string) bool { return !rows[row] })
	m.Columns = slices.DeleteFunc(m.Columns, func(column string) bool { return !columns[column] })
}

// Render draws the matrix; full tells whether the cells' text fitted.
func (m Matrix) Render(style Style) (text string, full bool) {
	label := 0
	for _, row := range m.Rows {
		label = max(label, utf8.RuneCountInString(row))
	}
	label += 2
	room := style.width() - label
	if blocks := m.blocks(room); len(blocks) <= maxBlocks {
		return m.full(style, label, blocks), true
	}
	return m.compact(style, label, room), false
}

// column is one of the matrix with its width. Columns of a kind are equally wide.
type column struct {
	name  string
	width int
}

// kindOf is a column's name without its number: "gpu".
func kindOf(name string) string { return strings.TrimRight(name, "0123456789") }

// blocks deals the columns out to as many tables, one below the other, as they
// need: two spaces between them, at least one in each.
func (m Matrix) blocks(room int) [][]column {
	widths := map[string]int{}
	for _, name := range m.Columns {
		widths[kindOf(name)] = max(widths[kindOf(name)], utf8.RuneCountInString(name))
	}
	for key, c := range m.Cells {
		kind := kindOf(key.Endpoint)
		widths[kind] = max(widths[kind], utf8.RuneCountInString(c.Text))
	}
	var blocks [][]column
	used := 0
	for _, name := range m.Columns {
		c := column{name, widths[kindOf(name)]}
		if len(blocks) == 0 || used+c.width > room {
			blocks, used = append(blocks, nil), 0
		}
		blocks[len(blocks)-1] = append(blocks[len(blocks)-1], c)
		used += c.width + 2
	}
	return blocks
}

func (m Matrix) full(style Style, label int, blocks [][]column) string {
	var b strings.Builder
	for _, columns := range blocks {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		line := pad("", label)
		for _, column := range columns {
			line += pad(column.name, column.width+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		for _, row := range m.Rows {
			line := pad(row, label)
			for _, column := range columns {
				c := m.Cells[topology.PathKey{RNIC: row, Endpoint: column.name}]
				line += style.paint(c.color, c.Text) + strings.Repeat(" ", column.width+2-utf8.RuneCountInString(c.Text))
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

// group is a run of columns drawn without a gap: the same name before the
// number ("gpu"), at most ten of them.
type group struct {
	name    string
	columns []string
}

const groupColumns = 10

func (m Matrix) groups() []group {
	var groups []group
	for _, column := range m.Columns {
		name := kindOf(column)
		last := len(groups) - 1
		if last < 0 || groups[last].name != name || len(groups[last].columns) == groupColumns {
			groups = append(groups, group{name: name})
			last++
		}
		groups[last].columns = append(groups[last].columns, column)
	}
	return groups
}

// compact draws one letter a cell. Over the columns stands the endpoint's
// name, and below it the number, written downwards.
func (m Matrix) compact(style Style, label, room int) string {
	var blocks [][]group
	used := 0
	for _, g := range m.groups() {
		width := max(len(g.columns), len(g.name)) + 1
		if used == 0 || used+width-1 > room {
			blocks = append(blocks, nil)
			used = 0
		}
		blocks[len(blocks)-1] = append(blocks[len(blocks)-1], g)
		used += width
	}
	var b strings.Builder
	for i, groups := range blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		digits := 0
		for _, g := range groups {
			for _, column := range g.columns {
				digits = max(digits, len(column)-len(g.name))
			}
		}
		for level := range digits + 1 {
			line := pad("", label)
			for _, g := range groups {
				head := g.name
				if level > 0 {
					head = ""
					for _, column := range g.columns {
						number := fmt.Sprintf("%*s", digits, column[len(g.name):])
						head += number[level-1 : level]
					}
				}
				line += pad(head, max(len(g.columns), len(g.name))+1)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		for _, row := range m.Rows {
			line := pad(row, label)
			for _, g := range groups {
				for _, column := range g.columns {
					c := m.Cells[topology.PathKey{RNIC: row, Endpoint: column}]
					line += style.paint(c.color, cmp.Or(c.Letter, " "))
				}
				line += strings.Repeat(" ", max(0, len(g.name)-len(g.columns))+1)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

// figure writes a rate with two significant digits at least, without an exponent.
func figure(v float64) string {
	switch {
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
