package picture

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// LinkSpeed says what a PCIe link should run at ("32 GT/s x16"), or does when
// nothing tells what it should. "" where neither is known, or an emulated port made it up.
func LinkSpeed(h topology.Hop) string {
	if h.Trust == topology.TrustNonsense {
		return ""
	}
	return cmp.Or(speed(h.ExpectedSpeedGTs, h.ExpectedWidth), speed(h.SpeedGTs, h.Width))
}

// LinkNote says what there is to know besides: what the link runs at when that is
// not what it should, and whether that was read at rest, where links may downshift.
func LinkNote(h topology.Hop) string {
	if h.Trust == topology.TrustNonsense {
		return "emulated link"
	}
	full, now := speed(h.ExpectedSpeedGTs, h.ExpectedWidth), speed(h.SpeedGTs, h.Width)
	switch {
	case full == "" || now == "" || now == full:
		return ""
	case h.Trust == topology.TrustMeasured:
		return "under load " + now
	default:
		return "at rest " + now
	}
}

func speed(speedGTs *float64, width *int) string {
	if speedGTs == nil || width == nil {
		return ""
	}
	return fmt.Sprintf("%g GT/s x%d", *speedGTs, *width)
}

// isPCIe reports whether a hop is a link with a speed and a width.
func isPCIe(kind topology.HopKind) bool {
	return kind != topology.HopMemory && kind != topology.HopInterSocket
}

// SocketName is "socket 0".
func SocketName(id *int) string {
	if id == nil {
		return "socket unknown"
	}
	return "socket " + strconv.Itoa(*id)
}

// MemoryFacts says what is known of a memory node besides its name.
func MemoryFacts(m topology.MemoryNode) string {
	text := "NUMA node " + strconv.Itoa(m.NUMANode)
	if m.Bytes == nil {
		return text
	}
	gib, digits := float64(*m.Bytes)/(1<<30), 0
	if gib < 10 {
		digits = 1
	}
	return text + fmt.Sprintf(", %.*f GiB", digits, gib)
}

// RateText is an RNIC's rate with its link layer.
func RateText(r topology.RNIC) string {
	if r.RateGbps == nil {
		return known(", ", r.LinkLayer, "rate unknown")
	}
	return known(" ", fmt.Sprintf("%g Gb/s", *r.RateGbps), r.LinkLayer)
}

// GPUName is a GPU's vendor and model.
func GPUName(g topology.GPU) string {
	if strings.HasPrefix(strings.ToLower(g.Model), strings.ToLower(g.Vendor)) {
		return g.Model
	}
	return strings.TrimSpace(g.Vendor + " " + g.Model)
}

// NotUsable says why a device is not probed, "" when it is.
func NotUsable(usable bool, reason string) string {
	if usable {
		return ""
	}
	return "not usable: " + cmp.Or(reason, "no reason given")
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// known joins what is known.
func known(separator string, facts ...string) string {
	var have []string
	for _, f := range facts {
		if f != "" {
			have = append(have, f)
		}
	}
	return strings.Join(have, separator)
}
