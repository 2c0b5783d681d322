package capture

import "encoding/binary"

// What a capability holds besides its two or four bytes of header, by its
// identifier (PCI Code and ID Assignment Specification, 2 and 3). Others, among them the
// serial number and whatever a vendor hides, lose all but the header.
var (
	capabilityBytes = map[byte]int{
		0x01: 8,  // power management
		0x05: 24, // message signalled interrupts
		0x0d: 8,  // subsystem ids of a bridge
		0x10: 60, // PCI Express
		0x11: 12, // MSI-X
	}
	extendedBytes = map[uint16]int{
		0x0001: 72, // advanced error reporting
		0x000d: 8,  // access control services
		0x000e: 8,  // alternative routing-ID
		0x000f: 8,  // address translation services
		0x0010: 64, // single root I/O virtualisation
		0x0013: 16, // page requests
		0x0018: 8,  // latency tolerance
		0x0019: 44, // secondary PCI Express
		0x001b: 8,  // process address spaces
		0x001d: 16, // downstream port containment
		0x001e: 16, // L1 substates
		0x0025: 12, // data link features
		0x0026: 48, // 16 GT/s
		0x002a: 32, // 32 GT/s
		0x0031: 32, // 64 GT/s
	}
)

const (
	headerBytes       = 64
	extendedFrom      = 256
	serialNumber      = 0x0003 // its eight bytes are mostly made of a MAC address
	serialNumberBytes = 12
)

// scrubConfig keeps of a function's configuration space the header, the chain
// of capabilities, and the contents of those that say nothing of the one card;
// guid replaces its serial number.
func scrubConfig(space []byte, guid func([]byte) []byte) []byte {
	kept := make([]byte, len(space))
	keep := func(from, n int) {
		if from < len(space) {
			copy(kept[from:], space[from:min(from+n, len(space))])
		}
	}
	keep(0, headerBytes)
	if len(space) <= headerBytes {
		return kept
	}
	seen := map[int]bool{}
	for at := int(space[0x34]) &^ 3; at >= headerBytes && at+1 < min(len(space), extendedFrom) && !seen[at]; at = int(space[at+1]) &^ 3 {
		seen[at] = true
		keep(at, max(2, capabilityBytes[space[at]]))
	}
	for at := extendedFrom; at >= extendedFrom && at+4 <= len(space) && !seen[at]; {
		seen[at] = true
		header := binary.LittleEndian.Uint32(space[at:])
		id := uint16(header)
		keep(at, max(4, extendedBytes[id]))
		if id == serialNumber && at+serialNumberBytes <= len(space) {
			var serial [8]byte // most significant byte first, as in text
			binary.BigEndian.PutUint64(serial[:], binary.LittleEndian.Uint64(space[at+4:]))
			binary.LittleEndian.PutUint64(kept[at+4:], binary.BigEndian.Uint64(guid(serial[:])))
		}
		at = int(header>>20) &^ 3
	}
	return kept
}
