package capture

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// identities replaces what is unique to a host by made-up values: the same
// value by the same one, numbered in the order of their first appearance, so
// that two captures of one host can be compared and nothing can be computed back.
// What is the same for every host (zero, broadcast, link-local prefixes) stays.
type identities struct {
	originals map[string]bool   // every value that was replaced, in its canonical form
	made      map[string]string // original to replacement, both canonical
	next      map[string]int    // by kind
	avoid     map[string]bool   // originals of an earlier pass: no replacement may be one of them
}

func newIdentities(avoid map[string]bool) *identities {
	return &identities{originals: map[string]bool{}, made: map[string]string{}, next: map[string]int{}, avoid: avoid}
}

// replace gives the replacement of a value; numbered makes the n-th one of its kind.
func (m *identities) replace(kind, original string, numbered func(n int) string) string {
	m.originals[original] = true
	key := kind + " " + original
	if made, ok := m.made[key]; ok {
		return made
	}
	var made string
	for range len(m.avoid) + 1 {
		m.next[kind]++
		if made = numbered(m.next[kind]); !m.avoid[made] {
			break
		}
	}
	m.made[key] = made
	return made
}

func (m *identities) replaceBytes(kind string, b []byte, numbered func(n uint32) []byte) []byte {
	made := m.replace(kind, hex.EncodeToString(b), func(n int) string { return hex.EncodeToString(numbered(uint32(n))) })
	bytes, err := hex.DecodeString(made)
	if err != nil {
		panic(fmt.Sprintf("capture: replacement %q of a %s is not hexadecimal", made, kind))
	}
	return bytes
}

// bytes replaces an address or identifier by its length.
func (m *identities) bytes(b []byte) []byte {
	switch len(b) {
	case 6:
		return m.mac(b)
	case 8:
		return m.guid(b)
	case 16:
		return m.gid(b)
	case 20: // IP over InfiniBand: flags and queue pair, then a GID (RFC 4391, 9.1.1)
		return append(append([]byte{}, b[:4]...), m.gid(b[4:])...)
	}
	return m.opaque(b)
}

// mac replaces a MAC address by a locally administered one.
func (m *identities) mac(b []byte) []byte {
	if sameBytes(b, 0) || sameBytes(b, 0xff) {
		return b
	}
	return m.replaceBytes("mac", b, func(n uint32) []byte {
		return binary.BigEndian.AppendUint32([]byte{0x02, 0}, n)
	})
}

// guid replaces a GUID or the lower half of a GID. One that was made of a MAC
// address (RFC 4291, appendix A) stays so.
func (m *identities) guid(b []byte) []byte {
	if sameBytes(b, 0) || sameBytes(b, 0xff) {
		return b
	}
	if b[3] == 0xff && b[4] == 0xfe {
		mac := m.mac([]byte{b[0] ^ 2, b[1], b[2], b[5], b[6], b[7]})
		m.originals[hex.EncodeToString(b)] = true
		return []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}
	}
	return m.replaceBytes("guid", b, func(n uint32) []byte {
		return binary.BigEndian.AppendUint32([]byte{0x02, 0, 0x03, 0}, n)
	})
}

// gid replaces a GID, which is an IPv6 address: its kind stays.
func (m *identities) gid(b []byte) []byte {
	prefix, host := b[:8], b[8:]
	switch {
	case sameBytes(b[:15], 0) && b[15] <= 1: // empty, or the host itself
		return b
	case b[0] == 0xff: // multicast
		return append(append([]byte{}, prefix...), m.guid(host)...)
	case sameBytes(prefix, 0) && sameBytes(host[:2], 0) && host[2] == 0xff && host[3] == 0xff: // IPv4-mapped
		m.originals[hex.EncodeToString(b)] = true
		return append(append([]byte{}, b[:12]...), m.ipv4(b[12:])...)
	}
	if !sameBytes(prefix, 0) && (prefix[0] != 0xfe || prefix[1] != 0x80 || !sameBytes(prefix[2:], 0)) {
		made := []byte{0x20, 0x01, 0x0d, 0xb8, 0, 0} // documentation (RFC 3849)
		switch {
		case prefix[0]&0xfe == 0xfc: // unique local
			made = []byte{0xfd, 0, 0, 0, 0, 0}
		case prefix[0] == 0xfe: // link-local or site-local
			made = []byte{0xfe, prefix[1] & 0xc0, 0, 0, 0, 0}
		}
		prefix = m.replaceBytes("prefix", prefix, func(n uint32) []byte { return binary.BigEndian.AppendUint16(made, uint16(n)) })
	}
	return append(append([]byte{}, prefix...), m.guid(host)...)
}

// ipv4 replaces an address; those of one /24 stay in one.
func (m *identities) ipv4(b []byte) []byte {
	if b[0] == 0 || b[0] == 127 || b[0] >= 224 {
		return b
	}
	network := m.replaceBytes("network", b[:3], func(n uint32) []byte {
		if b[0] == 169 && b[1] == 254 { // link-local
			return []byte{169, 254, byte(n)}
		}
		return []byte{10, byte(n >> 8), byte(n)}
	})
	return m.replaceBytes("ipv4 of "+string(network), b, func(n uint32) []byte {
		return append(append([]byte{}, network...), byte(n))
	})
}

// opaque replaces an identifier of unknown make by one of its length.
func (m *identities) opaque(b []byte) []byte {
	if sameBytes(b, 0) || sameBytes(b, 0xff) {
		return b
	}
	return m.replaceBytes("opaque", b, func(n uint32) []byte {
		made := make([]byte, max(len(b), 4))
		made[0] = 0xa0
		binary.BigEndian.PutUint32(made[len(made)-4:], n)
		return made[len(made)-len(b):]
	})
}

// text replaces a serial number or another word.
func (m *identities) text(s string) string {
	return m.replace("text", s, func(n int) string { return fmt.Sprintf("ANON%06d", n) })
}

func sameBytes(b []byte, value byte) bool {
	for _, x := range b {
		if x != value {
			return false
		}
	}
	return true
}
