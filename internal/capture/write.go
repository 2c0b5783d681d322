package capture

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuuki/hostping/internal/topology"
)

// hexRowBytes is how many bytes a line of a hexadecimal block shows.
const hexRowBytes = 16

// Write writes the archive; the comment, of any number of lines, stands on top.
func (a *Archive) Write(w io.Writer, comment string) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, SchemaID)
	for line := range strings.Lines(comment) {
		fmt.Fprintln(b, strings.TrimRight("# "+strings.TrimSpace(line), " "))
	}
	implied := map[string]bool{}
	for name := range a.entries {
		for at := path.Dir(name); at != "." && !implied[at]; at = path.Dir(at) {
			implied[at] = true
		}
	}
	written := 0
	for _, name := range a.sorted() {
		e := a.entries[name]
		if e.kind == folder && implied[name] {
			continue
		}
		written++
		shown := "/" + name
		if !plainPath(shown) {
			shown = strconv.Quote(shown)
		}
		switch e.kind {
		case folder:
			fmt.Fprintln(b, shown, "folder")
		case link:
			fmt.Fprintln(b, shown, "->", value(e.text))
		case failing:
			fmt.Fprintln(b, shown, "fails", e.text)
		case file:
			writeFile(b, shown, e.text)
		}
	}
	fmt.Fprintln(b, endMark, written)
	return b.Flush()
}

func writeFile(b *bufio.Writer, shown, text string) {
	line, whole := strings.CutSuffix(text, "\n")
	switch {
	case whole && isPlain(line):
		fmt.Fprintln(b, shown, "=", line)
	case whole && strings.Contains(line, "\n") && isText(line):
		fmt.Fprintln(b, shown, "text")
		for line := range strings.Lines(text) {
			b.WriteString("  " + line)
		}
	case isText(text):
		fmt.Fprintln(b, shown, "=", strconv.Quote(text))
	default:
		fmt.Fprintln(b, shown, "hex", len(text))
		writeHex(b, text)
	}
}

// writeHex leaves out rows of zeros: most of a configuration space is none.
func writeHex(b *bufio.Writer, data string) {
	for offset := 0; offset < len(data); offset += hexRowBytes {
		row := data[offset:min(offset+hexRowBytes, len(data))]
		if strings.Trim(row, "\x00") == "" {
			continue
		}
		fmt.Fprintf(b, "  %03x", offset)
		for word := range slices.Chunk([]byte(row), 4) {
			b.WriteString(" " + hex.EncodeToString(word))
		}
		b.WriteByte('\n')
	}
}

// value quotes what could not be told from the rest of its line.
func value(text string) string {
	if isPlain(text) {
		return text
	}
	return strconv.Quote(text)
}

// isPlain reports whether text can stand at the end of a line as it is.
func isPlain(text string) bool {
	return text != "" && strings.TrimSpace(text) == text && text[0] != '"' && !strings.Contains(text, "\n") && isText(text)
}

// isText reports whether people and diff tools can read it.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\t'
	})
}

func plainPath(name string) bool { return isPlain(name) && !strings.ContainsAny(name, " \t\"") }

// sorted is the paths of an archive, what is below a folder together, numbers in
// their order.
func (a *Archive) sorted() []string {
	parts := make([][]string, 0, len(a.entries))
	for name := range a.entries {
		parts = append(parts, strings.Split(name, "/"))
	}
	slices.SortFunc(parts, func(x, y []string) int { return slices.CompareFunc(x, y, topology.CompareNatural) })
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = strings.Join(p, "/")
	}
	return names
}
