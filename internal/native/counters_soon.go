package native

import "context"

// Counters reads a set of small counter files, kept open, in one call.
type Counters struct{}

// OpenCounters prepares the reading of files, which are opened by the first Read. One handle for each device: files of one
// handle hang together.
func OpenCounters(files []string) (*Counters, error) { return nil, ErrUnavailable }

// Read reads every file once, in the order of OpenCounters; out must have their number. A file that cannot be read is
// absent in out, that is no error; a file that went stale (its device was removed, or came back) is opened anew. The error is
// StatusAbandoned when a file hangs: out is untouched then, and each Read fails at once until the file returns.
func (c *Counters) Read(ctx context.Context, out []CounterValue) error { return ErrUnavailable }

// Close gives the files back, those of a call that hangs once it returns.
func (c *Counters) Close() {}

// Ethtool reads the statistics of one netdev over the kernel's ethtool ioctl.
type Ethtool struct{}

// OpenEthtool prepares the reading of a netdev of this network namespace; the first Read asks for it. Needs no privilege.
func OpenEthtool(netdev string) (*Ethtool, error) { return nil, ErrUnavailable }

// Read fills stats. StatusDeviceNotFound: there is no such netdev (now; a later Read finds it when it is back). StatusUnsupported: the
// driver has no statistics. StatusAbandoned: the driver hangs; each Read fails at once until it returns.
func (e *Ethtool) Read(ctx context.Context, stats *EthtoolStats) error { return ErrUnavailable }

// Close gives the socket back.
func (e *Ethtool) Close() {}

// NVML is NVIDIA's management library, loaded and initialised.
type NVML struct{}

// OpenNVML loads library (NVMLLibrary, or a path) and initialises it, for the GPUs at these PCI addresses ("0000:17:00.0").
// StatusLibraryMissing: it is not installed. StatusLibraryIncomplete: it lacks a symbol that the text names. StatusLibraryRefused:
// it failed to initialise; LibraryCode says why. StatusAbandoned: it hangs.
func OpenNVML(ctx context.Context, library string, pci []string) (*NVML, error) {
	return nil, ErrUnavailable
}

// Missing names the calls that this library does not have; their values are absent.
func (n *NVML) Missing() []string { return nil }

// Read asks every device, side by side, in the order of OpenNVML; out must have their number. It returns when all have answered or
// ctx ends, and says per device how that went.
func (n *NVML) Read(ctx context.Context, out []NVMLDevice) error { return ErrUnavailable }

// Reinit shuts the library down and initialises it again, as NVMLUnknown asks for. StatusAbandoned while a call of an earlier Read hangs.
func (n *NVML) Reinit(ctx context.Context) error { return ErrUnavailable }

// Close shuts the library down, once the last call that hangs has returned.
func (n *NVML) Close() {}

// Uncore is a group of uncore PMUs that count.
type Uncore struct{}

// DiscoverUncore lists what OpenUncore would open, by reading sysfs alone. StatusPMUMissing: there is no PMU of that kind.
// StatusPMUUnknown: neither sysfs nor the table of CPU models knows the event; the text names the CPU.
func DiscoverUncore(ctx context.Context, config UncoreConfig) ([]UncoreCounter, error) {
	return nil, ErrUnavailable
}

// OpenUncore discovers and opens the PMUs; they count from then on. StatusPermissionDenied: needs CAP_PERFMON, or
// kernel.perf_event_paranoid at 0 or below.
func OpenUncore(ctx context.Context, config UncoreConfig) (*Uncore, error) {
	return nil, ErrUnavailable
}

// Counters that are open.
func (u *Uncore) Counters() []UncoreCounter { return nil }

// Sockets is how many sockets a Read fills.
func (u *Uncore) Sockets() int { return 0 }

// Read fills out, one per socket, by ascending socket.
func (u *Uncore) Read(ctx context.Context, out []UncoreBytes) error { return ErrUnavailable }

// Close ends the counting.
func (u *Uncore) Close() {}
