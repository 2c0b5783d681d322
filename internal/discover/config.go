package discover

import (
	"encoding/binary"

	"github.com/yuuki/hostping/internal/topology"
)

// pcieCapability is what we take from a function's PCI Express capability
// (PCIe Base Specification, 7.5.3).
type pcieCapability struct {
	kind           topology.PCIType
	maxReadRequest int // bytes
}

// parseConfig finds the PCI Express capability in configuration space. nil:
// there is none, or the reader's privilege ends before it (at byte 64).
func parseConfig(space []byte) *pcieCapability {
	const (
		status          = 0x06
		hasCapabilities = 1 << 4
		firstCapability = 0x34
		pciExpress      = 0x10
	)
	if len(space) <= 64 || space[status]&hasCapabilities == 0 {
		return nil
	}
	at := int(space[firstCapability]) &^ 3
	// 48 capabilities fit; a longer chain is a loop.
	for range 48 {
		if at < 64 || at+10 > len(space) {
			return nil
		}
		if space[at] != pciExpress {
			at = int(space[at+1]) &^ 3
			continue
		}
		return &pcieCapability{
			kind:           portType(space[at+2] >> 4),
			maxReadRequest: 128 << (binary.LittleEndian.Uint16(space[at+8:]) >> 12 & 7),
		}
	}
	return nil
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
