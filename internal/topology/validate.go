package topology

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// FieldError is one value of a topology document that cannot be right.
type FieldError struct {
	Field   string // as in JSON: "rnics[2].rate_gbps"
	Problem string // what it is, and what would be right
}

// Error is the field and its problem in one line.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Bounds above which a number is a mistake, generous by a factor of ten or
// more over what hardware has today.
const (
	maxRateGbps     = 1e5
	maxCapacityGbps = 1e6
	maxSpeedGTs     = 1024
	maxLanes        = 32
	maxNUMANode     = 1 << 16
	maxPackage      = math.MaxInt32 // some firmware hands out table offsets
	maxText         = 256
)

// Validate checks that a topology contradicts neither itself nor physics. The
// error is a *FieldError about the first value that does.
func (t Topology) Validate() error {
	v := validator{
		rnics: map[string]*RNIC{}, gpus: map[string]bool{}, memory: map[string]bool{},
		hops: map[string]*Hop{}, paths: map[PathKey]bool{},
	}
	if t.Schema != SchemaID {
		return bad("schema", "%q is not %q", t.Schema, SchemaID)
	}
	return first(firstIn("rnics", t.RNICs, v.rnic),
		firstIn("gpus", t.GPUs, v.gpu),
		firstIn("memory_nodes", t.MemoryNodes, v.memoryNode),
		firstIn("hops", t.Hops, v.hop),
		firstIn("paths", t.Paths, v.path))
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
		return bad("id", "%q is given twice", r.ID)
	}
	v.rnics[r.ID] = r
	return first(
		identifier("id", r.ID),
		text("name", r.Name), text("pci", r.PCI), text("link_layer", r.LinkLayer), text("state", r.State), text("phys_state", r.PhysState), text("model", r.Model),
		text("driver", r.Driver), text("fw_version", r.FWVersion),
		whole("port", &r.Port, 1, 255),
		positive("rate_gbps", r.RateGbps, maxRateGbps),
		whole("lag_ports", r.LAGPorts, 1, 64),
		whole("numa_node", r.NUMANode, 0, maxNUMANode),
		whole("socket", r.Socket, 0, maxPackage),
		firstIn("netdevs", r.Netdevs, func(name *string) error { return identifier("", *name) }),
		oneOf("role", r.Role, RoleRNIC, RoleNVSwitchMgmt, RoleSoftware),
		oneOf("function", r.Function, FunctionPF, FunctionVF, FunctionSF),
		reason(r.Usable, r.Reason),
		whole("mtu", r.MTU, 1, 1<<16),
		whole("max_read_request", r.MaxReadRequest, 1, 1<<16),
		whole("max_payload", r.MaxPayload, 1, 1<<16),
		firstIn("same_port", r.SamePort, func(id *string) error { return identifier("", *id) }))
}

func (v *validator) gpu(g *GPU) error {
	if v.gpus[g.ID] {
		return bad("id", "%q is given twice", g.ID)
	}
	v.gpus[g.ID] = true
	return first(
		numbered("id", g.ID, "gpu"),
		text("pci", g.PCI), text("vendor", g.Vendor), text("model", g.Model),
		whole("numa_node", g.NUMANode, 0, maxNUMANode),
		whole("socket", g.Socket, 0, maxPackage),
		reason(g.Usable, g.Reason))
}

func (v *validator) memoryNode(m *MemoryNode) error {
	if v.memory[m.ID] {
		return bad("id", "%q is given twice", m.ID)
	}
	v.memory[m.ID] = true
	if err := first(
		numbered("id", m.ID, "mem"),
		whole("numa_node", &m.NUMANode, 0, maxNUMANode),
		whole("socket", m.Socket, 0, maxPackage)); err != nil {
		return err
	}
	if want := fmt.Sprintf("mem%d", m.NUMANode); m.ID != want {
		return bad("id", "%q is not %q, the name of NUMA node %d", m.ID, want, m.NUMANode)
	}
	if m.Bytes != nil && *m.Bytes < 0 {
		return bad("bytes", "%d is negative", *m.Bytes)
	}
	for node, distance := range m.Distances {
		if node < 0 || node > maxNUMANode || distance < 1 || distance > 255 {
			return bad("distances", "node %d at distance %d cannot be", node, distance)
		}
	}
	return nil
}

func (v *validator) hop(h *Hop) error {
	if v.hops[h.ID] != nil {
		return bad("id", "%q is given twice", h.ID)
	}
	v.hops[h.ID] = h
	if err := first(
		identifier("id", h.ID),
		oneOf("kind", h.Kind, HopRNICPCIe, HopGPUPCIe, HopSwitch, HopRootPort, HopMemory, HopInterSocket),
		oneOf("trust", h.Trust, TrustMeasured, TrustStatic, TrustNonsense, TrustUnknown),
		positive("speed_gts", h.SpeedGTs, maxSpeedGTs),
		whole("width", h.Width, 1, maxLanes),
		positive("expected_speed_gts", h.ExpectedSpeedGTs, maxSpeedGTs),
		whole("expected_width", h.ExpectedWidth, 1, maxLanes),
		positive("capacity_gbps", h.CapacityGbps, maxCapacityGbps)); err != nil {
		return err
	}
	part, ok := strings.CutPrefix(h.ID, string(h.Kind)+":")
	if !ok || part == "" {
		return bad("id", "%q does not begin with its kind, %q", h.ID, string(h.Kind)+":")
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
			return bad("id", "%q does not name two sockets, lower first, as in inter_socket:0-1", h.ID)
		}
		if !slices.Equal(h.Members, []string{a, b}) {
			return bad("members", "%q are not the sockets of %s", h.Members, h.ID)
		}
		return nil
	}
	for i, id := range h.Members {
		field := fmt.Sprintf("members[%d]", i)
		if err := identifier(field, id); err != nil {
			return err
		}
		if !known(id) {
			return bad(field, "%q is not listed", id)
		}
		if slices.Contains(h.Members[:i], id) {
			return bad(field, "%q is given twice", id)
		}
	}
	if h.Kind != HopRootPort && !slices.Contains(h.Members, part) {
		return bad("members", "do not hold %q, after which %s is named", part, h.ID)
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
		return bad("rnic", "%q is not listed", p.RNIC)
	}
	if r.Role == RoleNVSwitchMgmt {
		return bad("rnic", "%q is no NIC (role %s) and can have no path", p.RNIC, r.Role)
	}
	toMemory := v.memory[p.Endpoint]
	if !toMemory && !v.gpus[p.Endpoint] {
		return bad("endpoint", "%q is not listed", p.Endpoint)
	}
	if v.paths[p.Key()] {
		return bad("endpoint", "%s is given twice", p.Key())
	}
	v.paths[p.Key()] = true

	last := HopGPUPCIe
	classes := []Class{ClassPIX, ClassPXB, ClassPHB, ClassNode, ClassSys, ClassC2C, ClassVirt}
	if toMemory {
		last = HopMemory
		classes = []Class{ClassMemLocal, ClassMemSocket, ClassMemRemote, ClassVirt}
	}
	if err := oneOf("class", p.Class, classes...); err != nil {
		return err
	}
	if len(p.Hops) == 0 {
		return bad("hops", "is empty; a path has at least its RNIC's link and its endpoint's")
	}
	for i, id := range p.Hops {
		if v.hops[id] == nil {
			return bad(fmt.Sprintf("hops[%d]", i), "%q is not listed", id)
		}
		if slices.Contains(p.Hops[:i], id) {
			return bad(fmt.Sprintf("hops[%d]", i), "%q is given twice", id)
		}
	}
	if h := v.hops[p.Hops[0]]; h.Kind != HopRNICPCIe || !slices.Contains(h.Members, p.RNIC) {
		return bad("hops[0]", "%q is not the link of %s", h.ID, p.RNIC)
	}
	end := len(p.Hops) - 1
	if h := v.hops[p.Hops[end]]; h.Kind != last || !slices.Contains(h.Members, p.Endpoint) {
		return bad(fmt.Sprintf("hops[%d]", end), "%q is not the %s hop of %s", h.ID, last, p.Endpoint)
	}
	return nil
}

func bad(field, format string, args ...any) error {
	return &FieldError{Field: shorten(field), Problem: shorten(fmt.Sprintf(format, args...))}
}

// shorten keeps an error about an absurdly long value to one line.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// firstIn checks a list and prefixes the field with the place in it.
func firstIn[T any](list string, values []T, check func(*T) error) error {
	for i := range values {
		err := check(&values[i])
		if err == nil {
			continue
		}
		place := fmt.Sprintf("%s[%d]", list, i)
		var f *FieldError
		if !errors.As(err, &f) {
			return fmt.Errorf("%s: %w", place, err)
		}
		if f.Field != "" {
			place += "." + f.Field
		}
		return &FieldError{Field: place, Problem: f.Problem}
	}
	return nil
}

func positive(field string, v *float64, most float64) error {
	if v != nil && (!(*v > 0) || *v > most) {
		return bad(field, "%v is not above 0 and at most %v", *v, most)
	}
	return nil
}

func whole(field string, v *int, least, most int) error {
	if v != nil && (*v < least || *v > most) {
		return bad(field, "%d is not between %d and %d", *v, least, most)
	}
	return nil
}

func oneOf[T ~string](field string, v T, known ...T) error {
	if !slices.Contains(known, v) {
		return bad(field, "%q is none of %v", string(v), known)
	}
	return nil
}

func reason(usable bool, why string) error {
	switch {
	case usable && why != "":
		return bad("reason", "%q stands on a device that is usable", why)
	case !usable && why == "":
		return bad("reason", "is empty; a device that is not usable says why")
	}
	return text("reason", why)
}

// identifier checks a name that other fields refer to.
func identifier(field, s string) error {
	if s == "" {
		return bad(field, "is empty")
	}
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return bad(field, "%q holds a space", s)
	}
	return text(field, s)
}

func numbered(field, s, prefix string) error {
	n, err := strconv.Atoi(strings.TrimPrefix(s, prefix))
	if err != nil || n < 0 || s != prefix+strconv.Itoa(n) {
		return bad(field, "%q is not %s<N>, as in %s0", s, prefix, prefix)
	}
	return nil
}

// text checks that a string fits on a line and leaves a terminal alone.
func text(field, s string) error {
	if len(s) > maxText {
		return bad(field, "is %d bytes long, more than %d", len(s), maxText)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return bad(field, "%q holds a character that does not print", s)
	}
	return nil
}
