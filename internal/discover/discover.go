// Package discover reads a host's /sys and /proc into a topology. It is the
// only reader of them for that purpose.
//
// It never fails for one bad file: what cannot be read is unknown, and what
// is odd about it becomes a finding. Reading (tree.go and the files named
// after what they read) is kept apart from parsing (values.go, config.go).
package discover

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// Why a host has nothing to probe. Each wraps ErrNoRDMA.
var (
	ErrNoRDMA = errors.New("no RDMA device")
	// ErrNoRDMAClass: the kernel's RDMA core is not loaded, or a container hides it.
	ErrNoRDMAClass = fmt.Errorf("%w: class/infiniband does not exist in sysfs; load the NIC's RDMA driver, or show the container the host's sysfs", ErrNoRDMA)
	// ErrNoRDMADevices: the RDMA core is there, and no device that can be read.
	ErrNoRDMADevices = fmt.Errorf("%w: class/infiniband in sysfs holds none; load the NIC's RDMA driver", ErrNoRDMA)
)

// Options say where to read.
type Options struct {
	// Sysfs and Procfs are the roots, "/sys" and "/proc" when empty.
	Sysfs, Procfs string
	// SysFiles and ProcFiles are read instead, where they are set.
	SysFiles, ProcFiles Files
	// Dev is where device nodes are looked for. When empty that is "/dev".
	//
	// With another Sysfs, Procfs and Dev are not made up: what they tell of this host
	// says nothing about another.
	Dev string
	// AllMemoryNodes lists NUMA nodes that have memory and no CPUs (HBM, CXL) as endpoints
	// too. A GPU's own memory never is one.
	AllMemoryNodes bool
	// SoftwareRNICs places soft-RoCE devices at their netdev's PCI function and
	// makes them usable.
	SoftwareRNICs bool
}

// Host is a topology with what only the machine it was read from can use.
type Host struct {
	Topology topology.Topology
	// LinkDirs maps each PCIe hop to the directory that holds the
	// current_link_speed and current_link_width of its link.
	LinkDirs map[string]string
	// VerbsNodes maps an RDMA device's name to its node below /dev/infiniband ("uverbs0").
	VerbsNodes map[string]string
	// P2P is what configuration space says about the way of peer traffic.
	P2P      P2P
	Findings []diagnosis.Finding
}

// Discover reads the host. When there is no RDMA device the error is
// ErrNoRDMAClass or ErrNoRDMADevices, and Host still holds the rest.
func Discover(o Options) (Host, error) {
	r, done, err := open(o)
	if err != nil {
		return Host{}, err
	}
	defer done()
	noRDMA := r.readAll()

	t, links, err := topology.BuildLinked(r.inventory())
	if err != nil {
		return Host{}, fmt.Errorf("sysfs at %s contradicts itself: %w", r.sysfs, err)
	}
	host := Host{
		Topology: t, LinkDirs: map[string]string{}, VerbsNodes: r.verbsNodes,
		P2P: r.peerSettings(t), Findings: r.findings(t, links),
	}
	for hop, address := range links {
		host.LinkDirs[hop] = filepath.Join(r.sysfs, r.pci[address].dir)
	}
	return host, noRDMA
}

// open makes the reader of a host; done closes it.
func open(o Options) (r *reader, done func(), err error) {
	r = &reader{
		sysfs: cmp.Or(o.Sysfs, "/sys"), dev: o.Dev, softwareRNICs: o.SoftwareRNICs, allMemoryNodes: o.AllMemoryNodes,
		verbsNodes: map[string]string{}, images: map[string]string{}, pci: map[string]*pciFunction{},
	}
	procfs := o.Procfs
	if o.Sysfs == "" && o.SysFiles == nil {
		r.dev, procfs = cmp.Or(o.Dev, "/dev"), cmp.Or(o.Procfs, "/proc")
	}
	var opened []*Dir
	done = func() {
		for _, dir := range opened {
			_ = dir.Close()
		}
	}
	sys, proc := o.SysFiles, o.ProcFiles
	if sys == nil {
		dir, err := OpenDir(r.sysfs)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read sysfs at %s: %w", r.sysfs, err)
		}
		opened, sys = append(opened, dir), dir
	}
	r.sys = &tree{files: sys}
	if proc == nil && procfs != "" {
		// A host without procfs loses the names of its GPUs, nothing more.
		if dir, err := OpenDir(procfs); err == nil {
			opened, proc = append(opened, dir), dir
		}
	}
	if proc != nil {
		r.proc = &tree{files: proc}
	}
	return r, done, nil
}

// reader gathers an inventory.
type reader struct {
	sysfs         string
	sys, proc     *tree  // proc is nil when there is none
	dev           string // "" looks for no device nodes
	softwareRNICs bool
	// allMemoryNodes makes endpoints of nodes without CPUs.
	allMemoryNodes bool

	nodes      []node
	verbsNodes map[string]string
	images     map[string]string       // RDMA device to system image GUID
	pci        map[string]*pciFunction // by address; every function is read once
	rnics      []topology.RNIC
	gpus       []topology.GPU
	problems   []string
}

// readAll reads everything. The error is that of readRNICs; the rest has been
// read all the same.
func (r *reader) readAll() error {
	r.readNodes()
	r.readVerbsNodes()
	err := r.readRNICs()
	r.readGPUs()
	return err
}

func (r *reader) inventory() topology.Inventory {
	inv := topology.Inventory{RNICs: r.rnics, GPUs: r.gpus}
	for _, f := range r.pci {
		inv.PCI = append(inv.PCI, f.PCIDevice)
	}
	for _, n := range r.nodes {
		if n.isEndpoint() || r.allMemoryNodes && n.isPlainMemory() && !r.hasCoherentGPU() {
			inv.MemoryNodes = append(inv.MemoryNodes, n.endpoint())
		}
	}
	return inv
}

// Bounds on the evidence of one finding.
const (
	maxProblems     = 32
	maxProblemBytes = 256
)

// problem notes a value that is there and cannot be used, as one line that
// leaves a terminal alone.
func (r *reader) problem(err error) {
	if len(r.problems) == maxProblems {
		return
	}
	line := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, err.Error())
	if len(line) > maxProblemBytes {
		line = strings.ToValidUTF8(line[:maxProblemBytes], "") + "..."
	}
	r.problems = append(r.problems, line)
}
