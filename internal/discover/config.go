package discover

import (
	"encoding/binary"

	"github.com/yuuki/hostping/internal/topology"
)

// configSpace is what a function's PCI configuration space tells us. nil is
// unknown, or not there.
type configSpace struct {
	// cut: the reader's privilege ends at byte 64, before all capabilities.
	cut bool
	// express is the PCI Express capability.
	express *expressCapability
	// redirectsPeers says whether the port sends requests from below to their
	// peers by way of the root complex (ACS). A port without the capability does not.
	redirectsPeers *bool
	// translates says whether the function uses Address Translation Services;
	// nil where it cannot.
	translates *bool
}

// expressCapability is part of PCIe Base Specification, 7.5.3.
type expressCapability struct {
	kind           topology.PCIType
	maxPayload     int // bytes
	maxReadRequest int // bytes
}

// Sizes of configuration space: what anybody may read of it, and where its extension begins.
const (
	publicBytes   = 64
	extendedStart = 256
)

// parseConfig reads configuration space, whatever length of it could be read.
func parseConfig(space []byte) configSpace {
	c := configSpace{cut: len(space) <= publicBytes}
	if c.cut {
		return c
	}
	if at := findCapability(space, 0x10, 10); at != 0 {
		control := binary.LittleEndian.Uint16(space[at+8:])
		c.express = &expressCapability{
			kind:           portType(space[at+2] >> 4),
			maxPayload:     128 << (control >> 5 & 7),
			maxReadRequest: 128 << (control >> 12 & 7),
		}
	}
	// Capabilities of the extended space exist on PCI Express functions only.
	if c.express == nil || len(space) <= extendedStart {
		return c
	}
	const (
		accessControl      = 0x0d // PCIe Base Specification, 7.7.11
		addressTranslation = 0x0f // PCIe Base Specification, 10.5.1
		controlRegister    = 6
		requestRedirect    = 1 << 2
		translationEnable  = 1 << 15
	)
	control := func(at int) uint16 { return binary.LittleEndian.Uint16(space[at+controlRegister:]) }
	at, ended := findExtended(space, accessControl)
	switch {
	case at != 0:
		c.redirectsPeers = new(control(at)&requestRedirect != 0)
	case ended:
		c.redirectsPeers = new(false)
	}
	if at, _ := findExtended(space, addressTranslation); at != 0 {
		c.translates = new(control(at)&translationEnable != 0)
	}
	return c
}

// findCapability is where a capability of at least so many bytes begins, 0 when there is none.
func findCapability(space []byte, id byte, size int) int {
	const (
		status          = 0x06
		hasCapabilities = 1 << 4
		firstCapability = 0x34
	)
	if space[status]&hasCapabilities == 0 {
		return 0
	}
	at := int(space[firstCapability]) &^ 3
	// 48 capabilities fit; a longer chain is a loop.
	for range 48 {
		if at < publicBytes || at+size > len(space) {
			return 0
		}
		if space[at] == id {
			return at
		}
		at = int(space[at+1]) &^ 3
	}
	return 0
}

// findExtended is where an extended capability of eight bytes begins, 0 when there
// is none; ended says whether the whole chain was seen, so that none means none.
func findExtended(space []byte, id uint16) (at int, ended bool) {
	const headers = (4096 - extendedStart) / 4
	at = extendedStart
	for range headers {
		if at < extendedStart || at+8 > len(space) {
			return 0, false
		}
		header := binary.LittleEndian.Uint32(space[at:])
		switch {
		case header == 0xffffffff: // the device does not answer
			return 0, false
		case header&0xffff == uint32(id):
			return at, true
		}
		// A header of zeros is an empty list, which ends here as well.
		if at = int(header>>20) &^ 3; at == 0 {
			return 0, true
		}
	}
	return 0, false
}

// portType names the Device/Port Type field of the capability.
func portType(field byte) topology.PCIType {
	switch field {
	case 0, 1, 9, 10: // endpoints, those of the root complex and its event collector among them
		return topology.PCIEndpoint
	case 4:
		return topology.PCIRootPort
	case 5:
		return topology.PCIUpstream
	case 6:
		return topology.PCIDownstream
	}
	return topology.PCIBridge
}
