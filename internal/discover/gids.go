package discover

import (
	"errors"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
)

// gidTable is what a port's GID table says about the port.
type gidTable struct {
	ndevs []string // network devices of its entries, each once
	// rocev2 says whether an entry can carry RoCE v2; nil when the table cannot be read.
	rocev2 *bool
}

const (
	maxGIDs = 256 // entries that the largest tables have
	// A table keeps its entries at the front, but removed addresses leave gaps.
	maxGIDGap = 4
)

// readGIDs reads a port's table up to where its entries end, attribute by
// attribute because they lie in folders of their own. Where there are none it ends after the given number of entries.
func (r *reader) readGIDs(portDir string, most int) gidTable {
	slots := r.usedGIDs(portDir, most)
	if slots == nil {
		return gidTable{}
	}
	// Type and netdev of an entry that just went away cannot be read; the others still can.
	attribute := func(name string, slot int) string {
		text, err := r.sys.text(path.Join(portDir, "gid_attrs", name, strconv.Itoa(slot)))
		if err != nil {
			return ""
		}
		return text
	}
	table := gidTable{rocev2: new(false)}
	for _, slot := range slots {
		if attribute("types", slot) == "RoCE v2" {
			*table.rocev2 = true
			break
		}
	}
	for _, slot := range slots {
		if name, err := identifier(attribute("ndevs", slot)); err == nil && !slices.Contains(table.ndevs, name) {
			table.ndevs = append(table.ndevs, name)
		}
	}
	return table
}

// usedGIDs lists the entries that hold an address. nil: the table cannot be read.
func (r *reader) usedGIDs(portDir string, most int) []int {
	var slots []int
	for slot, gap := 0, 0; slot < most && (len(slots) == 0 || gap < maxGIDGap); slot++ {
		gid, err := r.sys.text(path.Join(portDir, "gids", strconv.Itoa(slot)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return slots
		case err != nil:
			r.unread(err)
		case slots == nil:
			slots = []int{}
		}
		if gap++; err == nil && usableGID(gid) {
			slots, gap = append(slots, slot), 0
		}
	}
	return slots
}

// usableGID reports whether a table entry holds an address: neither zeros nor
// a link-local prefix without an interface behind it, as ports without a netdev show.
func usableGID(text string) bool {
	gid, err := netip.ParseAddr(text)
	if err != nil || !gid.Is6() || gid.IsUnspecified() {
		return false
	}
	bytes := gid.As16()
	return !gid.IsLinkLocalUnicast() || slices.ContainsFunc(bytes[8:], func(b byte) bool { return b != 0 })
}
