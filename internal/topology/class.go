package topology

// memoryClass is the distance from an RNIC to a NUMA node's memory. Where
// firmware does not tell the RNIC's node or the packages, the class is
// ClassVirt: the tree says nothing.
func memoryClass(r *RNIC, m *MemoryNode) Class {
	if r.NUMANode != nil && *r.NUMANode == m.NUMANode {
		return ClassMemLocal
	}
	switch relate(r.Socket, m.Socket) {
	case sameSocket:
		return ClassMemSocket
	case otherSocket:
		return ClassMemRemote
	}
	return ClassVirt
}

// gpuClass is the distance from an RNIC to a GPU, by the tree first and by
// sockets where the tree ends.
func gpuClass(r *RNIC, at place, g *GPU, gpu place) Class {
	if i, j, ok := meet(at, gpu); ok {
		if switches := 1 + len(at.switchLinks(i)) + len(gpu.switchLinks(j)); switches > 1 {
			return ClassPXB
		}
		return ClassPIX
	}
	switch {
	case gpu.device != nil && IsCoherentGPU(*gpu.device):
		return ClassC2C
	case at.isolated() && gpu.isolated():
		return ClassVirt
	case at.hostBridge() != "" && at.hostBridge() == gpu.hostBridge():
		return ClassPHB
	}
	switch relate(r.Socket, g.Socket) {
	case sameSocket:
		return ClassNode
	case otherSocket:
		return ClassSys
	}
	return ClassVirt
}

// IsCoherentGPU reports whether the GPU hangs on its CPU by NVLink-C2C, so that
// PCIe beyond the root complex is not the way to its memory: Grace Hopper and
// Grace Blackwell modules, by the ids under 10de in the PCI ID repository.
func IsCoherentGPU(d PCIDevice) bool {
	if d.Vendor != "10de" {
		return false
	}
	switch d.Device {
	case "2342", "2343", "2345", "2348", "2941", "31c2", "31c3":
		return true
	}
	return false
}

type relation int

const (
	unknownRelation relation = iota
	sameSocket
	otherSocket
)

// relate compares two physical packages.
func relate(a, b *int) relation {
	switch {
	case a == nil || b == nil:
		return unknownRelation
	case *a == *b:
		return sameSocket
	}
	return otherSocket
}
