package report

import "github.com/yuuki/hostping/internal/document"

// MaxDocumentBytes bounds what Parse reads: some five times the report of a
// host with 16 RNICs and 80 endpoints whose every path was read five times.
const MaxDocumentBytes = 32 << 20

// Parse reads a hostping.report/v1 document. It takes nothing on trust: what
// is missing, contradicts itself or physics, or names a part that the topology
// does not have is a *document.FieldError about the first such field.
//
// A pointer may be missing: that is unknown, as null is. A field of another
// name is ignored, for a newer version of hostping may have written it; a
// misspelt one is still noticed, because the right one is then missing.
func Parse(doc []byte) (Report, error) {
	r, err := document.Read[Report](document.Format{
		Schema: SchemaID, MaxBytes: MaxDocumentBytes, Origin: "hostpingctl diagnose --format json", IgnoreUnknown: true,
	}, doc)
	if err != nil {
		return Report{}, err
	}
	r.complete()
	if err := check(&r); err != nil {
		return Report{}, err
	}
	return r, nil
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
