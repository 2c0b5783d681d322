package diagnosis

// hostEntries explains the findings about the host itself: its configuration
// and what the program may see of it.
func hostEntries() []Entry {
	const clears = "The next run that does not find it."
	return []Entry{{
		Code:    TopologyUnreadable,
		Finding: true,
		Title:   "Parts of the topology could not be read",
		Meaning: "Some files of sysfs could not be read, or what they hold makes no sense. What they would tell is unknown, and the topology may lack parts.",
		Causes: []string{
			"The program runs in a container or under a policy that hides files of the host.",
			"A device is failing: its files are there, and reading them gives errors.",
		},
		CheckFirst: []string{
			"Read the files that the finding names, as the same user.",
			"Compare `hostpingctl topology` with what `lspci -tv` shows.",
		},
		Confirm: "The same files cannot be read by other programs either.",
		Clears:  "The next run that can read them.",
	}, {
		Code:    CharDevMissing,
		Finding: true,
		Title:   "An RDMA device has no device node",
		Meaning: "The kernel lists the device and its port may be active, but its node under /dev/infiniband is missing while those of others are there: no program can use it.",
		Causes: []string{
			"The udev event of the device was lost, often after a driver was reloaded.",
			"A tool or image removed the node.",
		},
		CheckFirst: []string{
			"Compare /sys/class/infiniband_verbs with /dev/infiniband.",
			"Run `udevadm trigger --subsystem-match=infiniband_verbs` and look again.",
		},
		Confirm: "`ibv_devices` does not list the device, or fails.",
		Clears:  clears,
	}, {
		Code:    NetdevInOtherNetns,
		Finding: true,
		Title:   "The RNICs' network devices are in another network namespace",
		Meaning: "The RDMA devices of the host are visible here, their network devices are not: RoCE connections cannot be made, and pause counters cannot be read.",
		Causes: []string{
			"The program runs in a container with a network namespace of its own.",
			"The network devices were moved into a container.",
		},
		CheckFirst: []string{
			"Run hostping in the host's network namespace.",
			"Look with `ip link` and `rdma system` at what this namespace holds.",
		},
		Confirm: "On the host `rdma link` shows a netdev for these devices.",
		Clears:  clears,
	}, {
		Code:    NoUsableGID,
		Finding: true,
		Title:   "A RoCE port has no address that can be used",
		Meaning: "The port is active, but its GID table has no RoCE v2 entry with an address, so that no connection can be made on it.",
		Causes: []string{
			"The network device is down or has no IP address.",
			"The adapter is in switchdev mode: RDMA goes through its virtual functions.",
			"RoCE v2 is switched off on the device.",
		},
		CheckFirst: []string{
			"Look at the entries with `show_gids` or in /sys/class/infiniband/*/ports/*/gids.",
			"Set the network device up and give it an address.",
		},
		Confirm: "After that the GID table has entries of type RoCE v2, and the next run probes the device.",
		Clears:  clears,
	}, {
		Code:    NoSubnetManager,
		Finding: true,
		Title:   "An InfiniBand port waits for a subnet manager",
		Meaning: "The port's physical link is up and its state is INIT: nothing on the fabric has brought it to ACTIVE.",
		Causes: []string{
			"No subnet manager runs on the fabric.",
			"The port is cabled to another fabric, or its partition refuses it.",
		},
		CheckFirst: []string{
			"Ask a healthy port of the same fabric with `sminfo`.",
			"Look at the log of the subnet manager for this port's GUID.",
		},
		Confirm: "With a subnet manager the port becomes ACTIVE within seconds.",
		Clears:  clears,
	}, {
		Code:    MemlockLimit,
		Finding: true,
		Title:   "The limit of locked memory is below what a probe needs",
		Meaning: "RDMA pins the memory that it uses. Under this limit the kernel refuses buffers, and often queues before them.",
		Causes: []string{
			"A service of systemd has 8 MiB unless its unit says otherwise; limits.conf does not apply to it.",
			"A login shell has the distribution's small default.",
		},
		CheckFirst: []string{
			"Look at `ulimit -l`, or at LimitMEMLOCK of the unit.",
			"Set it to unlimited for this program.",
		},
		Confirm: "The probes that failed with memlock_limit succeed.",
		Clears:  clears,
	}, {
		Code:    ACSUnknown,
		Finding: true,
		Title:   "ACS and ATS settings could not be read",
		Meaning: "The kernel shows plain users the first 64 bytes of a device's configuration space only. Whether switches redirect peer traffic is unknown; it is not taken to be off.",
		Causes:  []string{"The program runs without CAP_SYS_ADMIN, or in a container that cuts these files."},
		CheckFirst: []string{
			"Run `hostpingctl` as root on the host.",
		},
		Confirm: "As root the finding is gone, and reports hold the settings under monitor.",
		Clears:  clears,
	}, {
		Code:    SlotLimited,
		Finding: true,
		Title:   "A device could do more than its slot offers",
		Meaning: "The device supports a higher link speed or width than the port above it. That is no fault: what is expected of the link is what both ends can do.",
		Causes: []string{
			"The card sits in a slot of an older generation or with fewer lanes.",
			"The platform splits the slot's lanes.",
		},
		CheckFirst: []string{
			"Compare with the platform's manual which slots have all lanes.",
			"Compare with a like host: if its links are wider, look at the bifurcation settings and at the riser.",
		},
		Confirm: "The port above the device shows the lower maximum in the LnkCap line of `lspci -vv`.",
		Clears:  clears,
	}, {
		Code:    OddFirmware,
		Finding: true,
		Title:   "An RNIC has another firmware than the like ones",
		Meaning: "Most RNICs of this model on this host have one firmware version, this one has another.",
		Causes: []string{
			"The card was replaced, or an update failed or awaits a reset.",
		},
		CheckFirst: []string{
			"Compare the versions with the vendor's tool, the one on flash as well.",
			"Bring all to one version.",
		},
		Confirm: "The versions are equal after update and reset.",
		Clears:  clears,
	}, {
		Code:    OddMTU,
		Finding: true,
		Title:   "An RNIC has another MTU than the like ones",
		Meaning: "The RDMA MTU of a RoCE port follows from its network device. This one differs from that of most like RNICs, which costs bandwidth or breaks large messages.",
		Causes: []string{
			"The network device was configured by hand, or its bond or bridge limits it.",
		},
		CheckFirst: []string{
			"Compare `ip link` of the RNICs' network devices.",
			"Set the MTU where the host's network configuration is kept.",
		},
		Confirm: "`ibv_devinfo` shows the same active_mtu on all.",
		Clears:  clears,
	}, {
		Code:    OddMaxReadRequest,
		Finding: true,
		Title:   "An RNIC has another PCIe read request size than the like ones",
		Meaning: "The size bounds how much one read request on PCIe may ask for; a smaller one costs the RNIC sending bandwidth.",
		Causes: []string{
			"Firmware or a tuning script set it on some slots only.",
			"The device was reset, which restores its default.",
		},
		CheckFirst: []string{
			"Compare MaxReadReq in the DevCtl lines of `lspci -vv`.",
			"Look for tuning scripts that address slots by number.",
		},
		Confirm: "With the same value the RNIC carries what the others do.",
		Clears:  clears,
	}, {
		Code:    OddMaxPayload,
		Finding: true,
		Title:   "An RNIC has another PCIe payload size than the like ones",
		Meaning: "The size bounds the payload of one PCIe packet; a smaller one costs bandwidth. It is that of the weakest device on the way.",
		Causes: []string{
			"A device or port on the RNIC's way supports less.",
			"The device was plugged in after boot and kept a default.",
		},
		CheckFirst: []string{
			"Compare MaxPayload in the DevCtl lines of all ports above the RNICs in `lspci -vv`.",
		},
		Confirm: "With the same value the RNIC carries what the others do.",
		Clears:  clears,
	}}
}
