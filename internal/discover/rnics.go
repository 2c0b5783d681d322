package discover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yuuki/hostping/internal/topology"
)

const (
	rdmaDir  = "class/infiniband"
	verbsDir = "class/infiniband_verbs"
)

// readVerbsNodes maps RDMA devices to their uverbs nodes.
func (r *reader) readVerbsNodes() {
	names, err := r.sys.list(verbsDir)
	if err != nil {
		r.unread(err)
		return
	}
	for _, node := range names {
		if !strings.HasPrefix(node, "uverbs") {
			continue
		}
		if device := read(r, path.Join(verbsDir, node, "ibdev"), word); device != "" {
			r.verbsNodes[device] = node
		}
	}
}

// readRNICs reads every port of every RDMA device. The error is one of the
// sentinels of this package, or says why the class cannot be read.
func (r *reader) readRNICs() error {
	names, err := r.sys.list(rdmaDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNoRDMAClass
	case err != nil:
		return fmt.Errorf("%w can be listed: %w", ErrNoRDMA, err)
	}
	slices.SortFunc(names, topology.CompareNatural)
	for _, name := range names {
		r.readDevice(name)
	}
	if len(r.rnics) == 0 {
		return ErrNoRDMADevices
	}
	r.readLAGs()
	r.findSharedPorts()
	return nil
}

// rdmaDevice is one RDMA device, before its ports are looked at.
type rdmaDevice struct {
	name     string
	dir      string       // of the RDMA device itself
	parent   string       // directory of the device that it stands on, "" when virtual
	function *pciFunction // nil when it stands on none
	iWARP    bool
	ports    []int
}

// readDevice adds the ports of one device. A device whose entry leads nowhere
// is on its way out and is left out.
func (r *reader) readDevice(name string) {
	d := rdmaDevice{name: name}
	var err error
	if d.dir, err = r.sys.target(path.Join(rdmaDir, name)); err != nil {
		r.problem(err)
		return
	}
	if !r.sys.exists(d.dir) {
		r.problem(fmt.Errorf("%s/%s: leads to %s, which does not exist", rdmaDir, name, d.dir))
		return
	}
	d.parent = r.parentOf(d.dir)
	d.function = r.readFunction(d.parent)
	d.iWARP = read(r, path.Join(d.dir, "node_type"), word) == "4: RNIC"
	if image := read(r, path.Join(d.dir, "sys_image_guid"), word); strings.Trim(image, "0:") != "" {
		r.images[name] = image
	}

	ports, err := r.sys.list(path.Join(d.dir, "ports"))
	if err != nil {
		r.problem(err)
	}
	for _, p := range ports {
		if n, err := strconv.Atoi(p); err == nil && n >= 1 && n <= 255 {
			d.ports = append(d.ports, n)
		}
	}
	slices.Sort(d.ports)
	if len(d.ports) == 0 {
		rnic := r.describe(d, 1)
		rnic.Usable, rnic.Reason = false, "ports_unreadable: its folder of ports lists none"
		r.rnics = append(r.rnics, rnic)
	}
	for _, port := range d.ports {
		r.rnics = append(r.rnics, r.readPort(d, port))
	}
}

// parentOf is the device below which the class puts the RDMA device
// (".../0000:17:00.0/infiniband/mlx5_0"); in a tree without such paths, that
// of the device link. "" for virtual devices.
func (r *reader) parentOf(dir string) string {
	if class := path.Dir(dir); path.Base(class) == "infiniband" && strings.HasPrefix(dir, "devices/") {
		if parent := path.Dir(class); parent != "devices/virtual" {
			return parent
		}
		return ""
	}
	parent, err := r.sys.target(path.Join(dir, "device"))
	if err != nil {
		return ""
	}
	return parent
}

// describe fills in what all ports of a device share.
func (r *reader) describe(d rdmaDevice, port int) topology.RNIC {
	rnic := topology.RNIC{
		ID: d.name, Name: d.name, Port: port,
		Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true, Netdevs: []string{},
	}
	if port != 1 {
		rnic.ID = fmt.Sprintf("%s:%d", d.name, port)
	}
	rnic.FWVersion = read(r, path.Join(d.dir, "fw_ver"), word)
	if d.parent == "" {
		rnic.Role = topology.RoleSoftware
		rnic.Driver = r.softwareDriver(d)
		return rnic
	}
	rnic.NUMANode, rnic.Socket = r.locate(d.function)
	f := d.function
	if f == nil {
		rnic.Driver = r.linkName(path.Join(d.parent, "driver"))
		return rnic
	}
	rnic.PCI, rnic.Driver, rnic.Model = f.Address, f.driver, f.model()
	if e := f.config.express; e != nil {
		rnic.MaxReadRequest, rnic.MaxPayload = new(e.maxReadRequest), new(e.maxPayload)
	}
	switch {
	case strings.Contains(path.Base(d.parent), ".sf."):
		rnic.Function = topology.FunctionSF
	case f.PhysFn != "" || f.isVirtual():
		rnic.Function = topology.FunctionVF
	}
	if f.model() == "15b3:1021" && f.subsystem == "15b3:0087" { // HGX B200
		rnic.Role = topology.RoleNVSwitchMgmt
	}
	return rnic
}

// model is the function's vendor and device id, "" when either is unknown.
func (f *pciFunction) model() string {
	if f.Vendor == "" || f.Device == "" {
		return ""
	}
	return f.Vendor + ":" + f.Device
}

// isVirtual tells a VF by its id, which is all that a guest can see. The ids
// are those of mlx5 (pci_device_id table of the driver).
func (f *pciFunction) isVirtual() bool {
	switch f.model() {
	case "15b3:1014", "15b3:1016", "15b3:1018", "15b3:101a", "15b3:101c", "15b3:101e":
		return true
	}
	return false
}

// softwareDriver tells the software devices apart: soft-RoCE alone has the
// parent attribute (rxe_verbs.c), siw alone calls itself an RNIC, as iWARP does.
func (r *reader) softwareDriver(d rdmaDevice) string {
	if r.sys.exists(path.Join(d.dir, "parent")) {
		return "rdma_rxe"
	}
	if d.iWARP {
		return "siw"
	}
	return ""
}

func (r *reader) readPort(d rdmaDevice, port int) topology.RNIC {
	rnic := r.describe(d, port)
	dir := path.Join(d.dir, "ports", strconv.Itoa(port))
	rnic.LinkLayer = read(r, path.Join(dir, "link_layer"), word)
	rnic.State = read(r, path.Join(dir, "state"), parseState)
	if rnic.State == "ACTIVE" {
		// A port without link goes on naming a rate that it does not have.
		rnic.RateGbps = read(r, path.Join(dir, "rate"), parseRate)
	}
	rnic.PhysState = read(r, path.Join(dir, "phys_state"), parsePhysState)
	rnic.AdminUp = portEnabled(rnic.LinkLayer, rnic.PhysState)
	// Only of an active RoCE port an address must be found, if it is the last.
	few := 16
	if rnic.LinkLayer == "Ethernet" && rnic.State == "ACTIVE" {
		few = maxGIDs
	}
	gids := r.readGIDs(dir, few)
	rnic.Netdevs = r.netdevs(d, port, gids)
	r.readNetdev(&rnic)
	if rnic.Role == topology.RoleSoftware && r.softwareRNICs {
		r.placeSoftware(&rnic)
	}
	if why := r.unusable(d, rnic, gids); why != "" {
		rnic.Usable, rnic.Reason = false, why
	}
	return rnic
}

// placeSoftware puts a software RNIC where its netdev's PCI function is.
func (r *reader) placeSoftware(rnic *topology.RNIC) {
	var f *pciFunction
	if len(rnic.Netdevs) > 0 {
		if dir, err := r.sys.target(path.Join(netDir, rnic.Netdevs[0])); err == nil {
			if f = r.readFunction(dir); f == nil {
				// In a tree that does not tell by the path.
				if device, err := r.sys.target(path.Join(dir, "device")); err == nil {
					f = r.readFunction(device)
				}
			}
		}
	}
	if f != nil {
		rnic.PCI = f.Address
	}
	rnic.NUMANode, rnic.Socket = r.locate(f)
}

// portEnabled reports whether an InfiniBand port is meant to be up: its physical state tells.
func portEnabled(linkLayer, physState string) *bool {
	if linkLayer != "InfiniBand" || physState == "" || physState == "Sleep" {
		return nil
	}
	return new(physState != "Disabled")
}

// findSharedPorts joins the functions of Socket Direct adapters: the same system
// image and function number on different buses are two ways to one port.
func (r *reader) findSharedPorts() {
	type port struct {
		image, function string
		number          int
	}
	legs := map[port][]int{}
	for i, rnic := range r.rnics {
		_, function, ok := strings.Cut(rnic.PCI, ".")
		if ok && rnic.Function == topology.FunctionPF && r.images[rnic.Name] != "" {
			p := port{r.images[rnic.Name], function, rnic.Port}
			legs[p] = append(legs[p], i)
		}
	}
	for _, same := range legs {
		for _, i := range same {
			for _, j := range same {
				if i != j && !sameSlot(r.rnics[i].PCI, r.rnics[j].PCI) {
					r.rnics[i].SamePort = append(r.rnics[i].SamePort, r.rnics[j].ID)
				}
			}
		}
	}
}

// Reasons why a device is not probed. Each begins with a word that stays the same.
const (
	reasonOtherNetns = "netdev_in_other_netns: none of its network devices is in this network namespace"
	reasonNoGID      = "no_usable_gid: no entry of its GID table can carry RoCE v2; give its network device an IP address"
	reasonSwitchdev  = "no_usable_gid: in switchdev mode the physical function has no GIDs; use its virtual functions"
)

// unusable says why a port cannot be probed, "" when nothing stands in the way.
func (r *reader) unusable(d rdmaDevice, rnic topology.RNIC, gids gidTable) string {
	switch {
	case rnic.Role == topology.RoleNVSwitchMgmt:
		return "nvswitch_management: a function of the GPU switch, no NIC"
	case rnic.Role == topology.RoleSoftware && !r.softwareRNICs:
		return "software_rnic: probed with --software-rnics only"
	case rnic.Driver == "efa" || rnic.Driver == "usnic_verbs":
		return "unsupported_by_device" // no reliable connections
	case d.iWARP:
		return "unsupported_by_device: iWARP connects by the RDMA connection manager alone"
	case rnic.State == "":
		return "port_state_unknown: the port's state cannot be read"
	case rnic.State != "ACTIVE":
		return "port_not_active: the port is " + rnic.State
	case rnic.PhysState != "" && rnic.PhysState != "LinkUp":
		return "port_not_active: its physical link is " + rnic.PhysState
	case rnic.LinkLayer == "Ethernet" && len(rnic.Netdevs) == 0 && r.sys.exists(netDir):
		return reasonOtherNetns
	case rnic.LinkLayer == "Ethernet" && gids.rocev2 != nil && !*gids.rocev2:
		if r.isSwitchdev(rnic) {
			return reasonSwitchdev
		}
		return reasonNoGID
	}
	return r.inaccessible(rnic.Name)
}

func deviceExists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// inaccessible says why programs cannot open a device.
func (r *reader) inaccessible(name string) string {
	if r.dev == "" {
		return ""
	}
	node := r.verbsNodes[name]
	if node == "" {
		return "not_accessible: the kernel offers no verbs node for it; load ib_uverbs"
	}
	file := filepath.Join(r.dev, "infiniband", node)
	if !deviceExists(file) {
		return fmt.Sprintf("not_accessible: %s is missing; give it to the container, or check udev", file)
	}
	if err := unix.Access(file, unix.R_OK|unix.W_OK); err != nil {
		return fmt.Sprintf("not_permitted: no permission to open %s; run as root, or give its group access", file)
	}
	return ""
}
