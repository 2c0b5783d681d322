package baseline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// Hardware is a host as far as it decides what its paths can do.
type Hardware struct {
	Backend  string // "live" or "sim": a simulated figure says nothing about a real host
	Platform string // of the CPU, as in Key; "" is unknown
	Topology topology.Topology
}

// EndpointKind is what a path leads to.
type EndpointKind string

// Kinds of endpoint.
const (
	EndpointMemory     EndpointKind = "memory"      // of a NUMA node with CPUs, or of unknown kind
	EndpointMemoryOnly EndpointKind = "memory_only" // of one without (HBM, CXL): as fast as that is
	EndpointGPU        EndpointKind = "gpu"
)

// Key is what decides a path's figures, and nothing that tells one host of a
// kind from another: no names, addresses or numbers of devices. It does not
// hold what a fault or a reboot changes either (the speed a link trained to,
// the read request size), or a sick host would seem to be of another kind.
//
// A nil pointer or an empty string is a fact that could not be read, and
// equals only itself.
type Key struct {
	Class topology.Class `json:"class"`
	// Platform is the CPU's family: the way through a root complex, and to
	// memory, is as fast as that is built ("GenuineIntel-6-143").
	Platform string        `json:"platform"`
	Role     topology.Role `json:"role"`
	Driver   string        `json:"driver"`
	// RNICModel, RateGbps and the link are unknown for software RNICs: their
	// rate is made up, and their payload crosses no PCIe.
	RNICModel string   `json:"rnic_model"`
	RateGbps  *float64 `json:"rate_gbps"`
	LAGPorts  *int     `json:"lag_ports"` // nil: no LAG
	MTUBytes  *int     `json:"mtu_bytes"`
	// RelaxedOrdering of the probe's regions; always nil, until probes set it.
	RelaxedOrdering *bool `json:"relaxed_ordering"`
	// PCIeSpeedGTs and PCIeWidth are what the narrowest PCIe link of the path is built for.
	PCIeSpeedGTs *float64     `json:"pcie_speed_gts"`
	PCIeWidth    *int         `json:"pcie_width"`
	Endpoint     EndpointKind `json:"endpoint"`
	GPUVendor    string       `json:"gpu_vendor"` // "" for memory
	GPUModel     string       `json:"gpu_model"`
}

// Keys gives the key of every path of a host.
func Keys(h Hardware) map[topology.PathKey]Key {
	rnics := make(map[string]topology.RNIC, len(h.Topology.RNICs))
	for _, r := range h.Topology.RNICs {
		rnics[r.ID] = r
	}
	gpus := make(map[string]topology.GPU, len(h.Topology.GPUs))
	for _, g := range h.Topology.GPUs {
		gpus[g.ID] = g
	}
	memory := make(map[string]topology.MemoryKind, len(h.Topology.MemoryNodes))
	for _, m := range h.Topology.MemoryNodes {
		memory[m.ID] = m.Kind
	}
	hops := make(map[string]topology.Hop, len(h.Topology.Hops))
	for _, x := range h.Topology.Hops {
		hops[x.ID] = x
	}
	keys := make(map[topology.PathKey]Key, len(h.Topology.Paths))
	for _, p := range h.Topology.Paths {
		r := rnics[p.RNIC]
		k := Key{
			Class: p.Class, Platform: h.Platform, Role: r.Role, Driver: r.Driver,
			LAGPorts: r.LAGPorts, MTUBytes: r.MTU, Endpoint: EndpointMemory,
		}
		if r.Role != topology.RoleSoftware {
			k.RNICModel, k.RateGbps = r.Model, r.RateGbps
			k.PCIeSpeedGTs, k.PCIeWidth = narrowestLink(p, hops)
		}
		if memory[p.Endpoint] == topology.MemoryOnly {
			k.Endpoint = EndpointMemoryOnly
		}
		if g, ok := gpus[p.Endpoint]; ok {
			k.Endpoint, k.GPUVendor, k.GPUModel = EndpointGPU, g.Vendor, g.Model
		}
		keys[p.Key()] = k
	}
	return keys
}

// narrowestLink is the PCIe link of a path that is built for the least, of
// equals the first from the RNIC. Links of which that is unknown do not count.
func narrowestLink(p topology.Path, hops map[string]topology.Hop) (speedGTs *float64, width *int) {
	var least float64
	for _, id := range p.Hops {
		h := hops[id]
		if h.Kind == topology.HopMemory || h.Kind == topology.HopInterSocket || h.ExpectedSpeedGTs == nil || h.ExpectedWidth == nil {
			continue
		}
		capacity := topology.PCIeCapacityGbps(*h.ExpectedSpeedGTs, *h.ExpectedWidth)
		if width == nil || capacity < least {
			least, speedGTs, width = capacity, h.ExpectedSpeedGTs, h.ExpectedWidth
		}
	}
	return speedGTs, width
}

// fact is one field of a key as text; "" is unknown.
type fact struct{ name, value string }

func (k Key) facts() []fact {
	return []fact{
		{"class", string(k.Class)},
		{"endpoint", string(k.Endpoint)},
		{"gpu_vendor", k.GPUVendor},
		{"gpu_model", k.GPUModel},
		{"role", string(k.Role)},
		{"driver", k.Driver},
		{"rnic_model", k.RNICModel},
		{"rate_gbps", number(k.RateGbps)},
		{"lag_ports", whole(k.LAGPorts)},
		{"mtu_bytes", whole(k.MTUBytes)},
		{"pcie_speed_gts", number(k.PCIeSpeedGTs)},
		{"pcie_width", whole(k.PCIeWidth)},
		{"relaxed_ordering", boolean(k.RelaxedOrdering)},
		{"platform", k.Platform},
	}
}

// String is the key in one line, without what is unknown. Keys are equal when
// their strings are.
func (k Key) String() string {
	var parts []string
	for _, f := range k.facts() {
		if f.value != "" {
			parts = append(parts, f.name+"="+quoteOdd(f.value))
		}
	}
	return strings.Join(parts, " ")
}

// compareKeys sorts by class, as distance grows, then by the other facts.
func compareKeys(a, b Key) int {
	if c := slices.Index(classes(), a.Class) - slices.Index(classes(), b.Class); c != 0 {
		return c
	}
	if c := topology.CompareNatural(a.String(), b.String()); c != 0 {
		return c
	}
	return strings.Compare(a.String(), b.String())
}

// classes are all distance classes, memory first.
func classes() []topology.Class {
	return []topology.Class{
		topology.ClassMemLocal, topology.ClassMemSocket, topology.ClassMemRemote,
		topology.ClassPIX, topology.ClassPXB, topology.ClassPHB, topology.ClassNode, topology.ClassSys,
		topology.ClassC2C, topology.ClassVirt,
	}
}

// difference is one fact in which a key of this host differs from one of a file.
type difference struct{ name, here, there string }

// String is the difference in the words of a sentence.
func (d difference) String() string {
	say := func(value string) string {
		switch {
		case value != "":
			return quoteOdd(value)
		case d.name == "lag_ports":
			return "none"
		}
		return "unknown"
	}
	return fmt.Sprintf("%s is %s here and %s in the file", d.name, say(d.here), say(d.there))
}

// differences lists in what this host's key differs from another.
func (k Key) differences(there Key) []difference {
	var list []difference
	others := there.facts()
	for i, f := range k.facts() {
		if f.value != others[i].value {
			list = append(list, difference{f.name, f.value, others[i].value})
		}
	}
	return list
}

func number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func whole(v *int) string {
	if v == nil {
		return ""
	}
	return strconv.Itoa(*v)
}

func boolean(v *bool) string {
	if v == nil {
		return ""
	}
	return strconv.FormatBool(*v)
}

// quoteOdd quotes a value that would not be seen as one word.
func quoteOdd(value string) string {
	if strings.ContainsAny(value, " \"'=,;") {
		return strconv.Quote(value)
	}
	return value
}
