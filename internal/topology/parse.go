package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// MaxDocumentBytes bounds what Parse reads: some twenty times the document of
// a host with 16 RNICs and 80 endpoints.
const MaxDocumentBytes = 8 << 20

// Parse reads a hostping.topology/v1 document. It takes nothing on trust: a
// field that it does not know, an id that nothing bears or a number that
// cannot be is an error that names the field, a *FieldError where there is one.
//
// A hop may leave out members and trust; they follow from its id, and unknown.
func Parse(doc []byte) (Topology, error) {
	if len(doc) > MaxDocumentBytes {
		return Topology{}, fmt.Errorf("the document is %d bytes long, more than %d", len(doc), MaxDocumentBytes)
	}
	fields, err := object(doc)
	if err != nil {
		return Topology{}, err
	}
	var t Topology
	// The schema first: fields of another one are not errors of this one.
	if err := decode("schema", fields["schema"], &t.Schema); err != nil {
		return Topology{}, err
	}
	if t.Schema != SchemaID {
		return Topology{}, bad("schema", "%q is not %q", t.Schema, SchemaID)
	}
	delete(fields, "schema")
	if err := first(
		list(fields, "rnics", &t.RNICs),
		list(fields, "gpus", &t.GPUs),
		list(fields, "memory_nodes", &t.MemoryNodes),
		list(fields, "hops", &t.Hops),
		list(fields, "paths", &t.Paths)); err != nil {
		return Topology{}, err
	}
	if len(fields) > 0 {
		return Topology{}, bad(slices.Min(slices.Collect(maps.Keys(fields))), "is no field of %s", SchemaID)
	}
	t.complete()
	if err := t.Validate(); err != nil {
		return Topology{}, err
	}
	return t, nil
}

// complete fills in what a document may leave out.
func (t *Topology) complete() {
	for i := range t.RNICs {
		if t.RNICs[i].Netdevs == nil {
			t.RNICs[i].Netdevs = []string{}
		}
		if t.RNICs[i].SamePort == nil {
			t.RNICs[i].SamePort = []string{}
		}
	}
	for i := range t.Hops {
		h := &t.Hops[i]
		if h.Trust == "" {
			h.Trust = TrustUnknown
		}
		if _, part, ok := strings.Cut(h.ID, ":"); ok && len(h.Members) == 0 {
			h.Members = []string{part}
			if h.Kind == HopInterSocket {
				h.Members = strings.Split(part, "-")
			}
		}
	}
}

func object(doc []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	var fields map[string]json.RawMessage
	if err := d.Decode(&fields); err != nil {
		return nil, notJSON(err)
	}
	if fields == nil {
		return nil, errors.New("the document is null, not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the JSON object at byte %d", d.InputOffset())
	}
	return fields, nil
}

func notJSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the document is empty, not a JSON object")
	case errors.As(err, &syntax):
		return fmt.Errorf("no JSON at byte %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		return fmt.Errorf("the document is a JSON %s, not an object", kind.Value)
	}
	return fmt.Errorf("no JSON: %w", err)
}

// list decodes one of the document's lists, element by element so that an error
// knows the index, and takes it out of fields.
func list[T any](fields map[string]json.RawMessage, name string, into *[]T) error {
	var elements []json.RawMessage
	if err := decode(name, fields[name], &elements); err != nil {
		return err
	}
	delete(fields, name)
	*into = make([]T, len(elements))
	for i, element := range elements {
		if err := decode(fmt.Sprintf("%s[%d]", name, i), element, &(*into)[i]); err != nil {
			return err
		}
	}
	return nil
}

// decode reads one value strictly; field names it in the error.
func decode(field string, raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return bad(field, "is missing")
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return bad(field, "is null")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		if kind.Field != "" {
			field += "." + kind.Field
		}
		return bad(field, "%s is no %s", kind.Value, jsonName(kind.Type.Kind().String()))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return bad(field+"."+strings.Trim(name, `"`), "is no field of %s", SchemaID)
	}
	return bad(field, "%s", err)
}

// jsonName says a Go kind in the document's words.
func jsonName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "whole number"
	case strings.HasPrefix(kind, "float"):
		return "number"
	case kind == "slice":
		return "list"
	case kind == "struct":
		return "object"
	}
	return kind
}
