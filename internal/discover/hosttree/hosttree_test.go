package hosttree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/discover/hosttree"
)

// TestWrite compares a tree with what the kernel shows for such a host.
func TestWrite(t *testing.T) {
	tree, err := hosttree.Parse(`
node 0 cpus 0-1 package 0 memory 2   # a comment
node 8 cpus - memory 0
bus pci0000:20 node 0
  20:00.0 root_port 1b36:000c 2.5x1 max 16x16
    21:00.0 nic 15b3:101b 8x8 sub 15b3:0001 config short
      rdma mlx5_0 200 DOWN ib port 2 net ib0
    21:00.1 nic 15b3:101e node -1 pf 21:00.0 driver none config none
  20:01.0 other 1af4:1041
    net eth0
rxe rxe0 on eth0
20:00.0/numa_node = 7
20:00.0/class gone
/sys/class/net/bond0 -> ../../devices/virtual/net/bond0
/proc/version = 6.1
/sys/empty folder
`)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tree.Write(dir))

	const port, nic = "sys/devices/pci0000:20/0000:20:00.0", "sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0"
	for name, want := range map[string]string{
		"sys/devices/system/node/node0/cpulist":                    "0-1",
		"sys/devices/system/node/node8/cpulist":                    "",
		"sys/devices/system/cpu/cpu1/topology/physical_package_id": "0",
		port + "/vendor":                                 "0x1b36",
		port + "/numa_node":                              "7",
		port + "/current_link_speed":                     "2.5 GT/s PCIe",
		port + "/max_link_speed":                         "16.0 GT/s PCIe",
		port + "/max_link_width":                         "16",
		nic + "/class":                                   "0x020000",
		nic + "/subsystem_device":                        "0x0001",
		nic + "/numa_node":                               "0",
		nic + "/net/ib0/dev_port":                        "1",
		"sys/class/infiniband/mlx5_0/ports/2/state":      "1: DOWN",
		"sys/class/infiniband/mlx5_0/ports/2/rate":       "200 Gb/sec (4X)",
		"sys/class/infiniband/mlx5_0/ports/2/link_layer": "InfiniBand",
		"sys/class/infiniband/mlx5_0/device/device":      "0x101b",
		"sys/class/infiniband/rxe0/parent":               "eth0",
		"sys/class/infiniband_verbs/uverbs1/ibdev":       "rxe0",
		"sys/class/net/eth0/device/vendor":               "0x1af4",
		"sys/bus/pci/devices/0000:21:00.1/physfn/device": "0x101b",
		"sys/bus/pci/devices/0000:21:00.1/numa_node":     "-1",
		"proc/version":                                   "6.1",
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if assert.NoError(t, err) {
			assert.Equal(t, want, strings.TrimSpace(string(data)), name)
		}
	}
	for _, name := range []string{port + "/class", "sys/bus/pci/devices/0000:21:00.1/driver", "sys/bus/pci/devices/0000:21:00.1/config"} {
		_, err := os.Lstat(filepath.Join(dir, name))
		assert.ErrorIs(t, err, os.ErrNotExist, name)
	}
	for name, want := range map[string]int64{port + "/config": 4096, nic + "/config": 64} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, info.Size(), name)
	}
	target, err := os.Readlink(filepath.Join(dir, "sys/class/net/bond0"))
	require.NoError(t, err)
	assert.Equal(t, "../../devices/virtual/net/bond0", target)
	assert.DirExists(t, filepath.Join(dir, "sys/empty"))
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a word that begins nothing", "socket 0", `1: "socket" begins no line`},
		{"an unknown option", "\nnode 0 cpu 0-3", `2: "cpu" is none of`},
		{"a function on no bus", "10:00.0 nic 15b3:101b", "1: a PCI function needs a bus"},
		{"an unknown type", "bus pci0000:10\n  10:00.0 card 15b3:101b", `2: "card" is no type`},
		{"soft-RoCE on nothing", "rxe rxe0 on eth9", "1: no netdev eth9"},
		{"an edit of no function", "10:00.0/class = x", "1: no PCI function 10:00.0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := hosttree.Parse(tt.text)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
