package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Style says how a text rendering may look.
type Style struct {
	// Width is that of the terminal in columns; 0 stands for 80.
	Width int
	// Color allows ANSI colours. What they say is always in the words too.
	Color bool
}

// DefaultWidth is for output that goes to no terminal.
const DefaultWidth = 80

func (s Style) width() int {
	if s.Width <= 0 {
		return DefaultWidth
	}
	return max(s.Width, 40) // narrower than this nothing is readable; let the terminal wrap
}

type color string

const (
	bold   color = "1"
	dim    color = "2"
	red    color = "1;31"
	yellow color = "33"
	green  color = "32"
)

func (s Style) paint(c color, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Wrap breaks text between words so that no line exceeds the width; first
// goes before the first line, rest before the others.
func (s Style) Wrap(first, rest, text string) string {
	var b strings.Builder
	b.WriteString(first)
	column, indent := utf8.RuneCountInString(first), utf8.RuneCountInString(rest)
	for i, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > s.width():
			b.WriteString("\n" + rest)
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	b.WriteByte('\n')
	return b.String()
}

func (s Style) heading(text string) string { return "\n" + s.paint(bold, text) + "\n" }

// item is a list item that wraps.
func (s Style) item(indent, text string) string { return s.Wrap(indent+"- ", indent+"  ", text) }

// maxItems bounds a list for people; the JSON form has all of it.
const maxItems = 8

func (s Style) items(indent string, texts []string) string {
	var b strings.Builder
	for i, text := range texts {
		if i == maxItems && len(texts) > maxItems+1 {
			b.WriteString(s.item(indent, fmt.Sprintf("and %d more (all of them with --format json)", len(texts)-i)))
			break
		}
		b.WriteString(s.item(indent, text))
	}
	return b.String()
}

// pad fills text with spaces to n columns.
func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(text)))
}
