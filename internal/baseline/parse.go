package baseline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/yuuki/hostping/internal/document"
	"github.com/yuuki/hostping/internal/topology"
)

// MaxDocumentBytes bounds a baseline file: room for some six thousand hosts.
const MaxDocumentBytes = 32 << 20

// Bounds above which a number is a mistake, generous by a factor of ten or
// more over what hardware does.
const (
	maxGbps       = 1e5
	maxUs         = 1e6
	maxOverRate   = 10 // times the line rate: some devices loop back faster than their port
	maxSpread     = 1.5
	maxSpeedGTs   = 1024
	maxLanes      = 32
	maxMTUBytes   = 1 << 16
	maxLAGPorts   = 64
	maxRounds     = 1e4
	maxSamples    = 1e9
	maxText       = 256
	maxAsymmetric = 4096 // lines of accepted asymmetry
)

// Parse reads a hostping.baseline/v1 document. It takes nothing on trust; an
// error is a *document.FieldError about the first field that cannot be right.
func Parse(doc []byte) (File, error) {
	var f File
	if err := document.Check(doc, MaxDocumentBytes); err != nil {
		return f, err
	}
	fields, err := document.Object("", doc)
	if err != nil {
		return f, err
	}
	// The schema first: fields of another one are not errors of this one.
	if f.Schema, err = document.Value[string]("schema", fields["schema"]); err != nil {
		return f, err
	}
	if f.Schema != SchemaID {
		return f, document.Bad("schema", "%q is not %q%s", f.Schema, SchemaID, future(f.Schema))
	}
	known := []string{"schema", "tool", "backend", "calibrations", "entries"}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			return f, document.Bad(name, "is no field of %s", SchemaID)
		}
	}
	if f.Tool, err = document.Value[Tool]("tool", fields["tool"]); err != nil {
		return f, err
	}
	if f.Backend, err = document.Value[string]("backend", fields["backend"]); err != nil {
		return f, err
	}
	if f.Calibrations, err = document.List("calibrations", fields["calibrations"], document.Value[Calibration]); err != nil {
		return f, err
	}
	if f.Entries, err = document.List("entries", fields["entries"], parseEntry); err != nil {
		return f, err
	}
	if err := f.Validate(); err != nil {
		return f, err
	}
	f.sort()
	return f, nil
}

// future is a hint when a file is of a later version of this format.
func future(schema string) string {
	name, _, _ := strings.Cut(SchemaID, "/")
	if strings.HasPrefix(schema, name+"/") {
		return ": this version of hostping cannot read it; calibrate with this one, or use the newer"
	}
	return "; \"hostpingctl calibrate\" writes such a file"
}

func parseEntry(field string, raw json.RawMessage) (e Entry, err error) {
	fields, err := document.Object(field, raw)
	if err != nil {
		return e, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "key" && name != "measured" {
			return e, document.Bad(field+"."+name, "is no field of %s", SchemaID)
		}
	}
	if e.Key, err = document.Value[Key](field+".key", fields["key"]); err != nil {
		return e, err
	}
	e.Measured, err = document.List(field+".measured", fields["measured"], document.Value[Measured])
	return e, err
}

// Validate checks that a file contradicts neither itself nor physics. The
// error is a *document.FieldError about the first value that does.
func (f File) Validate() error {
	if f.Schema != SchemaID {
		return document.Bad("schema", "%q is not %q", f.Schema, SchemaID)
	}
	if err := first(f.Tool.validate("tool"), oneOf("backend", f.Backend, "live", "sim")); err != nil {
		return err
	}
	if len(f.Calibrations) == 0 {
		return document.Bad("calibrations", "is empty; a figure comes from some host")
	}
	seen := map[string]int{}
	for i, c := range f.Calibrations {
		field := fmt.Sprintf("calibrations[%d]", i)
		if err := c.validate(field); err != nil {
			return err
		}
		id := c.Host + "\n" + c.Fingerprint + "\n" + c.StartedAt.UTC().String()
		if earlier, twice := seen[id]; twice {
			return document.Bad(field, "is the same as calibrations[%d]: %s", earlier, c)
		}
		seen[id] = i
	}
	if len(f.Entries) == 0 {
		return document.Bad("entries", "is empty; a baseline has at least one figure")
	}
	keys := make(map[string]int, len(f.Entries))
	for i, e := range f.Entries {
		field := fmt.Sprintf("entries[%d]", i)
		if err := e.validate(field, len(f.Calibrations)); err != nil {
			return err
		}
		if earlier, twice := keys[e.Key.String()]; twice {
			return document.Bad(field+".key", "is the same as entries[%d].key: %s", earlier, e.Key)
		}
		keys[e.Key.String()] = i
	}
	return nil
}

func (t Tool) validate(field string) error {
	return first(text(field+".version", t.Version), text(field+".revision", t.Revision))
}

func (c Calibration) validate(field string) error {
	if c.Host == "" {
		return document.Bad(field+".host", "is empty")
	}
	if len(c.Fingerprint) != 16 || strings.Trim(c.Fingerprint, "0123456789abcdef") != "" {
		return document.Bad(field+".fingerprint", "%q is not 16 hex digits", c.Fingerprint)
	}
	if c.StartedAt.IsZero() {
		return document.Bad(field+".started_at", "is missing")
	}
	if c.FinishedAt.Before(c.StartedAt) {
		return document.Bad(field+".finished_at", "lies before started_at")
	}
	if len(c.AcceptedAsymmetry) > maxAsymmetric {
		return document.Bad(field+".accepted_asymmetry", "has %d lines, more than %d", len(c.AcceptedAsymmetry), maxAsymmetric)
	}
	for i, line := range c.AcceptedAsymmetry {
		if err := text(fmt.Sprintf("%s.accepted_asymmetry[%d]", field, i), line); err != nil {
			return err
		}
	}
	return first(
		text(field+".host", c.Host),
		c.Tool.validate(field+".tool"),
		between(field+".rounds", c.Rounds, 1, maxRounds),
	)
}

func (e Entry) validate(field string, calibrations int) error {
	if err := e.Key.validate(field + ".key"); err != nil {
		return err
	}
	if len(e.Measured) == 0 {
		return document.Bad(field+".measured", "is empty")
	}
	seen := make(map[int]bool, len(e.Measured))
	for i, m := range e.Measured {
		place := fmt.Sprintf("%s.measured[%d]", field, i)
		if m.Calibration < 0 || m.Calibration >= calibrations {
			return document.Bad(place+".calibration", "%d is none of the %d calibrations, which count from 0", m.Calibration, calibrations)
		}
		if seen[m.Calibration] {
			return document.Bad(place+".calibration", "%d is given twice", m.Calibration)
		}
		seen[m.Calibration] = true
		if err := first(
			between(place+".paths", m.Paths, 1, maxSamples),
			m.Bandwidth.validate(place+".bandwidth_gbps", "Gb/s", e.Key.maxGbps()),
			m.Latency.validate(place+".latency_us", "µs", maxUs),
		); err != nil {
			return err
		}
	}
	return nil
}

// maxGbps is more than such a path can ever carry.
func (k Key) maxGbps() float64 {
	if k.RateGbps == nil {
		return maxGbps
	}
	ports := 1
	if k.LAGPorts != nil {
		ports = *k.LAGPorts
	}
	return min(maxGbps, maxOverRate*float64(ports)**k.RateGbps)
}

func (k Key) validate(field string) error {
	if err := first(
		oneOf(field+".class", k.Class, classes()...),
		oneOf(field+".role", k.Role, topology.RoleRNIC, topology.RoleSoftware),
		oneOf(field+".endpoint", k.Endpoint, EndpointMemory, EndpointGPU),
		text(field+".platform", k.Platform), text(field+".driver", k.Driver), text(field+".rnic_model", k.RNICModel),
		text(field+".gpu_vendor", k.GPUVendor), text(field+".gpu_model", k.GPUModel),
		positive(field+".rate_gbps", k.RateGbps, maxGbps),
		positive(field+".pcie_speed_gts", k.PCIeSpeedGTs, maxSpeedGTs),
		optional(field+".lag_ports", k.LAGPorts, maxLAGPorts),
		optional(field+".mtu_bytes", k.MTUBytes, maxMTUBytes),
		optional(field+".pcie_width", k.PCIeWidth, maxLanes),
	); err != nil {
		return err
	}
	toMemory := strings.HasPrefix(string(k.Class), "mem_")
	switch {
	case k.Class != topology.ClassVirt && toMemory != (k.Endpoint == EndpointMemory):
		return document.Bad(field+".endpoint", "%q is not what class %q leads to", string(k.Endpoint), string(k.Class))
	case k.Endpoint == EndpointMemory && k.GPUVendor+k.GPUModel != "":
		return document.Bad(field+".gpu_model", "%q stands on a path to memory", k.GPUVendor+k.GPUModel)
	}
	return nil
}

func (f Figure) validate(field, unit string, most float64) error {
	if err := between(field+".samples", f.Samples, 1, maxSamples); err != nil {
		return err
	}
	for _, v := range []struct {
		name  string
		value float64
	}{{"median", f.Median}, {"min", f.Min}, {"max", f.Max}} {
		if !(v.value > 0) || v.value > most {
			return document.Bad(field+"."+v.name, "%v is not above 0 and at most %v %s", v.value, most, unit)
		}
	}
	if f.Min > f.Median {
		return document.Bad(field+".min", "%v is above the median", f.Min)
	}
	if f.Max < f.Median {
		return document.Bad(field+".max", "%v is below the median", f.Max)
	}
	if s := f.SpreadShare; s != nil && !(*s >= 0 && *s <= maxSpread) {
		return document.Bad(field+".spread_share", "%v is not between 0 and %v", *s, maxSpread)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func oneOf[T ~string](field string, v T, known ...T) error {
	if !slices.Contains(known, v) {
		return document.Bad(field, "%q is none of %v", string(v), known)
	}
	return nil
}

func positive(field string, v *float64, most float64) error {
	if v != nil && (!(*v > 0) || *v > most) {
		return document.Bad(field, "%v is not above 0 and at most %v", *v, most)
	}
	return nil
}

func between(field string, v, least, most int) error {
	if v < least || v > most {
		return document.Bad(field, "%d is not between %d and %d", v, least, most)
	}
	return nil
}

func optional(field string, v *int, most int) error {
	if v == nil {
		return nil
	}
	return between(field, *v, 1, most)
}

// text checks that a string fits on a line and leaves a terminal alone.
func text(field, s string) error {
	if len(s) > maxText {
		return document.Bad(field, "is %d bytes long, more than %d", len(s), maxText)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return document.Bad(field, "%q holds a character that does not print", s)
	}
	return nil
}
