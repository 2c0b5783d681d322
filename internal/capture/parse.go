package capture

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// Parse reads an archive. It takes nothing on trust; an error names the line
// that is wrong.
func Parse(r io.Reader) (*Archive, error) {
	p := parser{archive: &Archive{map[string]entry{}}}
	limited := &io.LimitedReader{R: r, N: MaxBytes + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, 4*maxFileBytes) // a quoted byte may take four
	number := 0
	for lines.Scan() {
		number++
		if err := p.line(number, lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if limited.N <= 0 {
			break
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: is longer than %d bytes", number+1, 4*maxFileBytes)
	case err != nil:
		return nil, err
	case limited.N <= 0:
		return nil, fmt.Errorf("line %d: the archive is longer than %d MiB", number, MaxBytes>>20)
	case number == 0:
		return nil, fmt.Errorf("line 1: is missing, not %q", SchemaID)
	}
	if !p.ended {
		return nil, fmt.Errorf("line %d: the archive is cut short: its last line says %q and how many paths it has", number+1, endMark)
	}
	return p.archive, nil
}

type parser struct {
	archive *Archive
	ended   bool // the last line was read
	// The file whose block is open, "" when none is.
	name  string
	block func(line string) error
	text  []byte
}

func (p *parser) line(number int, line string) error {
	switch inner, isInner := strings.CutPrefix(line, "  "); {
	case number == 1:
		if line != SchemaID {
			return fmt.Errorf("is not %q: this is no archive of --capture, or one of another version", SchemaID)
		}
		return nil
	case isInner && p.name != "":
		return p.block(inner)
	case isInner:
		return errors.New("is set in, but the line above begins no text or hex")
	case line == "" && p.name != "": // an editor may have taken the two spaces away
		return p.block("")
	case line == "", line[0] == '#':
		p.endBlock()
		return nil
	case p.ended:
		return fmt.Errorf("%.40q stands behind the line that ends the archive", line)
	}
	p.endBlock()
	if count, ok := strings.CutPrefix(line, endMark+" "); ok {
		return p.end(count)
	}
	name, rest, err := cutPath(line)
	if err != nil {
		return err
	}
	switch {
	case !strings.HasPrefix(name, "/sys/") && !strings.HasPrefix(name, "/proc/"):
		return fmt.Errorf("%.80q is no path below /sys or /proc", name)
	case len(name) > maxPathBytes || !fs.ValidPath(name[1:]):
		return fmt.Errorf("%.80q is no path: it is too long, or has empty, . or .. parts", name)
	}
	name = name[1:]
	if _, twice := p.archive.entries[name]; twice {
		return fmt.Errorf("/%.80s is given twice", name)
	}
	if len(p.archive.entries) >= maxEntries {
		return fmt.Errorf("the archive has more than %d files", maxEntries)
	}
	return p.entry(name, rest)
}

// end reads the last line: a count that differs tells of lost lines.
func (p *parser) end(count string) error {
	p.ended = true
	switch want, err := strconv.Atoi(count); {
	case err != nil || want < 0:
		return fmt.Errorf("%s %.40q: is no number of paths", endMark, count)
	case want != len(p.archive.entries):
		return fmt.Errorf("the archive is cut short: it has %d paths of %d; correct this number if you took lines out yourself", len(p.archive.entries), want)
	}
	return nil
}

// cutPath splits a line into its path and the rest.
func cutPath(line string) (name, rest string, err error) {
	if line[0] != '"' {
		name, rest, _ = strings.Cut(line, " ")
		return name, rest, nil
	}
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", "", errors.New("begins with a path whose quotes do not end")
	}
	name, err = strconv.Unquote(quoted)
	return name, strings.TrimPrefix(line[len(quoted):], " "), err
}

// entry reads what follows a path.
func (p *parser) entry(name, rest string) error {
	what, argument, _ := strings.Cut(rest, " ")
	switch what {
	case "=":
		text, quoted, err := unquoted(argument)
		if err != nil {
			return err
		}
		if !quoted {
			text += "\n"
		}
		return p.add(name, entry{file, text})
	case "->":
		target, _, err := unquoted(argument)
		if err != nil {
			return err
		}
		return p.add(name, entry{link, target})
	case "fails":
		if errorNamed(argument) == 0 {
			return fmt.Errorf("%.40q is no error that reading a file gives, such as EACCES", argument)
		}
		return p.add(name, entry{failing, argument})
	case "folder":
		if argument == "" {
			return p.add(name, entry{kind: folder})
		}
	case "text":
		if argument == "" {
			p.name, p.text, p.block = name, nil, p.textLine
			return p.add(name, entry{kind: file})
		}
	case "hex":
		size, err := strconv.Atoi(argument)
		if err != nil || size < 0 || size > maxFileBytes {
			return fmt.Errorf("hex %.40q: is no number of bytes up to %d", argument, maxFileBytes)
		}
		p.name, p.text, p.block = name, make([]byte, size), p.hexLine
		return p.add(name, entry{kind: file})
	}
	return fmt.Errorf(`%.40q: after a path comes "= value", "-> target", "text", "hex SIZE", "folder" or "fails ERROR"`, rest)
}

func unquoted(text string) (value string, quoted bool, err error) {
	if !strings.HasPrefix(text, `"`) {
		return text, false, nil
	}
	value, err = strconv.Unquote(text)
	if err != nil {
		return "", true, fmt.Errorf("%.40s is no quoted text", text)
	}
	return value, true, nil
}

func (p *parser) add(name string, e entry) error {
	if len(e.text) > maxFileBytes {
		return fmt.Errorf("/%.80s holds more than %d bytes", name, maxFileBytes)
	}
	p.archive.entries[name] = e
	return nil
}

func (p *parser) textLine(line string) error {
	if len(p.text)+len(line) >= maxFileBytes {
		return fmt.Errorf("/%.80s holds more than %d bytes", p.name, maxFileBytes)
	}
	p.text = append(append(p.text, line...), '\n')
	return nil
}

func (p *parser) hexLine(line string) error {
	if line == "" {
		return nil
	}
	at, digits, _ := strings.Cut(line, " ")
	offset, err := strconv.ParseUint(at, 16, 32)
	if err != nil {
		return fmt.Errorf("%.40q is no hexadecimal offset", at)
	}
	row, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		return fmt.Errorf("%.40q are no hexadecimal bytes", digits)
	}
	if int(offset)+len(row) > len(p.text) {
		return fmt.Errorf("the bytes from %x end behind the %d that the file has", offset, len(p.text))
	}
	copy(p.text[offset:], row)
	return nil
}

// endBlock puts what an open block held into its file.
func (p *parser) endBlock() {
	if p.name != "" {
		p.archive.entries[p.name] = entry{file, string(p.text)}
		p.name = ""
	}
}
