package topology

import (
	"strings"

	"github.com/yuuki/hostping/internal/document"
)

// MaxDocumentBytes bounds what Parse reads: some twenty times the document of
// a host with 16 RNICs and 80 endpoints.
const MaxDocumentBytes = 8 << 20

// Parse reads a hostping.topology/v1 document. It takes nothing on trust: a
// field that it does not know, an id that nothing bears or a number that
// cannot be is a *document.FieldError about the first such field.
//
// Parts may leave out what is not known of them, and a hop its members and
// trust; these follow from its id, and unknown.
func Parse(doc []byte) (Topology, error) {
	t, err := document.Read[Topology](document.Format{
		Schema: SchemaID, MaxBytes: MaxDocumentBytes, Origin: "hostpingctl topology --format json",
	}, doc)
	if err != nil {
		return Topology{}, err
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
