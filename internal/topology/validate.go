package topology

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/document"
)

// Bounds above which a number is a mistake, generous by a factor of ten or
// more over what hardware has today.
const (
	maxRateGbps     = 1e5
	maxCapacityGbps = 1e6
	maxSpeedGTs     = 1024
	maxLanes        = 32
	maxNUMANode     = 1 << 16
	maxPackage      = math.MaxInt32 // some firmware hands out table offsets
)

// Validate checks that a topology contradicts neither itself nor physics. The
// error is a *document.FieldError about the first value that does.
func (t Topology) Validate() error {
	v := validator{
		rnics: map[string]*RNIC{}, gpus: map[string]bool{}, memory: map[string]bool{},
		hops: map[string]*Hop{}, paths: map[PathKey]bool{},
	}
	if t.Schema != SchemaID {
		return document.Bad("schema", "%q is not %q", t.Schema, SchemaID)
	}
	return document.First(document.Each("rnics", t.RNICs, v.rnic),
		document.Each("gpus", t.GPUs, v.gpu),
		document.Each("memory_nodes", t.MemoryNodes, v.memoryNode),
		document.Each("hops", t.Hops, v.hop),
		document.Each("paths", t.Paths, v.path))
}

// validator remembers what the lists before have named.
type validator struct {
	rnics        map[string]*RNIC
	gpus, memory map[string]bool
	hops         map[string]*Hop
	paths        map[PathKey]bool
}

func (v *validator) rnic(r *RNIC) error {
	if v.rnics[r.ID] != nil {
		return document.Bad("id", "%q is given twice", r.ID)
	}
	v.rnics[r.ID] = r
	return document.First(
		document.Identifier("id", r.ID),
		document.Text("name", r.Name), document.Text("pci", r.PCI), document.Text("link_layer", r.LinkLayer), document.Text("state", r.State), document.Text("phys_state", r.PhysState), document.Text("model", r.Model),
		document.Text("driver", r.Driver), document.Text("fw_version", r.FWVersion),
		document.Within("port", r.Port, 1, 255),
		document.Positive("rate_gbps", r.RateGbps, maxRateGbps),
		document.Maybe("lag_ports", r.LAGPorts, 1, 64),
		document.Maybe("numa_node", r.NUMANode, 0, maxNUMANode),
		document.Maybe("socket", r.Socket, 0, maxPackage),
		document.Each("netdevs", r.Netdevs, func(name *string) error { return document.Identifier("", *name) }),
		document.OneOf("role", r.Role, RoleRNIC, RoleNVSwitchMgmt, RoleSoftware),
		document.OneOf("function", r.Function, FunctionPF, FunctionVF, FunctionSF),
		reason(r.Usable, r.Reason),
		document.Maybe("mtu", r.MTU, 1, 1<<16),
		document.Maybe("max_read_request", r.MaxReadRequest, 1, 1<<16),
		document.Maybe("max_payload", r.MaxPayload, 1, 1<<16),
		document.Each("same_port", r.SamePort, func(id *string) error { return document.Identifier("", *id) }))
}

func (v *validator) gpu(g *GPU) error {
	if v.gpus[g.ID] {
		return document.Bad("id", "%q is given twice", g.ID)
	}
	v.gpus[g.ID] = true
	return document.First(
		numbered("id", g.ID, "gpu"),
		document.Text("pci", g.PCI), document.Text("vendor", g.Vendor), document.Text("model", g.Model),
		document.Maybe("numa_node", g.NUMANode, 0, maxNUMANode),
		document.Maybe("socket", g.Socket, 0, maxPackage),
		reason(g.Usable, g.Reason))
}

func (v *validator) memoryNode(m *MemoryNode) error {
	if v.memory[m.ID] {
		return document.Bad("id", "%q is given twice", m.ID)
	}
	v.memory[m.ID] = true
	if err := document.First(
		numbered("id", m.ID, "mem"),
		document.Within("numa_node", m.NUMANode, 0, maxNUMANode),
		document.Maybe("socket", m.Socket, 0, maxPackage)); err != nil {
		return err
	}
	if want := fmt.Sprintf("mem%d", m.NUMANode); m.ID != want {
		return document.Bad("id", "%q is not %q, the name of NUMA node %d", m.ID, want, m.NUMANode)
	}
	if m.Kind != "" {
		if err := document.OneOf("kind", m.Kind, MemoryWithCPUs, MemoryOnly); err != nil {
			return err
		}
	}
	if m.Bytes != nil && *m.Bytes < 0 {
		return document.Bad("bytes", "%d is negative", *m.Bytes)
	}
	for node, distance := range m.Distances {
		if node < 0 || node > maxNUMANode || distance < 1 || distance > 255 {
			return document.Bad("distances", "node %d at distance %d cannot be", node, distance)
		}
	}
	return nil
}

func (v *validator) hop(h *Hop) error {
	if v.hops[h.ID] != nil {
		return document.Bad("id", "%q is given twice", h.ID)
	}
	v.hops[h.ID] = h
	if err := document.First(
		document.Identifier("id", h.ID),
		document.OneOf("kind", h.Kind, HopRNICPCIe, HopGPUPCIe, HopSwitch, HopRootPort, HopMemory, HopInterSocket),
		document.OneOf("trust", h.Trust, TrustMeasured, TrustStatic, TrustNonsense, TrustUnknown),
		document.Positive("speed_gts", h.SpeedGTs, maxSpeedGTs),
		document.Maybe("width", h.Width, 1, maxLanes),
		document.Positive("expected_speed_gts", h.ExpectedSpeedGTs, maxSpeedGTs),
		document.Maybe("expected_width", h.ExpectedWidth, 1, maxLanes),
		document.Positive("capacity_gbps", h.CapacityGbps, maxCapacityGbps)); err != nil {
		return err
	}
	part, ok := strings.CutPrefix(h.ID, string(h.Kind)+":")
	if !ok || part == "" {
		return document.Bad("id", "%q does not begin with its kind, %q", h.ID, string(h.Kind)+":")
	}
	return v.members(h, part)
}

// members checks that a hop serves parts that exist, its namesake among them
// (but for a root port, which serves a switch).
func (v *validator) members(h *Hop, part string) error {
	known := func(string) bool { return true }
	switch h.Kind {
	case HopRNICPCIe:
		known = func(id string) bool { return v.rnics[id] != nil }
	case HopGPUPCIe:
		known = func(id string) bool { return v.gpus[id] }
	case HopMemory:
		known = func(id string) bool { return v.memory[id] }
	case HopInterSocket:
		a, b, err := socketPair(part)
		if err != nil {
			return document.Bad("id", "%q does not name two sockets, lower first, as in inter_socket:0-1", h.ID)
		}
		if !slices.Equal(h.Members, []string{a, b}) {
			return document.Bad("members", "%q are not the sockets of %s", h.Members, h.ID)
		}
		return nil
	}
	for i, id := range h.Members {
		field := fmt.Sprintf("members[%d]", i)
		if err := document.Identifier(field, id); err != nil {
			return err
		}
		if !known(id) {
			return document.Bad(field, "%q is not listed", id)
		}
		if slices.Contains(h.Members[:i], id) {
			return document.Bad(field, "%q is given twice", id)
		}
	}
	if h.Kind != HopRootPort && !slices.Contains(h.Members, part) {
		return document.Bad("members", "do not hold %q, after which %s is named", part, h.ID)
	}
	return nil
}

func socketPair(part string) (lo, hi string, err error) {
	lo, hi, _ = strings.Cut(part, "-")
	a, errA := strconv.Atoi(lo)
	b, errB := strconv.Atoi(hi)
	if errA != nil || errB != nil || a < 0 || a >= b || strconv.Itoa(a) != lo || strconv.Itoa(b) != hi {
		return "", "", errors.New("no pair of sockets")
	}
	return lo, hi, nil
}

func (v *validator) path(p *Path) error {
	r := v.rnics[p.RNIC]
	if r == nil {
		return document.Bad("rnic", "%q is not listed", p.RNIC)
	}
	if r.Role == RoleNVSwitchMgmt {
		return document.Bad("rnic", "%q is no NIC (role %s) and can have no path", p.RNIC, r.Role)
	}
	toMemory := v.memory[p.Endpoint]
	if !toMemory && !v.gpus[p.Endpoint] {
		return document.Bad("endpoint", "%q is not listed", p.Endpoint)
	}
	if v.paths[p.Key()] {
		return document.Bad("endpoint", "%s is given twice", p.Key())
	}
	v.paths[p.Key()] = true

	last := HopGPUPCIe
	classes := []Class{ClassPIX, ClassPXB, ClassPHB, ClassNode, ClassSys, ClassC2C, ClassVirt}
	if toMemory {
		last = HopMemory
		classes = []Class{ClassMemLocal, ClassMemSocket, ClassMemRemote, ClassVirt}
	}
	if err := document.OneOf("class", p.Class, classes...); err != nil {
		return err
	}
	if len(p.Hops) == 0 {
		return document.Bad("hops", "is empty; a path has at least its RNIC's link and its endpoint's")
	}
	for i, id := range p.Hops {
		if v.hops[id] == nil {
			return document.Bad(fmt.Sprintf("hops[%d]", i), "%q is not listed", id)
		}
		if slices.Contains(p.Hops[:i], id) {
			return document.Bad(fmt.Sprintf("hops[%d]", i), "%q is given twice", id)
		}
	}
	if h := v.hops[p.Hops[0]]; h.Kind != HopRNICPCIe || !slices.Contains(h.Members, p.RNIC) {
		return document.Bad("hops[0]", "%q is not the link of %s", h.ID, p.RNIC)
	}
	end := len(p.Hops) - 1
	if h := v.hops[p.Hops[end]]; h.Kind != last || !slices.Contains(h.Members, p.Endpoint) {
		return document.Bad(fmt.Sprintf("hops[%d]", end), "%q is not the %s hop of %s", h.ID, last, p.Endpoint)
	}
	return nil
}

func reason(usable bool, why string) error {
	switch {
	case usable && why != "":
		return document.Bad("reason", "%q stands on a device that is usable", why)
	case !usable && why == "":
		return document.Bad("reason", "is empty; a device that is not usable says why")
	}
	return document.Text("reason", why)
}

func numbered(field, s, prefix string) error {
	n, err := strconv.Atoi(strings.TrimPrefix(s, prefix))
	if err != nil || n < 0 || s != prefix+strconv.Itoa(n) {
		return document.Bad(field, "%q is not %s<N>, as in %s0", s, prefix, prefix)
	}
	return nil
}
