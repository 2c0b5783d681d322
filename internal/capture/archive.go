// Package capture saves the files that discovery read on a host as one text
// archive, and reads such an archive back in place of the host. What identifies
// the host (GUIDs, MAC and IP addresses, serial numbers, names) is replaced
// before it is written, and nothing but what discovery asked for is in it.
//
// An archive has a line for each file, sorted by path, and says what it is in
// the first one:
//
//	hostping.capture/v1
//	# a comment
//	/sys/class/infiniband/mlx5_0 -> ../../devices/pci0000:16/…   a link
//	/sys/devices/pci0000:16/…/vendor = 0x15b3                    a file of one line
//	/sys/devices/system/node/node0/cpulist = ""                  its exact bytes, quoted as in Go
//	/sys/devices/system/node/node0/meminfo text                  a file of several lines,
//	  Node 0 MemTotal: 1056768 kB                                 each two spaces in
//	/sys/devices/pci0000:16/…/config hex 4096                    bytes, by offset; the rest is zero
//	  000 b3151b10 46011000 00000002 00000000
//	/sys/devices/pci0000:16/…/max_link_speed fails EINVAL        it cannot be read
//	/sys/devices/pci0000:16/…/net/ens1 folder                    it is there; no more was asked
//	end 7                                                        how many paths stand above: the archive is whole
//
// A path with odd characters is quoted as in Go.
package capture

import (
	"strings"
	"syscall"

	"github.com/yuuki/hostping/internal/discover/memory"
)

// SchemaID is the first line of an archive.
const SchemaID = "hostping.capture/v1"

// endMark begins the last line of an archive. Without it a copy that was cut short
// would pass for a smaller host.
const endMark = "end"

// Bounds of an archive, several times those of the largest hosts.
const (
	MaxBytes     = 16 << 20
	maxEntries   = 1 << 16
	maxPathBytes = 1024
	maxFileBytes = 1 << 16
)

// Archive is the files of a host.
type Archive struct {
	entries map[string]entry // by path below the root, "sys/class/infiniband/mlx5_0"
}

type kind int

const (
	folder  kind = iota // it is there; nothing more is known
	file                // text is what is in it
	link                // text is what it says
	failing             // text is the name of the error that reading gives
)

type entry struct {
	kind kind
	text string
}

// Files returns the part of the archive below top, "sys" or "proc", for discovery.
func (a *Archive) Files(top string) *memory.Files {
	files := memory.New()
	for name, e := range a.entries {
		name, ok := strings.CutPrefix(name, top+"/")
		if !ok {
			continue
		}
		switch e.kind {
		case folder:
			files.AddFolder(name)
		case file:
			files.AddFile(name, e.text)
		case link:
			files.AddLink(name, e.text)
		case failing:
			files.AddFailing(name, errorNamed(e.text))
		}
	}
	return files
}

// Len is the number of files, links and folders in the archive.
func (a *Archive) Len() int { return len(a.entries) }

// readErrors are the ways in which reading a file of sysfs or procfs fails.
var readErrors = [...]struct {
	name string
	err  syscall.Errno
}{
	{"EACCES", syscall.EACCES}, {"EBUSY", syscall.EBUSY}, {"EFAULT", syscall.EFAULT}, {"EINTR", syscall.EINTR},
	{"EINVAL", syscall.EINVAL}, {"EIO", syscall.EIO}, {"ELOOP", syscall.ELOOP}, {"ENODATA", syscall.ENODATA},
	{"ENODEV", syscall.ENODEV}, {"ENOMEM", syscall.ENOMEM}, {"ENOTDIR", syscall.ENOTDIR}, {"ENXIO", syscall.ENXIO},
	{"EOPNOTSUPP", syscall.EOPNOTSUPP}, {"EPERM", syscall.EPERM}, {"ETIMEDOUT", syscall.ETIMEDOUT},
}

// errorNamed is 0 for a name that is none.
func errorNamed(name string) syscall.Errno {
	for _, e := range readErrors {
		if e.name == name {
			return e.err
		}
	}
	return 0
}

// nameOf is "EIO" for an error that has no name here.
func nameOf(err syscall.Errno) string {
	for _, e := range readErrors {
		if e.err == err {
			return e.name
		}
	}
	return "EIO"
}
