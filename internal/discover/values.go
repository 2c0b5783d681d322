package discover

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The parsers turn the text of one sysfs file into a value. nil without an
// error means that the kernel itself says unknown.

// parseLinkSpeed reads current_link_speed or max_link_speed, in GT/s:
// "16.0 GT/s PCIe", "8 GT/s" of older kernels, "Unknown" of either.
func parseLinkSpeed(text string) (*float64, error) {
	number, unit, _ := strings.Cut(text, " ")
	if text == "" || strings.HasPrefix(text, "Unknown") {
		return nil, nil
	}
	speed, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.HasPrefix(unit, "GT/s") || !(speed >= 0 && speed <= 1024) {
		return nil, fmt.Errorf("%q is no link speed", text)
	}
	if speed == 0 {
		return nil, nil
	}
	return &speed, nil
}

// parseLinkWidth reads current_link_width or max_link_width, in lanes. 0 and
// 255 (all bits set: the device does not answer) are unknown.
func parseLinkWidth(text string) (*int, error) {
	if text == "" || strings.HasPrefix(text, "Unknown") {
		return nil, nil
	}
	width, err := strconv.Atoi(strings.TrimPrefix(text, "x"))
	switch {
	case err != nil || width < 0 || width > 32 && width != 63 && width != 255:
		return nil, fmt.Errorf("%q is no link width", text)
	case width == 0 || width > 32:
		return nil, nil
	}
	return &width, nil
}

// parseRate reads an RDMA port's rate in Gb/s: the number in front of
// "Gb/sec". What stands in brackets names a signalling generation and is not needed.
func parseRate(text string) (*float64, error) {
	number, unit, _ := strings.Cut(text, " ")
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.HasPrefix(unit, "Gb/sec") || !(rate > 0 && rate <= 1e5) {
		return nil, fmt.Errorf("%q is no rate", text)
	}
	return &rate, nil
}

// parseState reads an RDMA port's state: the word of "4: ACTIVE".
func parseState(text string) (string, error) {
	_, word, ok := strings.Cut(text, ":")
	word = strings.TrimSpace(word)
	if !ok || word == "" || strings.ContainsFunc(word, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '_' }) {
		return "", fmt.Errorf("%q is no port state", text)
	}
	return word, nil
}

// parsePhysState reads an RDMA port's physical state: the word of "5: LinkUp".
func parsePhysState(text string) (string, error) {
	_, state, ok := strings.Cut(text, ":")
	state = strings.TrimSpace(state)
	if state == "<unknown>" {
		return "", nil
	}
	if !ok || state == "" || strings.ContainsFunc(state, func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' }) {
		return "", fmt.Errorf("%q is no physical state", text)
	}
	return state, nil
}

// parseInterfaceUp reads a netdev's flags, such as "0x1003": the lowest bit is IFF_UP.
func parseInterfaceUp(text string) (*bool, error) {
	flags, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return nil, fmt.Errorf("%q are no interface flags", text)
	}
	return new(flags&1 != 0), nil
}

// parseNUMANode reads numa_node. -1 is the kernel's unknown.
func parseNUMANode(text string) (*int, error) {
	node, err := strconv.Atoi(text)
	if err != nil || node < -1 || node > 1<<16 {
		return nil, fmt.Errorf("%q is no NUMA node", text)
	}
	if node == -1 {
		return nil, nil
	}
	return &node, nil
}

// parseHexID reads a PCI id such as "0x15b3" into its digits, "15b3".
func parseHexID(text string) (string, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if _, err := strconv.ParseUint(digits, 16, 32); !ok || err != nil {
		return "", fmt.Errorf("%q is no PCI id", text)
	}
	return strings.ToLower(digits), nil
}

// cpuRange is a run of CPU numbers, both ends included.
type cpuRange struct{ first, last int }

// cpuSet is a list of CPUs as the kernel writes it, "0-3,8": ranges that
// are neither empty nor out of order.
type cpuSet []cpuRange

func parseCPUList(text string) (cpuSet, error) {
	set := cpuSet{} // none, which is not unknown
	if text == "" {
		return set, nil
	}
	for field := range strings.SplitSeq(text, ",") {
		lo, hi, isRange := strings.Cut(field, "-")
		if !isRange {
			hi = lo
		}
		first, errFirst := strconv.Atoi(lo)
		last, errLast := strconv.Atoi(hi)
		if errFirst != nil || errLast != nil || first < 0 || last < first || last > 1<<20 ||
			len(set) > 0 && first <= set[len(set)-1].last {
			return nil, fmt.Errorf("%q is no list of CPUs", text)
		}
		set = append(set, cpuRange{first, last})
	}
	return set, nil
}

// size is the number of CPUs.
func (s cpuSet) size() int {
	n := 0
	for _, r := range s {
		n += r.last - r.first + 1
	}
	return n
}

// meets reports whether the sets have a CPU in common.
func (s cpuSet) meets(other cpuSet) bool {
	return slices.ContainsFunc(s, func(a cpuRange) bool {
		return slices.ContainsFunc(other, func(b cpuRange) bool { return a.first <= b.last && b.first <= a.last })
	})
}

// parseDistances reads a node's distances: "10 21".
func parseDistances(text string) ([]int, error) {
	var figures []int
	for field := range strings.FieldsSeq(text) {
		figure, err := strconv.Atoi(field)
		if err != nil || figure < 1 || figure > 255 {
			return nil, fmt.Errorf("%q are no distances", text)
		}
		figures = append(figures, figure)
	}
	return figures, nil
}

// parseMemTotal finds MemTotal in a node's meminfo ("Node 0 MemTotal: 772432 kB")
// or the host's, in bytes.
func parseMemTotal(text string) (*int64, error) {
	for line := range strings.Lines(text) {
		_, value, ok := strings.Cut(line, "MemTotal:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil || kib < 0 || kib > 1<<50 {
			return nil, fmt.Errorf("%q is no amount of memory", strings.TrimSpace(value))
		}
		return new(kib * 1024), nil
	}
	return nil, fmt.Errorf("no MemTotal")
}

// rdmaMTU is the RDMA MTU that a RoCE port derives from its netdev's MTU:
// the largest power of two that fits behind the RoCE v2 headers (the kernel's
// iboe_get_mtu in ib_addr.h). nil when none fits.
func rdmaMTU(netdevMTU int) *int {
	const headers = 40 + 8 + 12 + 4 + 28 + 4 // GRH, UDP, BTH, XRC, atomic ETH, ICRC
	for mtu := 4096; mtu >= 256; mtu /= 2 {
		if netdevMTU-headers >= mtu {
			return &mtu
		}
	}
	return nil
}

// parsePackage reads physical_package_id. -1 is the kernel's unknown.
func parsePackage(text string) (*int, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < -1 {
		return nil, fmt.Errorf("%q is no package", text)
	}
	if id == -1 {
		return nil, nil
	}
	return new(int(id)), nil
}

// parseMemlock finds the soft limit in /proc/<pid>/limits, in bytes; nil where there is none or no such line.
func parseMemlock(limits string) *int64 {
	for line := range strings.Lines(limits) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		if fields := strings.Fields(rest); ok && len(fields) > 0 {
			if limit, err := strconv.ParseInt(fields[0], 10, 64); err == nil && limit >= 0 {
				return &limit
			}
		}
	}
	return nil
}

// mayLock reports whether the effective capabilities in /proc/<pid>/status hold CAP_IPC_LOCK.
func mayLock(status string) bool {
	const ipcLock = 14 // include/uapi/linux/capability.h
	for line := range strings.Lines(status) {
		if mask, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && bits>>ipcLock&1 == 1
		}
	}
	return false
}

// word is the parser of plain text: one printable line.
func word(text string) (string, error) {
	if len(text) > 128 || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return "", errors.New("is no line of text")
	}
	return text, nil
}

// identifier is the parser of a device's name.
func identifier(text string) (string, error) {
	if _, err := word(text); err != nil || text == "" || text == "." || text == ".." || strings.ContainsAny(text, " /") {
		return "", errors.New("is no name of a device")
	}
	return text, nil
}
