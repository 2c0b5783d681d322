package discover

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

const netDir = "class/net"

// netdevs lists a port's network devices: those of the device that it stands
// on, and those that its GIDs belong to, such as a bond.
func (r *reader) netdevs(d rdmaDevice, port int, gids gidTable) []string {
	names := []string{}
	if d.parent == "" {
		if name := read(r, path.Join(d.dir, "parent"), identifier); name != "" {
			names = append(names, name)
		}
	} else if all, err := r.sys.list(path.Join(d.parent, "net")); err == nil {
		slices.SortFunc(all, topology.CompareNatural)
		for _, name := range all {
			if len(d.ports) == 1 || r.onPort(path.Join(d.parent, "net", name), port) {
				names = append(names, name)
			}
		}
	}
	for _, name := range gids.ndevs {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// onPort reports whether a netdev belongs to a port of a device with several.
func (r *reader) onPort(dir string, port int) bool {
	n, err := r.sys.text(path.Join(dir, "dev_port"))
	return err == nil && n == strconv.Itoa(port-1)
}

// readNetdev fills in what a RoCE port's first netdev says.
func (r *reader) readNetdev(rnic *topology.RNIC) {
	if rnic.LinkLayer != "Ethernet" || len(rnic.Netdevs) == 0 {
		return
	}
	dir := path.Join(netDir, rnic.Netdevs[0])
	if mtu := read(r, path.Join(dir, "mtu"), strconv.Atoi); mtu > 0 {
		rnic.MTU = rdmaMTU(mtu)
	}
	rnic.AdminUp = read(r, path.Join(dir, "flags"), parseInterfaceUp)
}

// isSwitchdev reports whether the port's eswitch is in switchdev mode, where
// RDMA goes through the representors' functions.
func (r *reader) isSwitchdev(rnic topology.RNIC) bool {
	for _, name := range rnic.Netdevs {
		// Reading fails with EOPNOTSUPP in the ordinary mode.
		if id, err := r.sys.text(path.Join(netDir, name, "phys_switch_id")); err == nil && id != "" {
			return true
		}
	}
	return false
}

// readLAGs counts the ports behind RDMA devices of a bond. The adapter joins
// its ports in one RDMA device where the slaves' functions have none of their own;
// a bond of ports that keep theirs is the kernel's alone.
func (r *reader) readLAGs() {
	owners := map[string]bool{}
	for _, rnic := range r.rnics {
		owners[rnic.PCI] = true
	}
	slaves := map[string][]string{} // bonds serve several devices; each is read once
	for i := range r.rnics {
		rnic := &r.rnics[i]
		for _, bond := range rnic.Netdevs {
			if rnic.PCI == "" {
				break
			}
			if _, known := slaves[bond]; !known {
				text, _ := r.sys.text(path.Join(netDir, bond, "bonding/slaves"))
				slaves[bond] = strings.Fields(text)
			}
			ports := 0
			for _, slave := range slaves[bond] {
				switch at := r.netdevFunction(slave); {
				case at == rnic.PCI, sameSlot(at, rnic.PCI) && !owners[at]:
					ports++
				}
			}
			if ports > 1 {
				rnic.LAGPorts = new(ports)
			}
		}
	}
}

// netdevFunction is the address of the PCI function that a netdev stands on, "" when there is none.
func (r *reader) netdevFunction(name string) string {
	dir, err := r.sys.target(path.Join(netDir, name))
	if err != nil {
		return ""
	}
	// ".../0000:17:00.0/net/ens1", with a virtio or auxiliary device in between on some
	for ; dir != "."; dir = path.Dir(dir) {
		if at := path.Base(dir); pciAddress.MatchString(at) {
			return at
		}
	}
	return ""
}

// sameSlot reports whether two functions are of one card.
func sameSlot(a, b string) bool {
	slotA, _, _ := strings.Cut(a, ".")
	slotB, _, _ := strings.Cut(b, ".")
	return slotA != "" && slotA == slotB
}
