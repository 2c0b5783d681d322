package picture

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// wideHost has sockets with a tree of switches, two functions on one link, a
// device without a place, and memory nodes in numbers.
func wideHost(t *testing.T, sockets int) topology.Topology {
	t.Helper()
	inv := topology.Inventory{}
	bus := 0
	add := func(parent string, kind topology.PCIType, socket, function int) string {
		if function == 0 {
			bus++
		}
		address := fmt.Sprintf("0000:%02x:00.%d", bus, function)
		inv.PCI = append(inv.PCI, topology.PCIDevice{
			ID: address, Address: address, Parent: parent, Type: kind, Vendor: "1000", NUMANode: new(socket),
			HostBridge: fmt.Sprintf("pci0000:%02x", socket),
		})
		return address
	}
	rnic := func(address string, socket int) {
		id := fmt.Sprintf("a_rather_long_name_%d", len(inv.RNICs))
		inv.RNICs = append(inv.RNICs, topology.RNIC{
			ID: id, Name: id, PCI: address, Port: 1, LinkLayer: "InfiniBand", State: "ACTIVE", RateGbps: new(400.0),
			NUMANode: new(socket), Socket: new(socket), Role: topology.RoleRNIC, Usable: len(inv.RNICs)%3 > 0, Reason: strings.Repeat("a long story ", len(inv.RNICs)%3*10),
		})
	}
	for s := range sockets {
		inv.MemoryNodes = append(inv.MemoryNodes, topology.MemoryNode{ID: fmt.Sprintf("mem%d", s), NUMANode: s, Socket: new(s)})
		upper := add(add("", topology.PCIRootPort, s, 0), topology.PCIUpstream, s, 0)
		lower := add(add(upper, topology.PCIDownstream, s, 0), topology.PCIUpstream, s, 0)
		down := add(lower, topology.PCIDownstream, s, 0)
		rnic(add(down, topology.PCIEndpoint, s, 0), s)
		rnic(add(down, topology.PCIEndpoint, s, 1), s)
		gpu := topology.GPU{
			ID: fmt.Sprintf("gpu%d", s), PCI: add(add(upper, topology.PCIDownstream, s, 0), topology.PCIEndpoint, s, 0),
			Vendor: "nvidia", Model: strings.Repeat("W", 60), NUMANode: new(s), Socket: new(s), Usable: true,
		}
		inv.GPUs = append(inv.GPUs, gpu)
	}
	inv.RNICs = append(inv.RNICs, topology.RNIC{ID: "soft", Name: "soft", Port: 1, Role: topology.RoleSoftware, Reason: "no place"})
	top, err := topology.Build(inv)
	require.NoError(t, err)
	return top
}

// TestNothingOverlaps: boxes and panels keep apart, each stays in the picture, and every
// link is a straight line that ends at boxes and crosses none.
func TestNothingOverlaps(t *testing.T) {
	for sockets := range 6 {
		t.Run(fmt.Sprintf("%d sockets", sockets), func(t *testing.T) {
			top := wideHost(t, sockets)
			marks := Marks{Hops: map[string]string{}, Paths: map[topology.PathKey]string{}}
			for _, h := range top.Hops {
				marks.Hops[h.ID] = "abnormal"
			}
			for _, p := range top.Paths {
				marks.Paths[p.Key()] = "abnormal"
			}
			for _, m := range []Marks{{}, marks} {
				d := layout(top, m)
				canvas := rect{0, 0, d.width, d.height}
				for i, b := range d.boxes {
					assert.True(t, inside(b.rect, canvas), "%s leaves the picture", b.name)
					for _, other := range d.boxes[i+1:] {
						assert.False(t, overlap(b.rect, other.rect), "%s %s overlaps %s %s", b.kind, b.name, other.kind, other.name)
					}
				}
				for i, p := range d.panels {
					assert.True(t, inside(p, canvas))
					for _, other := range d.panels[i+1:] {
						assert.False(t, overlap(p, other))
					}
				}
				for _, k := range d.links {
					if k.atSocket {
						bar := d.boxes[slices.IndexFunc(d.boxes, func(b box) bool { return b.kind == "socket" && overlap(b.rect, rect{k.x1 - 1, k.y1, 1, 1}) })]
						assert.Greater(t, k.y1-lineHeight, bar.y+lineHeight, "%s stands on the socket's name", k.port)
					}
					assert.True(t, k.x1 == k.x2 || k.y1 == k.y2, "%s bends", k.title)
					line := rect{min(k.x1, k.x2) + 1, k.y1, max(k.x1, k.x2) - min(k.x1, k.x2) - 2, 1}
					if k.x1 == k.x2 {
						continue
					}
					for _, b := range d.boxes {
						assert.False(t, overlap(line, b.rect), "%s crosses %s", k.title, b.name)
					}
				}
			}
		})
	}
}

func inside(a, b rect) bool {
	return a.x >= b.x && a.y >= b.y && a.x+a.w <= b.x+b.w && a.y+a.h <= b.y+b.h
}

func overlap(a, b rect) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

func TestWords(t *testing.T) {
	assert.Equal(t, "short", fit("short", 100, 12))
	cut := fit(strings.Repeat("long word ", 20), 100, 12)
	assert.LessOrEqual(t, textWidth(cut, 12), 100)
	assert.True(t, strings.HasSuffix(cut, "…"))
	assert.Equal(t, "…", fit("anything", 0, 12))
	assert.Less(t, textWidth("iiii", 12), textWidth("WWWW", 12))
	assert.Empty(t, wrap("", 100, 12, 2))
	assert.Equal(t, []string{"one"}, wrap("one", 100, 12, 2))
	lines := wrap(strings.Repeat("long word ", 20), 100, 12, 2)
	assert.Len(t, lines, 2)
	for _, line := range lines {
		assert.LessOrEqual(t, textWidth(line, 12), 100)
	}
}
