package monitor

import (
	"context"
	"errors"
	"fmt"
)

// ErrUnavailable is the problem of a figure that nothing on this host, or in
// this version, can give; what exists and cannot be read is failing instead.
// Unavailable makes one that says which.
var ErrUnavailable = errors.New("unavailable")

// Unavailable is an ErrUnavailable in words of its own.
func Unavailable(format string, args ...any) error { return unavailable(fmt.Sprintf(format, args...)) }

type unavailable string

func (u unavailable) Error() string        { return string(u) }
func (u unavailable) Is(target error) bool { return target == ErrUnavailable }

// ErrLost is the problem of a library that lost its devices: it needs Reinit.
var ErrLost = errors.New("the library lost its access to the devices")

// ErrHangs is the problem of a read that was left behind in the kernel or in a
// library. Who reported it stays the one to ask: it answers again when the
// read has returned, and a second way in would hang too.
var ErrHangs = errors.New("hangs")

// Readers are the ways into the hardware. A way that is nil is not there:
// what it would have told is unavailable, except that files are then read in
// plain Go. What they open is used by one goroutine at a time. Errors wrap
// ErrUnavailable where trying again is of little use.
type Readers struct {
	// Files prepares to read small files of one device together.
	Files func(paths []string) (Files, error)
	// Netdev prepares to read the statistics of a netdev.
	Netdev func(name string) (Netdev, error)
	// NVIDIA loads the library that knows the GPUs at these PCI addresses.
	NVIDIA func(ctx context.Context, pci []string) (GPUs, error)
	// MemoryBus and InterSocketBus begin to count what the buses of each socket carry.
	MemoryBus, InterSocketBus func(ctx context.Context) (Bus, error)
}

// Files are small files that stay open.
type Files interface {
	// Read reads every file once, into as many values. An error is about all
	// of them; a file that cannot be read says so in its value.
	Read(ctx context.Context, out []FileValue) error
	Close()
}

// FileValue is what a file holds now.
type FileValue struct {
	Number   uint64
	IsNumber bool   // Number is all that the file holds
	Text     string // of a file that holds no number, without blanks around it
	Err      error  // why it could not be read; wraps fs.ErrNotExist when it, or its device, is not there
}

// Netdev is the statistics of one netdev, as ethtool shows them.
type Netdev interface {
	Read(ctx context.Context, stats *NetdevStats) error
	Close()
}

// NetdevStats is one reading of them.
type NetdevStats struct {
	Driver string
	Names  []string // of Values; another slice when the set has changed
	Values []uint64
	// Generation changes with Names, and when another device has the netdev's
	// name: values of two generations do not compare.
	Generation uint64
}

// GPUs are the GPUs that one library knows.
type GPUs interface {
	// Read reads every GPU, in the order in which they were asked for. An
	// error that wraps ErrLost asks for Reinit.
	Read(ctx context.Context, out []GPUReading) error
	Reinit(ctx context.Context) error
	Close()
}

// GPUReading is what a GPU tells; nil is unknown.
type GPUReading struct {
	Err         error    // why it tells nothing at all
	Utilization *float64 // share of the last moments in which a kernel ran, 0..1
	// WhyNot says in one line why Utilization is nil.
	WhyNot                              string
	OutBytesPerSecond                   *float64 // of its PCIe link, seen from the GPU
	InBytesPerSecond                    *float64
	ComputeProcesses, GraphicsProcesses *int
	ComputeMode                         string // "default", "exclusive_process", "exclusive_thread", "prohibited"; "" is unknown
	MIG                                 *bool
}

// Bus counts what crosses the memory channels, or the bus to other sockets.
type Bus interface {
	Sockets() int
	// Read fills one entry for each socket.
	Read(ctx context.Context, out []SocketBytes) error
	Close()
}

// SocketBytes is how much a socket's bus has carried since it was opened.
type SocketBytes struct {
	Socket int
	Bytes  *uint64 // nil is unknown
}
