package discover_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/capture"
	"github.com/yuuki/hostping/internal/discover"
)

// kernelMade is the tree of the lab's guest, as its kernel showed it.
func kernelMade(t *testing.T) *capture.Archive {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "captures", "lab.capture"))
	require.NoError(t, err)
	defer f.Close()
	archive, err := capture.Parse(f)
	require.NoError(t, err)
	return archive
}

// TestTheGeneratorAgainstAKernel compares a described host with the tree that a kernel made of the
// same machine: every file that the generator writes is there and says the same.
func TestTheGeneratorAgainstAKernel(t *testing.T) {
	described, kernel := describe(t, "soft-roce").Files("sys"), kernelMade(t).Files("sys")
	// What the description does not tell: sizes, addresses, and registers beside those that are read.
	differs := func(name string) bool {
		base := path.Base(name)
		return base == "meminfo" || base == "config" || strings.Contains(name, "/gids/") || base == "fw_ver"
	}
	compared := 0
	walk(t, described, ".", func(name, content, link string) {
		switch {
		case strings.Contains(name, "/net/eth") && strings.HasPrefix(name, "devices/"):
			// The kernel puts a virtio device in between; its class link leads there.
			name = "class/net" + name[strings.Index(name, "/net/eth")+len("/net"):]
		case strings.HasPrefix(name, "class/net/"), strings.HasPrefix(name, "bus/pci/drivers/"):
			return
		}
		if base := path.Base(name); link != "" && base != "device" {
			want, err := kernel.Readlink(name)
			if assert.NoError(t, err, name) {
				assert.Equal(t, path.Base(want), path.Base(link), name)
				compared++
			}
			return
		}
		if link != "" || differs(name) || !asked(kernel, name) {
			return
		}
		buffer := make([]byte, 4096)
		n, err := kernel.Read(name, buffer)
		if assert.NoError(t, err, name) {
			assert.Equal(t, strings.TrimSpace(string(buffer[:n])), strings.TrimSpace(content), name)
			compared++
		}
	})
	assert.Greater(t, compared, 200, "of the files that the generator writes")
}

// asked reports whether the capture holds the file: discovery asks neither for
// all slots of a table nor for all CPUs.
func asked(kernel discover.Files, name string) bool {
	return kernel.Exists(name) || !strings.Contains(name, "/gid_attrs/") && !strings.Contains(name, "/cpu/") && !strings.HasSuffix(name, "/dev_port")
}

// walk visits every file and link of a tree.
func walk(t *testing.T, files discover.Files, dir string, visit func(name, content, link string)) {
	names, err := files.List(dir)
	require.NoError(t, err, dir)
	buffer := make([]byte, 4096)
	for _, name := range names {
		name = path.Join(dir, name)
		if link, err := files.Readlink(name); err == nil {
			visit(name, "", link)
			continue
		}
		if n, err := files.Read(name, buffer); err == nil {
			visit(name, string(buffer[:n]), "")
			continue
		}
		walk(t, files, name, visit)
	}
}

// TestTheLab reads the tree that a kernel made, and finds what QEMU was told.
func TestTheLab(t *testing.T) {
	archive := kernelMade(t)
	o := discover.Options{SysFiles: archive.Files("sys"), ProcFiles: archive.Files("proc"), SoftwareRNICs: true}
	host := read(t, o)
	assert.Empty(t, host.Findings)

	o = inMemory(describe(t, "soft-roce"))
	o.SoftwareRNICs = true
	want := read(t, o).Topology
	got := host.Topology
	for i := range got.MemoryNodes {
		assert.Greater(t, *got.MemoryNodes[i].Bytes, int64(0))
		assert.Equal(t, 10, got.MemoryNodes[i].Distances[i])
		got.MemoryNodes[i].Bytes, got.MemoryNodes[i].Distances = want.MemoryNodes[i].Bytes, nil
	}
	assert.Equal(t, want, got)
	assert.Empty(t, host.P2P.ACS, "emulated switches say nothing")
}
