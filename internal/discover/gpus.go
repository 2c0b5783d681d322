package discover

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

const pciDevicesDir = "bus/pci/devices"

// readGPUs lists the display and accelerator functions of GPU vendors, numbered by
// PCI address as the vendors' libraries number them.
func (r *reader) readGPUs() {
	addresses, err := r.sys.list(pciDevicesDir)
	if err != nil {
		r.unread(err)
		return
	}
	slices.SortFunc(addresses, topology.CompareNatural)
	for _, address := range addresses {
		if !pciAddress.MatchString(address) {
			continue
		}
		link := path.Join(pciDevicesDir, address)
		class := read(r, path.Join(link, "class"), parseHexID)
		if !strings.HasPrefix(class, "03") && !strings.HasPrefix(class, "12") {
			continue
		}
		dir, err := r.sys.target(link)
		if err != nil {
			r.problem(err)
			continue
		}
		f := r.readFunction(dir)
		if f == nil {
			continue
		}
		if g, ok := r.gpu(f); ok {
			g.ID = fmt.Sprintf("gpu%d", len(r.gpus))
			r.gpus = append(r.gpus, g)
		}
	}
}

// gpu describes a function, false when its vendor makes no GPU that RDMA reaches.
func (r *reader) gpu(f *pciFunction) (topology.GPU, bool) {
	g := topology.GPU{PCI: f.Address, Usable: true}
	driver := "nvidia"
	switch f.Vendor {
	case "10de":
		g.Vendor = "nvidia"
		g.Model = r.nvidiaModel(f.Address)
	case "1002":
		g.Vendor = "amd"
		g.Model = read(r, path.Join(f.dir, "product_name"), word)
		driver = "amdgpu"
	default:
		return g, false
	}
	// Without a name the ids still tell like from unlike.
	g.Model = cmp.Or(g.Model, f.Vendor+":"+f.Device)
	g.NUMANode, g.Socket = r.locate(f)
	if f.driver != "" && f.driver != driver {
		g.Usable = false
		g.Reason = fmt.Sprintf("wrong_driver: bound to %s, not to %s", f.driver, driver)
	}
	return g, true
}

// nvidiaModel is the name that the NVIDIA driver gives a GPU, in
// /proc/driver/nvidia/gpus/<address>/information.
func (r *reader) nvidiaModel(address string) string {
	if r.proc == nil {
		return ""
	}
	text, err := r.proc.text(path.Join("driver/nvidia/gpus", address, "information"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if model, ok := strings.CutPrefix(line, "Model:"); ok {
			model, err = word(strings.TrimSpace(model))
			if err != nil {
				r.problem(fmt.Errorf("driver/nvidia/gpus/%s/information: %w", address, err))
			}
			return model
		}
	}
	return ""
}

// hasCoherentGPU reports whether a GPU's memory is NUMA nodes of the host: then
// its nodes without CPUs are the GPUs' own.
func (r *reader) hasCoherentGPU() bool {
	return slices.ContainsFunc(r.gpus, func(g topology.GPU) bool { return topology.IsCoherentGPU(r.pci[g.PCI].PCIDevice) })
}
