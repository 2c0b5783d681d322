package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/yuuki/hostping/internal/topology"
)

// MaxDocumentBytes bounds what Parse reads: some five times the report of a
// host with 16 RNICs and 80 endpoints whose every path was read five times.
const MaxDocumentBytes = 32 << 20

// Parse reads a hostping.report/v1 document. It takes nothing on trust: what
// is missing, contradicts itself or physics, or names a part that the topology
// does not have is a *topology.FieldError about the first such field.
//
// A pointer may be missing: that is unknown, as null is. A field of another
// name is ignored, for a newer version of hostping may have written it; a
// misspelt one is still noticed, because the right one is then missing.
func Parse(doc []byte) (Report, error) {
	if len(doc) > MaxDocumentBytes {
		return Report{}, tooLarge()
	}
	if at := invalidUTF8(doc); at >= 0 {
		return Report{}, fmt.Errorf("byte %d is no UTF-8 text: this is no JSON document", at)
	}
	// The schema first: fields of another one are not errors of this one.
	if schema, ok := schemaOf(doc); ok && schema != SchemaID {
		return Report{}, bad("schema", "%q is not %q, the reports that this version reads", shorten(schema), SchemaID)
	}
	var r Report
	if err := decodeStrictly(doc, &r); err != nil {
		return Report{}, err
	}
	if r.Schema != SchemaID {
		return Report{}, bad("schema", "%q is not %q", r.Schema, SchemaID)
	}
	r.complete()
	if err := check(&r); err != nil {
		return Report{}, err
	}
	return r, nil
}

func tooLarge() error {
	return fmt.Errorf("the document is longer than %d MiB: it is no %s", MaxDocumentBytes>>20, SchemaID)
}

// schemaOf finds the schema of a document without reading the rest of it.
func schemaOf(doc []byte) (schema string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return "", false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", false
		}
		if key == "schema" {
			return schema, d.Decode(&schema) == nil
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return "", false
		}
	}
	return "", false
}

// complete gives a path that was read once, and whose only read the document
// leaves out, that read.
func (r *Report) complete() {
	for i := range r.Measurements {
		if m := &r.Measurements[i]; len(m.Reads) == 0 {
			m.Reads = []Read{{BandwidthGbps: m.BandwidthGbps, PaperBandwidthGbps: m.PaperBandwidthGbps, LatencyUs: m.LatencyUs}}
		}
	}
}

func bad(field, format string, args ...any) error {
	return &topology.FieldError{Field: shorten(field), Problem: fmt.Sprintf(format, args...)}
}
