package monitor_test

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/monitor/monitortest"
)

func TestPlainFiles(t *testing.T) { monitortest.Files(t, monitor.OpenFiles) }

// bigMonitor watches sixteen RNICs and eight GPUs in a tree of files.
func bigMonitor(t testing.TB) *monitor.Monitor {
	t.Helper()
	tree, err := monitortest.BigHost()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tree.Write(dir))
	root := filepath.Join(dir, "sys")
	host, err := discover.Discover(discover.Options{Sysfs: root})
	require.NoError(t, err)
	m := monitor.New(host.Topology, monitor.Options{Root: root, LinkDirs: host.LinkDirs})
	t.Cleanup(func() { _ = m.Close() })
	s := m.Sample(t.Context())
	require.Len(t, s.RNICs, 16)
	require.Len(t, s.GPUs, 8)
	require.NotEmpty(t, s.Links)
	for _, g := range s.GPUs {
		require.NotNil(t, g.Utilization)
	}
	return m
}

// processorTime is what this process has used of the processors.
func processorTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkSample is one sample. Once a second, its processor time is the
// share of one core that the figure core-% tells.
func BenchmarkSample(b *testing.B) {
	m := bigMonitor(b)
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		m.Sample(b.Context())
	}
	each := (processorTime(b) - before) / time.Duration(b.N)
	b.ReportMetric(float64(each)/float64(time.Second)*100, "core-%/Hz")
}

// What a sample allocates is given back: no memory, goroutine or file grows with the samples.
func TestSamplingDoesNotGrow(t *testing.T) {
	m := bigMonitor(t)
	held := func(samples int) (heapBytes uint64, goroutines int) {
		for range samples {
			m.Sample(t.Context())
		}
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		return memory.HeapAlloc, runtime.NumGoroutine()
	}
	before, goroutines := held(50)
	later, now := held(500)
	assert.Less(t, later, before+256<<10, "held after 500 samples more")
	assert.LessOrEqual(t, now, goroutines+1)
}
