// Package native is the door to the data plane: the only package that uses cgo, over the C ABI of zig/include/hostping.h.
// It runs one probe per call and decides nothing. Where the data plane is not built in (no cgo, not Linux), every call
// reports ErrUnavailable.
package native

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// ErrUnavailable: this binary was built without the data plane.
var ErrUnavailable = errors.New("this build of hostping has no data plane (it needs Linux and cgo); use --sim")

// Limits of one probe, from the ABI.
const (
	HopsMax           = 16
	ConnectionsMax    = 32
	WindowMax         = 1024
	MessageBytesMax   = 16 << 20
	RegionBytesMax    = 64 << 20
	LatencySamplesMax = 1 << 20
)

// Error is a call that failed: what was tried, on what, and what came back.
type Error struct {
	// Status classifies the failure; errors.Is compares with it.
	Status Status
	// Op is the verb, system call or file that failed, with the step where there are several: "ibv_modify_qp(RTR)".
	Op string
	// Errno of Op, 0 when it has none.
	Errno syscall.Errno
	// Object is the device, port, node or path concerned.
	Object string
	// CompletionStatus is the work completion status as verbs counts it (12: transport retry exceeded), 0 when no completion failed.
	CompletionStatus uint32
	// LibraryCode is the code that a library loaded at run time returned, 0 when none did.
	LibraryCode int
	// Text is one line for people; it names Object and Op.
	Text string
}

func (e *Error) Error() string { return e.Text }

// Is makes errors.Is(err, StatusX) work.
func (e *Error) Is(target error) bool { return target == error(e.Status) }

// LoopbackConfig is one loopback probe of one (RNIC port, memory node).
type LoopbackConfig struct {
	// Device is the RDMA device name, as in /sys/class/infiniband.
	Device string
	// Port counts from 1.
	Port int
	// MemoryNode is the NUMA node of the memory under test; nil leaves the choice to the kernel.
	MemoryNode *int
	// RNICNode is the NUMA node of the RNIC, for the measuring thread and the queues; nil when unknown.
	RNICNode *int
	// GIDIndex to use; nil chooses: RoCE v2, IPv4-mapped or global before unique-local before link-local.
	GIDIndex *int
	// BasePages keeps the probe away from huge pages.
	BasePages bool
	// Connections (pairs of queue pairs) and Window (writes in flight on each); both are clipped to the device's limits.
	Connections, Window int
	// MessageBytes is the payload of a large write: 128 KiB at 200 Gb/s, scaled with the line rate.
	MessageBytes int
	// RegionBytes of the read region and of the write region; large writes walk through them.
	RegionBytes int
	// SmallSamples and LargeSamples are the writes to time one at a time, of 1 byte and of MessageBytes.
	SmallSamples, LargeSamples int
	// WarmupWrites precede each measurement and are discarded.
	WarmupWrites int
	// LatencyBudget ends each of the two latency measurements early, with the samples it has.
	LatencyBudget time.Duration
	// BandwidthBudget ends the sustained measurement once two full windows have completed, BandwidthBytesMax in any case.
	BandwidthBudget   time.Duration
	BandwidthBytesMax uint64
	// ToolCheckBelowBytesPerSecond: a lower figure is measured again with twice the connections; 0 never does.
	ToolCheckBelowBytesPerSecond uint64
	// CompletionTimeout: a write without completion for this long is lost. The transport itself gives up after about 2 s.
	CompletionTimeout time.Duration
	// Settle is how long a failed write waits for the port or the device to say that it was them.
	Settle time.Duration
	// Deadline of the whole call.
	Deadline time.Duration
	// KeepSamples returns the latency samples of the 1-byte writes.
	KeepSamples bool
	// HopDirs are the sysfs folders of PCI devices whose link is read before and during the probe, at most HopsMax.
	HopDirs []string
}

// DefaultLoopbackConfig measures a port of lineRateGbps for about a quarter of a second. Message size scales with the line
// rate so that its wire time stays about 5 µs; more than one connection above 200 Gb/s, where one queue pair is often the limit.
func DefaultLoopbackConfig(device string, port int, lineRateGbps float64) LoopbackConfig {
	const paperMessageBytes, paperLineRateGbps = 128 << 10, 200
	messageBytes, connections := paperMessageBytes, 1
	for rate := float64(paperLineRateGbps); rate < lineRateGbps && messageBytes < MessageBytesMax; rate *= 2 {
		messageBytes *= 2
		connections *= 2
	}
	return LoopbackConfig{
		Device:            device,
		Port:              port,
		Connections:       min(connections, ConnectionsMax),
		Window:            16,
		MessageBytes:      messageBytes,
		RegionBytes:       min(max(4<<20, 2*messageBytes), RegionBytesMax),
		SmallSamples:      1000,
		LargeSamples:      200,
		WarmupWrites:      20,
		LatencyBudget:     50 * time.Millisecond,
		BandwidthBudget:   50 * time.Millisecond,
		BandwidthBytesMax: 4 << 30,
		CompletionTimeout: 4 * time.Second,
		Settle:            100 * time.Millisecond,
		Deadline:          10 * time.Second,
	}
}

// LatencySummary of Count samples; percentiles are nearest-rank over all of them.
type LatencySummary struct {
	Count              int
	Min, P50, P99, Max time.Duration
}

// Throughput between two completions with the window full in between.
type Throughput struct {
	Bytes    uint64
	Duration time.Duration
	// Connections and Window after clipping.
	Connections, Window int
}

// BytesPerSecond of payload.
func (t Throughput) BytesPerSecond() float64 { return float64(t.Bytes) / t.Duration.Seconds() }

// Gbps is the payload rate in Gb/s.
func (t Throughput) Gbps() float64 { return t.BytesPerSecond() * 8 / 1e9 }

// ToolCheck tells whether a low figure is the path's or the tool's.
type ToolCheck uint32

const (
	// ToolCheckNotNeeded: the figure was not below the threshold.
	ToolCheckNotNeeded ToolCheck = 0
	// ToolCheckPathLimited: twice the connections did not scale.
	ToolCheckPathLimited ToolCheck = 1
	// ToolCheckToolLimited: twice the connections carried at least a tenth more; Repeat is the better figure.
	ToolCheckToolLimited ToolCheck = 2
	// ToolCheckNotPossible: the device has no room for more connections.
	ToolCheckNotPossible ToolCheck = 3
)

// PageKind tells where the memory under test came from.
type PageKind uint32

const (
	PagesBase     PageKind = 0
	PagesHuge2MiB PageKind = 1
)

// LinkReading is a PCIe link as sysfs shows it; nil is unknown.
type LinkReading struct {
	// SpeedMTs in million transfers per second and lane (16000: PCIe 4.0).
	SpeedMTs   *uint64
	WidthLanes *uint64
}

// HopReading is one hop's link before the probe and with traffic in flight.
type HopReading struct {
	Before, During LinkReading
}

// PortBytes is a pair of counters; nil is unknown.
type PortBytes struct {
	Sent, Received *uint64
}

// LoopbackResult is what one loopback probe measured.
type LoopbackResult struct {
	// Small and Large time single writes of 1 byte and of MessageBytes, from post to completion.
	Small, Large LatencySummary
	// SmallSamples in the order taken, when KeepSamples asked for them.
	SmallSamples []time.Duration
	// PaperBytesPerSecond is the paper's figure, message size over the difference of the two medians; nil when that is not positive.
	PaperBytesPerSecond *uint64
	// Sustained is the figure that verdicts use; Repeat is the tool check's, nil when there was none.
	Sustained Throughput
	Repeat    *Throughput
	ToolCheck ToolCheck
	// GIDIndex used, nil where LIDs were; GIDAttempts above 1: the first choice did not connect or did not carry.
	GIDIndex    *uint64
	GIDAttempts int
	// SelfNoiseP50 and SelfNoiseP99 of an empty measurement.
	SelfNoiseP50, SelfNoiseP99 time.Duration
	MTUBytes                   int
	PageKind                   PageKind
	// PlacementVerified: every page was found on MemoryNode.
	PlacementVerified bool
	// ThreadOnRNICNode: the measuring thread stayed on the RNIC node's CPUs.
	ThreadOnRNICNode bool
	// PortStateBefore and PortStateAfter as verbs counts them (4: ACTIVE).
	PortStateBefore, PortStateAfter *uint64
	// PortBytesBefore and PortBytesAfter are evidence only: some firmware does not count loopback.
	PortBytesBefore, PortBytesAfter PortBytes
	Duration                        time.Duration
	// Hops in the order of HopDirs.
	Hops []HopReading
}

func (c *LoopbackConfig) check() error {
	if len(c.HopDirs) > HopsMax {
		return fmt.Errorf("loopback probe of %s: %d hops to watch, at most %d", c.Device, len(c.HopDirs), HopsMax)
	}
	return nil
}
