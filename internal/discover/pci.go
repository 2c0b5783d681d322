package discover

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/yuuki/hostping/internal/topology"
)

// pciFunction is a PCI device of the inventory with what the readers of RNICs
// and GPUs want to know besides.
type pciFunction struct {
	topology.PCIDevice
	dir       string // in sysfs
	subsystem string // "15b3:0087"
	driver    string
	config    configSpace
	cpus      cpuSet // local_cpulist
}

var (
	pciAddress = regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	pciBus     = regexp.MustCompile(`^pci[0-9a-f]{4,}:[0-9a-f]{2}$`)
)

// readFunction reads the last PCI function on a device's path in sysfs, and
// the bridges above it. nil when the path holds none.
//
// Below the host bridge ("pci0000:17") each component that is an address is a
// function; what follows (a virtio or auxiliary device, net, infiniband) hangs on the last.
func (r *reader) readFunction(devicePath string) *pciFunction {
	parts := strings.Split(devicePath, "/")
	hostBridge, first := "", 0
	for i, part := range parts {
		// The last one counts: behind a volume management device buses begin anew.
		if pciBus.MatchString(part) {
			hostBridge, first = part, i+1
		}
	}
	if hostBridge == "" {
		// A tree that shows bare functions, without the buses above.
		first = max(0, slices.IndexFunc(parts, pciAddress.MatchString))
	}
	end := first
	for end < len(parts) && pciAddress.MatchString(parts[end]) {
		end++
	}
	var f *pciFunction
	for i := first; i < end; i++ {
		f = r.readOne(path.Join(parts[:i+1]...), hostBridge, f, i+1 < end)
	}
	return f
}

// readOne reads the function in dir, unless it was read before. bridge says that
// another function hangs on it.
func (r *reader) readOne(dir, hostBridge string, above *pciFunction, bridge bool) *pciFunction {
	address := path.Base(dir)
	if f := r.pci[address]; f != nil {
		return f
	}
	f := &pciFunction{dir: dir}
	r.pci[address] = f
	f.ID, f.Address, f.HostBridge = address, address, hostBridge
	if above != nil {
		f.Parent = above.Address
	}

	in := func(name string) string { return path.Join(dir, name) }
	f.Vendor = read(r, in("vendor"), parseHexID)
	f.Device = read(r, in("device"), parseHexID)
	f.subsystem = read(r, in("subsystem_vendor"), parseHexID) + ":" + read(r, in("subsystem_device"), parseHexID)
	f.NUMANode = read(r, in("numa_node"), parseNUMANode)
	f.cpus = read(r, in("local_cpulist"), parseCPUList)
	f.Link = topology.PCILink{
		SpeedGTs:    read(r, in("current_link_speed"), parseLinkSpeed),
		MaxSpeedGTs: read(r, in("max_link_speed"), parseLinkSpeed),
		Width:       read(r, in("current_link_width"), parseLinkWidth),
		MaxWidth:    read(r, in("max_link_width"), parseLinkWidth),
	}
	f.driver = r.linkName(in("driver"))
	f.PhysFn = r.linkName(in("physfn"))

	if space, err := r.sys.bytes(in("config")); err == nil {
		f.config = parseConfig(space)
	} else {
		r.unread(err)
	}
	switch {
	case f.config.express != nil:
		f.Type = f.config.express.kind
	case bridge:
		f.Type = f.bridgeType(above)
	default:
		f.Type = topology.PCIEndpoint
	}
	return f
}

// bridgeType tells what a bridge is whose configuration space cannot be read:
// by its id, else by what it hangs on, for ports of switches alternate.
func (f *pciFunction) bridgeType(above *pciFunction) topology.PCIType {
	switch f.Vendor + ":" + f.Device {
	case "104c:8232": // guests may find it right on the root bus
		return topology.PCIUpstream
	case "104c:8233":
		return topology.PCIDownstream
	}
	if above == nil {
		return topology.PCIRootPort
	}
	switch above.Type {
	case topology.PCIRootPort, topology.PCIDownstream:
		return topology.PCIUpstream
	case topology.PCIUpstream:
		return topology.PCIDownstream
	}
	return topology.PCIBridge
}

// read gives a file's value, the zero value when it cannot be had. A file that is
// not there is nothing to talk about; one that is there and makes no sense is noted.
func read[T any](r *reader, name string, parse func(string) (T, error)) T {
	var none T
	text, err := r.sys.text(name)
	if err != nil {
		r.unread(err)
		return none
	}
	v, err := parse(text)
	if err != nil {
		r.problem(fmt.Errorf("%s: %w", name, err))
		return none
	}
	return v
}

// unread notes a failed reading, unless it only says that the device has no
// such value.
func (r *reader) unread(err error) {
	for _, harmless := range []error{fs.ErrNotExist, syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENODATA} {
		if errors.Is(err, harmless) {
			return
		}
	}
	r.problem(err)
}

// linkName is the last component of a link's target, "" when there is no link.
func (r *reader) linkName(name string) string {
	link, err := r.sys.files.Readlink(name)
	if err != nil {
		return ""
	}
	base, err := identifier(path.Base(link))
	if err != nil {
		r.problem(fmt.Errorf("%s: leads to %q: %w", name, link, err))
		return ""
	}
	return base
}
