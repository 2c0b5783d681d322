package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuuki/hostping/internal/topology"
)

// maxTextBytes bounds one string of a document.
const maxTextBytes = 64 << 10

// decodeStrictly reads one JSON value into the struct that into points to.
// encoding/json takes the last of two equal keys, keys in the wrong case and
// missing ones; this does not, and its errors say where in the document they
// are. Keys that the struct does not have are skipped.
func decodeStrictly(doc []byte, into any) error {
	d := decoder{doc: doc, tokens: json.NewDecoder(bytes.NewReader(doc))}
	d.tokens.UseNumber()
	if err := d.value(reflect.ValueOf(into).Elem()); err != nil {
		if f, ok := errors.AsType[*topology.FieldError](err); ok && f.Field == "" {
			return fmt.Errorf("the document %s", f.Problem)
		}
		return err
	}
	if _, err := d.tokens.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the document at byte %d", d.tokens.InputOffset())
	}
	return nil
}

func invalidUTF8(doc []byte) int {
	for at := 0; at < len(doc); {
		r, size := utf8.DecodeRune(doc[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

type decoder struct {
	doc    []byte
	tokens *json.Decoder
}

// value reads the next value of the document into v.
func (d *decoder) value(v reflect.Value) error {
	token, err := d.next()
	if err != nil {
		return err
	}
	if v.Kind() == reflect.Pointer {
		if token == nil {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if token == nil {
		return bad("", "is null; it is %s", kindName(v))
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, ok := token.(string)
		if !ok {
			return wrongKind(token, v)
		}
		if err := text.UnmarshalText([]byte(s)); err != nil {
			return bad("", "%q is not %s", shorten(s), kindName(v))
		}
		return nil
	}
	switch token := token.(type) {
	case json.Delim:
		switch {
		case token == '{' && v.Kind() == reflect.Struct:
			return d.object(v)
		case token == '{' && v.Kind() == reflect.Map:
			return d.entries(v)
		case token == '[' && v.Kind() == reflect.Slice:
			return d.list(v)
		}
	case string:
		if v.Kind() == reflect.String {
			v.SetString(token)
			return plainText(token)
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(token)
			return nil
		}
	case json.Number:
		return numeral(token.String(), v)
	}
	return wrongKind(token, v)
}

// object reads the fields of v, whose opening brace was read.
func (d *decoder) object(v reflect.Value) error {
	var seen uint64 // by index; no struct of ours has as many as 64 fields
	others := map[string]bool{}
	for {
		token, err := d.next()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			break // the closing brace
		}
		field, place := fieldOf(v.Type(), key), placeOf(key)
		if field >= 0 && seen&(1<<field) != 0 || others[key] {
			return bad(place, "is given twice")
		}
		if field < 0 {
			others[key] = true
			var skipped json.RawMessage
			if err := d.tokens.Decode(&skipped); err != nil {
				return at(place, d.malformed(err))
			}
			continue
		}
		seen |= 1 << field
		if err := d.value(v.Field(field)); err != nil {
			return at(place, err)
		}
	}
	for i := range v.NumField() {
		if name, needed := nameOf(v.Type(), i); needed && seen&(1<<i) == 0 {
			return bad(name, "is missing")
		}
	}
	return nil
}

// entries reads the entries of v, whose opening brace was read.
func (d *decoder) entries(v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	for {
		token, err := d.next()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return nil // the closing brace
		}
		key, entry := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if key.Kind() == reflect.String {
			key.SetString(name)
			err = plainText(name)
		} else {
			err = numeral(name, key)
		}
		if err == nil && v.MapIndex(key).IsValid() {
			err = bad("", "is given twice")
		}
		if err == nil {
			err = d.value(entry)
		}
		if err != nil {
			return at(placeOf(name), err)
		}
		v.SetMapIndex(key, entry)
	}
}

// placeOf is a key as a part of a place; a stranger's may hold anything.
func placeOf(key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return strconv.Quote(key)
	}
	return key
}

// list reads the elements of v, whose opening bracket was read.
func (d *decoder) list(v reflect.Value) error {
	list := reflect.MakeSlice(v.Type(), 0, 0)
	for d.tokens.More() {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(element); err != nil {
			return at(fmt.Sprintf("[%d]", list.Len()), err)
		}
		list = reflect.Append(list, element)
	}
	v.Set(list)
	_, err := d.next() // the closing bracket
	return err
}

func fieldOf(t reflect.Type, key string) int {
	for i := range t.NumField() {
		if name, _ := nameOf(t, i); name == key {
			return i
		}
	}
	return -1
}

// nameOf returns the name in JSON of a struct's field, and whether it must be
// there. Of a part of the topology what is missing is as unknown as what is
// empty, and topology.Validate says what must be known.
func nameOf(t reflect.Type, i int) (name string, needed bool) {
	field := t.Field(i)
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	whole := reflect.TypeFor[topology.Topology]()
	optional := options == "omitempty" || field.Tag.Get("report") == "optional" || t != whole && t.PkgPath() == whole.PkgPath()
	return name, !optional && field.Type.Kind() != reflect.Pointer
}

func numeral(text string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return bad("", "%s is beyond any number", shorten(text))
		}
		v.SetFloat(x)
		return nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return bad("", "%s is no whole number, or beyond any", shorten(text))
		}
		v.SetInt(n)
		return nil
	}
	return wrongKind(json.Number(text), v)
}

// plainText refuses what would drive a terminal instead of being shown on it.
func plainText(s string) error {
	if len(s) > maxTextBytes {
		return bad("", "is %d bytes long, more than %d", len(s), maxTextBytes)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
		return bad("", "%q holds a control character", shorten(s))
	}
	return nil
}

func wrongKind(token json.Token, v reflect.Value) error {
	got := "a list"
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			got = "an object"
		}
	case string:
		got = "a text"
	case bool:
		got = strconv.FormatBool(token)
	case json.Number:
		got = shorten(token.String())
	}
	return bad("", "is %s; it is %s", got, kindName(v))
}

func kindName(v reflect.Value) string {
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return "a time as RFC 3339 writes it"
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list, [] when empty"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "a number"
}

// next returns the next token; errors say what is wrong with the text there.
func (d *decoder) next() (json.Token, error) {
	token, err := d.tokens.Token()
	if err != nil {
		return nil, d.malformed(err)
	}
	return token, nil
}

func (d *decoder) malformed(err error) error {
	offset := d.tokens.InputOffset()
	rest := bytes.TrimLeft(d.doc[min(int(offset), len(d.doc)):], " \t\r\n:,")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || len(rest) == 0 {
		if len(bytes.TrimSpace(d.doc)) == 0 {
			return bad("", "is empty")
		}
		return bad("", "ends here, at byte %d: it is cut short", len(d.doc))
	}
	for _, word := range []string{"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf", "+"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return bad("", "is %s, which is no number of JSON; unknown is null", shorten(firstWord(rest)))
		}
	}
	return bad("", "is no JSON at byte %d: %s", offset, strings.TrimPrefix(err.Error(), "json: "))
}

func firstWord(text []byte) string {
	if i := bytes.IndexAny(text, " \t\r\n,]}"); i >= 0 {
		text = text[:i]
	}
	return string(text)
}

// at puts the place of an error in front of what is known of it.
func at(place string, err error) error {
	f, ok := errors.AsType[*topology.FieldError](err)
	if !ok {
		return err
	}
	place = shorten(place)
	switch {
	case f.Field == "":
	case strings.HasPrefix(f.Field, "["):
		place += f.Field
	default:
		place += "." + f.Field
	}
	return &topology.FieldError{Field: place, Problem: f.Problem}
}

// shorten keeps an error about an absurdly long value to one line.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
