package discover

import "github.com/yuuki/hostping/internal/topology"

// P2P holds the PCIe settings that decide where traffic between an RNIC and a
// GPU under one root port turns. A key that is absent could not be read.
type P2P struct {
	// ACS says, by a switch's own address, whether it sends peer requests up to the root complex.
	ACS map[string]bool
	// ATS says, by RNIC id, whether the RNIC uses Address Translation Services. An RNIC that cannot is absent.
	ATS map[string]bool
}

// peerSettings reads them off the configuration space of what stands on the
// ways between RNICs and GPUs.
func (r *reader) peerSettings(t topology.Topology) P2P {
	p := P2P{ACS: map[string]bool{}, ATS: map[string]bool{}}
	unknown := map[string]bool{}
	for _, port := range r.pci {
		// A hypervisor's port says nothing about the hardware's.
		if port.Type != topology.PCIDownstream || port.IsEmulatedPort() {
			continue
		}
		// One port that redirects is enough; all must be known not to.
		switch redirects := port.config.redirectsPeers; {
		case redirects == nil:
			unknown[port.Parent] = true
		case *redirects:
			p.ACS[port.Parent] = true
		case !p.ACS[port.Parent]:
			p.ACS[port.Parent] = false
		}
	}
	for id := range unknown {
		if !p.ACS[id] {
			delete(p.ACS, id)
		}
	}
	for _, rnic := range t.RNICs {
		if f := r.pci[rnic.PCI]; f != nil && f.config.translates != nil {
			p.ATS[rnic.ID] = *f.config.translates
		}
	}
	return p
}
