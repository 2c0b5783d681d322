package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

// gpuHost is a monitor over eight NVIDIA GPUs of the stand-in for NVML
// (zig/testing/nvml_standin.zig), and one idle RNIC of files.
type gpuHost struct {
	*monitor.Monitor
	t      *testing.T
	script string
}

func newGPUHost(t *testing.T, library string) gpuHost {
	needsNative(t)
	dir := t.TempDir()
	h := gpuHost{t: t, script: filepath.Join(dir, "gpus")}
	t.Setenv("NVML_STANDIN", h.script)
	counters := filepath.Join(dir, "class/infiniband/mlx5_0/ports/1/counters")
	require.NoError(t, os.MkdirAll(counters, 0o755))
	for _, name := range []string{"port_xmit_data", "port_rcv_data"} {
		require.NoError(t, os.WriteFile(filepath.Join(counters, name), []byte("0\n"), 0o644))
	}
	topo := topology.Topology{RNICs: []topology.RNIC{{ID: "mlx5_0", Name: "mlx5_0", Port: 1, RateGbps: new(200.0), Usable: true}}}
	for i := range 8 {
		topo.GPUs = append(topo.GPUs, topology.GPU{ID: fmt.Sprintf("gpu%d", i), PCI: pciOf(i), Vendor: "nvidia"})
	}
	readers := nativeReaders()
	readers.NVIDIA = (&nvidia{library: library}).open
	h.Monitor = monitor.New(topo, monitor.Options{Root: dir, Interval: 50 * time.Millisecond, Readers: readers})
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	return h
}

func pciOf(gpu int) string { return fmt.Sprintf("0000:%02x:00.0", 0x10+gpu) }

// say writes what the GPUs do: all are idle but those with a line of their own.
func (h gpuHost) say(lines map[int]string, library string) {
	h.t.Helper()
	var text strings.Builder
	text.WriteString(library + "\n")
	for i := range 8 {
		line, ok := lines[i]
		if !ok {
			line = "utilization=0 sent=0 received=0 compute=0 graphics=0 mode=0 mig=0"
		}
		fmt.Fprintf(&text, "%s %s\n", pciOf(i), line)
	}
	// In one step: the stand-in reads it at each call.
	next := h.script + ".next"
	require.NoError(h.t, os.WriteFile(next, []byte(text.String()), 0o644))
	require.NoError(h.t, os.Rename(next, h.script))
}

func source(t *testing.T, sources []monitor.Source, name string) monitor.Source {
	t.Helper()
	for _, s := range sources {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no source %s", name)
	return monitor.Source{}
}

// standIn is the library as zig build test-artefacts leaves it. Without it there is nothing to load.
func standIn(t *testing.T) string {
	t.Helper()
	library, err := filepath.Abs("../../zig-out/test/nvml/libnvidia-ml.so.1")
	require.NoError(t, err)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the stand-in is not built (%v): run make test-artefacts", err)
	}
	return library
}

func TestGPUsThroughNVML(t *testing.T) {
	library := standIn(t)
	h := newGPUHost(t, library)

	h.say(nil, "")
	reading, sources := h.Read(t.Context())
	assert.Equal(t, monitor.Idle, reading.State, reading.Reasons)
	assert.Equal(t, monitor.SourceOK, source(t, sources, "gpu").State)
	assert.NoError(t, h.StillIdle(t.Context()))

	h.say(map[int]string{2: "utilization=83 sent=1000000 received=0 compute=3 graphics=0 mode=3 mig=0"}, "")
	h.Sample(t.Context())
	s := h.Sample(t.Context())
	assert.Equal(t, monitor.Busy, s.Idle.State)
	assert.Equal(t, []string{"gpu2: busy for 83.0 % of its time; idle is below 5.0 %"}, s.Idle.Reasons)
	assert.Equal(t, new(3), s.GPUs[2].ComputeProcesses)
	assert.Equal(t, "exclusive_process", s.GPUs[2].ComputeMode)
	assert.NotNil(t, s.GPUs[2].OutBytesPerSecond)
	assert.ErrorContains(t, h.StillIdle(t.Context()), "host is busy: gpu2")

	h.say(map[int]string{5: "sent=0 received=0 compute=1 mode=0 mig=1"}, "") // C85
	s = h.Sample(t.Context())
	assert.Equal(t, monitor.Unknown, s.Idle.State)
	assert.Contains(t, s.Idle.Reasons[0], "gpu5: it does not tell its utilisation: NVML_ERROR_NOT_SUPPORTED, as it is divided")
	assert.Nil(t, s.GPUs[5].Utilization)
	assert.NotNil(t, s.GPUs[4].Utilization)
}

// C86 with a real thread that hangs in a real library: seven GPUs stay fresh, the
// eighth costs one bounded wait, and is back when the call returns.
func TestC86_OneGPUHangsInNVML(t *testing.T) {
	h := newGPUHost(t, standIn(t))
	h.say(nil, "")
	h.Sample(t.Context())
	h.say(map[int]string{3: "hang=1"}, "")
	fresh := func(s monitor.Sample) (ids []string) {
		for _, g := range s.GPUs {
			if g.Utilization != nil {
				ids = append(ids, g.ID)
			}
		}
		return ids
	}
	others := []string{"gpu0", "gpu1", "gpu2", "gpu4", "gpu5", "gpu6", "gpu7"}
	for range 3 {
		s := h.Sample(t.Context())
		assert.Equal(t, others, fresh(s))
		assert.Equal(t, monitor.SourceFailing, source(t, s.Sources, "gpu").State)
		assert.Contains(t, source(t, s.Sources, "gpu").Reason, "gpu3: ")
		assert.Equal(t, monitor.Unknown, s.Idle.State)
	}
	h.say(nil, "")
	assert.Eventually(t, func() bool { return len(fresh(h.Sample(t.Context()))) == 8 }, 10*time.Second, 50*time.Millisecond, "it recovers by itself")
}

// C97: a library that lost its devices is started anew; one that is not there, or vanishes, is said.
func TestC97_NVMLComesAndGoes(t *testing.T) {
	library := standIn(t)
	t.Run("lost its devices", func(t *testing.T) {
		h := newGPUHost(t, library)
		h.say(nil, "library fail=999 calls=12")
		assert.Eventually(t, func() bool {
			return source(t, h.Sample(t.Context()).Sources, "gpu").State == monitor.SourceOK
		}, 10*time.Second, 50*time.Millisecond)
	})
	t.Run("does not start at first", func(t *testing.T) {
		h := newGPUHost(t, library)
		h.say(nil, "library init=9") // the driver is not loaded
		s := h.Sample(t.Context())
		assert.NotEqual(t, monitor.SourceOK, source(t, s.Sources, "gpu").State)
		assert.Contains(t, source(t, s.Sources, "gpu").Reason, "NVML")
		h.say(nil, "")
		assert.Eventually(t, func() bool {
			return source(t, h.Sample(t.Context()).Sources, "gpu").State == monitor.SourceOK
		}, 10*time.Second, 100*time.Millisecond)
	})
	t.Run("is not installed", func(t *testing.T) {
		h := newGPUHost(t, filepath.Join(t.TempDir(), "libnvidia-ml.so.1"))
		reading, sources := h.Read(t.Context())
		gpu := source(t, sources, "gpu")
		assert.Equal(t, monitor.SourceUnavailable, gpu.State, gpu.Reason)
		assert.Contains(t, gpu.Reason, "install NVIDIA's driver")
		assert.Equal(t, monitor.Unknown, reading.State)
		assert.Len(t, reading.Reasons, 8)
	})
}
