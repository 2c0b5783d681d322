// Package document reads JSON documents that somebody else wrote. It takes
// nothing on trust: bounded, one object, no name given twice, no field that
// the format does not have; and an error always names the field.
//
// It knows the form of documents, not what their numbers mean.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxDepth is beyond what our formats nest, and keeps the stack of a hostile
// document small.
const maxDepth = 16

// maxShown is how much of a name or a value an error quotes, in bytes.
const maxShown = 200

// FieldError is one value of a document that cannot be right.
type FieldError struct {
	Field   string // as in JSON: "entries[2].bandwidth_gbps"; "" is the document itself
	Problem string // what it is, and what would be right
}

// Error is the field and its problem in one line.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}

// Bad makes a FieldError.
func Bad(field, format string, args ...any) error {
	return &FieldError{Field: shorten(field), Problem: shorten(fmt.Sprintf(format, args...))}
}

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}

// Check looks through a document once, before anything is decoded: it is one
// JSON object of at most maxBytes, whole, and no object in it gives a name
// twice (in whatever case: decoders do not tell "A" from "a").
func Check(doc []byte, maxBytes int) error {
	if len(doc) > maxBytes {
		return Bad("", "the document is %d bytes long, more than %d", len(doc), maxBytes)
	}
	w := walker{decoder: json.NewDecoder(bytes.NewReader(doc))}
	w.decoder.UseNumber()
	token, err := w.decoder.Token()
	switch {
	case errors.Is(err, io.EOF):
		return Bad("", "the document is empty, not a JSON object")
	case err != nil:
		return w.broken("", err)
	case token != json.Delim('{'):
		return Bad("", "the document is no JSON object")
	}
	if err := w.object("", 1); err != nil {
		return err
	}
	if _, err := w.decoder.Token(); !errors.Is(err, io.EOF) {
		return Bad("", "something follows the JSON object at byte %d", w.decoder.InputOffset())
	}
	return nil
}

type walker struct{ decoder *json.Decoder }

// object walks the rest of an object whose brace has been read.
func (w walker) object(field string, depth int) error {
	names := map[string]bool{}
	for w.decoder.More() {
		token, err := w.decoder.Token()
		if err != nil {
			return w.broken(field, err)
		}
		name, _ := token.(string) // the decoder lets nothing else stand there
		inner := join(field, name)
		if folded := strings.ToLower(name); names[folded] {
			return Bad(inner, "is given twice")
		} else {
			names[folded] = true
		}
		if err := w.value(inner, depth); err != nil {
			return err
		}
	}
	return w.end(field)
}

// array walks the rest of a list whose bracket has been read.
func (w walker) array(field string, depth int) error {
	for i := 0; w.decoder.More(); i++ {
		if err := w.value(field+"["+strconv.Itoa(i)+"]", depth); err != nil {
			return err
		}
	}
	return w.end(field)
}

func (w walker) value(field string, depth int) error {
	token, err := w.decoder.Token()
	if err != nil {
		return w.broken(field, err)
	}
	if depth >= maxDepth {
		return Bad(field, "lies deeper than %d levels", maxDepth)
	}
	switch token {
	case json.Delim('{'):
		return w.object(field, depth+1)
	case json.Delim('['):
		return w.array(field, depth+1)
	}
	return nil
}

// end reads the closing brace or bracket.
func (w walker) end(field string) error {
	if _, err := w.decoder.Token(); err != nil {
		return w.broken(field, err)
	}
	return nil
}

func (w walker) broken(field string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Bad(field, "the document ends in the middle, at byte %d", w.decoder.InputOffset())
	}
	return Bad(field, "no JSON near byte %d: %s", w.decoder.InputOffset(), strings.TrimPrefix(err.Error(), "json: "))
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// Object splits an object into its fields, without looking into them.
func Object(field string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	return fields, Decode(field, raw, &fields)
}

// List decodes a list element by element, so that an error knows the index.
func List[T any](field string, raw json.RawMessage, each func(field string, raw json.RawMessage) (T, error)) ([]T, error) {
	var elements []json.RawMessage
	if err := Decode(field, raw, &elements); err != nil {
		return nil, err
	}
	values := make([]T, len(elements))
	for i, element := range elements {
		var err error
		if values[i], err = each(fmt.Sprintf("%s[%d]", field, i), element); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Value decodes one value into a T.
func Value[T any](field string, raw json.RawMessage) (value T, err error) {
	return value, Decode(field, raw, &value)
}

// Decode reads one value that must be there and must not be null. Fields that
// into does not have are refused.
func Decode(field string, raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return Bad(field, "is missing")
	}
	if string(bytes.TrimSpace(raw)) == "null" {
		return Bad(field, "is null")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field != "" {
			field = join(field, kind.Field)
		}
		return Bad(field, "%s is no %s", kind.Value, wanted(kind.Type.Kind().String()))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return Bad(join(field, strings.Trim(name, `"`)), "is no field of this format")
	}
	return Bad(field, "%s", strings.TrimPrefix(err.Error(), "json: "))
}

// wanted says a Go kind in a document's words.
func wanted(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "whole number"
	case strings.HasPrefix(kind, "float"):
		return "number that a double can hold"
	case kind == "slice":
		return "list"
	case kind == "struct", kind == "map":
		return "object"
	}
	return kind
}
