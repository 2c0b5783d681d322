package document

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is beyond what our formats nest, and keeps the stack of a hostile
// document small.
const maxDepth = 16

// maxElements of one list are beyond what any host fills, and keep a hostile
// document of empty objects from becoming a hundred times its size.
const maxElements = 1 << 16

// scanner walks over JSON text (RFC 8259), which is valid UTF-8. It is neither
// lenient nor forgiving: what it passes, every other reader of JSON reads alike.
type scanner struct {
	doc   []byte
	at    int // the next byte
	depth int // objects and lists around it
}

// next skips white space and returns the byte behind it, which it leaves
// there; 0 at the end of the document.
func (s *scanner) next() byte {
	for ; s.at < len(s.doc); s.at++ {
		switch c := s.doc[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// object reads an object, whose brace is next. visit reads the value of a
// name, which holds until visit returns.
func (s *scanner) object(visit func(name []byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.next() == '}' {
		return s.leave()
	}
	for {
		if s.next() != '"' {
			return s.malformed("a name in double quotes")
		}
		name, err := s.text()
		if err != nil {
			return err
		}
		if s.next() != ':' {
			err = s.malformed("a colon")
		} else {
			s.at++
			err = visit(name)
		}
		if err != nil {
			return At(placeOf(name), err)
		}
		switch s.next() {
		case ',':
			s.at++
		case '}':
			return s.leave()
		default:
			return s.malformed("a comma or a closing brace")
		}
	}
}

// list reads a list, whose bracket is next. visit reads one element.
func (s *scanner) list(visit func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.next() == ']' {
		return s.leave()
	}
	for i := 0; ; i++ {
		if i == maxElements {
			return Bad("", "has more than %d elements", maxElements)
		}
		if err := visit(); err != nil {
			return At("["+strconv.Itoa(i)+"]", err)
		}
		switch s.next() {
		case ',':
			s.at++
		case ']':
			return s.leave()
		default:
			return s.malformed("a comma or a closing bracket")
		}
	}
}

func (s *scanner) enter() error {
	if s.depth == maxDepth {
		return Bad("", "lies deeper than %d levels", maxDepth)
	}
	s.depth++
	s.at++
	return nil
}

func (s *scanner) leave() error {
	s.depth--
	s.at++
	return nil
}

// text reads a string, whose quote is next. What it returns may be a part of
// the document.
func (s *scanner) text() ([]byte, error) {
	start := s.at + 1
	for i := start; i < len(s.doc); i++ {
		switch c := s.doc[i]; {
		case c == '"':
			s.at = i + 1
			return s.doc[start:i], nil
		case c == '\\':
			s.at = i
			return s.escapedText(bytes.Clone(s.doc[start:i]))
		case c < ' ':
			return nil, rawControl(i)
		}
	}
	s.at = len(s.doc)
	return nil, s.malformed("")
}

// escapedText reads the rest of a string from its first escape on.
func (s *scanner) escapedText(text []byte) ([]byte, error) {
	for s.at < len(s.doc) {
		c := s.doc[s.at]
		switch {
		case c == '"':
			s.at++
			return text, nil
		case c < ' ':
			return nil, rawControl(s.at)
		case c != '\\':
			s.at++
			text = append(text, c)
			continue
		}
		r, err := s.escape()
		if err != nil {
			return nil, err
		}
		text = utf8.AppendRune(text, r)
	}
	return nil, s.malformed("")
}

// escape reads one escape of a string, both halves of a surrogate pair.
func (s *scanner) escape() (rune, error) {
	if s.at+1 == len(s.doc) {
		s.at++
		return 0, s.malformed("")
	}
	c := s.doc[s.at+1]
	if plain := strings.IndexByte(`"\/bfnrt`, c); plain >= 0 {
		s.at += 2
		return rune("\"\\/\b\f\n\r\t"[plain]), nil
	}
	if c != 'u' {
		return 0, s.malformed("an escape that JSON has")
	}
	r, err := s.escapedUnit()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	low := rune(0)
	if bytes.HasPrefix(s.doc[s.at:], []byte(`\u`)) {
		if low, err = s.escapedUnit(); err != nil {
			return 0, err
		}
	}
	if r = utf16.DecodeRune(r, low); r == unicode.ReplacementChar {
		return 0, Bad("", "holds half a character before byte %d", s.at)
	}
	return r, nil
}

// escapedUnit reads \uXXXX.
func (s *scanner) escapedUnit() (rune, error) {
	hex := s.doc[s.at+2 : min(s.at+6, len(s.doc))]
	unit, err := strconv.ParseUint(string(hex), 16, 16)
	switch {
	case len(hex) < 4:
		s.at = len(s.doc)
		return 0, s.malformed("")
	case err != nil:
		return 0, s.malformed("four hex digits")
	}
	s.at += 6
	return rune(unit), nil
}

// number reads a number, whose sign or first digit is next.
func (s *scanner) number() ([]byte, error) {
	start := s.at
	if s.doc[s.at] == '-' {
		s.at++
	}
	zero := s.at < len(s.doc) && s.doc[s.at] == '0'
	if n := s.digits(); n == 0 || zero && n > 1 {
		if n > 0 {
			s.at = start
		}
		return nil, s.malformed("a number without leading zeros")
	}
	if s.at < len(s.doc) && s.doc[s.at] == '.' {
		s.at++
		if s.digits() == 0 {
			return nil, s.malformed("a digit")
		}
	}
	if s.at < len(s.doc) && (s.doc[s.at] == 'e' || s.doc[s.at] == 'E') {
		s.at++
		if s.at < len(s.doc) && (s.doc[s.at] == '+' || s.doc[s.at] == '-') {
			s.at++
		}
		if s.digits() == 0 {
			return nil, s.malformed("a digit")
		}
	}
	return s.doc[start:s.at], nil
}

func (s *scanner) digits() (n int) {
	start := s.at
	for s.at < len(s.doc) && s.doc[s.at] >= '0' && s.doc[s.at] <= '9' {
		s.at++
	}
	return s.at - start
}

// word reads true, false or null.
func (s *scanner) word(word string) error {
	if !bytes.HasPrefix(s.doc[s.at:], []byte(word)) {
		if bytes.HasPrefix([]byte(word), s.doc[s.at:]) {
			s.at = len(s.doc)
		}
		return s.malformed("a value")
	}
	s.at += len(word)
	return nil
}

// skip reads over one value of any kind.
func (s *scanner) skip() (err error) {
	switch c := s.next(); c {
	case '{':
		names := map[string]bool{}
		return s.object(func(name []byte) error {
			if names[string(name)] {
				return Bad("", "is given twice")
			}
			names[string(name)] = true
			return s.skip()
		})
	case '[':
		return s.list(s.skip)
	case '"':
		_, err = s.text()
	default:
		_, err = s.scalar(c)
	}
	return err
}

// scalar reads a number, true, false or null, which begins with c, and returns
// its text.
func (s *scanner) scalar(c byte) ([]byte, error) {
	start := s.at
	var err error
	switch {
	case c == 't':
		err = s.word("true")
	case c == 'f':
		err = s.word("false")
	case c == 'n' && !s.startsWith("nan"):
		err = s.word("null")
	case c == '-' && !s.startsWith("-Inf") && !s.startsWith("-inf") || c >= '0' && c <= '9':
		return s.number()
	default:
		err = s.malformed("a value")
	}
	return s.doc[start:s.at], err
}

func (s *scanner) startsWith(word string) bool { return bytes.HasPrefix(s.doc[s.at:], []byte(word)) }

// malformed says what is wrong with the text where wanted belongs.
func (s *scanner) malformed(wanted string) error {
	if s.next() == 0 && s.at >= len(s.doc) {
		return Bad("", "ends here, at byte %d: it is cut short", len(s.doc))
	}
	for _, word := range []string{"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf", "+"} {
		if s.startsWith(word) {
			rest := s.doc[s.at:]
			if end := bytes.IndexAny(rest, " \t\r\n,]}"); end >= 0 {
				rest = rest[:end]
			}
			return Bad("", "is %s, which is no number of JSON; unknown is null", string(rest))
		}
	}
	r, _ := utf8.DecodeRune(s.doc[s.at:])
	return Bad("", "is no JSON at byte %d: %q where %s belongs", s.at, string(r), wanted)
}

func rawControl(at int) error {
	return Bad("", "is no JSON at byte %d: a control character that is no escape", at)
}

// placeOf is a name as a part of a place; it may hold anything.
func placeOf(name []byte) string {
	const most = 60
	place := string(name)
	if strings.ContainsFunc(place, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		place = strconv.Quote(place)
	}
	return shorten(place, most)
}
