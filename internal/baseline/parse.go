package baseline

import (
	"fmt"
	"strings"

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
	maxAsymmetric = 4096 // lines of accepted asymmetry
)

// Parse reads a hostping.baseline/v1 document. It takes nothing on trust; an
// error is a *document.FieldError about the first field that cannot be right.
func Parse(doc []byte) (File, error) {
	f, err := document.Read[File](document.Format{
		Schema: SchemaID, MaxBytes: MaxDocumentBytes, Origin: "hostpingctl calibrate",
	}, doc)
	if err != nil {
		return File{}, err
	}
	if err := f.Validate(); err != nil {
		return File{}, err
	}
	f.sort()
	return f, nil
}

// Validate checks that a file contradicts neither itself nor physics. The
// error is a *document.FieldError about the first value that does.
func (f File) Validate() error {
	if f.Schema != SchemaID {
		return document.Bad("schema", "%q is not %q", f.Schema, SchemaID)
	}
	if err := document.First(f.Tool.validate("tool"), document.OneOf("backend", f.Backend, "live", "sim")); err != nil {
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
	return document.First(document.Text(field+".version", t.Version), document.Text(field+".revision", t.Revision))
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
		if err := document.Text(fmt.Sprintf("%s.accepted_asymmetry[%d]", field, i), line); err != nil {
			return err
		}
	}
	return document.First(
		document.Text(field+".host", c.Host),
		c.Tool.validate(field+".tool"),
		document.Within(field+".rounds", c.Rounds, 1, maxRounds),
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
		if err := document.First(
			document.Within(place+".paths", m.Paths, 1, maxSamples),
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
	if err := document.First(
		document.OneOf(field+".class", k.Class, classes()...),
		document.OneOf(field+".role", k.Role, topology.RoleRNIC, topology.RoleSoftware),
		document.OneOf(field+".endpoint", k.Endpoint, EndpointMemory, EndpointMemoryOnly, EndpointGPU),
		document.Text(field+".platform", k.Platform), document.Text(field+".driver", k.Driver), document.Text(field+".rnic_model", k.RNICModel),
		document.Text(field+".gpu_vendor", k.GPUVendor), document.Text(field+".gpu_model", k.GPUModel),
		document.Positive(field+".rate_gbps", k.RateGbps, maxGbps),
		document.Positive(field+".pcie_speed_gts", k.PCIeSpeedGTs, maxSpeedGTs),
		document.Maybe(field+".lag_ports", k.LAGPorts, 1, maxLAGPorts),
		document.Maybe(field+".mtu_bytes", k.MTUBytes, 1, maxMTUBytes),
		document.Maybe(field+".pcie_width", k.PCIeWidth, 1, maxLanes),
	); err != nil {
		return err
	}
	toMemory := strings.HasPrefix(string(k.Class), "mem_")
	switch {
	case k.Class != topology.ClassVirt && toMemory == (k.Endpoint == EndpointGPU):
		return document.Bad(field+".endpoint", "%q is not what class %q leads to", string(k.Endpoint), string(k.Class))
	case k.Endpoint != EndpointGPU && k.GPUVendor+k.GPUModel != "":
		return document.Bad(field+".gpu_model", "%q stands on a path to memory", k.GPUVendor+k.GPUModel)
	}
	return nil
}

func (f Figure) validate(field, unit string, most float64) error {
	if err := document.Within(field+".samples", f.Samples, 1, maxSamples); err != nil {
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
