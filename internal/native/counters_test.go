//go:build cgo && linux

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree is a folder whose files a test writes and removes.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T) tree { return tree{t, t.TempDir()} }

func (f tree) path(name string) string { return filepath.Join(f.root, name) }

func (f tree) write(name, text string) string {
	f.t.Helper()
	require.NoError(f.t, os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
	require.NoError(f.t, os.WriteFile(f.path(name), []byte(text), 0o644))
	return f.path(name)
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// Field cases C01, C02: what holds no number, or is not there, costs its own value alone.
func TestCountersTellAbsentFromZero(t *testing.T) {
	files := newTree(t)
	counters, err := OpenCounters([]string{
		files.write("port_rcv_data", "N/A (no PMA)\n"),
		files.write("link_downed", "0\n"),
		files.path("counters/port_xmit_data"),
		files.write("state", "4: ACTIVE\n"),
		files.root,
	})
	require.NoError(t, err)
	defer counters.Close()
	values := make([]CounterValue, 5)
	require.NoError(t, counters.Read(t.Context(), values))

	assert.Equal(t, CounterText, values[0].State)
	assert.Equal(t, "N/A (no PMA)", values[0].Text())
	_, ok := values[0].Number()
	assert.False(t, ok)
	number, ok := values[1].Number()
	assert.True(t, ok)
	assert.Zero(t, number)
	assert.Equal(t, CounterAbsent, values[2].State)
	assert.Equal(t, syscall.ENOENT, values[2].Errno())
	assert.Equal(t, "4: ACTIVE", values[3].Text())
	assert.Equal(t, CounterAbsent, values[4].State)
	assert.Equal(t, syscall.EISDIR, values[4].Errno())
}

func TestCountersFollowADeviceThatGoesAndComes(t *testing.T) {
	files := newTree(t)
	name := "hw_counters/out_of_sequence"
	counters, err := OpenCounters([]string{files.write(name, "1\n")})
	require.NoError(t, err)
	defer counters.Close()
	read := func() CounterValue {
		values := make([]CounterValue, 1)
		require.NoError(t, counters.Read(t.Context(), values))
		return values[0]
	}
	for _, step := range []struct {
		name string
		do   func()
		want *uint64
	}{
		{"first", func() {}, new(uint64(1))},
		{"grown in place", func() { files.write(name, "20\n") }, new(uint64(20))},
		{"removed", func() { require.NoError(t, os.RemoveAll(files.path("hw_counters"))) }, nil},
		{"still gone", func() {}, nil},
		{"back", func() { files.write(name, "3\n") }, new(uint64(3))},
		{"replaced at once", func() {
			require.NoError(t, os.Remove(files.path(name)))
			files.write(name, "4\n")
		}, new(uint64(4))},
		{"shorter", func() { files.write(name, "5") }, new(uint64(5))},
		{"empty", func() { files.write(name, "") }, nil},
	} {
		step.do()
		value := read()
		number, ok := value.Number()
		require.Equal(t, step.want != nil, ok, step.name)
		if step.want != nil {
			require.Equal(t, *step.want, number, step.name)
		}
	}
}

func TestCountersOfTheKernelsOwnFiles(t *testing.T) {
	counters, err := OpenCounters([]string{"/sys/class/net/lo/statistics/rx_bytes", "/sys/class/net/lo/operstate", "/sys/class/net/lo/speed"})
	require.NoError(t, err)
	defer counters.Close()
	values := make([]CounterValue, 3)
	require.NoError(t, counters.Read(t.Context(), values))
	_, ok := values[0].Number()
	assert.True(t, ok)
	assert.Equal(t, CounterText, values[1].State)
	assert.Equal(t, syscall.EINVAL, values[2].Errno(), "a loopback netdev has no speed; the kernel says so each time")
}

func TestCountersRefuseNonsense(t *testing.T) {
	for name, files := range map[string][]string{
		"none":          {},
		"too many":      make([]string, CounterFilesMax+1),
		"no path":       {"/sys/a", ""},
		"a zero inside": {"/sys/a\x00b"},
	} {
		_, err := OpenCounters(files)
		assert.Error(t, err, name)
	}
	counters, err := OpenCounters([]string{"/nonexistent"})
	require.NoError(t, err)
	assert.ErrorContains(t, counters.Read(t.Context(), nil), "room for 0 values of 1 files")
	counters.Close()
	counters.Close()
	assert.ErrorIs(t, counters.Read(t.Context(), make([]CounterValue, 1)), os.ErrClosed)
}

// Goal: sampling costs no memory, and rounds of opening and closing leave no descriptor.
func TestCountersLeaveNothing(t *testing.T) {
	files := newTree(t)
	paths := []string{files.path("missing")}
	for i := range 50 {
		paths = append(paths, files.write(fmt.Sprint(i), "1234567890\n"))
	}
	counters, err := OpenCounters(paths)
	require.NoError(t, err)
	values := make([]CounterValue, len(paths))
	require.NoError(t, counters.Read(t.Context(), values))
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = counters.Read(t.Context(), values) }))
	counters.Close()

	before := 0
	for round := range 10_000 {
		counters, err := OpenCounters(paths[:3])
		require.NoError(t, err)
		require.NoError(t, counters.Read(t.Context(), values[:3]))
		number, _ := values[2].Number()
		require.EqualValues(t, 1234567890, number)
		counters.Close()
		if round == 100 {
			before = descriptors(t)
		}
	}
	// The last few are closed by their own goroutines, a moment later.
	assert.Eventually(t, func() bool { return descriptors(t) <= before }, waitFor, pollEvery)
}

func TestCountersFromManyGoroutines(t *testing.T) {
	files := newTree(t)
	counters, err := OpenCounters([]string{files.write("a", "7\n")})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			values := make([]CounterValue, 1)
			for range 200 {
				if counters.Read(t.Context(), values) != nil {
					return // closed
				}
				number, _ := values[0].Number()
				assert.EqualValues(t, 7, number)
			}
		})
	}
	counters.Close()
	all.Wait()
}

// A FIFO that nobody writes to stands for a file that hangs: opening it for reading blocks where O_NONBLOCK is not used.
func TestCountersNeverBlockInOpen(t *testing.T) {
	files := newTree(t)
	require.NoError(t, syscall.Mkfifo(files.path("fifo"), 0o644))
	counters, err := OpenCounters([]string{files.path("fifo")})
	require.NoError(t, err)
	defer counters.Close()
	values := make([]CounterValue, 1)
	require.NoError(t, counters.Read(t.Context(), values))
	assert.Equal(t, syscall.ESPIPE, values[0].Errno())
}

func BenchmarkCountersRead(b *testing.B) {
	paths := make([]string, 60)
	for i := range paths {
		paths[i] = "/sys/class/net/lo/statistics/rx_bytes"
	}
	counters, err := OpenCounters(paths)
	require.NoError(b, err)
	defer counters.Close()
	values := make([]CounterValue, len(paths))
	b.ReportAllocs()
	for b.Loop() {
		if err := counters.Read(b.Context(), values); err != nil {
			b.Fatal(err)
		}
	}
}
