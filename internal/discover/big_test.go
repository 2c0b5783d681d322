package discover

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/discover/hosttree"
	"github.com/yuuki/hostping/internal/topology"
)

// bigHost describes two sockets of four NUMA nodes, and below a root port of each node
// a switch with two RNICs, a GPU and ten other devices.
func bigHost() string {
	var b strings.Builder
	for n := range 8 {
		fmt.Fprintf(&b, "node %d cpus %d-%d package %d memory 128\n", n, 16*n, 16*n+15, n/4)
	}
	for n := range 8 {
		bus := 0x10 + 0x18*n
		device := func(indent int, slot int, rest string) {
			fmt.Fprintf(&b, "%s%02x:%02x.0 %s\n", strings.Repeat(" ", indent), bus, slot, rest)
		}
		fmt.Fprintf(&b, "bus pci0000:%02x node %d\n", bus, n)
		device(2, 1, "root_port 1022:1483 16x16")
		bus++
		device(4, 0, "upstream 1000:c010 16x16")
		down := bus + 1
		bus++
		for slot := range 13 {
			bus = down
			device(6, slot, "downstream 1000:c010 16x16")
			bus = down + 1 + slot
			switch slot {
			case 0, 1:
				device(8, 0, "nic 15b3:101b 16x16")
				fmt.Fprintf(&b, "          rdma mlx5_%d 200 net ens%d\n", 2*n+slot, 2*n+slot)
			case 2:
				device(8, 0, "gpu 10de:20b0 16x16")
			default:
				device(8, 0, "other 144d:a824 16x4 class 010802")
			}
		}
	}
	return b.String()
}

// counting counts what is read.
type counting struct {
	Files
	reads map[string]int
}

func (c counting) Read(name string, buffer []byte) (int, error) {
	c.reads[name]++
	return c.Files.Read(name, buffer)
}

func writeBigHost(t testing.TB) Options {
	tree, err := hosttree.Parse(bigHost())
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tree.Write(dir))
	return Options{Sysfs: filepath.Join(dir, "sys"), Procfs: filepath.Join(dir, "proc")}
}

func TestNoFileIsReadTwice(t *testing.T) {
	tree, err := hosttree.Parse(bigHost())
	require.NoError(t, err)
	reads := map[string]int{}
	host, err := Discover(Options{SysFiles: counting{tree.Files("sys"), reads}, ProcFiles: counting{tree.Files("proc"), reads}})
	require.NoError(t, err)
	assert.Len(t, host.Topology.RNICs, 16)
	assert.Len(t, host.Topology.GPUs, 8)
	assert.Len(t, host.Topology.MemoryNodes, 8)
	assert.Len(t, host.Topology.Paths, 16*16)
	assert.Greater(t, len(reads), 300)
	for name, n := range reads {
		assert.Equal(t, 1, n, name)
	}
	t.Logf("%d files", len(reads))
}

// BenchmarkDiscover reads 16 RNICs, 8 GPUs and 8 nodes from a warm tree.
func BenchmarkDiscover(b *testing.B) {
	o := writeBigHost(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Discover(o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuild concludes the topology of the same host, without the reading.
func BenchmarkBuild(b *testing.B) {
	r, done, err := open(writeBigHost(b))
	require.NoError(b, err)
	defer done()
	require.NoError(b, r.readAll())
	inv := r.inventory()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := topology.Build(inv); err != nil {
			b.Fatal(err)
		}
	}
}
