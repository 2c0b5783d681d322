package live

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/monitor/monitortest"
	"github.com/yuuki/hostping/internal/native"
)

// needsNative skips where the data plane is not built in; then every call of it says so.
func needsNative(t testing.TB) {
	t.Helper()
	if err := native.Check(); err != nil {
		require.ErrorIs(t, err, native.ErrUnavailable)
		t.Skip(err)
	}
}

func TestNativeFiles(t *testing.T) {
	needsNative(t)
	monitortest.Files(t, nativeReaders().Files)
}

// Every netdev of this machine has statistics or says why not.
func TestNativeNetdevs(t *testing.T) {
	needsNative(t)
	entries, err := os.ReadDir("/sys/class/net")
	require.NoError(t, err)
	for _, entry := range entries {
		netdev, err := nativeReaders().Netdev(entry.Name())
		require.NoError(t, err)
		var stats monitor.NetdevStats
		if err := netdev.Read(t.Context(), &stats); err != nil {
			assert.ErrorIs(t, err, monitor.ErrUnavailable, "%s: %v", entry.Name(), err)
		} else {
			assert.NotEmpty(t, stats.Driver, entry.Name())
			assert.Len(t, stats.Values, len(stats.Names))
			assert.NotZero(t, stats.Generation)
		}
		netdev.Close()
	}
	gone, err := nativeReaders().Netdev("nosuchdev0")
	require.NoError(t, err)
	defer gone.Close()
	var stats monitor.NetdevStats
	assert.ErrorIs(t, gone.Read(t.Context(), &stats), monitor.ErrUnavailable)
}

// Without NVIDIA's driver, or Intel's PMUs, the reason is one that trying again does not mend.
func TestNativeLibrariesAndPMUs(t *testing.T) {
	needsNative(t)
	gpus, err := nativeReaders().NVIDIA(t.Context(), []string{"0000:17:00.0"})
	if err != nil {
		assert.ErrorIs(t, err, monitor.ErrUnavailable, err)
		assert.ErrorContains(t, err, "install NVIDIA's driver")
	} else {
		gpus.Close()
	}
	bus, err := nativeReaders().MemoryBus(t.Context())
	if err != nil {
		assert.ErrorIs(t, err, monitor.ErrUnavailable, err)
	} else {
		bus.Close()
	}
}

func TestErrorsInTheMonitorsTerms(t *testing.T) {
	for status, want := range map[native.Status]error{
		native.StatusLibraryMissing: monitor.ErrUnavailable, native.StatusLibraryIncomplete: monitor.ErrUnavailable,
		native.StatusUnsupported: monitor.ErrUnavailable, native.StatusPMUMissing: monitor.ErrUnavailable, native.StatusPMUUnknown: monitor.ErrUnavailable,
		native.StatusPermissionDenied: monitor.ErrUnavailable, native.StatusDeviceNotFound: monitor.ErrUnavailable,
		native.StatusAbandoned: monitor.ErrHangs,
	} {
		err := translated(&native.Error{Status: status, Text: "the text"})
		assert.ErrorIs(t, err, want, status)
		assert.EqualError(t, err, "the text")
	}
	other := &native.Error{Status: native.StatusLibraryRefused, Text: "the text"}
	assert.Equal(t, error(other), translated(other))
	assert.NotErrorIs(t, translated(other), monitor.ErrUnavailable)
	assert.ErrorIs(t, translated(native.ErrUnavailable), monitor.ErrUnavailable)
	assert.NoError(t, translated(nil))
}

func TestGPUReadings(t *testing.T) {
	number := func(v uint64) native.NVMLValue { return native.NVMLValue{Value: v} }
	refused := native.NVMLValue{Code: native.NVMLNotSupported}
	all := native.NVMLDevice{
		UtilizationPercent: number(37), PCIeSentBytesPerSecond: number(1000), PCIeReceivedBytesPerSecond: number(0),
		ComputeProcesses: number(2), GraphicsProcesses: number(0), ComputeMode: number(native.ComputeModeExclusiveProcess), MIGMode: number(0),
	}
	divided := all
	divided.UtilizationPercent, divided.MIGMode = refused, number(1)
	nonsense := all
	nonsense.UtilizationPercent = number(4294967295)
	broken := native.NVMLDevice{Err: &native.Error{Status: native.StatusLibraryRefused, LibraryCode: 15, Text: "GPU is lost"}}
	cases := map[string]struct {
		device native.NVMLDevice
		want   monitor.GPUReading
	}{
		"all of it": {all, monitor.GPUReading{
			Utilization: new(0.37), OutBytesPerSecond: new(1000.0), InBytesPerSecond: new(0.0),
			ComputeProcesses: new(2), GraphicsProcesses: new(0), ComputeMode: "exclusive_process", MIG: new(false),
		}},
		"C85 divided into instances": {divided, monitor.GPUReading{
			WhyNot: "NVML_ERROR_NOT_SUPPORTED, as it is divided into instances (MIG)", OutBytesPerSecond: new(1000.0), InBytesPerSecond: new(0.0),
			ComputeProcesses: new(2), GraphicsProcesses: new(0), ComputeMode: "exclusive_process", MIG: new(true),
		}},
		"no percentage": {nonsense, monitor.GPUReading{
			WhyNot: "its library tells a share above 100 %", OutBytesPerSecond: new(1000.0), InBytesPerSecond: new(0.0),
			ComputeProcesses: new(2), GraphicsProcesses: new(0), ComputeMode: "exclusive_process", MIG: new(false),
		}},
		"lost": {broken, monitor.GPUReading{Err: broken.Err}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, gpuReading(&c.device)) })
	}
}

func TestLostLibrary(t *testing.T) {
	with := func(code native.NVMLCode) native.NVMLDevice {
		return native.NVMLDevice{UtilizationPercent: native.NVMLValue{Code: code}}
	}
	failed := func(code int) native.NVMLDevice {
		return native.NVMLDevice{Err: &native.Error{Status: native.StatusLibraryRefused, LibraryCode: code}}
	}
	for name, c := range map[string]struct {
		device native.NVMLDevice
		lost   bool
	}{
		"well":             {with(native.NVMLSuccess), false},
		"not supported":    {with(native.NVMLNotSupported), false},
		"unknown":          {with(native.NVMLUnknown), true},
		"not initialised":  {failed(1), true},
		"unknown at once":  {failed(999), true},
		"fell off the bus": {failed(15), false},
		"another error":    {native.NVMLDevice{Err: errors.New("hangs")}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.lost, lost(&c.device)) })
	}
}

func TestCarried(t *testing.T) {
	known := func(v uint64) native.OptionalCount { return native.OptionalCount{Value: v, Known: true} }
	for name, c := range map[string]struct {
		bytes native.UncoreBytes
		want  *uint64
	}{
		"memory":           {native.UncoreBytes{Read: known(3), Written: known(4)}, new(uint64(7))},
		"half of memory":   {native.UncoreBytes{Read: known(3)}, nil},
		"between sockets":  {native.UncoreBytes{Sent: known(9)}, new(uint64(9))},
		"nothing is known": {native.UncoreBytes{}, nil},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, carried(c.bytes)) })
	}
}

// A library that hangs while it starts gets few chances.
func TestNVIDIAIsLeftAlone(t *testing.T) {
	library := &nvidia{hung: mostHangs}
	_, err := library.open(t.Context(), []string{"0000:17:00.0"})
	assert.ErrorContains(t, err, "hung 3 times")
}

func bigMonitor(t testing.TB) *monitor.Monitor {
	t.Helper()
	needsNative(t)
	tree, err := monitortest.BigHost()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tree.Write(dir))
	root := filepath.Join(dir, "sys")
	host, err := discover.Discover(discover.Options{Sysfs: root})
	require.NoError(t, err)
	m := monitor.New(host.Topology, monitor.Options{Root: root, LinkDirs: host.LinkDirs, Readers: monitor.Readers{Files: openFiles}})
	t.Cleanup(func() { _ = m.Close() })
	require.Len(t, m.Sample(t.Context()).RNICs, 16)
	return m
}

// BenchmarkNativeSample is internal/monitor's BenchmarkSample over the data plane's files.
func BenchmarkNativeSample(b *testing.B) {
	m := bigMonitor(b)
	used := func() time.Duration {
		var usage syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	b.ReportAllocs()
	before := used()
	for b.Loop() {
		m.Sample(b.Context())
	}
	b.ReportMetric(float64((used()-before)/time.Duration(b.N))/float64(time.Second)*100, "core-%/Hz")
}
