package topology

// PCIeCapacityGbps is what a PCIe link carries in one direction after line
// coding, in Gb/s; packet headers still come off it. Below 8 GT/s ten bits
// carry eight (PCIe 2.0 spec, 4.2.1), up to 32 GT/s 130 carry 128 (PCIe 3.0 spec, 4.2.2),
// from 64 GT/s on a flit of 256 bytes holds 14 bytes of CRC and FEC (PCIe 6.0 spec, 4.2.3).
func PCIeCapacityGbps(speedGTs float64, width int) float64 {
	raw := speedGTs * float64(width)
	switch {
	case speedGTs < 8:
		return raw * 8 / 10
	case speedGTs < 64:
		return raw * 128 / 130
	default:
		return raw * 242 / 256
	}
}

// pciLink is one PCIe link: the device below it and the port above it.
type pciLink struct {
	lower *PCIDevice
	upper *PCIDevice // nil on a root bus
}

// describe fills in what the two ends say about the link.
func (l pciLink) describe(hop *Hop) {
	hop.Trust = TrustUnknown
	if l.lower == nil {
		return
	}
	lower, upper := l.lower.Link, PCILink{}
	if l.upper != nil {
		upper = l.upper.Link
	}
	hop.SpeedGTs = firstKnown(lower.SpeedGTs, upper.SpeedGTs)
	hop.Width = firstKnown(lower.Width, upper.Width)
	if hop.SpeedGTs != nil || hop.Width != nil {
		hop.Trust = TrustStatic
	}

	made := l.lower.IsEmulatedPort() || l.upper.IsEmulatedPort()
	if made {
		hop.Trust = TrustNonsense
		upper = PCILink{}
		if l.lower.Type != PCIEndpoint {
			lower = PCILink{}
		}
	}
	hop.ExpectedSpeedGTs = lesser(lower.MaxSpeedGTs, upper.MaxSpeedGTs)
	hop.ExpectedWidth = lesser(lower.MaxWidth, upper.MaxWidth)
	if !made && hop.ExpectedSpeedGTs != nil && hop.ExpectedWidth != nil {
		hop.CapacityGbps = new(PCIeCapacityGbps(*hop.ExpectedSpeedGTs, *hop.ExpectedWidth))
	}
}

// IsEmulatedPort reports whether a hypervisor invents the port's link: Amazon's
// bridges, QEMU's own, and the TI switch that QEMU models.
func (d *PCIDevice) IsEmulatedPort() bool {
	if d == nil || d.Type == PCIEndpoint {
		return false
	}
	switch d.Vendor {
	case "1d0f", "1b36":
		return true
	case "104c":
		return d.Device == "8232" || d.Device == "8233"
	}
	return false
}

// firstKnown returns a copy of the first value that is known.
func firstKnown[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return new(*v)
		}
	}
	return nil
}

// lesser is the smaller of two limits; one that is unknown does not limit.
func lesser[T int | float64](a, b *T) *T {
	if a == nil || b == nil {
		return firstKnown(a, b)
	}
	return new(min(*a, *b))
}
