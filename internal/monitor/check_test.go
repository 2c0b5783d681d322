package monitor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// tree is a sysfs tree as a table of files.
type tree map[string]string

func (files tree) write(t *testing.T, root string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	}
}

const (
	counters = "class/infiniband/mlx5_0/ports/1/counters/"
	extended = "class/infiniband/mlx5_0/ports/1/counters_ext/"
	netdev   = "class/net/eth0/"
)

// words is what a port counter shows after so many gigabits.
func words(gigabits float64) string { return strconv.FormatInt(int64(gigabits*1e9/32), 10) + "\n" }

// octetsOf is what a netdev shows after so many gigabits.
func octetsOf(gigabits float64) string { return strconv.FormatInt(int64(gigabits*1e9/8), 10) + "\n" }

func hardware() topology.Topology {
	return topology.Topology{RNICs: []topology.RNIC{{ID: "mlx5_0", Name: "mlx5_0", Port: 1, RateGbps: new(200.0), Role: topology.RoleRNIC, Usable: true}}}
}

func software() topology.Topology {
	return topology.Topology{RNICs: []topology.RNIC{{ID: "rxe0", Name: "rxe0", Port: 1, RateGbps: new(2.5), Role: topology.RoleSoftware, Netdevs: []string{"eth0"}, Usable: true}}}
}

func withGPU(topo topology.Topology, vendor string) topology.Topology {
	topo.GPUs = []topology.GPU{{ID: "gpu0", PCI: "0000:41:00.0", Vendor: vendor}}
	return topo
}

// Goal: each way in which a tree can answer, or fail to, gives the right
// state, utilisation and source. Method: the tree shows files[0] at first,
// files[1] from the middle of the first interval, files[2] from the middle of the next.
func TestRead(t *testing.T) {
	const gpuBusy = "bus/pci/devices/0000:41:00.0/gpu_busy_percent"
	cases := []struct {
		name   string
		topo   topology.Topology
		files  []tree
		state  IdleState
		share  *float64 // of the first RNIC
		reason string   // part of the first reason
		port   SourceState
		gpu    SourceState
	}{
		{
			name:  "idle",
			topo:  hardware(),
			files: []tree{{counters + "port_xmit_data": words(5), counters + "port_rcv_data": words(7)}},
			state: Idle, share: new(0.0), port: SourceOK, gpu: SourceUnavailable,
		}, {
			name: "just below 5 % of 200 Gb/s",
			topo: hardware(),
			files: []tree{
				{counters + "port_xmit_data": words(5), counters + "port_rcv_data": words(7)},
				{counters + "port_xmit_data": words(14.8), counters + "port_rcv_data": words(7)},
			},
			state: Idle, share: new(0.049), port: SourceOK, gpu: SourceUnavailable,
		}, {
			name: "receiving counts as much as sending",
			topo: hardware(),
			files: []tree{
				{counters + "port_xmit_data": words(5), counters + "port_rcv_data": words(7)},
				{counters + "port_xmit_data": words(6), counters + "port_rcv_data": words(67)},
			},
			state: Busy, share: new(0.3), reason: "mlx5_0: busy for 30.0 % of line rate", port: SourceOK, gpu: SourceUnavailable,
		}, {
			name: "64-bit counters are preferred",
			topo: hardware(),
			files: []tree{{
				counters + "port_xmit_data": "4294967295\n", counters + "port_rcv_data": "4294967295\n",
				extended + "port_xmit_data_64": words(500), extended + "port_rcv_data_64": words(500),
			}},
			state: Idle, share: new(0.0), port: SourceOK, gpu: SourceUnavailable,
		}, {
			name:  "a saturated 32-bit counter is not idle",
			topo:  hardware(),
			files: []tree{{counters + "port_xmit_data": "4294967295\n", counters + "port_rcv_data": "0\n"}},
			state: Unknown, reason: "port_xmit_data is at the largest value of 32 bits", port: SourceFailing, gpu: SourceUnavailable,
		}, {
			name:  "garbled counter",
			topo:  hardware(),
			files: []tree{{counters + "port_xmit_data": words(5), counters + "port_rcv_data": "N/A (no PMA)\n"}},
			state: Unknown, reason: `counters/port_rcv_data holds "N/A (no PMA)", not a number`, port: SourceFailing, gpu: SourceUnavailable,
		}, {
			name:  "a counter beyond any number of octets",
			topo:  hardware(),
			files: []tree{{counters + "port_xmit_data": "18446744073709551615\n", counters + "port_rcv_data": "0\n"}},
			state: Unknown, reason: "more than can be counted in steps of 4", port: SourceFailing, gpu: SourceUnavailable,
		}, {
			name:  "empty counter",
			topo:  hardware(),
			files: []tree{{counters + "port_xmit_data": "", counters + "port_rcv_data": words(5)}},
			state: Unknown, reason: `port_xmit_data holds ""`, port: SourceFailing, gpu: SourceUnavailable,
		}, {
			name:  "no counters",
			topo:  hardware(),
			state: Unknown, reason: "counters/port_xmit_data: no such file", port: SourceUnavailable, gpu: SourceUnavailable,
		}, {
			name: "line rate unknown",
			topo: topology.Topology{RNICs: []topology.RNIC{{ID: "mlx5_0", Name: "mlx5_0", Port: 1, Usable: true}}},
			files: []tree{
				{counters + "port_xmit_data": words(5), counters + "port_rcv_data": words(7)},
			},
			state: Unknown, reason: "its line rate is not known: see ", port: SourceFailing, gpu: SourceUnavailable,
		}, {
			name: "a reset is read again",
			topo: hardware(),
			files: []tree{
				{counters + "port_xmit_data": words(500), counters + "port_rcv_data": words(500)},
				{counters + "port_xmit_data": words(1), counters + "port_rcv_data": words(1)},
				{counters + "port_xmit_data": words(3), counters + "port_rcv_data": words(1)},
			},
			state: Idle, share: new(0.01), port: SourceOK, gpu: SourceUnavailable,
		}, {
			name: "two resets are unknown",
			topo: hardware(),
			files: []tree{
				{counters + "port_xmit_data": words(500), counters + "port_rcv_data": words(500)},
				{counters + "port_xmit_data": words(10), counters + "port_rcv_data": words(500)},
				{counters + "port_xmit_data": words(1), counters + "port_rcv_data": words(500)},
			},
			state: Unknown, reason: "went backwards", port: SourceOK, gpu: SourceUnavailable,
		}, {
			name: "counters vanish in between",
			topo: hardware(),
			files: []tree{
				{counters + "port_xmit_data": words(1), counters + "port_rcv_data": words(1)},
				{counters + "port_xmit_data": "gone"},
			},
			state: Unknown, reason: `holds "gone"`, port: SourceFailing, gpu: SourceUnavailable,
		}, {
			name: "an unusable RNIC has no say",
			topo: func() topology.Topology {
				topo := hardware()
				topo.RNICs = append(topo.RNICs, topology.RNIC{ID: "mlx5_9", Name: "mlx5_9", Port: 1, Reason: "port is DOWN"})
				return topo
			}(),
			files: []tree{{counters + "port_xmit_data": words(5), counters + "port_rcv_data": words(7)}},
			state: Idle, share: new(0.0), port: SourceOK, gpu: SourceUnavailable,
		}, {
			name:  "no usable RNIC",
			topo:  topology.Topology{RNICs: []topology.RNIC{{ID: "mlx5_0", Name: "mlx5_0", Port: 1}}},
			state: Unknown, reason: "no usable RNIC", port: SourceUnavailable, gpu: SourceUnavailable,
		}, {
			name: "soft-RoCE goes by its netdev's speed",
			topo: software(),
			files: []tree{
				{netdev + "speed": "10000\n", netdev + "statistics/tx_bytes": octetsOf(1), netdev + "statistics/rx_bytes": octetsOf(1)},
				{netdev + "statistics/tx_bytes": octetsOf(1.4)},
			},
			state: Idle, share: new(0.04), port: SourceOK, gpu: SourceUnavailable,
		}, {
			name: "soft-RoCE on a netdev without speed goes by the RDMA rate",
			topo: software(),
			files: []tree{
				{netdev + "speed": "-1\n", netdev + "statistics/tx_bytes": octetsOf(1), netdev + "statistics/rx_bytes": octetsOf(1)},
				{netdev + "statistics/tx_bytes": octetsOf(1.25)},
			},
			state: Busy, share: new(0.1), reason: "rxe0: busy for 10.0 %", port: SourceOK, gpu: SourceUnavailable,
		}, {
			name:  "soft-RoCE whose netdev is gone",
			topo:  software(),
			state: Unknown, reason: "eth0/statistics/tx_bytes: no such file", port: SourceUnavailable, gpu: SourceUnavailable,
		}, {
			name:  "soft-RoCE without netdev",
			topo:  topology.Topology{RNICs: []topology.RNIC{{ID: "rxe0", RateGbps: new(2.5), Role: topology.RoleSoftware, Usable: true}}},
			state: Unknown, reason: "no netdev", port: SourceUnavailable, gpu: SourceUnavailable,
		}, {
			name:  "idle AMD GPU",
			topo:  withGPU(hardware(), "amd"),
			files: []tree{{counters + "port_xmit_data": "0", counters + "port_rcv_data": "0", gpuBusy: "4\n"}},
			state: Idle, share: new(0.0), port: SourceOK, gpu: SourceOK,
		}, {
			name:  "busy AMD GPU, though it cannot be probed",
			topo:  withGPU(hardware(), "amd"),
			files: []tree{{counters + "port_xmit_data": "0", counters + "port_rcv_data": "0", gpuBusy: "97\n"}},
			state: Busy, share: new(0.0), reason: "gpu0: busy for 97.0 %", port: SourceOK, gpu: SourceOK,
		}, {
			name:  "AMD GPU with an impossible figure",
			topo:  withGPU(hardware(), "amd"),
			files: []tree{{counters + "port_xmit_data": "0", counters + "port_rcv_data": "0", gpuBusy: "65535\n"}},
			state: Unknown, share: new(0.0), reason: "gpu_busy_percent holds 65535, not a percentage", port: SourceOK, gpu: SourceFailing,
		}, {
			name:  "AMD GPU without the file",
			topo:  withGPU(hardware(), "amd"),
			files: []tree{{counters + "port_xmit_data": "0", counters + "port_rcv_data": "0"}},
			state: Unknown, share: new(0.0), reason: "gpu_busy_percent: no such file", port: SourceOK, gpu: SourceUnavailable,
		}, {
			name:  "NVIDIA GPU",
			topo:  withGPU(hardware(), "nvidia"),
			files: []tree{{counters + "port_xmit_data": "0", counters + "port_rcv_data": "0"}},
			state: Unknown, share: new(0.0), reason: "NVIDIA's library can be asked about this host's GPUs alone", port: SourceOK, gpu: SourceUnavailable,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				if len(c.files) > 0 {
					c.files[0].write(t, root)
				}
				for i, later := range c.files[min(1, len(c.files)):] {
					time.AfterFunc(500*time.Millisecond+time.Duration(i)*time.Second, func() { later.write(t, root) })
				}

				got, sources := newMonitor(t, c.topo, root).Read(t.Context())

				assert.Equal(t, c.state, got.State, got.Reasons)
				if c.reason == "" {
					assert.Empty(t, got.Reasons)
				} else if assert.NotEmpty(t, got.Reasons) {
					assert.Contains(t, got.Reasons[0], c.reason)
				}
				if len(got.RNICs) > 0 {
					if c.share == nil {
						assert.Nil(t, got.RNICs[0].Utilization, "unknown is never a figure")
					} else if assert.NotNil(t, got.RNICs[0].Utilization) {
						assert.InDelta(t, *c.share, *got.RNICs[0].Utilization, 1e-6)
					}
				}
				assert.Equal(t, c.port, byName(t, sources, "rnic_port").State)
				assert.Equal(t, c.gpu, byName(t, sources, "gpu").State)
			})
		})
	}
}

// One sick device costs its own figures, not its neighbours'.
func TestReadKeepsDevicesApart(t *testing.T) {
	root := t.TempDir()
	topo := hardware()
	topo.RNICs = append(topo.RNICs, topology.RNIC{ID: "mlx5_1", Name: "mlx5_1", Port: 1, RateGbps: new(200.0), Usable: true})
	tree{counters + "port_xmit_data": words(1), counters + "port_rcv_data": words(1)}.write(t, root)

	synctest.Test(t, func(t *testing.T) {
		got, sources := newMonitor(t, topo, root).Read(t.Context())

		assert.Equal(t, Unknown, got.State)
		require.Len(t, got.RNICs, 2)
		assert.NotNil(t, got.RNICs[0].Utilization)
		assert.Nil(t, got.RNICs[1].Utilization)
		assert.Equal(t, SourceFailing, byName(t, sources, "rnic_port").State, "one of two could be read")
	})
}

func TestSourcesAreNamedAndReasoned(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		_, sources := newMonitor(t, hardware(), root).Read(t.Context())
		names := []string{}
		for _, source := range sources {
			names = append(names, source.Name)
			assert.Equal(t, source.State == SourceOK, source.Reason == "", "%s: a reason exactly when not ok", source.Name)
		}
		assert.Equal(t, []string{"rnic_port", "rnic_pause", "rnic_drops", "rnic_errors", "gpu", "pcie", "rnic_config", "memory_bus", "inter_socket_bus"}, names)
	})
}

func TestStillIdle(t *testing.T) {
	cases := []struct {
		name     string
		perTenMs float64 // gigabits moved in each 10 ms, for as long as the burst lasts
		burst    time.Duration
		want     string
		took     time.Duration
	}{
		{"quiet", 0, 0, "", 50 * time.Millisecond},
		{"a short burst is no load", 2, 80 * time.Millisecond, "", 1050 * time.Millisecond},
		{"a workload is", 2, time.Hour, "host is busy: mlx5_0: busy for 100.0 % of line rate; idle is below 5.0 %", 1050 * time.Millisecond},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				moved := 0.0
				show := func() {
					tree{counters + "port_xmit_data": words(moved), counters + "port_rcv_data": "0"}.write(t, root)
				}
				show()
				ctx, cancel := context.WithCancel(t.Context())
				start := time.Now()
				var traffic sync.WaitGroup
				traffic.Go(func() {
					time.Sleep(5 * time.Millisecond) // never at the instant of a reading
					for time.Since(start) < c.burst && ctx.Err() == nil {
						moved += c.perTenMs
						show()
						time.Sleep(10 * time.Millisecond)
					}
				})

				err := newMonitor(t, hardware(), root).StillIdle(ctx)

				took := time.Since(start)
				cancel()
				traffic.Wait()
				assert.Equal(t, c.took, took)
				if c.want == "" {
					assert.NoError(t, err)
				} else {
					assert.EqualError(t, err, c.want)
				}
			})
		})
	}
}

func TestStillIdleCountsFurtherReasons(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		err := newMonitor(t, withGPU(hardware(), "nvidia"), root).StillIdle(t.Context())
		require.Error(t, err)
		assert.Contains(t, err.Error(), "host is unknown: mlx5_0: ")
		assert.Contains(t, err.Error(), "(and 1 more)")
	})
}

func TestReadEndsWithItsContext(t *testing.T) {
	root := t.TempDir()
	tree{counters + "port_xmit_data": words(1), counters + "port_rcv_data": words(1)}.write(t, root)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()

		got, _ := newMonitor(t, hardware(), root).Read(ctx)

		assert.Equal(t, 300*time.Millisecond, time.Since(start))
		assert.Equal(t, Unknown, got.State)
		assert.Equal(t, []string{"mlx5_0: the reading was cut short (source rnic_port)"}, got.Reasons)
	})
}

func newMonitor(t *testing.T, topo topology.Topology, root string) *Monitor {
	t.Helper()
	m := New(topo, Options{Root: root})
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

func byName(t *testing.T, sources []Source, name string) Source {
	t.Helper()
	for _, source := range sources {
		if source.Name == name {
			return source
		}
	}
	t.Fatalf("no source %s", name)
	return Source{}
}
