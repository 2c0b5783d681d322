package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// TopologyChange is one part that differs between the two hosts.
type TopologyChange struct {
	Component  string `json:"component"` // "rnic:mlx5_0", "gpu:gpu3", "memory:mem1" or a hop
	Change     string `json:"change"`    // "added", "removed", "renamed", "moved" or the name of the field that changed
	Regression bool   `json:"regression"`
	Old        string `json:"old"` // "" where there was none
	New        string `json:"new"`
}

// matching says what the parts of the old host are called on the new one. A
// card is itself where its PCI address, and of an RNIC the port, is the same;
// one whose address is gone, but whose name is there at another address that
// is new, has moved.
type matching struct {
	before, after topology.Topology
	rnics, gpus   map[string]string // by old name; absent where it is gone
}

// part is an RNIC or a GPU as matching sees it.
type part struct{ id, place string }

func match(before, after topology.Topology) matching {
	rnics := func(t topology.Topology) (parts []part) {
		for _, x := range t.RNICs {
			place := ""
			if x.PCI != "" {
				place = fmt.Sprintf("%s port %d", x.PCI, x.Port)
			}
			parts = append(parts, part{x.ID, place})
		}
		return parts
	}
	gpus := func(t topology.Topology) (parts []part) {
		for _, x := range t.GPUs {
			parts = append(parts, part{x.ID, x.PCI})
		}
		return parts
	}
	return matching{
		before: before, after: after,
		rnics: matchParts(rnics(before), rnics(after)),
		gpus:  matchParts(gpus(before), gpus(after)),
	}
}

// matchParts maps old names to new ones: by place first, then by name.
func matchParts(before, after []part) map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	pair := func(same func(a, b part) bool) {
		for _, a := range before {
			if _, done := names[a.id]; done {
				continue
			}
			i := slices.IndexFunc(after, func(b part) bool { return !taken[b.id] && same(a, b) })
			if i >= 0 {
				names[a.id] = after[i].id
				taken[after[i].id] = true
			}
		}
	}
	// Functions of software devices may share an address: their names tell them apart.
	pair(func(a, b part) bool { return a.place != "" && a.place == b.place && a.id == b.id })
	pair(func(a, b part) bool { return a.place != "" && a.place == b.place })
	pair(func(a, b part) bool { return a.id == b.id })
	return names
}

// gone is added to the name of a part that the new host does not have, where
// another part bears that name now.
const gone = " (removed)"

func newName(names map[string]string, old string) string {
	if name, ok := names[old]; ok {
		return name
	}
	for _, name := range names {
		if name == old {
			return old + gone
		}
	}
	return old
}

func (m matching) rnic(old string) string { return newName(m.rnics, old) }

func (m matching) path(old topology.PathKey) topology.PathKey {
	endpoint := old.Endpoint
	if strings.HasPrefix(endpoint, "gpu") {
		endpoint = newName(m.gpus, endpoint)
	}
	return topology.PathKey{RNIC: m.rnic(old.RNIC), Endpoint: endpoint}
}

// hop returns what an old hop is called on the new host.
func (m matching) hop(old string) string {
	kind, name, ok := strings.Cut(old, ":")
	if !ok {
		return old
	}
	switch topology.HopKind(kind) {
	case topology.HopRNICPCIe:
		name = m.rnic(name)
	case topology.HopGPUPCIe:
		name = newName(m.gpus, name)
	}
	return kind + ":" + name
}

// component does the same for what a diagnosis blames: a hop, an RNIC or a path.
func (m matching) component(old string) string {
	if rnic, endpoint, ok := strings.Cut(old, "→"); ok {
		return m.path(topology.PathKey{RNIC: rnic, Endpoint: endpoint}).String()
	}
	if name, ok := m.rnics[old]; ok {
		return name
	}
	return m.hop(old)
}

// topologyChanges lists the parts that differ: RNICs, GPUs, hops, each in the
// new host's order.
func (m matching) topologyChanges() []TopologyChange {
	return slices.Concat(
		kindOfPart[topology.RNIC]{
			prefix:  "rnic:",
			oldName: func(x topology.RNIC) string { return m.rnic(x.ID) },
			newName: func(x topology.RNIC) string { return x.ID },
			about:   func(x topology.RNIC) string { return x.PCI },
			needed:  func(topology.RNIC) bool { return true },
			fields:  rnicFields,
		}.changes(m.before.RNICs, m.after.RNICs),
		kindOfPart[topology.GPU]{
			prefix:  "gpu:",
			oldName: func(x topology.GPU) string { return newName(m.gpus, x.ID) },
			newName: func(x topology.GPU) string { return x.ID },
			about:   func(x topology.GPU) string { return x.PCI },
			needed:  func(topology.GPU) bool { return true },
			fields:  gpuFields,
		}.changes(m.before.GPUs, m.after.GPUs),
		kindOfPart[topology.Hop]{
			oldName: func(x topology.Hop) string { return m.hop(x.ID) },
			newName: func(x topology.Hop) string { return x.ID },
			about:   linkText,
			// The link of a card that is gone is no loss of its own; memory is.
			needed: func(x topology.Hop) bool { return x.Kind == topology.HopMemory },
			fields: hopFields,
		}.changes(m.before.Hops, m.after.Hops))
}

// kindOfPart is how parts of one kind are compared.
type kindOfPart[T any] struct {
	prefix  string         // of the component
	oldName func(T) string // what the new host calls a part of the old one
	newName func(T) string
	about   func(T) string // what is said of a part that came or went
	needed  func(T) bool   // its removal is a regression
	fields  func(was, is T) []TopologyChange
}

func (k kindOfPart[T]) changes(before, after []T) (changes []TopologyChange) {
	was := make(map[string]T, len(before))
	for _, x := range before {
		was[k.oldName(x)] = x
	}
	for _, x := range after {
		name := k.newName(x)
		old, ok := was[name]
		delete(was, name)
		if !ok {
			changes = append(changes, TopologyChange{Component: k.prefix + name, Change: "added", New: k.about(x)})
			continue
		}
		for _, change := range k.fields(old, x) {
			if change.Old != change.New {
				change.Component = k.prefix + name
				changes = append(changes, change)
			}
		}
	}
	for _, x := range before {
		if name := k.oldName(x); has(was, name) {
			changes = append(changes, TopologyChange{Component: k.prefix + name, Change: "removed", Old: k.about(x), Regression: k.needed(x)})
		}
	}
	return changes
}

func has[T any](m map[string]T, key string) bool {
	_, ok := m[key]
	return ok
}

func rnicFields(was, is topology.RNIC) []TopologyChange {
	return []TopologyChange{
		{Change: "renamed", Old: was.ID, New: is.ID},
		{Change: "moved", Old: was.PCI, New: is.PCI},
		{Change: "rate_gbps", Old: number(was.RateGbps), New: number(is.RateGbps), Regression: lower(was.RateGbps, is.RateGbps)},
		{Change: "lag_ports", Old: number(was.LAGPorts), New: number(is.LAGPorts), Regression: lower(was.LAGPorts, is.LAGPorts)},
		{Change: "usable", Old: usableText(was.Usable, was.Reason), New: usableText(is.Usable, is.Reason), Regression: was.Usable && !is.Usable},
		{Change: "mtu", Old: number(was.MTU), New: number(is.MTU)},
		{Change: "max_read_request", Old: number(was.MaxReadRequest), New: number(is.MaxReadRequest)},
		{Change: "fw_version", Old: was.FWVersion, New: is.FWVersion},
		{Change: "driver", Old: was.Driver, New: is.Driver},
	}
}

func gpuFields(was, is topology.GPU) []TopologyChange {
	return []TopologyChange{
		{Change: "renamed", Old: was.ID, New: is.ID},
		{Change: "moved", Old: was.PCI, New: is.PCI},
		{Change: "model", Old: strings.TrimSpace(was.Vendor + " " + was.Model), New: strings.TrimSpace(is.Vendor + " " + is.Model)},
		{Change: "usable", Old: usableText(was.Usable, was.Reason), New: usableText(is.Usable, is.Reason), Regression: was.Usable && !is.Usable},
	}
}

func hopFields(was, is topology.Hop) []TopologyChange {
	return []TopologyChange{
		{Change: "expected_speed_gts", Old: number(was.ExpectedSpeedGTs), New: number(is.ExpectedSpeedGTs), Regression: lower(was.ExpectedSpeedGTs, is.ExpectedSpeedGTs)},
		{Change: "expected_width", Old: number(was.ExpectedWidth), New: number(is.ExpectedWidth), Regression: lower(was.ExpectedWidth, is.ExpectedWidth)},
	}
}

// number renders a value that may be unknown.
func number[T int | float64](v *T) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("%v", *v)
}

func lower[T int | float64](was, is *T) bool { return was != nil && is != nil && *is < *was }

func usableText(usable bool, reason string) string {
	if usable {
		return "yes"
	}
	return "no: " + reason
}
