package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// Goal: the port's byte counters over three samples, of which the second
// brings the trouble. Method: raw files, true elapsed time.
func TestDeltas(t *testing.T) {
	second := []time.Duration{time.Second, time.Second}
	cases := []struct {
		name    string
		words   []string // of port_xmit_data, one for each sample
		elapsed []time.Duration
		rates   []*float64 // Gb/s out, of the second and the third sample
		source  SourceState
	}{
		{"steady", []string{words(1), words(11), words(21)}, second, []*float64{new(10.0), new(10.0)}, SourceOK},
		{"missed samples divide by the time that passed", []string{words(0), words(50), words(60)}, []time.Duration{5 * time.Second, time.Second}, []*float64{new(10.0), new(10.0)}, SourceOK},
		{"C82 a restart gives one gap and no negative", []string{"9000000000000", "9000001000000", "4200"}, second, []*float64{new(0.032), nil}, SourceOK},
		{"C82 after the restart the deltas go on", []string{"9000001000000", "4200", "312504200"}, second, []*float64{nil, new(10.0)}, SourceOK},
		{"C82 a saturated counter is absent, not idle", []string{"4294967000", "4294967295", "4294967295"}, second, []*float64{nil, nil}, SourceFailing},
		{"beyond 32 bits it is a wide counter", []string{"4294967296", "4607467296", "4919967296"}, second, []*float64{new(10.0), new(10.0)}, SourceOK},
		{"C01 no number for one sample", []string{words(1), "N/A (no PMA)", words(21)}, second, []*float64{nil, nil}, SourceOK},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			show := func(i int) {
				tree{counters + "port_xmit_data": c.words[i] + "\n", counters + "port_rcv_data": "0\n"}.write(t, root)
			}
			show(0)
			synctest.Test(t, func(t *testing.T) {
				m := newMonitor(t, hardware(), root)
				m.Sample(t.Context())
				var s Sample
				for i, want := range c.rates {
					show(i + 1)
					s = after(t, m, c.elapsed[i])
					got := s.RNICs[0].OutBytesPerSecond
					if want == nil {
						assert.Nil(t, got, "sample %d", i+1)
						assert.Nil(t, s.Idle.RNICs[0].Utilization)
						assert.NotEqual(t, Idle, s.Idle.State)
					} else if assert.NotNil(t, got, "sample %d", i+1) {
						assert.InDelta(t, *want, *got*8/1e9, 1e-6)
					}
				}
				assert.Equal(t, c.source, byName(t, s.Sources, "rnic_port").State)
			})
		})
	}
}

func TestSuspendedHostGivesNoDelta(t *testing.T) {
	start := time.Now()
	awake := func(boot, monotonic time.Duration) moment {
		return moment{at: start.Add(monotonic), awake: awakeClock{boot: boot, monotonic: monotonic}}
	}
	for name, c := range map[string]struct {
		later   moment
		elapsed time.Duration
		ok      bool
	}{
		"awake":                {awake(time.Second, time.Second), time.Second, true},
		"slept for an hour":    {awake(time.Hour, time.Second), time.Second, false},
		"clocks read apart":    {awake(time.Second+time.Millisecond, time.Second), time.Second, true},
		"no time passed":       {awake(0, 0), 0, false},
		"a long time, awake":   {awake(time.Hour, time.Hour), time.Hour, true},
		"no clock of sleeping": {moment{at: start.Add(time.Second)}, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			elapsed, ok := c.later.since(awake(0, 0))
			assert.Equal(t, c.ok, ok)
			assert.Equal(t, c.elapsed, elapsed)
		})
	}
	assert.False(t, now().awake.sleptSince(now().awake), "this machine is awake")
}

func TestPortStateAndRate(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, hardware(), root)
		s := m.Sample(t.Context())
		assert.Equal(t, "ACTIVE", s.RNICs[0].State)
		assert.Equal(t, new(200.0), s.RNICs[0].RateGbps)
		tree{port + "state": "1: DOWN\n", port + "rate": "1600 Gb/sec (4X FUTURE)\n"}.write(t, root)
		s = after(t, m, time.Second)
		assert.Equal(t, "DOWN", s.RNICs[0].State)
		assert.Equal(t, new(1600.0), s.RNICs[0].RateGbps, "what stands in brackets is opaque")
		tree{port + "state": "garbled\n", port + "rate": "fast\n"}.write(t, root)
		s = after(t, m, time.Second)
		assert.Empty(t, s.RNICs[0].State)
		assert.Nil(t, s.RNICs[0].RateGbps)
	})
}

// Goal: what GPUs answer becomes load or a reason. Method: one NVIDIA GPU
// beside an idle RNIC.
func TestGPUs(t *testing.T) {
	idle := GPUReading{Utilization: new(0.0)}
	cases := []struct {
		name    string
		reading GPUReading
		state   IdleState
		load    *float64 // of the GPU in the idle decision
		reason  string
	}{
		{"idle", idle, Idle, new(0.0), ""},
		{"computing", GPUReading{Utilization: new(0.93)}, Busy, new(0.93), "gpu0: busy for 93.0 %"},
		{"C85 no utilisation with MIG", GPUReading{WhyNot: "NVML_ERROR_NOT_SUPPORTED, as it is divided into instances (MIG)", MIG: new(true)}, Unknown, nil, "gpu0: it does not tell its utilisation: NVML_ERROR_NOT_SUPPORTED"},
		{"only its copy engines work", GPUReading{Utilization: new(0.0), OutBytesPerSecond: new(12.6e9), InBytesPerSecond: new(0.0)}, Busy, new(0.4), "gpu0: busy for 40.0 %"},
		{"throughput not supported", GPUReading{Utilization: new(0.01)}, Idle, new(0.01), ""},
		{"lost", GPUReading{Err: errors.New("GPU is lost")}, Unknown, nil, "gpu0: GPU is lost (source gpu)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			quiet(t, root)
			topo := withGPU(hardware(), "nvidia")
			topo.Hops = []topology.Hop{{ID: "gpu_pcie:gpu0", Kind: topology.HopGPUPCIe, Members: []string{"gpu0"}, CapacityGbps: new(252.0)}}
			synctest.Test(t, func(t *testing.T) {
				gpus := &gpuScript{read: func(out []GPUReading) error { out[0] = c.reading; return nil }}
				m := New(topo, Options{Root: root, Readers: Readers{NVIDIA: library(gpus)}})
				got, _ := m.Read(t.Context())
				assert.Equal(t, c.state, got.State, got.Reasons)
				if c.load == nil {
					assert.Nil(t, got.GPUs[0].Utilization, "unknown is never a figure")
					assert.Nil(t, got.GPUs[0].Busy)
				} else if assert.NotNil(t, got.GPUs[0].Utilization) {
					assert.InDelta(t, *c.load, *got.GPUs[0].Utilization, 1e-9)
				}
				if c.reason != "" {
					assert.Contains(t, got.Reasons[0], c.reason)
				}
				assert.Equal(t, c.state == Idle, m.StillIdle(t.Context()) == nil, "asked again before a probe")
				assert.NoError(t, m.Close())
			})
		})
	}
}

// C86: one GPU never answers; seven others do, and the samples go on.
func TestC86_OneGPUHangs(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	topo := hardware()
	for i := range 8 {
		topo.GPUs = append(topo.GPUs, topology.GPU{ID: "gpu" + string(rune('0'+i)), Vendor: "nvidia"})
	}
	synctest.Test(t, func(t *testing.T) {
		gpus := &gpuScript{read: func(out []GPUReading) error {
			for i := range out {
				out[i] = GPUReading{Utilization: new(0.0)}
			}
			out[3] = GPUReading{Err: errors.New("a call into it hangs")}
			return nil
		}}
		m := New(topo, Options{Root: root, Readers: Readers{NVIDIA: library(gpus)}})
		s := m.Sample(t.Context())
		for i, g := range s.GPUs {
			assert.Equal(t, i != 3, g.Utilization != nil, g.ID)
		}
		source := byName(t, s.Sources, "gpu")
		assert.Equal(t, SourceFailing, source.State)
		assert.Equal(t, "gpu3: a call into it hangs", source.Reason)
		assert.Contains(t, s.Troubles, Trouble{"gpu", "gpu3", SourceFailing, "a call into it hangs"})
		assert.NoError(t, m.Close())
	})
}

// C86: the whole library hangs: its source fails, in bounded time and only once,
// the others go on, and it recovers by itself.
func TestC86_LibraryHangs(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		gpus := &gpuScript{read: func(out []GPUReading) error {
			if calls.Add(1) == 2 {
				<-release
			}
			out[0] = GPUReading{Utilization: new(0.0)}
			return nil
		}}
		m := New(withGPU(hardware(), "nvidia"), Options{Root: root, Readers: Readers{NVIDIA: library(gpus)}})
		assert.Equal(t, SourceOK, byName(t, m.Sample(t.Context()).Sources, "gpu").State)
		start := time.Now()
		s := m.Sample(t.Context())
		assert.Equal(t, readDeadline, time.Since(start))
		assert.Contains(t, byName(t, s.Sources, "gpu").Reason, "hangs for more than 2s")
		assert.Nil(t, s.GPUs[0].Utilization)

		start = time.Now()
		s = after(t, m, time.Second)
		assert.Equal(t, time.Second, time.Since(start), "no second wait")
		assert.Equal(t, SourceFailing, byName(t, s.Sources, "gpu").State)
		assert.EqualValues(t, 2, calls.Load(), "no second call piles up")
		assert.Equal(t, new(0.0), s.RNICs[0].Utilization, "the others go on")
		assert.Equal(t, Unknown, s.Idle.State)

		close(release)
		s = after(t, m, time.Second)
		assert.Equal(t, SourceOK, byName(t, s.Sources, "gpu").State)
		assert.Equal(t, Idle, s.Idle.State)
		assert.NoError(t, m.Close())
	})
}

// C97: a source fails for two cycles, then works.
func TestC97_SourcesRecover(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	synctest.Test(t, func(t *testing.T) {
		opened, reads := 0, 0
		gpus := &gpuScript{read: func(out []GPUReading) error {
			if reads++; reads <= 2 {
				return errors.New("driver/library mismatch")
			}
			out[0] = GPUReading{Utilization: new(0.0)}
			return nil
		}}
		open := func(context.Context, []string) (GPUs, error) { opened++; return gpus, nil }
		m := New(withGPU(hardware(), "nvidia"), Options{Root: root, Readers: Readers{NVIDIA: open}})
		states := []SourceState{byName(t, m.Sample(t.Context()).Sources, "gpu").State}
		for range 2 {
			states = append(states, byName(t, after(t, m, time.Second).Sources, "gpu").State)
		}
		assert.Equal(t, []SourceState{SourceFailing, SourceFailing, SourceOK}, states)
		assert.Equal(t, 3, opened, "opened anew after each failure")
		assert.NoError(t, m.Close())
	})
}

func TestBackOff(t *testing.T) {
	assert.Equal(t, time.Duration(0), backOff(0), "once may be a passing trouble")
	last := time.Duration(0)
	for failures := 1; failures < 100; failures++ {
		wait := backOff(failures)
		assert.GreaterOrEqual(t, wait, last)
		assert.LessOrEqual(t, wait, time.Minute)
		last = wait
	}
	assert.Equal(t, time.Minute, last)
}

// A library that lost its devices is started anew within the same look.
func TestLostLibraryIsReinitialised(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	synctest.Test(t, func(t *testing.T) {
		gpus := &gpuScript{}
		gpus.read = func(out []GPUReading) error {
			if gpus.reinits == 0 {
				return ErrLost
			}
			out[0] = GPUReading{Utilization: new(0.0)}
			return nil
		}
		m := New(withGPU(hardware(), "nvidia"), Options{Root: root, Readers: Readers{NVIDIA: library(gpus)}})
		assert.Equal(t, SourceOK, byName(t, m.Sample(t.Context()).Sources, "gpu").State)
		assert.Equal(t, 1, gpus.reinits)
		assert.NoError(t, m.Close())
	})
}

// AMD's file of PCIe traffic takes a second to read: it is never waited for.
func TestAMDTrafficIsReadApart(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	const gpu = "bus/pci/devices/0000:41:00.0/"
	tree{gpu + "gpu_busy_percent": "7\n", gpu + "pcie_bw": "1000 2000 128\n"}.write(t, root)
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, withGPU(hardware(), "amd"), root)
		m.Sample(t.Context())
		s := after(t, m, time.Second)
		assert.Equal(t, new(0.07), s.GPUs[0].Utilization)
		assert.Equal(t, new(128*1000.0), s.GPUs[0].InBytesPerSecond)
		assert.Equal(t, new(128*2000.0), s.GPUs[0].OutBytesPerSecond)
		tree{gpu + "pcie_bw": "garbled\n"}.write(t, root)
		after(t, m, 20*time.Second)
		s = after(t, m, time.Second)
		assert.Nil(t, s.GPUs[0].InBytesPerSecond, "an old figure says nothing of now")
	})
}

// Goal: what the PMUs counted becomes utilisation, or is said to be unknown (C83).
func TestBuses(t *testing.T) {
	type carried []*uint64 // by socket
	at := func(bytes ...uint64) carried {
		var list carried
		for _, b := range bytes {
			list = append(list, &b)
		}
		return list
	}
	cases := []struct {
		name    string
		memory  []carried // two readings, a second apart; nil has no PMU
		sockets []carried
		gbps    float64
		want    []*float64 // mem0, mem1, the bus between the sockets
		source  SourceState
		reason  string // of memory_bus
	}{
		{"half of it", []carried{at(0, 0), at(50e9, 25e9)}, []carried{at(0, 0), at(10e9, 40e9)}, 800, []*float64{new(0.5), new(0.25), new(0.4)}, SourceOK, ""},
		{"C83 all zero while the host runs", []carried{at(0, 0), at(0, 0)}, []carried{at(5, 5), at(6, 6)}, 800, []*float64{nil, nil, new(1e-11)}, SourceUnavailable, "memory:mem0: the PMUs of socket 0 read zero"},
		{"a PMU was taken by somebody else", []carried{{new(uint64(0)), nil}, at(50e9, 5)}, []carried{at(5, 5), at(6, 6)}, 800, []*float64{new(0.5), nil, new(1e-11)}, SourceFailing, "memory:mem1: the PMUs of socket 1 were not counting"},
		{"no capacity was given", []carried{at(0, 0), at(50e9, 50e9)}, nil, 0, []*float64{nil, nil, nil}, SourceUnavailable, "give --memory-bus-capacity"},
		{"C83 no PMU", nil, nil, 800, []*float64{nil, nil, nil}, SourceUnavailable, "no uncore_imc here"},
		{"more than it can carry is all of it", []carried{at(0, 0), at(500e9, 25e9)}, []carried{at(5, 5), at(6, 6)}, 800, []*float64{new(1.0), new(0.25), new(1e-11)}, SourceOK, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			quiet(t, root)
			synctest.Test(t, func(t *testing.T) {
				reading := 0
				bus := func(script []carried) func(context.Context) (Bus, error) {
					return func(context.Context) (Bus, error) {
						if script == nil {
							return nil, Unavailable("no uncore_imc here")
						}
						return &busScript{func() []*uint64 { return script[reading] }}, nil
					}
				}
				m := New(twoSockets(), Options{
					Root: root, MemoryBusCapacityGbps: c.gbps, InterSocketCapacityGbps: c.gbps,
					Readers: Readers{MemoryBus: bus(c.memory), InterSocketBus: bus(c.sockets)},
				})
				for _, b := range m.Sample(t.Context()).Buses {
					assert.Nil(t, b.Utilization, "nothing to compare with yet")
				}
				reading = 1
				s := after(t, m, time.Second)
				require.Len(t, s.Buses, 3)
				for i, want := range c.want {
					if want == nil {
						assert.Nil(t, s.Buses[i].Utilization, s.Buses[i].Hop())
					} else if assert.NotNil(t, s.Buses[i].Utilization, s.Buses[i].Hop()) {
						assert.InDelta(t, *want, *s.Buses[i].Utilization, 1e-9)
					}
				}
				source := byName(t, s.Sources, "memory_bus")
				assert.Equal(t, c.source, source.State)
				assert.Contains(t, source.Reason, c.reason)
				assert.NoError(t, m.Close())
			})
		})
	}
}

func TestPCIeLinks(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	const dir = "devices/pci0000:00/0000:00:01.0/"
	tree{
		dir + "current_link_speed": "16.0 GT/s PCIe\n", dir + "current_link_width": "8\n",
		dir + "aer_dev_correctable": "RxErr 3\nBadTLP 0\nTOTAL_ERR_COR 3\n", dir + "aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0\n",
		"odd/current_link_speed": "Unknown\n", "odd/current_link_width": "255\n",
	}.write(t, root)
	topo := hardware()
	topo.Hops = []topology.Hop{
		{ID: "rnic_pcie:mlx5_0", Kind: topology.HopRNICPCIe, Members: []string{"mlx5_0"}, ExpectedSpeedGTs: new(16.0), ExpectedWidth: new(16), CapacityGbps: new(252.0)},
		{ID: "switch:odd", Kind: topology.HopSwitch}, {ID: "switch:none", Kind: topology.HopSwitch},
	}
	synctest.Test(t, func(t *testing.T) {
		m := New(topo, Options{Root: root, LinkDirs: map[string]string{"rnic_pcie:mlx5_0": root + "/" + dir, "switch:odd": root + "/odd"}})
		s := m.Sample(t.Context())
		assert.Equal(t, []LinkSample{{
			Hop: "rnic_pcie:mlx5_0", SpeedGTs: new(16.0), Width: new(8), ExpectedSpeedGTs: new(16.0), ExpectedWidth: new(16),
			CorrectableErrors: new(uint64(3)), FatalErrors: new(uint64(0)),
		}}, s.Links)
		assert.Contains(t, byName(t, s.Sources, "pcie").Reason, `switch:odd: the link shows "Unknown" x"255"`)

		tree{dir + "current_link_width": "16\n", counters + "port_xmit_data": words(63)}.write(t, root)
		s = after(t, m, time.Second)
		assert.Equal(t, new(8), s.Links[0].Width, "links are not asked each second")
		assert.InDelta(t, 0.25, *s.RNICs[0].PCIeUtilization, 1e-9)
		s = after(t, m, linkPause)
		assert.Equal(t, new(16), s.Links[0].Width)
		assert.NoError(t, m.Close())
	})
}

// Samples that overlap our own probes decide nothing, and for a while after
// them neither: drivers are late.
func TestOwnProbesDecideNothing(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	moved := 0.0
	probeTraffic := func() {
		moved += 100
		tree{counters + "port_xmit_data": words(moved)}.write(t, root)
	}
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, hardware(), root)
		m.Sample(t.Context())
		assert.False(t, after(t, m, time.Second).Overlapped)

		done := m.Probing()
		probeTraffic()
		s := after(t, m, time.Second)
		assert.True(t, s.Overlapped)
		assert.Equal(t, Unknown, s.Idle.State)
		assert.Equal(t, []string{"probes of this program ran in this time"}, s.Idle.Reasons)
		assert.Nil(t, s.Idle.RNICs[0].Busy)
		assert.NotNil(t, s.RNICs[0].Utilization, "what was read is shown")
		done()
		done() // once is enough

		probeTraffic()
		assert.True(t, after(t, m, time.Second).Overlapped, "it ended in this time")
		probeTraffic()
		assert.True(t, after(t, m, time.Second).Overlapped, "drivers are late")
		after(t, m, time.Second)
		s = after(t, m, time.Second)
		assert.False(t, s.Overlapped)
		assert.Equal(t, Idle, s.Idle.State)

		short := m.Probing()
		short()
		assert.True(t, after(t, m, time.Second).Overlapped, "begun and ended between two looks")
	})
}

// Consecutive runs ask whether the host is idle right after their own probes.
func TestReadWaitsForOwnProbesToSettle(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, hardware(), root)
		m.Probing()()
		time.AfterFunc(1500*time.Millisecond, func() { tree{counters + "port_xmit_data": words(100)}.write(t, root) }) // late
		start := time.Now()
		got, _ := m.Read(t.Context())
		assert.Equal(t, Idle, got.State, got.Reasons)
		assert.Equal(t, settling+time.Second, time.Since(start))

		time.Sleep(time.Minute)
		start = time.Now()
		_, _ = m.Read(t.Context())
		assert.Equal(t, time.Second, time.Since(start), "long after them there is nothing to wait for")
	})
}

// goneFiles are files of a device that the test removes and puts back: as with
// sysfs, reads then fail with ENODEV, and after a new open with ENOENT.
type goneFiles struct {
	Files
	gone *atomic.Bool
}

func (g goneFiles) Read(ctx context.Context, out []FileValue) error {
	err := g.Files.Read(ctx, out)
	if g.gone.Load() {
		for i := range out {
			out[i] = FileValue{Err: &fs.PathError{Op: "read", Path: "gone", Err: syscall.ENODEV}}
		}
	}
	return err
}

// A device that is removed and comes back is read again, without a restart;
// its counters begin anew, and that is no negative rate.
func TestDeviceRemovedAndBack(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	tree{counters + "port_xmit_data": words(500)}.write(t, root)
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		open := func(paths []string) (Files, error) {
			files, err := OpenFiles(paths)
			return goneFiles{files, &gone}, err
		}
		m := New(onEthernet(), Options{Root: root, Readers: Readers{Files: open}})
		m.Sample(t.Context())
		assert.Equal(t, Idle, after(t, m, time.Second).Idle.State)

		gone.Store(true)
		s := after(t, m, time.Second)
		assert.Equal(t, Unknown, s.Idle.State)
		assert.Equal(t, SourceUnavailable, byName(t, s.Sources, "rnic_port").State)
		assert.Empty(t, s.RNICs[0].State)

		gone.Store(false)
		quiet(t, root)
		s = after(t, m, time.Second)
		assert.Equal(t, Unknown, s.Idle.State, "one reading is no rate")
		s = after(t, m, time.Second)
		assert.Equal(t, Idle, s.Idle.State, s.Idle.Reasons)
		assert.Equal(t, SourceOK, byName(t, s.Sources, "rnic_port").State)
		assert.NoError(t, m.Close())
	})
}

// Handles are given back: monitors that come and go leave no file open.
func TestNothingStaysOpen(t *testing.T) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("no /proc/self/fd to count in")
	}
	root := t.TempDir()
	quiet(t, root)
	count := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(open)
	}
	before := count()
	for range 300 {
		m := New(onEthernet(), Options{Root: root})
		m.Sample(t.Context())
		require.NoError(t, m.Close())
		assert.Contains(t, m.Sample(t.Context()).Idle.Reasons[0], "the monitor is closed")
	}
	assert.LessOrEqual(t, count(), before+2)
}

func TestListsAreNeverNull(t *testing.T) {
	for name, topo := range map[string]topology.Topology{"nothing": {}, "one RNIC": hardware(), "all": withGPU(twoSockets(), "nvidia")} {
		t.Run(name, func(t *testing.T) {
			m := New(topo, Options{Root: t.TempDir()})
			text, err := json.Marshal(m.Sample(t.Context()))
			require.NoError(t, err)
			assert.NotRegexp(t, `"(rnics|gpus|links|buses|sources|troubles|errors|reasons)":null`, string(text))
			require.NoError(t, m.Close())
		})
	}
}
