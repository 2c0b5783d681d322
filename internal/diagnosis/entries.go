package diagnosis

// entries is the catalogue: the one place that explains codes. The runbook
// and `hostpingctl explain` come from it.
func entries() []Entry {
	const clears = "The daemon clears it after two runs in a row of the same coverage that no longer show it; a single diagnose or replay shows its own run only."
	return []Entry{{
		Code:    RNICPortDown,
		Title:   "The RNIC's port has no link",
		Meaning: "The port is enabled, or was ACTIVE before, and has no link now. None of its paths can be measured.",
		Causes: []string{
			"The cable or transceiver is unplugged, dirty or broken.",
			"The switch port at the other end is down or disabled, or speaks another speed or error correction.",
			"The RNIC's firmware or hardware failed.",
		},
		CheckFirst: []string{
			"Look at the port's state in `ibv_devinfo` and at its carrier in `ip link show` of its network interface.",
			"Look at the switch port at the other end: its state, its speed and its error counters.",
			"Read the transceiver's light levels with `ethtool -m`; reseat or swap the cable.",
			"Look for messages of the RNIC's driver in the kernel log.",
		},
		Confirm: "Swap the cable with that of a healthy port: a fault that follows the cable is the cable's.",
		Clears:  clears,
	}, {
		Code:    RNICPortDegraded,
		Title:   "The RNIC's port runs below its rate",
		Meaning: "The port has a link, at a lower rate than it can do or than its siblings on this host have.",
		Causes: []string{
			"The link trained with fewer lanes or at a lower speed: cable, transceiver or connector.",
			"The switch port at the other end is set to a lower speed.",
			"A port of a bond is down, so that the device offers only a part of its rate.",
		},
		CheckFirst: []string{
			"Compare the rate of the port in `ibstatus` with that of its siblings.",
			"Compare the speed in `ethtool` of its network interface with the one that the switch port shows.",
			"Reseat or swap the cable.",
		},
		Confirm: "With the cable of a healthy port the rate is right.",
		Clears:  clears,
	}, {
		Code:    RNICPCIeFailure,
		Title:   "The RNIC's own PCIe link is slow",
		Meaning: "Every close endpoint of this RNIC is read and written too slowly, and paths of other RNICs clear the hops beyond its own link.",
		Causes: []string{
			"The link trained at a lower speed or width than both ends can do (dirty or worn connector, riser, slot).",
			"The link retries: bit errors on its lanes.",
			"On the RNIC: slow start is on, or the Tx window is too small. Both give the same figures; a live host does not tell them apart.",
		},
		CheckFirst: []string{
			"Compare LnkSta with LnkCap of the RNIC and of the port above it in `lspci -vv`, while traffic flows: idle links may downshift.",
			"Look for corrected errors of that port in the kernel log and in its aer_dev_correctable file.",
			"Compare firmware and settings of the RNIC with a healthy one of the same model.",
			"Reseat the card or its riser; move it to another slot.",
		},
		Confirm: "Swap the card with a healthy one: a fault that follows the card is the card's, one that stays is the slot's.",
		Clears:  clears,
	}, {
		Code:    RNICSlowStart,
		Title:   "Slow start holds the RNIC back",
		Meaning: "The RNIC is slow on all its close paths, and its slow start setting is known to be on.",
		Causes:  []string{"The setting was left on by a firmware update or by a default of the vendor."},
		CheckFirst: []string{
			"Read the slow start setting of the RNIC with the vendor's tool and compare it with a healthy RNIC.",
			"Turn it off on this RNIC while no job runs.",
		},
		Confirm: "Run a diagnosis after the change: all close paths of the RNIC are back at their references.",
		Clears:  clears,
	}, {
		Code:    RNICTxWindow,
		Title:   "A small Tx window holds the RNIC back",
		Meaning: "The RNIC is slow on all its close paths, and its Tx window is known to be too small.",
		Causes:  []string{"The window was set for another network, or reset by a firmware update."},
		CheckFirst: []string{
			"Read the Tx window of the RNIC with the vendor's tool and compare it with a healthy RNIC.",
			"Raise it while no job runs.",
		},
		Confirm: "Run a diagnosis after the change: all close paths of the RNIC are back at their references.",
		Clears:  clears,
	}, {
		Code:    P2PMisconfiguration,
		Title:   "Peer traffic to the GPU takes the way through the root complex",
		Meaning: "An RNIC and a GPU under one root port are slow and late to each other: their traffic does not turn at the switch between them.",
		Causes: []string{
			"ACS redirects peer requests at the ports of a PCIe switch.",
			"ATS is off on the RNIC while the IOMMU translates.",
		},
		CheckFirst: []string{
			"Look for `ReqRedir+` in the ACSCtl lines of the switch's downstream ports in `lspci -vv` (as root).",
			"Look for `Enable-` in the ATSCtl line of the RNIC.",
			"Look at the firmware's settings for ACS and at the kernel's command line for the IOMMU.",
		},
		Confirm: "Run a diagnosis after the setting changed: bandwidth and latency of the pair are normal again.",
		Clears:  clears,
	}, {
		Code:    GPUPCIeFailure,
		Title:   "The GPU's own PCIe link is slow",
		Meaning: "The GPU is read and written too slowly by its close RNIC, whose way to the GPU's link is healthy, and at a normal latency.",
		Causes: []string{
			"The link trained at a lower speed or width than both ends can do.",
			"The link retries: bit errors on its lanes.",
			"The GPU lowers its link's speed, for its temperature or to save power.",
		},
		CheckFirst: []string{
			"Compare the current with the greatest PCIe generation and width of the GPU in the vendor's tool, while traffic flows.",
			"Look at the GPU's PCIe replay counter and at the corrected errors of the port above it.",
			"Reseat the GPU or its baseboard.",
		},
		Confirm: "Copy between host and this GPU with the vendor's bandwidth test: it is slow as well, for other GPUs it is not.",
		Clears:  clears,
	}, {
		Code:    SwitchLinkFailure,
		Title:   "The link above a PCIe switch is slow",
		Meaning: "All that crosses the link above this switch is slow, while traffic that turns at the switch is normal.",
		Causes: []string{
			"The link trained at a lower speed or width (cable or connector between boards).",
			"The link retries: bit errors on its lanes.",
		},
		CheckFirst: []string{
			"Compare LnkSta with LnkCap of the switch's upstream port and of the port above it in `lspci -vv`, while traffic flows.",
			"Look for corrected errors of both ports in the kernel log.",
			"Reseat the cable or board between the two.",
		},
		Confirm: "Load the link from the GPU below it with the vendor's bandwidth test: host copies are slow as well.",
		Clears:  clears,
	}, {
		Code:    RootPortFailure,
		Title:   "The link of a root port is slow",
		Meaning: "All that enters or leaves the CPU by this root port is slow, while traffic that turns below it is normal.",
		Causes: []string{
			"The link between the CPU and the first switch trained at a lower speed or width.",
			"The CPU's root port or its socket contact is damaged.",
		},
		CheckFirst: []string{
			"Compare LnkSta with LnkCap of the root port and of the device below it in `lspci -vv`, while traffic flows.",
			"Look for corrected and uncorrected errors of the root port in the kernel log.",
			"Reseat the board below; then reseat or swap the CPU.",
		},
		Confirm: "Copy between host and every GPU under the root port: all are slow, those under other root ports are not.",
		Clears:  clears,
	}, {
		Code:    InterSocketFailure,
		Title:   "The bus between two sockets is slow",
		Meaning: "Paths that cross the bus between these sockets are slow, while both sockets' own memory is normal.",
		Causes: []string{
			"A link of the bus is down or trained at a lower speed or width.",
			"The firmware's power settings hold the bus in a slow state.",
			"Against default baselines: the platform cannot do more.",
		},
		CheckFirst: []string{
			"Look for machine-check and interconnect errors in the kernel log and in the BMC's event log.",
			"Compare the bus speed that the firmware shows with that of a like host.",
			"Calibrate on a healthy host of the same kind and run again.",
		},
		Confirm: "Measure remote memory bandwidth from the CPUs, with memory bound to the other socket: it is low against a like host.",
		Clears:  clears,
	}, {
		Code:    MemoryChannelFailure,
		Title:   "The memory of a NUMA node is slow",
		Meaning: "All RNICs that should reach line rate to this node's memory are slow there, and normal to other memory.",
		Causes: []string{
			"A memory channel is lost or runs at a lower speed: a DIMM is missing, disabled or mapped out.",
			"Errors are corrected at a high rate.",
			"Memory is being refreshed or scrubbed at an unusual rate, often for its temperature.",
		},
		CheckFirst: []string{
			"Compare the number, size and speed of the node's DIMMs in `dmidecode -t memory` with a like host.",
			"Read the corrected error counters under /sys/devices/system/edac/mc.",
			"Look at the BMC's event log for DIMM events.",
		},
		Confirm: "Measure the node's memory bandwidth from its own CPUs: it is low against a like host.",
		Clears:  clears,
	}, {
		Code:    LinkFlapping,
		Title:   "A hop is slow in some runs and normal in others",
		Meaning: "In three runs in a row paths across this hop were slow although other paths cleared it: its fault comes and goes.",
		Causes: []string{
			"A link retrains again and again.",
			"A part reaches a temperature or power limit from time to time.",
			"Other traffic crosses the hop from time to time.",
		},
		CheckFirst: []string{
			"Count the corrected errors and the link-state messages of the hop's ports in the kernel log over an hour.",
			"Compare the times of the slow runs with temperature, power and job records.",
		},
		Confirm: "Run `hostpingctl diagnose --runs 10`: the hop is slow in some of the runs.",
		Clears:  clears,
	}, {
		Code:    MemoryChannelOverload,
		Title:   "The memory of a NUMA node is overloaded",
		Meaning: "Paths to this node's memory are slow while its channels are used above the overload threshold.",
		Causes:  []string{"Jobs on the host move more data in this node's memory than its channels carry."},
		CheckFirst: []string{
			"Find the processes that use this node's memory most (`numastat`, memory bandwidth monitoring).",
			"Spread them, or bind their memory to another node.",
		},
		Confirm: "Run a diagnosis while those processes are stopped: the paths are normal.",
		Clears:  clears,
	}, {
		Code:    InterSocketOverload,
		Title:   "The bus between two sockets is overloaded",
		Meaning: "Paths that cross the bus are slow while it is used above the overload threshold.",
		Causes:  []string{"Jobs read or write memory, GPUs or RNICs of the other socket."},
		CheckFirst: []string{
			"Find the processes whose CPUs and memory, or GPU and RNIC, sit on different sockets.",
			"Bind each job's CPUs, memory, GPUs and RNICs to one socket.",
		},
		Confirm: "Run a diagnosis while those processes are stopped: the paths are normal.",
		Clears:  clears,
	}, {
		Code:    RNICPCIeContention,
		Title:   "The RNIC's own PCIe link is crowded",
		Meaning: "The RNIC, loaded by a service, pauses or drops, and no hop beyond its own link is slow.",
		Causes:  []string{"Several flows share the link, among them traffic between GPUs and storage that does not use the network."},
		CheckFirst: []string{
			"Compare the RNIC's throughput with what its link carries.",
			"Look for other devices below the same switch that were busy at that time.",
		},
		Confirm: "The pauses end when the competing traffic does.",
		Clears:  clears,
	}, {
		Code:    PCIeLinkDowngraded,
		Title:   "A PCIe link runs below what both its ends can do",
		Meaning: "A link was seen under load at a lower speed or width than both ends support, although no slow path is explained by it.",
		Causes: []string{
			"The link trained badly (connector, riser, cable).",
			"A firmware setting limits the slot.",
		},
		CheckFirst: []string{
			"Compare LnkSta with LnkCap of both ends in `lspci -vv`, while traffic flows.",
			"Look at the slot's settings in the firmware.",
			"Reseat the part.",
		},
		Confirm: "Reboot or retrain the link: if the state stays, it is the hardware's or the firmware's.",
		Clears:  clears,
	}, {
		Code:    PathUnexplained,
		Title:   "A path is slow and no hop explains it",
		Meaning: "The path was slow in most of its reads, yet other paths were normal across each of its hops in the same run.",
		Causes: []string{
			"A fault that comes and goes.",
			"Something that concerns this pair of devices alone, such as peer settings or address translation.",
			"Work on the host that began during the run.",
		},
		CheckFirst: []string{
			"Run a diagnosis again on an idle host, with several runs: `hostpingctl diagnose --runs 3`.",
			"Look at the reads of the path in the report, whether they scatter.",
		},
		Confirm: "The same path is slow again in the next run.",
		Clears:  clears,
	}, {
		Code:    LatencyAbnormal,
		Finding: true,
		Title:   "Paths answer late",
		Meaning: "The 1-byte latency of these paths is too high against the close paths of like RNICs, while their bandwidth is not abnormal.",
		Causes: []string{
			"Peer traffic takes the way through the root complex, and the line rate is low enough to hide it from the bandwidth.",
			"A power saving state of the CPU, the link or the GPU.",
		},
		CheckFirst: []string{
			"Look for ACS and ATS settings when the paths lead to GPUs under the RNIC's root port.",
			"Compare the power profile of the firmware with a like host.",
		},
		Confirm: "Run a diagnosis with the setting changed: the latency is normal.",
		Clears:  "The next run that does not show it.",
	}, {
		Code:    PlatformLimit,
		Finding: true,
		Title:   "A whole class of far paths stays below the default baseline",
		Meaning: "All far GPU paths of one distance class are slower than the defaults, while every close path is normal: the host is built so.",
		Causes:  []string{"The root complex or the bus between the sockets carries less peer traffic than the platform behind the defaults."},
		CheckFirst: []string{
			"Calibrate on this host while it is known to be healthy: `hostpingctl calibrate --out FILE`.",
		},
		Confirm: "A like host shows the same figures.",
		Clears:  "The next run that does not show it.",
	}, {
		Code:    NoReference,
		Finding: true,
		Title:   "Paths cannot be judged",
		Meaning: "There is no baseline for these paths, and fewer than three like paths to compare them with.",
		Causes: []string{
			"A software RNIC, or an RNIC whose line rate cannot be read.",
			"A distance class of which no figure is known.",
		},
		CheckFirst: []string{
			"Calibrate on this host while it is known to be healthy: `hostpingctl calibrate --out FILE`.",
		},
		Confirm: "With the baseline file the paths get a verdict.",
		Clears:  "The next run that does not show it.",
	}, {
		Code:    ToolLimited,
		Finding: true,
		Title:   "The probe itself may be the limit",
		Meaning: "Reads of these paths were low, but went up with more queue pairs: the low figures say nothing about the host.",
		Causes:  []string{"The measuring thread got too little CPU time, or one queue pair cannot load this RNIC."},
		CheckFirst: []string{
			"Look for busy CPUs on the RNIC's NUMA node.",
			"Run again.",
		},
		Confirm: "A run on an idle CPU gives these paths a verdict.",
		Clears:  "The next run that does not show it.",
	}, {
		Code:    RNICUnmeasured,
		Finding: true,
		Title:   "An RNIC could not be measured at all",
		Meaning: "Every probe on this RNIC failed for a reason of its own. Nothing is said about its hops.",
		Causes: []string{
			"Its port is down or has no usable address.",
			"The system refuses memory, queue pairs or access to its device file.",
			"The device was removed.",
		},
		CheckFirst: []string{
			"Read the reasons: each names what was tried and what came back.",
			"Look at the port's state and at the kernel log of its driver.",
		},
		Confirm: "`ibv_devinfo` and a loopback with `ib_write_bw` on this device fail as well.",
		Clears:  "The next run that measures a path of the RNIC.",
	}, {
		Code:    BaselineStale,
		Finding: true,
		Title:   "The baseline asks far too little of this RNIC",
		Meaning: "All paths of the RNIC carry more than one and a half times what their baseline expects. Such a baseline is not of this hardware: a path may lose a third and more, and still meet it.",
		Causes: []string{
			"The baseline was calibrated on a sick host, under load, or before a repair or an upgrade.",
			"The line rate that the system states is not the real one.",
		},
		CheckFirst: []string{
			"Compare the RNIC's rate in `hostpingctl topology` with its data sheet.",
			"Calibrate anew on this host while it is known to be healthy: `hostpingctl calibrate --out FILE`.",
		},
		Confirm: "With the new baseline the paths carry about what is expected of them.",
		Clears:  "The next run that does not show it.",
	}, {
		Code:    BaselineIncomplete,
		Finding: true,
		Title:   "The baseline file does not know some of this host's paths",
		Meaning: "The baseline file has figures for other paths of this host, but none for these: they are judged by the defaults.",
		Causes: []string{
			"A part or a setting differs from the hosts that were calibrated: the evidence says which.",
			"The part was not usable when the host was calibrated.",
		},
		CheckFirst: []string{
			"Read the differences: an MTU or a slot that differs by mistake is worth correcting.",
			"Otherwise calibrate on a host of this kind and merge: `hostpingctl calibrate --merge OLD NEW --out FILE`.",
		},
		Confirm: "The differences name a part or a setting that this host really has.",
		Clears:  "The next run with a baseline file that knows these paths.",
	}}
}
