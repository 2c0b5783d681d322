package discover

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// findings are what is odd about the host before anything is measured.
func (r *reader) findings(t topology.Topology, links map[string]string) []diagnosis.Finding {
	list := []diagnosis.Finding{}
	list = append(list, r.unreadable()...)
	list = append(list, r.charDevices()...)
	list = append(list, hiddenNetdevs(t)...)
	list = append(list, withoutGID(t)...)
	list = append(list, r.memlock()...)
	list = append(list, withoutSubnetManager(t)...)
	list = append(list, r.hiddenConfig()...)
	list = append(list, r.slotLimited(t, links)...)
	return append(list, oddOnes(t)...)
}

// suspect is one part that a finding is about.
type suspect struct{ component, evidence string }

// maxAlike is how many parts get a finding each; more share one.
const maxAlike = 8

// each makes a finding for each part, or one for all where they are many.
func each(code diagnosis.Code, parts []suspect, what, hint string) []diagnosis.Finding {
	var list []diagnosis.Finding
	if len(parts) > maxAlike {
		return []diagnosis.Finding{all(code, parts, fmt.Sprintf("%d devices: %s", len(parts), what), hint)}
	}
	for _, p := range parts {
		list = append(list, diagnosis.Finding{
			Code: code, Component: p.component, Summary: p.component + ": " + what, Evidence: []string{p.evidence}, Hint: hint,
		})
	}
	return list
}

// all makes one finding of the host for all the parts.
func all(code diagnosis.Code, parts []suspect, summary, hint string) diagnosis.Finding {
	f := diagnosis.Finding{Code: code, Summary: summary, Evidence: []string{}, Hint: hint}
	for _, p := range parts {
		if len(f.Evidence) == maxProblems {
			f.Evidence = append(f.Evidence, fmt.Sprintf("and %d more", len(parts)-maxProblems))
			break
		}
		f.Evidence = append(f.Evidence, p.evidence)
	}
	return f
}

func (r *reader) unreadable() []diagnosis.Finding {
	if len(r.problems) == 0 {
		return nil
	}
	return []diagnosis.Finding{{
		Code:     diagnosis.TopologyUnreadable,
		Summary:  "some files of sysfs could not be read or make no sense: what they hold is unknown",
		Evidence: r.problems,
		Hint:     "look at the files named; a failing device or a tight container often is behind them",
	}}
}

// charDevices tells of device nodes that are missing on a host although
// others are there. A container may be given some only.
func (r *reader) charDevices() []diagnosis.Finding {
	if r.dev == "" || r.inContainer() {
		return nil
	}
	var missing []suspect
	present := 0
	for _, name := range topology.SortedKeys(r.verbsNodes) {
		file := filepath.Join(r.dev, "infiniband", r.verbsNodes[name])
		if deviceExists(file) {
			present++
			continue
		}
		missing = append(missing, suspect{name, fmt.Sprintf("%s, the node of %s, does not exist", file, name)})
	}
	if present == 0 {
		return nil // nobody made any: not about a device
	}
	return each(diagnosis.CharDevMissing, missing,
		"programs cannot open the device, although its port may look healthy",
		"look at udev's log for the device; `udevadm trigger --subsystem-match=infiniband_verbs` makes the nodes anew")
}

// The inode number of the PID namespace that the kernel starts in
// (PROC_PID_INIT_INO in include/linux/proc_ns.h).
const initialPIDNamespace = "pid:[4026531836]"

// inContainer reports whether we run in another PID namespace than the host's.
func (r *reader) inContainer() bool {
	if r.proc == nil {
		return false
	}
	namespace, err := r.proc.files.Readlink("self/ns/pid")
	return err == nil && namespace != initialPIDNamespace
}

func hiddenNetdevs(t topology.Topology) []diagnosis.Finding {
	parts := because(t, reasonOtherNetns)
	if len(parts) == 0 {
		return nil
	}
	return []diagnosis.Finding{all(diagnosis.NetdevInOtherNetns, parts,
		fmt.Sprintf("%d RoCE RNICs are seen without their network devices: they are not probed, and their pause counters cannot be read", len(parts)),
		"run hostping in the host's network namespace (with Kubernetes: hostNetwork: true)")}
}

func withoutGID(t topology.Topology) []diagnosis.Finding {
	return each(diagnosis.NoUsableGID, append(because(t, reasonNoGID), because(t, reasonSwitchdev)...),
		"the port is active, and RoCE v2 has no address to use there",
		"give its network device an IP address and set it up; in switchdev mode probe the virtual functions instead")
}

// because lists the RNICs that are not usable for this reason.
func because(t topology.Topology, reason string) (parts []suspect) {
	for _, rnic := range t.RNICs {
		if rnic.Reason == reason {
			_, why, _ := strings.Cut(reason, ": ")
			parts = append(parts, suspect{rnic.ID, rnic.ID + ": " + why})
		}
	}
	return parts
}

// neededMemlockBytes is what one probe registers at most, and a little for its queues.
const neededMemlockBytes = 16<<20 + 1<<20

// memlock compares the limit of locked memory with what a probe needs. Who
// may lock any amount (CAP_IPC_LOCK) has no limit.
func (r *reader) memlock() []diagnosis.Finding {
	if r.proc == nil {
		return nil
	}
	limits, err := r.proc.text("self/limits")
	if err != nil {
		return nil
	}
	limit := parseMemlock(limits)
	if limit == nil || *limit >= neededMemlockBytes {
		return nil
	}
	if status, err := r.proc.text("self/status"); err == nil && mayLock(status) {
		return nil
	}
	return []diagnosis.Finding{{
		Code:     diagnosis.MemlockLimit,
		Summary:  fmt.Sprintf("this process may lock %d KiB of memory, a probe needs %d: probes will fail with reason memlock_limit", *limit>>10, neededMemlockBytes>>10),
		Evidence: []string{fmt.Sprintf("/proc/self/limits: Max locked memory is %d bytes", *limit)},
		Hint:     "raise it: `ulimit -l unlimited` as root, or LimitMEMLOCK=infinity in the unit",
	}}
}

func withoutSubnetManager(t topology.Topology) []diagnosis.Finding {
	var parts []suspect
	for _, rnic := range t.RNICs {
		if rnic.LinkLayer == "InfiniBand" && rnic.State == "INIT" {
			parts = append(parts, suspect{rnic.ID, rnic.ID + ": the port is INIT, its physical link is " + cmp.Or(rnic.PhysState, "unknown")})
		}
	}
	return each(diagnosis.NoSubnetManager, parts,
		"the port has its link and waits for a subnet manager",
		"look for a running subnet manager on the fabric (`sminfo`)")
}

// hiddenConfig tells that settings of bridges and RNICs are unknown because
// configuration space is cut for readers without privilege.
func (r *reader) hiddenConfig() []diagnosis.Finding {
	var cut []suspect
	for _, address := range topology.SortedKeys(r.pci) {
		if f := r.pci[address]; f.config.cut && f.Type == topology.PCIDownstream && !f.IsEmulatedPort() {
			cut = append(cut, suspect{address, address + ": only the first 64 bytes of its configuration space can be read"})
		}
	}
	if len(cut) == 0 {
		return nil
	}
	return []diagnosis.Finding{all(diagnosis.ACSUnknown, cut,
		"whether the PCIe switches redirect peer traffic (ACS), and the RNICs' ATS and read request size, are unknown",
		"run hostpingctl as root (CAP_SYS_ADMIN) on the host to read them")}
}

// slotLimited tells which devices could do more than the port above them.
func (r *reader) slotLimited(t topology.Topology, links map[string]string) []diagnosis.Finding {
	var parts []suspect
	for _, h := range t.Hops {
		f := r.pci[links[h.ID]]
		if f == nil || h.Trust == topology.TrustNonsense || h.Kind != topology.HopRNICPCIe && h.Kind != topology.HopGPUPCIe {
			continue
		}
		slower := f.Link.MaxSpeedGTs != nil && h.ExpectedSpeedGTs != nil && *h.ExpectedSpeedGTs < *f.Link.MaxSpeedGTs
		narrower := f.Link.MaxWidth != nil && h.ExpectedWidth != nil && *h.ExpectedWidth < *f.Link.MaxWidth
		if slower || narrower {
			parts = append(parts, suspect{h.ID, fmt.Sprintf("%s could run at %s, the slot offers %s",
				f.Address, linkText(f.Link.MaxSpeedGTs, f.Link.MaxWidth), linkText(h.ExpectedSpeedGTs, h.ExpectedWidth))})
		}
	}
	return each(diagnosis.SlotLimited, parts,
		"the slot is slower than the device; what is expected of it is the slot's",
		"nothing is broken; move the card if a better slot is free")
}

func linkText(speedGTs *float64, width *int) string {
	speed, lanes := "an unknown speed", "unknown width"
	if speedGTs != nil {
		speed = strconv.FormatFloat(*speedGTs, 'g', -1, 64) + " GT/s"
	}
	if width != nil {
		lanes = fmt.Sprintf("x%d", *width)
	}
	return speed + " " + lanes
}
