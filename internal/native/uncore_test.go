//go:build cgo && linux

package native

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	waitFor   = 10 * time.Second
	pollEvery = 10 * time.Millisecond
)

// pmu writes one PMU into a sysfs tree.
func (f tree) pmu(name string, pmuType int, cpumask string, events map[string]string) {
	dir := "bus/event_source/devices/" + name
	f.write(dir+"/type", fmt.Sprintln(pmuType))
	f.write(dir+"/cpumask", cpumask+"\n")
	f.write(dir+"/format/event", "config:0-7\n")
	f.write(dir+"/format/umask", "config:8-15,32-55\n")
	for event, text := range events {
		f.write(dir+"/events/"+event, text+"\n")
	}
}

func (f tree) cpu(cpu, socket int) {
	f.write(fmt.Sprintf("devices/system/cpu/cpu%d/topology/physical_package_id", cpu), fmt.Sprintln(socket))
}

// lines are events that count lines of 64 bytes, as the kernel describes them since Linux 4.
func lines(read, write string) map[string]string {
	events := map[string]string{"cas_count_read": read, "cas_count_write": write, "clockticks": "event=0x00"}
	for _, name := range []string{"cas_count_read", "cas_count_write"} {
		events[name+".scale"], events[name+".unit"] = "6.103515625e-5", "MiB"
	}
	return events
}

// Field case C83: what there is comes from sysfs, never from a list of models alone.
func TestUncoreDiscovery(t *testing.T) {
	skylake, icelake, sapphire, granite, broadwell, future := CPUModel{6, 85}, CPUModel{6, 106}, CPUModel{6, 143}, CPUModel{6, 173}, CPUModel{6, 79}, CPUModel{6, 250}
	for _, tc := range []struct {
		name string
		kind UncoreKind
		cpu  CPUModel
		tree func(tree)
		want []string // pmu/event@cpu:socket type config bytes
		from string   // in the source of the first
		err  Status
		says string
	}{
		{
			name: "two sockets, two channels, described by the kernel", cpu: skylake,
			tree: func(f tree) {
				f.cpu(0, 0)
				f.cpu(56, 1)
				f.pmu("uncore_imc_0", 14, "0,56", lines("event=0x04,umask=0x03", "event=0x04,umask=0x0c"))
				f.pmu("uncore_imc_1", 15, "0,56", lines("event=0x04,umask=0x03", "event=0x04,umask=0x0c"))
				f.pmu("uncore_upi_0", 30, "0,56", nil)
				f.pmu("cpu", 4, "0-111", nil)
			},
			want: []string{
				"uncore_imc_0/cas_count_read@0:0 14 0x304 64", "uncore_imc_0/cas_count_write@0:0 14 0xc04 64",
				"uncore_imc_0/cas_count_read@56:1 14 0x304 64", "uncore_imc_0/cas_count_write@56:1 14 0xc04 64",
				"uncore_imc_1/cas_count_read@0:0 15 0x304 64", "uncore_imc_1/cas_count_write@0:0 15 0xc04 64",
				"uncore_imc_1/cas_count_read@56:1 15 0x304 64", "uncore_imc_1/cas_count_write@56:1 15 0xc04 64",
			},
			from: "uncore_imc_0/events/cas_count_read in sysfs",
		},
		{
			name: "the links between the sockets, by the table", kind: UncoreInterSocket, cpu: skylake,
			tree: func(f tree) { f.cpu(0, 0); f.pmu("uncore_upi_0", 30, "0", nil) },
			want: []string{"uncore_upi_0/txl_flits_all_data@0:0 30 0xf02 7.111"},
			from: "UNC_UPI_TxL_FLITS.ALL_DATA",
		},
		{
			name: "QPI", kind: UncoreInterSocket, cpu: broadwell,
			tree: func(f tree) { f.cpu(0, 0); f.pmu("uncore_qpi_1", 8, "0", nil) },
			want: []string{"uncore_qpi_1/txl_flits_all_data@0:0 8 0x200 8"},
			from: "UNC_Q_TxL_FLITS_G0.DATA",
		},
		{
			name: "Ice Lake on a kernel that codes it wrongly", cpu: icelake,
			tree: func(f tree) {
				f.cpu(0, 0)
				f.pmu("uncore_imc_0", 14, "0", lines("event=0x04,umask=0x03", "event=0x04,umask=0x0c"))
			},
			want: []string{"uncore_imc_0/cas_count_read@0:0 14 0xf04 64", "uncore_imc_0/cas_count_write@0:0 14 0x3004 64"},
			from: "96fd2e89fba1",
		},
		{
			name: "Sapphire Rapids on a kernel that does not describe it", cpu: sapphire,
			tree: func(f tree) { f.cpu(0, 0); f.pmu("uncore_imc_0", 14, "0", nil) },
			want: []string{"uncore_imc_0/cas_count_read@0:0 14 0xcf05 64", "uncore_imc_0/cas_count_write@0:0 14 0xf005 64"},
			from: "sapphirerapids",
		},
		{
			name: "Granite Rapids has two schedulers per channel", cpu: granite,
			tree: func(f tree) { f.cpu(0, 0); f.pmu("uncore_imc_0", 14, "0", nil) },
			want: []string{
				"uncore_imc_0/cas_count_read_sch0@0:0 14 0xcf05 64", "uncore_imc_0/cas_count_read_sch1@0:0 14 0xcf06 64",
				"uncore_imc_0/cas_count_write_sch0@0:0 14 0xf005 64", "uncore_imc_0/cas_count_write_sch1@0:0 14 0xf006 64",
			},
			from: "graniterapids",
		},
		{
			name: "a model of tomorrow whose kernel describes it", cpu: future,
			tree: func(f tree) {
				f.cpu(0, 0)
				f.pmu("uncore_imc_0", 14, "0", lines("event=0x22,umask=0x12301", "event=0x23"))
			},
			want: []string{"uncore_imc_0/cas_count_read@0:0 14 0x12300000122 64", "uncore_imc_0/cas_count_write@0:0 14 0x23 64"},
			from: "in sysfs",
		},
		{
			name: "a model of tomorrow whose kernel does not", cpu: future,
			tree: func(f tree) { f.cpu(0, 0); f.pmu("uncore_imc_0", 14, "0", nil) },
			err:  StatusPMUUnknown, says: "CPU family 6 model 250",
		},
		{
			name: "free-running counters alone", cpu: sapphire,
			tree: func(f tree) {
				f.cpu(0, 0)
				f.pmu("uncore_imc_free_running_0", 20, "0", map[string]string{
					"read": "event=0xff,umask=0x20", "read.scale": "6.103515625e-5", "read.unit": "MiB",
					"write": "event=0xff,umask=0x30", "write.scale": "6.103515625e-5", "write.unit": "MiB",
				})
			},
			want: []string{"uncore_imc_free_running_0/read@0:0 20 0x20ff 64", "uncore_imc_free_running_0/write@0:0 20 0x30ff 64"},
		},
		{
			name: "free-running counters are not added to the others", cpu: sapphire,
			tree: func(f tree) {
				f.cpu(0, 0)
				f.pmu("uncore_imc_free_running_0", 20, "0", map[string]string{"read": "event=0xff,umask=0x20", "write": "event=0xff,umask=0x30"})
				f.pmu("uncore_imc_0", 14, "0", nil)
			},
			want: []string{"uncore_imc_0/cas_count_read@0:0 14 0xcf05 64", "uncore_imc_0/cas_count_write@0:0 14 0xf005 64"},
		},
		{name: "a virtual machine", cpu: skylake, tree: func(f tree) { f.pmu("cpu", 4, "0", nil) }, err: StatusPMUMissing, says: "the kernel shows no uncore_imc PMU"},
		{name: "one socket has no links", kind: UncoreInterSocket, cpu: skylake, tree: func(f tree) { f.pmu("uncore_imc_0", 4, "0", nil) }, err: StatusPMUMissing, says: "no uncore_upi PMU"},
		{name: "no sysfs", cpu: skylake, tree: func(tree) {}, err: StatusPMUMissing, says: "ENOENT"},
		{name: "an AMD CPU is in no table", cpu: CPUModel{25, 85}, tree: func(f tree) { f.cpu(0, 0); f.pmu("uncore_imc_0", 4, "0", nil) }, err: StatusPMUUnknown, says: "family 25"},
		{name: "the CPU's socket is unknown", cpu: skylake, tree: func(f tree) { f.pmu("uncore_imc_0", 4, "7", lines("event=4", "event=4")) }, err: StatusPMUUnknown, says: "the socket of CPU 7"},
		{name: "no cpumask", cpu: skylake, tree: func(f tree) {
			f.pmu("uncore_imc_0", 4, "0", nil)
			require.NoError(f.t, os.Remove(f.path("bus/event_source/devices/uncore_imc_0/cpumask")))
		}, err: StatusPMUUnknown, says: "cpumask cannot be read"},
		{name: "an empty cpumask", cpu: skylake, tree: func(f tree) { f.pmu("uncore_imc_0", 4, "", nil) }, err: StatusPMUUnknown, says: "cpumask"},
		{name: "a mask that does not fit its format", cpu: skylake, tree: func(f tree) {
			f.cpu(0, 0)
			f.pmu("uncore_imc_0", 4, "0", lines("event=0x104", "event=0x04"))
		}, err: StatusPMUUnknown, says: "cas_count_read: its description of the event makes no sense"},
		{name: "a term without a format", cpu: skylake, tree: func(f tree) {
			f.cpu(0, 0)
			f.pmu("uncore_imc_0", 4, "0", lines("event=0x04,edge=1", "event=0x04"))
		}, err: StatusPMUUnknown, says: "makes no sense"},
		{name: "a unit that is not of bytes", cpu: skylake, tree: func(f tree) {
			f.cpu(0, 0)
			events := lines("event=0x04", "event=0x04")
			events["cas_count_read.unit"] = "Joules"
			f.pmu("uncore_imc_0", 4, "0", events)
		}, err: StatusPMUUnknown, says: "makes no sense"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := newTree(t)
			tc.tree(files)
			counters, err := DiscoverUncore(t.Context(), UncoreConfig{Kind: tc.kind, SysfsRoot: files.root, CPU: &tc.cpu})
			if tc.err != StatusOK {
				require.ErrorIs(t, err, tc.err)
				assert.ErrorContains(t, err, tc.says)
				assert.NotContains(t, err.Error(), "\n")
				return
			}
			require.NoError(t, err)
			var got []string
			for _, c := range counters {
				bytes := strconv.FormatFloat(c.BytesPerCount, 'g', 4, 64)
				got = append(got, fmt.Sprintf("%s/%s@%d:%d %d %#x %s", c.PMU, c.Event, c.CPU, c.Socket, c.Type, c.Config, bytes))
				assert.Zero(t, c.Config1|c.Config2)
			}
			assert.Equal(t, tc.want, got)
			assert.Contains(t, counters[0].Source, tc.from)
		})
	}
}

func TestUncoreRefusesNonsense(t *testing.T) {
	for name, config := range map[string]UncoreConfig{
		"no such kind": {Kind: 2, SysfsRoot: "/sys"},
		"no path":      {},
		"a long path":  {SysfsRoot: strings.Repeat("x", 300)},
	} {
		_, err := DiscoverUncore(t.Context(), config)
		assert.Error(t, err, name)
	}
}

// softwareEvents is a tree whose memory controllers are the kernel's software PMU (type 1): what they count is CPU time in nanoseconds
// (config 0), so perf_event_open and the readings are real.
func softwareEvents(t *testing.T, event string) UncoreConfig {
	files := newTree(t)
	files.cpu(0, 0)
	files.cpu(runtime.NumCPU()-1, 1)
	mask := fmt.Sprintf("0,%d", runtime.NumCPU()-1)
	files.pmu("uncore_imc_0", 1, mask, lines(event, event))
	files.pmu("uncore_imc_1", 1, mask, lines(event, event))
	return UncoreConfig{SysfsRoot: files.root, CPU: &CPUModel{6, 85}}
}

func openSoftware(t *testing.T) *Uncore {
	t.Helper()
	if runtime.NumCPU() < 2 {
		t.Skip("needs two CPUs to stand for two sockets")
	}
	u, err := OpenUncore(t.Context(), softwareEvents(t, "event=0"))
	if err != nil {
		paranoid, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
		require.ErrorIs(t, err, StatusPermissionDenied, "only a missing permission is a reason to skip")
		assert.ErrorContains(t, err, "CAP_PERFMON")
		t.Skipf("system-wide events are not allowed here (perf_event_paranoid %s)", strings.TrimSpace(string(paranoid)))
	}
	return u
}

func TestUncoreCountsPerSocket(t *testing.T) {
	u := openSoftware(t)
	defer u.Close()
	require.Equal(t, 2, u.Sockets())
	require.Len(t, u.Counters(), 8)
	first, second := make([]UncoreBytes, 2), make([]UncoreBytes, 2)
	require.NoError(t, u.Read(t.Context(), first))
	require.Eventually(t, func() bool {
		require.NoError(t, u.Read(t.Context(), second))
		return second[0].Read.Value > first[0].Read.Value && second[1].Written.Value > first[1].Written.Value
	}, waitFor, pollEvery)
	for i, socket := range second {
		assert.Equal(t, i, socket.Socket)
		assert.True(t, socket.Read.Known && socket.Written.Known)
		assert.False(t, socket.Sent.Known, "what no PMU of the group counts is unknown, not 0")
		// Two PMUs with one clock: their sum is even, in lines.
		assert.Zero(t, socket.Read.Value%64)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = u.Read(t.Context(), second) }))
	assert.ErrorContains(t, u.Read(t.Context(), nil), "room for 0 sockets of 2")
}

func TestUncoreRefusedByTheKernel(t *testing.T) {
	openSoftware(t).Close()
	before := descriptors(t)
	config := softwareEvents(t, "event=0xff") // no such software event
	for range 100 {
		_, err := OpenUncore(t.Context(), config)
		require.ErrorIs(t, err, StatusPMURefused)
		require.ErrorContains(t, err, "uncore_imc_0: perf_event_open: E")
	}
	assert.Eventually(t, func() bool { return descriptors(t) <= before }, waitFor, pollEvery)
}

func TestUncoreLeavesNothing(t *testing.T) {
	openSoftware(t).Close()
	config := softwareEvents(t, "event=0")
	out := make([]UncoreBytes, 2)
	before := 0
	for round := range 1000 {
		u, err := OpenUncore(t.Context(), config)
		require.NoError(t, err)
		require.NoError(t, u.Read(t.Context(), out))
		u.Close()
		if round == 50 {
			before = descriptors(t)
		}
	}
	assert.Eventually(t, func() bool { return descriptors(t) <= before }, waitFor, pollEvery)
	u, err := OpenUncore(t.Context(), config)
	require.NoError(t, err)
	u.Close()
	assert.ErrorIs(t, u.Read(t.Context(), out), os.ErrClosed)
}
