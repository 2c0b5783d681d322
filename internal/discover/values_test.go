package discover

import (
	"bytes"
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
	})
}
