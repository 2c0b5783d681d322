// Package document reads the JSON documents of hostping (topologies, reports,
// baseline files), which somebody else may have written. It takes nothing on
// trust: bounded, whole, one object, every name in its right case and once,
// every value of its kind; and an error always names the field.
//
// It knows the form of documents. What their values mean, and which of them
// contradict each other, the owner of a format checks.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Format is a kind of document and how it is read.
//
// A field of the struct behind it must be in every document unless it is a
// pointer, has omitempty in its json tag, or the tag document:"optional". With
// document:"sparse" the same goes for all fields of the objects in it.
type Format struct {
	Schema   string // name and version, as in the field "schema" of every document
	MaxBytes int    // the longest document that is read
	Origin   string // the command that writes such documents, for people who gave another
	// IgnoreUnknown skips fields of unknown names, for a newer version may have
	// written them. They are refused otherwise.
	IgnoreUnknown bool
}

// Read reads a document of the format. The error is a *FieldError about the
// first value that cannot be right.
func Read[T any](f Format, doc []byte) (value T, err error) {
	return value, f.read(doc, reflect.ValueOf(&value).Elem())
}

func (f Format) read(doc []byte, into reflect.Value) error {
	if len(doc) > f.MaxBytes {
		return Bad("", "the document is longer than %s: it is no %s", size(f.MaxBytes), f.Schema)
	}
	if at := invalidUTF8(doc); at >= 0 {
		return Bad("", "byte %d is no UTF-8 text: this is no JSON document", at)
	}
	if len(bytes.TrimSpace(doc)) == 0 {
		return Bad("", "the document is empty, not a JSON object")
	}
	// The schema first: fields of another one are not errors of this one.
	schema, readable := schemaOf(doc)
	switch {
	case readable && schema == nil:
		return Bad("schema", "is missing")
	case schema != nil && *schema != f.Schema:
		return Bad("schema", "%q is not %q%s", *schema, f.Schema, f.advice(*schema))
	}
	d := decoder{scanner: scanner{doc: doc}, format: f, shapes: map[reflect.Type]*shape{}}
	if err := d.value(into, d.shapeOf(into.Type()), false); err != nil {
		return whole(err)
	}
	if d.next(); d.at < len(doc) {
		return Bad("", "something follows the document at byte %d", d.at)
	}
	return nil
}

// advice says what may be meant by another schema.
func (f Format) advice(schema string) string {
	name, _, _ := strings.Cut(f.Schema, "/")
	if strings.HasPrefix(schema, name+"/") {
		return ": this version of hostping cannot read it; use the version that wrote it"
	}
	return fmt.Sprintf("; %q writes such a document", f.Origin)
}

// whole gives an error about no field its subject, the document.
func whole(err error) error {
	if f, ok := err.(*FieldError); ok && f.Field == "" {
		return Bad("", "the document %s", f.Problem)
	}
	return err
}

// schemaOf finds the schema of a document without reading what follows it.
// nil is a document without one, or one that is not readable so far.
func schemaOf(doc []byte) (schema *string, readable bool) {
	s := scanner{doc: doc}
	if s.next() != '{' {
		return nil, false
	}
	found := errors.New("found")
	err := s.object(func(name []byte) error {
		if string(name) != "schema" {
			return s.skip()
		}
		if s.next() != '"' {
			return errors.New("no text")
		}
		text, err := s.text()
		if err != nil {
			return err
		}
		schema = new(string(text))
		return found
	})
	return schema, err == nil || err == found
}

func size(bytes int) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// invalidUTF8 is where the text stops being UTF-8; -1 where it does not.
func invalidUTF8(doc []byte) int {
	if utf8.Valid(doc) {
		return -1
	}
	for at := 0; ; {
		r, size := utf8.DecodeRune(doc[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}
