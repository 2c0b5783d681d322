package topology

import (
	"fmt"
	"strings"
)

// pciTree is the PCI part of an inventory, by address.
type pciTree struct {
	devices  map[string]*PCIDevice
	children map[string][]*PCIDevice
}

func newPCITree(devices []PCIDevice) (pciTree, error) {
	t := pciTree{
		devices:  make(map[string]*PCIDevice, len(devices)),
		children: make(map[string][]*PCIDevice, len(devices)),
	}
	for i := range devices {
		d := &devices[i]
		if d.Address == "" {
			return t, fmt.Errorf("PCI device %d has no address", i)
		}
		if t.devices[d.Address] != nil {
			return t, fmt.Errorf("PCI device %s is listed twice", d.Address)
		}
		t.devices[d.Address] = d
	}
	for i := range devices {
		d := &devices[i]
		if d.Parent == "" {
			continue
		}
		if t.devices[d.Parent] == nil {
			return t, fmt.Errorf("PCI device %s sits below %s, which is not listed", d.Address, d.Parent)
		}
		t.children[d.Parent] = append(t.children[d.Parent], d)
	}
	for i := range devices {
		if err := t.checkReachesRoot(&devices[i]); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t pciTree) checkReachesRoot(d *PCIDevice) error {
	for steps, at := 0, d; at.Parent != ""; at = t.devices[at.Parent] {
		if steps++; steps > len(t.devices) {
			return fmt.Errorf("PCI device %s sits below itself", d.Address)
		}
	}
	return nil
}

// place is where an RNIC or a GPU sits in the tree.
type place struct {
	device *PCIDevice // nil: nowhere that we can see
	// card is the device at the card's edge: the outermost bridge of the
	// endpoint's own card, or the device itself.
	card  *PCIDevice
	above []*PCIDevice // from the card's parent to the root bus
}

// locate finds the place of the function at address.
func (t pciTree) locate(address string) place {
	d := t.devices[address]
	if d == nil {
		return place{}
	}
	p := place{device: d, card: d}
	for at := t.devices[d.Parent]; at != nil; at = t.devices[at.Parent] {
		if len(p.above) == 0 && t.ownCard(d, at) {
			p.card = at
			continue
		}
		p.above = append(p.above, at)
	}
	return p
}

// ownCard reports whether a bridge right above d's card so far is part of the
// card as well. AMD puts a switch of vendor 1002 or 1022 on its GPU cards.
// NVIDIA's NICs hold a switch of their own; it is a hop of its own only where
// the board hangs another device, such as a GPU, below it.
func (t pciTree) ownCard(d, bridge *PCIDevice) bool {
	if bridge.Type == PCIRootPort {
		return false
	}
	switch d.Vendor {
	case "1002":
		return bridge.Vendor == "1002" || bridge.Vendor == "1022"
	case "15b3":
		return bridge.Vendor == "15b3" && t.onlyVendor(bridge, "15b3")
	}
	return false
}

func (t pciTree) onlyVendor(d *PCIDevice, vendor string) bool {
	if d.Vendor != vendor {
		return false
	}
	for _, child := range t.children[d.Address] {
		if !t.onlyVendor(child, vendor) {
			return false
		}
	}
	return true
}

// numaNode is that of the function or, where firmware leaves it out, of the
// nearest bridge above.
func (p place) numaNode() *int {
	if p.device == nil {
		return nil
	}
	if p.device.NUMANode != nil {
		return new(*p.device.NUMANode)
	}
	for _, d := range append([]*PCIDevice{p.card}, p.above...) {
		if d.NUMANode != nil {
			return new(*d.NUMANode)
		}
	}
	return nil
}

// hostBridge is the name of the root bus, "" when unknown.
func (p place) hostBridge() string {
	if p.device == nil {
		return ""
	}
	return p.device.HostBridge
}

// isolated reports whether no bridge at all stands above the device, as in
// virtual machines that give every device a bus or a domain of its own.
func (p place) isolated() bool {
	return p.device != nil && p.card == p.device && len(p.above) == 0
}

// ownLink is the link between the card and the port above it.
func (p place) ownLink() pciLink {
	l := pciLink{lower: p.card}
	if len(p.above) > 0 {
		l.upper = p.above[0]
	}
	return l
}

// linkKey is equal for all functions that share one link. A port has one link
// below it; on a bus that is no link the device number tells the slots apart.
func (p place) linkKey() string {
	slot, _, _ := strings.Cut(p.card.Address, ".")
	if len(p.above) == 0 {
		return slot
	}
	switch up := p.above[0]; up.Type {
	case PCIRootPort, PCIDownstream:
		return up.Address
	default:
		return up.Address + " " + slot
	}
}

// switchLinks lists the links above the switches in p.above[:n], from the
// card outwards, with their hops' names.
func (p place) switchLinks(n int) []namedLink {
	var links []namedLink
	for i, d := range p.above[:n] {
		if d.Type != PCIUpstream {
			continue
		}
		l := namedLink{kind: HopSwitch, part: d.ID, pciLink: pciLink{lower: d}}
		if i+1 < len(p.above) {
			l.upper = p.above[i+1]
		}
		if l.insideNIC() {
			continue
		}
		if l.upper != nil && l.upper.Type == PCIRootPort {
			l.kind, l.part = HopRootPort, l.upper.ID
		}
		links = append(links, l)
	}
	return links
}

type namedLink struct {
	pciLink
	kind HopKind
	part string
}

// insideNIC reports whether the link joins two stages of the switch inside one
// NIC: ConnectX-7 shows its port for a GPU as a second switch below the first.
func (l pciLink) insideNIC() bool {
	return l.lower.Vendor == "15b3" && l.upper != nil && l.upper.Type == PCIDownstream && l.upper.Vendor == "15b3"
}

// meet finds the lowest device above both places, as its index in each
// place's list. Root ports do not count: traffic that turns there has reached the root complex.
func meet(a, b place) (ia, ib int, ok bool) {
	for i, d := range a.above {
		if d.Type == PCIRootPort {
			break
		}
		for j, e := range b.above {
			if d == e {
				return i, j, true
			}
		}
	}
	return len(a.above), len(b.above), false
}
