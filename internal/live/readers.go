package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/native"
)

// nativeReaders are the data plane's ways into the hardware of this host, in
// the monitor's words.
func nativeReaders() monitor.Readers {
	return monitor.Readers{
		Files:          openFiles,
		Netdev:         openNetdev,
		NVIDIA:         (&nvidia{library: native.NVMLLibrary}).open,
		MemoryBus:      func(ctx context.Context) (monitor.Bus, error) { return openBus(ctx, native.UncoreMemory) },
		InterSocketBus: func(ctx context.Context) (monitor.Bus, error) { return openBus(ctx, native.UncoreInterSocket) },
	}
}

// unavailable are the failures that trying again does not mend.
func unavailable(err error) bool {
	for _, status := range []native.Status{
		native.StatusLibraryMissing, native.StatusLibraryIncomplete, native.StatusUnsupported, native.StatusPMUMissing,
		native.StatusPMUUnknown, native.StatusPermissionDenied, native.StatusDeviceNotFound,
	} {
		if errors.Is(err, status) {
			return true
		}
	}
	return errors.Is(err, native.ErrUnavailable)
}

// translated is an error in the monitor's terms.
func translated(err error) error {
	switch {
	case err == nil:
		return nil
	case unavailable(err):
		return monitor.Unavailable("%v", err)
	case errors.Is(err, native.StatusAbandoned):
		return hanging{err}
	}
	return err
}

// hanging is a monitor.ErrHangs in the data plane's words.
type hanging struct{ error }

func (h hanging) Is(target error) bool { return target == monitor.ErrHangs }
func (h hanging) Unwrap() error        { return h.error }

// files adapts native.Counters.
type files struct {
	paths    []string
	counters *native.Counters
	values   []native.CounterValue
}

func openFiles(paths []string) (monitor.Files, error) {
	counters, err := native.OpenCounters(paths)
	if err != nil {
		return nil, translated(err)
	}
	return &files{paths, counters, make([]native.CounterValue, len(paths))}, nil
}

func (f *files) Read(ctx context.Context, out []monitor.FileValue) error {
	if err := f.counters.Read(ctx, f.values); err != nil {
		return translated(err)
	}
	for i := range f.values {
		value := &f.values[i]
		out[i] = monitor.FileValue{}
		switch number, ok := value.Number(); {
		case ok:
			out[i].Number, out[i].IsNumber = number, true
		case value.State == native.CounterText:
			out[i].Text = value.Text()
		default:
			out[i].Err = &fs.PathError{Op: "read", Path: f.paths[i], Err: value.Errno()}
		}
	}
	return nil
}

func (f *files) Close() { f.counters.Close() }

// netdev adapts native.Ethtool.
type netdev struct {
	ethtool *native.Ethtool
	stats   native.EthtoolStats
}

func openNetdev(name string) (monitor.Netdev, error) {
	ethtool, err := native.OpenEthtool(name)
	if err != nil {
		return nil, translated(err)
	}
	return &netdev{ethtool: ethtool}, nil
}

func (n *netdev) Read(ctx context.Context, stats *monitor.NetdevStats) error {
	if err := n.ethtool.Read(ctx, &n.stats); err != nil {
		return translated(err)
	}
	*stats = monitor.NetdevStats(n.stats)
	return nil
}

func (n *netdev) Close() { n.ethtool.Close() }

// nvml adapts native.NVML.
type nvml struct {
	library *native.NVML
	devices []native.NVMLDevice
}

// nvidia opens NVML. A library that hangs while it starts keeps a thread for
// good, so it gets few chances.
type nvidia struct {
	library string
	hung    int
}

const mostHangs = 3

func (n *nvidia) open(ctx context.Context, pci []string) (monitor.GPUs, error) {
	if n.hung == mostHangs {
		return nil, fmt.Errorf("%s hung %d times while it started and is left alone; reset the GPUs or reboot", n.library, mostHangs)
	}
	library, err := native.OpenNVML(ctx, n.library, pci)
	if err != nil {
		if errors.Is(err, native.StatusAbandoned) {
			n.hung++
		}
		if errors.Is(err, native.StatusLibraryMissing) {
			return nil, monitor.Unavailable("%v; install NVIDIA's driver, whose packages hold it", err)
		}
		return nil, translated(err)
	}
	return &nvml{library, make([]native.NVMLDevice, len(pci))}, nil
}

func (n *nvml) Read(ctx context.Context, out []monitor.GPUReading) error {
	if err := n.library.Read(ctx, n.devices); err != nil {
		return translated(err)
	}
	all := len(n.devices) > 0
	for i := range n.devices {
		out[i] = gpuReading(&n.devices[i])
		all = all && lost(&n.devices[i])
	}
	if all { // one alone is that device's trouble
		return monitor.ErrLost
	}
	return nil
}

func (n *nvml) Reinit(ctx context.Context) error { return translated(n.library.Reinit(ctx)) }

func (n *nvml) Close() { n.library.Close() }

// lost reports whether the library has lost the device, which only a new start mends.
func lost(d *native.NVMLDevice) bool {
	var refused *native.Error
	code := d.UtilizationPercent.Code
	if errors.As(d.Err, &refused) {
		code = native.NVMLCode(refused.LibraryCode)
	} else if d.Err != nil {
		return false
	}
	return code == native.NVMLUnknown || code == native.NVMLUninitialized
}

// gpuReading is a device's reading in the monitor's words.
func gpuReading(d *native.NVMLDevice) monitor.GPUReading {
	reading := monitor.GPUReading{Err: translated(d.Err)}
	if d.Err != nil {
		return reading
	}
	if percent, ok := d.UtilizationPercent.Get(); !ok {
		reading.WhyNot = d.UtilizationPercent.Code.String()
	} else if percent > 100 {
		reading.WhyNot = "its library tells a share above 100 %"
	} else {
		reading.Utilization = new(float64(percent) / 100)
	}
	reading.OutBytesPerSecond = figure(d.PCIeSentBytesPerSecond)
	reading.InBytesPerSecond = figure(d.PCIeReceivedBytesPerSecond)
	reading.ComputeProcesses, reading.GraphicsProcesses = count(d.ComputeProcesses), count(d.GraphicsProcesses)
	if mode, ok := d.ComputeMode.Get(); ok {
		reading.ComputeMode = computeModes[mode]
	}
	if mig, ok := d.MIGMode.Get(); ok {
		reading.MIG = new(mig == 1)
		if mig == 1 && reading.Utilization == nil {
			reading.WhyNot += ", as it is divided into instances (MIG)"
		}
	}
	return reading
}

// computeModes are NVML's, as reports spell them; an unknown one is "".
var computeModes = map[uint64]string{
	native.ComputeModeDefault: "default", native.ComputeModeExclusiveThread: "exclusive_thread",
	native.ComputeModeProhibited: "prohibited", native.ComputeModeExclusiveProcess: "exclusive_process",
}

func figure(v native.NVMLValue) *float64 {
	if value, ok := v.Get(); ok {
		return new(float64(value))
	}
	return nil
}

func count(v native.NVMLValue) *int {
	if value, ok := v.Get(); ok {
		return new(int(value))
	}
	return nil
}

// bus adapts native.Uncore.
type bus struct {
	uncore *native.Uncore
	bytes  []native.UncoreBytes
}

func openBus(ctx context.Context, kind native.UncoreKind) (monitor.Bus, error) {
	uncore, err := native.OpenUncore(ctx, native.UncoreConfig{Kind: kind, SysfsRoot: "/sys"})
	if err != nil {
		return nil, translated(err)
	}
	return &bus{uncore, make([]native.UncoreBytes, uncore.Sockets())}, nil
}

func (b *bus) Sockets() int { return len(b.bytes) }

func (b *bus) Read(ctx context.Context, out []monitor.SocketBytes) error {
	if err := b.uncore.Read(ctx, b.bytes); err != nil {
		return translated(err)
	}
	for i, socket := range b.bytes {
		out[i] = monitor.SocketBytes{Socket: socket.Socket, Bytes: carried(socket)}
	}
	return nil
}

func (b *bus) Close() { b.uncore.Close() }

// carried is all that a socket's bus moved; nil when a part of it is unknown.
func carried(b native.UncoreBytes) *uint64 {
	switch {
	case b.Sent.Known:
		return new(b.Sent.Value)
	case b.Read.Known && b.Written.Known:
		return new(b.Read.Value + b.Written.Value)
	}
	return nil
}
