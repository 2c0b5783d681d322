package discover_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/discover/hosttree"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/topology"
)

const (
	oneSocket  = "node 0 cpus 0-3 package 0 memory 64\n"
	twoSockets = oneSocket + "node 1 cpus 4-7 package 1 memory 64\n"
)

// fieldCase is a report from the field as a small host, and what discovery must make of it.
type fieldCase struct {
	name, tree string
	change     func(*testing.T, *discover.Options) // may be nil
	check      func(*testing.T, seen)
}

// seen is what discovery made of a case.
type seen struct {
	discover.Host
	err error
}

func (s seen) rnic(t *testing.T, id string) topology.RNIC {
	t.Helper()
	for _, r := range s.Topology.RNICs {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("no RNIC %s", id)
	return topology.RNIC{}
}

func (s seen) hop(t *testing.T, id string) topology.Hop {
	t.Helper()
	for _, h := range s.Topology.Hops {
		if h.ID == id {
			return h
		}
	}
	t.Fatalf("no hop %s", id)
	return topology.Hop{}
}

// class is that of a path, "" when there is none.
func (s seen) class(rnic, endpoint string) topology.Class {
	for _, p := range s.Topology.Paths {
		if p.RNIC == rnic && p.Endpoint == endpoint {
			return p.Class
		}
	}
	return ""
}

// findings lists what the findings of a code are about.
func (s seen) findings(code diagnosis.Code) []string {
	components := []string{}
	for _, f := range s.Findings {
		if f.Code == code {
			components = append(components, f.Component)
		}
	}
	return components
}

// usable names the RNICs that can be probed.
func (s seen) usable() string {
	var names []string
	for _, r := range s.Topology.RNICs {
		if r.Usable {
			names = append(names, r.ID)
		}
	}
	return strings.Join(names, " ")
}

func linkOf(h topology.Hop) string {
	return fmt.Sprintf("%sx%s of %sx%s %s", number(h.SpeedGTs, 1), number(h.Width, 0), number(h.ExpectedSpeedGTs, 1), number(h.ExpectedWidth, 0), h.Trust)
}

func fieldCases() []fieldCase {
	return []fieldCase{{
		name: "C01_counters_hold_text",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 200
/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data = N/A (no PMA)
/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed = 0
`,
		check: func(t *testing.T, s seen) {
			assert.True(t, s.rnic(t, "mlx5_0").Usable, "a counter is no reason not to probe")
			assert.Empty(t, s.Findings)
		},
	}, {
		name: "C02_no_counters_directory_of_another_driver",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 8086:1592 16x16 driver ice
      rdma irdma0 100
  10:02.0 root_port 8086:352a 16x16
    12:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 200 fw 20.39.1002
/sys/class/infiniband/irdma0/ports/1/hw_counters/ip4InOctets = 12
/sys/class/infiniband/irdma0/fw_ver gone
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "irdma0 mlx5_0", s.usable())
			assert.Equal(t, new(200.0), s.rnic(t, "mlx5_0").RateGbps)
			assert.Equal(t, "20.39.1002", s.rnic(t, "mlx5_0").FWVersion)
		},
	}, {
		name: "C04_no_class_directory",
		tree: oneSocket,
		check: func(t *testing.T, s seen) {
			assert.ErrorIs(t, s.err, discover.ErrNoRDMAClass)
			assert.Len(t, s.Topology.MemoryNodes, 1)
		},
	}, {
		name: "C04_empty_class_directory",
		tree: oneSocket + "/sys/class/infiniband folder\n",
		check: func(t *testing.T, s seen) {
			assert.ErrorIs(t, s.err, discover.ErrNoRDMADevices)
			assert.False(t, errors.Is(s.err, discover.ErrNoRDMAClass))
		},
	}, {
		name: "C04_class_directory_of_dangling_links",
		tree: oneSocket + "/sys/class/infiniband/mlx5_0 -> ../../devices/pci0000:10/gone/infiniband/mlx5_0\n",
		check: func(t *testing.T, s seen) {
			assert.ErrorIs(t, s.err, discover.ErrNoRDMADevices)
			assert.Len(t, s.findings(diagnosis.TopologyUnreadable), 1, "the dangling link is told")
		},
	}, {
		name: "C05_counters_at_device_level",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 8x16
    11:00.0 nic 8086:24f0 8x16 driver hfi1
      rdma hfi1_0 100 ib
/sys/class/infiniband/hfi1_0/hw_counters/PcicPostHdQUncErr = 0
/sys/class/infiniband/hfi1_0/hw_counters/SDEDscFdCn10,32 = 0
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "hfi1_0", s.usable())
			assert.Len(t, s.Topology.RNICs, 1, "counter files make no devices")
		},
	}, {
		name: "C07_identity_files_missing",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 8x16
    11:00.0 nic 8086:1592 8x16 driver ice
      rdma irdma0 100
/sys/class/infiniband/irdma0/fw_ver gone
/sys/class/infiniband/irdma0/node_type gone
11:00.0/subsystem_vendor gone
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "irdma0", s.usable())
			assert.Empty(t, s.rnic(t, "irdma0").FWVersion)
			assert.Empty(t, s.Findings, "what a driver does not offer is no finding")
		},
	}, {
		name: "C08_functions_of_the_GPU_switch_are_no_NICs",
		tree: oneSocket + `
bus pci0000:60 node 0
  60:01.0 root_port 8086:352a 32x16
    68:00.0 upstream 1000:c030 32x16
      68:01.2 downstream 1000:c030 32x16
        73:00.0 nic 15b3:1021 16x2 max 32x16 class 020700 sub 15b3:0087
          rdma ibp115s0f0 400 ib
  60:02.0 root_port 8086:352a 32x16
    61:00.0 nic 15b3:1021 32x16 class 020700 sub 15b3:0088
      rdma mlx5_0 400 ib
`,
		check: func(t *testing.T, s seen) {
			r := s.rnic(t, "ibp115s0f0")
			assert.Equal(t, topology.RoleNVSwitchMgmt, r.Role)
			assert.False(t, r.Usable)
			assert.Empty(t, s.class("ibp115s0f0", "mem0"), "no path leads through it")
			for _, h := range s.Topology.Hops {
				assert.NotContains(t, h.Members, "ibp115s0f0", "its narrow link is not looked at")
			}
			assert.Equal(t, "mlx5_0", s.usable())
		},
	}, {
		name: "C10_rate_of_a_generation_to_come",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 64x16
    11:00.0 nic 15b3:1025 64x16
      rdma mlx5_0 1600 ib
/sys/class/infiniband/mlx5_0/ports/1/rate = 1600 Gb/sec (4X FUTURE)
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, new(1600.0), s.rnic(t, "mlx5_0").RateGbps)
			assert.Equal(t, "mlx5_0", s.usable())
		},
	}, {
		name: "C11_two_lanes",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 100 ib
/sys/class/infiniband/mlx5_0/ports/1/rate = 100 Gb/sec (2X HDR)
`,
		check: func(t *testing.T, s seen) { assert.Equal(t, new(100.0), s.rnic(t, "mlx5_0").RateGbps) },
	}, {
		name: "C13_software_device_with_a_made_up_rate",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 2.5x1
    11:00.0 nic 8086:1533 2.5x1 driver igb
      net eth0
rxe rxe0 on eth0
/sys/class/net/eth0/speed = 1000
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, topology.RoleSoftware, s.rnic(t, "rxe0").Role)
			assert.Empty(t, s.Topology.Paths)
			assert.Empty(t, baseline.Defaults(s.Topology))
		},
	}, {
		name: "C13_software_device_asked_for",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 2.5x1
    11:00.0 nic 8086:1533 2.5x1 driver igb
      net eth0
rxe rxe0 on eth0
`,
		change: func(_ *testing.T, o *discover.Options) { o.SoftwareRNICs = true },
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "rxe0", s.usable())
			for path, expected := range baseline.Defaults(s.Topology) {
				assert.Nil(t, expected.BandwidthGbps, "%s: its rate is made up, so nothing is expected of it", path)
			}
		},
	}, {
		name: "C16_switchdev_without_GIDs",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101d 16x16
      rdma mlx5_0 200 net ens1 gids none
    11:00.1 nic 15b3:101e 16x16 pf 11:00.0
      rdma mlx5_1 200 net ens1v0
/sys/class/net/ens1/phys_switch_id = 020000feff5e0002
`,
		check: func(t *testing.T, s seen) {
			assert.Contains(t, s.rnic(t, "mlx5_0").Reason, "no_usable_gid: in switchdev mode")
			assert.Equal(t, []string{"mlx5_0"}, s.findings(diagnosis.NoUsableGID))
			assert.Equal(t, "mlx5_1", s.usable())
		},
	}, {
		name: "C16_no_address",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101d 16x16
      rdma mlx5_0 200 net ens1 gids none
    11:00.1 nic 15b3:101d 16x16
      rdma mlx5_1 200 net ens2 gids v1
`,
		check: func(t *testing.T, s seen) {
			assert.Contains(t, s.rnic(t, "mlx5_0").Reason, "no_usable_gid: no entry")
			assert.Contains(t, s.rnic(t, "mlx5_1").Reason, "no_usable_gid: no entry", "RoCE v1 is not used")
			assert.Equal(t, []string{"mlx5_0", "mlx5_1"}, s.findings(diagnosis.NoUsableGID))
		},
	}, {
		name: "C17_types_of_empty_entries_cannot_be_read",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101d 16x16
      rdma mlx5_0 200 net ens1 gids none
/sys/class/infiniband/mlx5_0/ports/1/gids/3 = fe80:0000:0000:0000:0000:0000:0000:0000
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/0 fails EINVAL
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/1 fails EINVAL
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/2 fails EINVAL
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/3 fails EIO
11:00.0/infiniband/mlx5_0/ports/1/gids/3 = fe80:0000:0000:0000:0000:0000:0000:0000
11:00.0/infiniband/mlx5_0/ports/1/gids/4 = 0000:0000:0000:0000:0000:ffff:c000:0206
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/4 = RoCE v2
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/4 = ens1
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "mlx5_0", s.usable())
			assert.Empty(t, s.Findings, "the types of empty entries are not even asked for")
		},
	}, {
		name: "C17_type_of_one_entry_cannot_be_read",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101d 16x16
      rdma mlx5_0 200 net ens1
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/1 fails EINVAL
`,
		check: func(t *testing.T, s seen) { assert.Equal(t, "mlx5_0", s.usable(), "another entry is still good") },
	}, {
		name:   "C19_device_nodes_missing_on_a_host",
		tree:   fourDevices + "proc pid 4026531836\n",
		change: withDeviceNodes("uverbs0", "uverbs2"),
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "mlx5_0 mlx5_2", s.usable(), "one that is missing costs no other")
			assert.Equal(t, []string{"mlx5_1", "mlx5_3"}, s.findings(diagnosis.CharDevMissing))
		},
	}, {
		name:   "C19_device_nodes_missing_in_a_container",
		tree:   fourDevices + "proc pid 4026532744\n",
		change: withDeviceNodes("uverbs0", "uverbs2"),
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "mlx5_0 mlx5_2", s.usable())
			assert.Contains(t, s.rnic(t, "mlx5_1").Reason, "not_accessible: ")
			assert.Empty(t, s.findings(diagnosis.CharDevMissing), "a container is given what it is given")
		},
	}, {
		name: "C20_netdevs_in_another_namespace",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101d 16x16
      rdma mlx5_0 200 net eth0
  10:02.0 root_port 8086:352a 16x16
    12:00.0 nic 15b3:101d 16x16
      rdma mlx5_1 200 net none
  10:03.0 root_port 8086:352a 16x16
    13:00.0 nic 15b3:101d 16x16
      rdma mlx5_2 200 net none
12:00.0/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0 fails EINVAL
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "mlx5_0", s.usable())
			assert.Contains(t, s.rnic(t, "mlx5_1").Reason, "netdev_in_other_netns: ")
			assert.NotEmpty(t, s.class("mlx5_1", "mem0"), "its place is known all the same")
			require.Len(t, s.findings(diagnosis.NetdevInOtherNetns), 1, "one for the view, not one a device")
		},
	}, {
		name: "C22_bond_of_one_adapter",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101d 16x16
      rdma mlx5_bond_0 100 net ens1f0
    11:00.1 nic 15b3:101d 16x16
      net ens1f1
/sys/class/net/bond0/bonding/slaves = ens1f0 ens1f1
11:00.0/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/3 = bond0
`,
		check: func(t *testing.T, s seen) {
			r := s.rnic(t, "mlx5_bond_0")
			assert.Equal(t, []string{"ens1f0", "bond0"}, r.Netdevs)
			assert.Equal(t, new(2), r.LAGPorts)
			assert.Equal(t, new(100.0), r.RateGbps, "the rate is that of a port")
		},
	}, {
		name: "C22_bond_of_two_RDMA_devices",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101d 16x16
      rdma mlx5_0 100 net ens1f0
    11:00.1 nic 15b3:101d 16x16
      rdma mlx5_1 100 net ens1f1
/sys/class/net/bond0/bonding/slaves = ens1f0 ens1f1
11:00.0/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3 = bond0
`,
		check: func(t *testing.T, s seen) {
			assert.Nil(t, s.rnic(t, "mlx5_0").LAGPorts, "each device has its own port")
		},
	}, {
		name: "C23_ports_that_are_not_active",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101b 16x16
      rdma waits 100 INIT ib
  10:02.0 root_port 8086:352a 16x16
    12:00.0 nic 15b3:101b 16x16
      rdma polls 100 DOWN ib
  10:03.0 root_port 8086:352a 16x16
    13:00.0 nic 15b3:101b 16x16
      rdma flaps 100 ib
/sys/class/infiniband/polls/ports/1/rate = 100 Gb/sec (4X EDR)
13:00.0/infiniband/flaps/ports/1/phys_state = 2: Polling
`,
		check: func(t *testing.T, s seen) {
			assert.Empty(t, s.usable())
			assert.Equal(t, []string{"waits"}, s.findings(diagnosis.NoSubnetManager))
			assert.Contains(t, s.rnic(t, "waits").Reason, "port_not_active: the port is INIT")
			polls := s.rnic(t, "polls")
			assert.Nil(t, polls.RateGbps, "a port without link has no rate, whatever it shows")
			assert.Equal(t, "Polling", polls.PhysState)
			assert.Equal(t, new(true), polls.AdminUp)
			assert.Contains(t, s.rnic(t, "flaps").Reason, "port_not_active: its physical link is Polling")
		},
	}, {
		name: "C25_a_domain_for_each_device",
		tree: twoSockets + `
bus pci0010:00 node 0
  0010:00:00.0 nic 15b3:101e class 020700
    rdma mlx5_0 400 ib
bus pci0011:00 node 0
  0011:00:00.0 gpu 10de:2330
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, topology.ClassVirt, s.class("mlx5_0", "gpu0"))
			assert.Equal(t, topology.TrustUnknown, s.hop(t, "rnic_pcie:mlx5_0").Trust)
			assert.NotContains(t, fmt.Sprint(s.Topology.Hops), "switch:", "no hop that is not seen")
		},
	}, {
		name: "C26_node_unknown",
		tree: strings.ReplaceAll(twoSockets, "cpus 4-7", "cpus 4-127") + `
bus pci0000:10
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 200
11:00.0/local_cpulist = 0-127
`,
		check: func(t *testing.T, s seen) {
			r := s.rnic(t, "mlx5_0")
			assert.Nil(t, r.NUMANode)
			assert.Nil(t, r.Socket)
			assert.Equal(t, topology.ClassVirt, s.class("mlx5_0", "mem0"))
			assert.True(t, r.Usable)
		},
	}, {
		name: "C26_the_bridge_above_knows",
		tree: twoSockets + `
bus pci0000:10
  10:01.0 root_port 8086:352a 16x16 node 1
    11:00.0 nic 15b3:101b 16x16 node -1
      rdma mlx5_0 200
`,
		check: func(t *testing.T, s seen) { assert.Equal(t, new(1), s.rnic(t, "mlx5_0").NUMANode) },
	}, {
		name: "C28_slow_while_idle",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 2.5x16 max 32x16
    11:00.0 gpu 10de:2330 2.5x16 max 32x16
  10:02.0 root_port 8086:352a 16x16
    12:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 200
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "2.5x16 of 32x16 static", linkOf(s.hop(t, "gpu_pcie:gpu0")), "what was read at rest says so")
			assert.Empty(t, s.Findings, "links may rest")
		},
	}, {
		name: "C29_bridges_on_an_AMD_card",
		tree: oneSocket + `
bus pci0000:00 node 0
  00:01.1 root_port 1022:14ab 16x8 max 32x16
    01:00.0 upstream 1002:1478 16x8 max 32x16
      02:00.0 downstream 1002:1479 32x16
        03:00.0 gpu 1002:744c 32x16
  00:03.1 root_port 1022:14a5 32x16
    04:00.0 nic 15b3:1021 32x16
      rdma mlx5_0 400
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "16x8 of 32x16 static", linkOf(s.hop(t, "gpu_pcie:gpu0")), "the slot's link, not the one on the card")
			assert.Equal(t, topology.ClassPHB, s.class("mlx5_0", "gpu0"))
		},
	}, {
		name: "C31_link_files_without_a_value",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a
    11:00.0 nic 15b3:101b 16x16
      rdma unknown 200
  10:02.0 root_port 8086:352a
    12:00.0 nic 15b3:101b 16x16
      rdma empty 200
  10:03.0 root_port 8086:352a 8x16
    13:00.0 nic 15b3:101b 8x16
      rdma old 200
11:00.0/current_link_speed = Unknown
11:00.0/max_link_speed = Unknown speed
11:00.0/current_link_width = 0
11:00.0/max_link_width = 255
12:00.0/current_link_speed =
12:00.0/max_link_speed gone
12:00.0/current_link_width =
12:00.0/max_link_width gone
13:00.0/current_link_speed = 8 GT/s
`,
		check: func(t *testing.T, s seen) {
			for _, name := range []string{"unknown", "empty"} {
				h := s.hop(t, "rnic_pcie:"+name)
				assert.Equal(t, "-x- of -x- unknown", linkOf(h))
				assert.Nil(t, h.CapacityGbps, "no ceiling")
			}
			assert.Equal(t, "8x16 of 8x16 static", linkOf(s.hop(t, "rnic_pcie:old")))
			assert.Empty(t, s.Findings, "no alarm")
		},
	}, {
		name: "C32_slot_limited",
		tree: oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x8
    11:00.0 nic 15b3:1021 16x8 max 32x16
      rdma mlx5_0 200
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "16x8 of 16x8 static", linkOf(s.hop(t, "rnic_pcie:mlx5_0")))
			assert.Equal(t, []string{"rnic_pcie:mlx5_0"}, s.findings(diagnosis.SlotLimited))
		},
	}, {
		name: "C34_configuration_space_is_cut",
		tree: oneSocket + p2pHost("config short", "config short"),
		check: func(t *testing.T, s seen) {
			assert.Empty(t, s.P2P.ACS, "short is unknown, not off")
			assert.Empty(t, s.P2P.ATS)
			assert.Nil(t, s.rnic(t, "mlx5_0").MaxReadRequest)
			require.Len(t, s.findings(diagnosis.ACSUnknown), 1)
			assert.Contains(t, s.Findings[0].Hint, "CAP_SYS_ADMIN")
			assert.Equal(t, topology.ClassPIX, s.class("mlx5_0", "gpu0"), "the tree needs no privilege")
		},
	}, {
		name: "C34_extended_space_is_not_offered",
		tree: oneSocket + p2pHost("config basic", "config basic"),
		check: func(t *testing.T, s seen) {
			assert.Empty(t, s.P2P.ACS)
			assert.Equal(t, new(512), s.rnic(t, "mlx5_0").MaxReadRequest)
		},
	}, {
		name: "C34_ACS_on_ATS_off",
		tree: oneSocket + p2pHost("acs on", "ats off"),
		check: func(t *testing.T, s seen) {
			assert.Equal(t, map[string]bool{"0000:11:00.0": true}, s.P2P.ACS)
			assert.Equal(t, map[string]bool{"mlx5_0": false}, s.P2P.ATS)
			assert.Empty(t, s.Findings)
		},
	}, {
		name: "C34_ACS_off_ATS_on",
		tree: oneSocket + p2pHost("acs off", "ats on"),
		check: func(t *testing.T, s seen) {
			assert.Equal(t, map[string]bool{"0000:11:00.0": false}, s.P2P.ACS)
			assert.Equal(t, map[string]bool{"mlx5_0": true}, s.P2P.ATS)
		},
	}, {
		name: "C34_neither_capability",
		tree: oneSocket + p2pHost("mps 256", "mps 256"),
		check: func(t *testing.T, s seen) {
			assert.Equal(t, map[string]bool{"0000:11:00.0": false}, s.P2P.ACS, "what cannot redirect does not")
			assert.Empty(t, s.P2P.ATS, "what cannot translate is not off")
		},
	}, {
		name: "C35_nodes_without_CPUs",
		tree: graceNodes(),
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "mem0 mem1", memoryNodes(s))
			assert.Equal(t, topology.ClassC2C, s.class("mlx5_0", "gpu0"))
		},
	}, {
		name:   "C35_a_GPUs_memory_never_joins",
		tree:   graceNodes(),
		change: func(_ *testing.T, o *discover.Options) { o.AllMemoryNodes = true },
		check:  func(t *testing.T, s seen) { assert.Equal(t, "mem0 mem1", memoryNodes(s)) },
	}, {
		name: "C37_HBM_nodes",
		tree: hbmNodes(),
		check: func(t *testing.T, s seen) {
			assert.Equal(t, "mem0 mem1 mem2 mem3 mem4 mem5 mem6 mem7", memoryNodes(s))
			assert.Equal(t, topology.MemoryWithCPUs, s.Topology.MemoryNodes[0].Kind)
		},
	}, {
		name:   "C37_HBM_nodes_asked_for",
		tree:   hbmNodes(),
		change: func(_ *testing.T, o *discover.Options) { o.AllMemoryNodes = true },
		check: func(t *testing.T, s seen) {
			assert.Len(t, s.Topology.MemoryNodes, 16)
			for _, m := range s.Topology.MemoryNodes {
				assert.Equal(t, new(m.NUMANode%8/4), m.Socket, "%s: grouped by package, without CPUs by the nearest", m.ID)
				assert.Len(t, m.Distances, 16)
				assert.Equal(t, m.NUMANode >= 8, m.Kind == topology.MemoryOnly, "%s is %q", m.ID, m.Kind)
			}
			assert.Equal(t, topology.ClassMemLocal, s.class("mlx5_0", "mem0"))
			assert.Equal(t, topology.ClassMemSocket, s.class("mlx5_0", "mem8"))
			assert.Equal(t, topology.ClassMemRemote, s.class("mlx5_0", "mem12"))
		},
	}, {
		name: "C38_socket_direct",
		tree: twoSockets + `
bus pci0000:16 node 0
  16:01.0 root_port 8086:347a 16x8
    17:00.0 nic 15b3:101b 16x8
      rdma mlx5_0 200 ib image 0c42:a103:0065:7f0e
bus pci0000:b0 node 1
  b0:01.0 root_port 8086:347a 16x8
    b1:00.0 nic 15b3:101b 16x8
      rdma mlx5_1 200 ib image 0c42:a103:0065:7f0e
  b0:02.0 root_port 8086:347a 16x8
    b2:00.0 nic 15b3:101b 16x8
      rdma mlx5_2 200 ib image 0c42:a103:0065:8000
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, []string{"mlx5_1"}, s.rnic(t, "mlx5_0").SamePort)
			assert.Equal(t, []string{"mlx5_0"}, s.rnic(t, "mlx5_1").SamePort)
			assert.Empty(t, s.rnic(t, "mlx5_2").SamePort)
			assert.Equal(t, []string{"mlx5_0"}, s.hop(t, "rnic_pcie:mlx5_0").Members, "each leg is a hop")
			assert.Equal(t, topology.ClassMemLocal, s.class("mlx5_1", "mem1"))

			halves := map[string]engine.Step{}
			for _, step := range engine.NewPlan(s.Topology, baseline.Defaults(s.Topology), engine.PlanOptions{}).Steps {
				if step.Request.Path.Endpoint == "mem0" == (step.Device == "mlx5_0") {
					halves[step.Device] = step
				}
			}
			assert.True(t, engine.Conflict(halves["mlx5_0"], halves["mlx5_1"]), "the port carries one at a time")
			assert.False(t, engine.Conflict(halves["mlx5_0"], halves["mlx5_2"]))
		},
	}, {
		name: "C38_two_ports_of_one_card_are_two",
		tree: oneSocket + `
bus pci0000:16 node 0
  16:01.0 root_port 8086:347a 16x16
    17:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 100 ib image 0c42:a103:0065:7f0e
    17:00.1 nic 15b3:101b 16x16
      rdma mlx5_1 100 ib image 0c42:a103:0065:7f0e
`,
		check: func(t *testing.T, s seen) {
			assert.Empty(t, s.rnic(t, "mlx5_0").SamePort)
			assert.Equal(t, []string{"mlx5_0", "mlx5_1"}, s.hop(t, "rnic_pcie:mlx5_0").Members)
		},
	}, {
		name: "C40_two_root_ports_of_one_host_bridge",
		tree: oneSocket + `
bus pci0000:00 node 0
  00:01.0 root_port 8086:347a 16x16
    01:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 200
  00:03.0 root_port 8086:347b 16x16
    03:00.0 gpu 10de:20b0 16x16
`,
		check: func(t *testing.T, s seen) { assert.Equal(t, topology.ClassPHB, s.class("mlx5_0", "gpu0")) },
	}, {
		name: "C41_bridges_of_the_endpoints_own_package",
		tree: oneSocket + `
bus pci0000:04 node 0
  04:01.0 root_port 8086:352a 32x16
    05:00.0 upstream 15b3:1979 32x16
      06:00.0 downstream 15b3:1979 32x16
        07:00.0 nic 15b3:1021 32x16
          rdma mlx5_0 400 ib
      06:01.0 downstream 15b3:1979 32x16
        08:00.0 upstream 15b3:1979 32x16
          09:00.0 downstream 15b3:1979 32x16
            0a:00.0 upstream 1022:1500 32x16
              0b:00.0 downstream 1022:1501 32x16
                0c:00.0 gpu 1002:74a1 32x16
`,
		check: func(t *testing.T, s seen) {
			assert.Equal(t, topology.ClassPIX, s.class("mlx5_0", "gpu0"))
			for _, p := range s.Topology.Paths {
				if p.Endpoint == "gpu0" {
					assert.Equal(t, []string{"rnic_pcie:mlx5_0", "gpu_pcie:gpu0"}, p.Hops)
				}
			}
			assert.Equal(t, []string{"0000:05:00.0"}, s.hop(t, "root_port:0000:04:01.0").Members, "the card's switch is the common hop")
		},
	}}
}

// fourDevices is a host with four RDMA devices.
const fourDevices = oneSocket + `
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 200
  10:02.0 root_port 8086:352a 16x16
    12:00.0 nic 15b3:101b 16x16
      rdma mlx5_1 200
  10:03.0 root_port 8086:352a 16x16
    13:00.0 nic 15b3:101b 16x16
      rdma mlx5_2 200
  10:04.0 root_port 8086:352a 16x16
    14:00.0 nic 15b3:101b 16x16
      rdma mlx5_3 200
`

// withDeviceNodes makes a /dev that holds these verbs nodes.
func withDeviceNodes(names ...string) func(*testing.T, *discover.Options) {
	return func(t *testing.T, o *discover.Options) {
		o.Dev = t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(o.Dev, "infiniband"), 0o755))
		for _, name := range names {
			require.NoError(t, os.WriteFile(filepath.Join(o.Dev, "infiniband", name), nil, 0o666))
		}
	}
}

// p2pHost is a switch with a GPU and an RNIC; the options are those of the
// switch's ports and of the RNIC.
func p2pHost(port, nic string) string {
	return fmt.Sprintf(`
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 upstream 1000:c010 16x16
      12:00.0 downstream 1000:c010 16x16 %[1]s
        13:00.0 nic 15b3:101b 16x16 %[2]s
          rdma mlx5_0 200
      12:01.0 downstream 1000:c010 16x16 %[1]s
        14:00.0 gpu 10de:20b0 16x16
`, port, nic)
}

// graceNodes is two Grace CPUs with 34 NUMA nodes, four of them GPU memory.
func graceNodes() string {
	var b strings.Builder
	b.WriteString("node 0 cpus 0-71 package 0 memory 480\nnode 1 cpus 72-143 package 1 memory 480\n")
	for n := 2; n <= 33; n++ {
		memory := 0
		if n%8 == 2 {
			memory = 189
		}
		fmt.Fprintf(&b, "node %d cpus - memory %d\n", n, memory)
	}
	b.WriteString(`
bus pci0000:00 node 0
  00:00.0 root_port 10de:22b8 32x16
    01:00.0 nic 15b3:1021 32x16
      rdma mlx5_0 400 ib
bus pci0008:00 node 0
  0008:00:00.0 root_port 10de:22b8 32x16
    0008:01:00.0 gpu 10de:2941 32x16
`)
	return b.String()
}

// hbmNodes is two sockets of four nodes each, and a node of HBM beside each.
func hbmNodes() string {
	var b strings.Builder
	for n := range 16 {
		var distances []string
		for other := range 16 {
			switch {
			case n == other:
				distances = append(distances, "10")
			case n%8 == other%8:
				distances = append(distances, "13")
			case n%8/4 == other%8/4:
				distances = append(distances, "23")
			default:
				distances = append(distances, "28")
			}
		}
		cpus, memory := fmt.Sprintf("%d-%d package %d", 4*n, 4*n+3, n/4), 31
		if n >= 8 {
			cpus, memory = "-", 16
		}
		fmt.Fprintf(&b, "node %d cpus %s memory %d distance %s\n", n, cpus, memory, strings.Join(distances, ","))
	}
	b.WriteString(`
bus pci0000:10 node 0
  10:01.0 root_port 8086:352a 16x16
    11:00.0 nic 15b3:101b 16x16
      rdma mlx5_0 200
`)
	return b.String()
}

func memoryNodes(s seen) string {
	var names []string
	for _, m := range s.Topology.MemoryNodes {
		names = append(names, m.ID)
	}
	return strings.Join(names, " ")
}

func TestFieldCases(t *testing.T) {
	for _, c := range fieldCases() {
		t.Run(c.name, func(t *testing.T) {
			tree, err := hosttree.Parse(c.tree)
			require.NoError(t, err)
			o := inMemory(tree)
			if c.change != nil {
				c.change(t, &o)
			}
			var s seen
			s.Host, s.err = discover.Discover(o)
			if s.err != nil && !errors.Is(s.err, discover.ErrNoRDMA) {
				t.Fatal(s.err)
			}
			require.NoError(t, s.Topology.Validate())
			c.check(t, s)
		})
	}
}

// TestFieldCaseC14 renames a device: it stays the same device.
func TestFieldCaseC14_device_renamed(t *testing.T) {
	before := hostOf(t, "two-sockets").Topology
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "hosts", "two-sockets.host"))
	require.NoError(t, err)
	tree, err := hosttree.Parse(strings.ReplaceAll(string(text), "mlx5_0", "rocep22s0"))
	require.NoError(t, err)
	after := read(t, inMemory(tree)).Topology

	paths := func(top topology.Topology) map[string]topology.Class {
		identities := map[string]string{}
		for _, r := range top.RNICs {
			identities[r.ID] = r.Identity()
		}
		classes := map[string]topology.Class{}
		for _, p := range top.Paths {
			classes[identities[p.RNIC]+" "+p.Endpoint] = p.Class
		}
		return classes
	}
	assert.Equal(t, paths(before), paths(after))
	assert.Contains(t, paths(after), "0000:16:00.0/1 mem0")
}
