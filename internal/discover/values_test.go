package discover

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// shown is a parser's answer as text: the value, "unknown" or "error".
func shown[T any](v *T, err error) string {
	switch {
	case err != nil:
		return "error"
	case v == nil:
		return "unknown"
	}
	return fmt.Sprint(*v)
}

func TestParsers(t *testing.T) {
	speed := func(s string) string { return shown(parseLinkSpeed(s)) }
	width := func(s string) string { return shown(parseLinkWidth(s)) }
	rate := func(s string) string { return shown(parseRate(s)) }
	node := func(s string) string { return shown(parseNUMANode(s)) }
	pkg := func(s string) string { return shown(parsePackage(s)) }
	memory := func(s string) string { return shown(parseMemTotal(s)) }
	state := func(s string) string { v, err := parseState(s); return shown(&v, err) }
	id := func(s string) string { v, err := parseHexID(s); return shown(&v, err) }
	cpus := func(s string) string { v, err := parseCPUList(s); return shown(&v, err) }
	physical := func(s string) string { v, err := parsePhysState(s); return shown(&v, err) }
	up := func(s string) string { return shown(parseInterfaceUp(s)) }
	distances := func(s string) string { v, err := parseDistances(s); return shown(&v, err) }
	memlock := func(s string) string { return shown(parseMemlock(s), nil) }
	lock := func(s string) string { v := mayLock(s); return shown(&v, nil) }

	tests := []struct {
		name  string
		parse func(string) string
		text  string
		want  string
	}{
		{"speed", speed, "16.0 GT/s PCIe", "16"},
		{"speed of older kernels", speed, "8 GT/s", "8"},
		{"speed, first generation", speed, "2.5 GT/s PCIe", "2.5"},
		{"speed unknown", speed, "Unknown", "unknown"},
		{"speed unknown, in words", speed, "Unknown speed", "unknown"},
		{"speed empty", speed, "", "unknown"},
		{"speed zero", speed, "0 GT/s", "unknown"},
		{"speed without unit", speed, "16", "error"},
		{"speed negative", speed, "-8 GT/s", "error"},
		{"speed NaN", speed, "NaN GT/s", "error"},
		{"speed infinite", speed, "Inf GT/s", "error"},
		{"width", width, "16", "16"},
		{"width with x", width, "x8", "8"},
		{"width zero", width, "0", "unknown"},
		{"width of a device that is gone", width, "255", "unknown"},
		{"width of a register that is all ones", width, "63", "unknown"},
		{"width empty", width, "", "unknown"},
		{"width absurd", width, "4096", "error"},
		{"width in words", width, "wide", "error"},
		{"rate", rate, "400 Gb/sec (4X NDR)", "400"},
		{"rate with a fraction", rate, "2.5 Gb/sec (1X SDR)", "2.5"},
		{"rate of a generation to come", rate, "1600 Gb/sec (4X FUTURE)", "1600"},
		{"rate of two lanes", rate, "100 Gb/sec (2X HDR)", "100"},
		{"rate not available", rate, "N/A (no PMA)", "error"},
		{"rate zero", rate, "0 Gb/sec", "error"},
		{"rate NaN", rate, "NaN Gb/sec", "error"},
		{"state", state, "4: ACTIVE", "ACTIVE"},
		{"state deferred", state, "5: ACTIVE_DEFER", "ACTIVE_DEFER"},
		{"state without number", state, "ACTIVE", "error"},
		{"state with an escape", state, "4: \x1b[31m", "error"},
		{"NUMA node", node, "7", "7"},
		{"NUMA node unknown", node, "-1", "unknown"},
		{"NUMA node absurd", node, "-2", "error"},
		{"NUMA node empty", node, "", "error"},
		{"package", pkg, "84", "84"},
		{"package unknown", pkg, "-1", "unknown"},
		{"package beyond an integer", pkg, "99999999999", "error"},
		{"physical state", physical, "5: LinkUp", "LinkUp"},
		{"physical state of two words", physical, "7: Phy Test", "Phy Test"},
		{"physical state that the kernel does not know", physical, "9: <unknown>", ""},
		{"physical state without number", physical, "LinkUp", "error"},
		{"interface up", up, "0x1003", "true"},
		{"interface down", up, "0x1002", "false"},
		{"interface flags in words", up, "UP", "error"},
		{"distances", distances, "10 21", "[10 21]"},
		{"distance 0", distances, "10 0", "error"},
		{"distance in words", distances, "near", "error"},
		{"memlock limit", memlock, "Max open files 1 1 files\nMax locked memory         65536   65536   bytes", "65536"},
		{"memlock unlimited", memlock, "Max locked memory         unlimited   unlimited   bytes", "unknown"},
		{"memlock not there", memlock, "Max open files 1 1 files", "unknown"},
		{"capable of locking", lock, "Name:\tx\nCapEff:\t0000000000004000", "true"},
		{"incapable of locking", lock, "CapEff:\t000001ffffffbfff", "false"},
		{"capabilities unknown", lock, "Name:\tx", "false"},
		{"id", id, "0x15B3", "15b3"},
		{"id without 0x", id, "15b3", "error"},
		{"id empty", id, "0x", "error"},
		{"CPUs", cpus, "0-3,8", "[{0 3} {8 8}]"},
		{"no CPUs", cpus, "", "[]"},
		{"CPUs backwards", cpus, "3-0", "error"},
		{"CPUs twice", cpus, "0-3,2", "error"},
		{"CPUs without end", cpus, "0-", "error"},
		{"more CPUs than can be", cpus, "0-9999999999", "error"},
		{"memory of a node", memory, "Node 0 MemTotal:         772432 kB\nNode 0 MemFree: 1 kB", "790970368"},
		{"memory of a host", memory, "MemTotal:       16777216 kB\n", "17179869184"},
		{"no memory", memory, "Node 2 MemTotal: 0 kB", "0"},
		{"memory missing", memory, "Node 2 MemFree: 1 kB", "error"},
		{"memory negative", memory, "MemTotal: -1 kB", "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.parse(tt.text)) })
	}
}

func TestRDMAMTU(t *testing.T) {
	for netdev, want := range map[int]string{9000: "4096", 4192: "4096", 4191: "2048", 1500: "1024", 576: "256", 100: "unknown"} {
		assert.Equal(t, want, shown(rdmaMTU(netdev), nil), "netdev MTU %d", netdev)
	}
}

func TestParseConfig(t *testing.T) {
	// space is configuration space with a chain of capabilities at the given
	// offsets, the last of which is PCI Express.
	space := func(size int, flags byte, chain ...int) []byte {
		s := make([]byte, size)
		s[0x06] = 1 << 4
		at := 0x34
		for _, next := range chain {
			s[at] = byte(next)
			at = next + 1
		}
		last := chain[len(chain)-1]
		s[last], s[last+2], s[last+9] = 0x10, flags, 5<<4
		return s
	}
	t.Run("port types", func(t *testing.T) {
		for flags, want := range map[byte]topology.PCIType{
			0x02: topology.PCIEndpoint, 0x12: topology.PCIEndpoint, 0x42: topology.PCIRootPort, 0x52: topology.PCIUpstream,
			0x62: topology.PCIDownstream, 0x72: topology.PCIBridge, 0x92: topology.PCIEndpoint,
		} {
			got := parseConfig(space(256, flags, 0x40, 0x60))
			require.NotNil(t, got.express)
			assert.Equal(t, want, got.express.kind, "flags %#x", flags)
			assert.Equal(t, 4096, got.express.maxReadRequest)
			assert.Equal(t, 128, got.express.maxPayload)
		}
	})
	unknown := map[string][]byte{
		"cut for plain users":    space(256, 0x42, 0x60)[:64],
		"empty":                  nil,
		"no capability list":     make([]byte, 256),
		"a device that is gone":  bytes.Repeat([]byte{0xff}, 256),
		"chain ends before":      {0x06: 1 << 4, 0x34: 0x40, 255: 0},
		"chain runs in a circle": {0x06: 1 << 4, 0x34: 0x40, 0x40: 1, 0x41: 0x50, 0x50: 1, 0x51: 0x40, 255: 0},
		"capability cut in half": space(256, 0x42, 0x60)[:0x68],
	}
	for name, config := range unknown {
		t.Run(name, func(t *testing.T) { assert.Nil(t, parseConfig(config).express) })
	}
}

// extended puts a chain of extended capabilities into configuration space:
// pairs of an id and a control register, each at the next multiple of 0x40.
func extended(space []byte, pairs ...uint16) []byte {
	at := 0x100
	for i := 0; i < len(pairs); i += 2 {
		header := uint32(pairs[i]) | 1<<16
		if i+2 < len(pairs) {
			header |= uint32(at+0x40) << 20
		}
		binary.LittleEndian.PutUint32(space[at:], header)
		binary.LittleEndian.PutUint16(space[at+6:], pairs[i+1])
		at += 0x40
	}
	return space
}

func TestExtendedCapabilities(t *testing.T) {
	// express is configuration space of this size with a PCI Express capability.
	express := func(size int) []byte {
		s := make([]byte, size)
		s[0x06], s[0x34], s[0x40] = 1<<4, 0x40, 0x10
		return s
	}
	const acs, ats, aer = 0x0d, 0x0f, 0x01
	loop := extended(express(4096), aer, 0)
	binary.LittleEndian.PutUint32(loop[0x100:], aer|1<<16|0x100<<20)
	beyond := extended(express(4096), aer, 0)
	binary.LittleEndian.PutUint32(beyond[0x100:], aer|1<<16|0xffc<<20)
	gone := extended(express(4096))
	copy(gone[0x100:], []byte{0xff, 0xff, 0xff, 0xff})
	tests := []struct {
		name                  string
		space                 []byte
		redirects, translates string
	}{
		{"request redirect on", extended(express(4096), acs, 1<<2), "true", "unknown"},
		{"all of ACS on", extended(express(4096), acs, 0x1d), "true", "unknown"},
		{"source validation alone does not redirect", extended(express(4096), acs, 1), "false", "unknown"},
		{"completion redirect alone does not redirect", extended(express(4096), acs, 1<<3), "false", "unknown"},
		{"behind another capability", extended(express(4096), aer, 0, acs, 1<<2, ats, 0), "true", "false"},
		{"ATS on", extended(express(4096), ats, 1<<15), "false", "true"},
		{"ATS off", extended(express(4096), ats, 0x1f), "false", "false"},
		{"empty list", express(4096), "false", "unknown"},
		{"no extended space", express(256), "unknown", "unknown"},
		{"cut in the header", express(0x104), "unknown", "unknown"},
		{"list runs in a circle", loop, "unknown", "unknown"},
		{"list leads beyond the end", beyond, "unknown", "unknown"},
		{"device that is gone", gone, "unknown", "unknown"},
		{"no PCI Express function", extended(make([]byte, 4096), acs, 1<<2), "unknown", "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := parseConfig(tt.space)
			assert.Equal(t, tt.redirects, shown(c.redirectsPeers, nil), "ACS")
			assert.Equal(t, tt.translates, shown(c.translates, nil), "ATS")
			assert.False(t, c.cut)
		})
	}
	assert.True(t, parseConfig(express(4096)[:64]).cut)
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte{0x06: 1 << 4, 0x34: 0x40, 0x40: 0x10, 0x41: 0, 0x48: 0xff, 0x49: 0xff, 0x103: 0x14, 0x100: 0x0d, 0x145: 0})
	f.Add(bytes.Repeat([]byte{0xff}, 300))
	f.Fuzz(func(t *testing.T, space []byte) {
		c := parseConfig(space)
		if c.express != nil && (c.express.kind == "" || c.express.maxPayload < 128 || c.express.maxReadRequest > 16384) {
			t.Errorf("%+v", *c.express)
		}
		if c.express == nil && (c.redirectsPeers != nil || c.translates != nil) || c.cut && c.express != nil {
			t.Errorf("%+v", c)
		}
	})
}

func FuzzParsers(f *testing.F) {
	f.Add("16.0 GT/s PCIe")
	f.Add("0-3,8-11")
	f.Add("Node 0 MemTotal: 772432 kB")
	f.Add("4: ACTIVE")
	f.Add("400 Gb/sec (4X NDR)")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := parseLinkSpeed(text); err == nil && v != nil {
			assert.True(t, *v > 0 && *v <= 1024)
		}
		if v, err := parseLinkWidth(text); err == nil && v != nil {
			assert.True(t, *v > 0 && *v <= 32)
		}
		if v, err := parseRate(text); err == nil {
			assert.True(t, *v > 0 && *v <= 1e5)
		}
		if v, err := parseNUMANode(text); err == nil && v != nil {
			assert.GreaterOrEqual(t, *v, 0)
		}
		if v, err := parsePackage(text); err == nil && v != nil {
			assert.GreaterOrEqual(t, *v, 0)
		}
		if v, err := parseMemTotal(text); err == nil {
			assert.GreaterOrEqual(t, *v, int64(0))
		}
		if set, err := parseCPUList(text); err == nil {
			assert.GreaterOrEqual(t, set.size(), len(set))
			assert.Equal(t, len(set) > 0, set.meets(set))
		}
		_, _ = parseState(text)
		_, _ = parseHexID(text)
		_, _ = parsePhysState(text)
		_, _ = parseInterfaceUp(text)
		_ = usableGID(text)
		if figures, err := parseDistances(text); err == nil {
			for _, figure := range figures {
				assert.True(t, figure > 0 && figure < 256)
			}
		}
		if limit := parseMemlock(text); limit != nil {
			assert.GreaterOrEqual(t, *limit, int64(0))
		}
		_ = mayLock(text)
		if name, err := identifier(text); err == nil {
			assert.NotContains(t, name, "/")
		}
	})
}
