package monitor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Goal: what two readings of a netdev's statistics say of pauses and drops.
// Method: a monitor samples, the statistics change, it samples again.
func TestCongestion(t *testing.T) {
	const tx3, tx4, rx3 = "tx_prio3_pause_duration", "tx_prio4_pause_duration", "rx_prio3_pause_duration"
	mlx5 := []string{tx3, tx4, rx3, "tx_prio3_pause", "rx_discards_phy"}
	ice := []string{"tx_priority_3_xoff.nic", "rx_dropped.nic"}
	type values = map[string]uint64
	cases := []struct {
		name        string
		driver      string
		names       []string
		first, then values
		generation  uint64 // of the second reading; 0 is that of the first
		elapsed     time.Duration
		pause, rx   *float64
		limit       *float64
		drops       *float64
		source      SourceState // of rnic_pause
		reason      string
	}{
		{
			name: "C80 lifetime totals are history", driver: "mlx5_core", names: mlx5, elapsed: time.Second,
			first: values{"tx_prio3_pause": 132000000, tx3: 9e12}, then: values{"tx_prio3_pause": 132000000, tx3: 9e12},
			pause: new(0.0), rx: new(0.0), drops: new(0.0), source: SourceOK,
		}, {
			name: "C80 duration over the time that passed", driver: "mlx5_core", names: mlx5, elapsed: 10 * time.Second,
			first: values{"tx_prio3_pause": 132000000, tx3: 500}, then: values{"tx_prio3_pause": 132040000, tx3: 2100500},
			pause: new(0.21), rx: new(0.0), drops: new(0.0), source: SourceOK,
		}, {
			name: "C80 pauses of the peer are the fabric's", driver: "mlx5_core", names: mlx5, elapsed: time.Second,
			first: values{}, then: values{rx3: 400000}, pause: new(0.0), rx: new(0.4), drops: new(0.0), source: SourceOK,
		}, {
			name: "the worst priority counts, not the sum", driver: "mlx5_core", names: mlx5, elapsed: time.Second,
			first: values{}, then: values{tx3: 600000, tx4: 500000}, pause: new(0.6), rx: new(0.0), drops: new(0.0), source: SourceOK,
		}, {
			name: "a little more than all the time is all of it", driver: "mlx5_core", names: mlx5, elapsed: time.Second,
			first: values{}, then: values{tx3: 1040000}, pause: new(1.0), rx: new(0.0), drops: new(0.0), source: SourceOK,
		}, {
			name: "another unit than microseconds is no ratio", driver: "mlx5_core", names: mlx5, elapsed: time.Second,
			first: values{}, then: values{tx3: 900000000}, rx: new(0.0), drops: new(0.0), source: SourceFailing, reason: "its unit is not microseconds",
		}, {
			name: "C82 a reset gives no delta", driver: "mlx5_core", names: mlx5, elapsed: time.Second,
			first: values{tx3: 5000000, "rx_discards_phy": 10}, then: values{tx3: 100, "rx_discards_phy": 11}, rx: new(0.0), drops: new(1.0), source: SourceOK,
		}, {
			name: "C82 another device under the same name gives no delta", driver: "mlx5_core", names: mlx5, elapsed: time.Second, generation: 2,
			first: values{}, then: values{tx3: 900000, "rx_discards_phy": 11}, source: SourceOK,
		}, {
			name: "drops", driver: "mlx5_core", names: mlx5, elapsed: 4 * time.Second,
			first: values{"rx_discards_phy": 7}, then: values{"rx_discards_phy": 19}, pause: new(0.0), rx: new(0.0), drops: new(12.0), source: SourceOK,
		}, {
			// 100 frames x 65535 x 512 bit times at 200 Gb/s are 16.8 ms.
			name: "frames alone bound the time", driver: "ice", names: ice, elapsed: time.Second,
			first: values{}, then: values{"tx_priority_3_xoff.nic": 100}, limit: new(0.016777), drops: new(0.0), source: SourceOK,
		}, {
			name: "C79 an unknown driver tells nothing", driver: "foo_en", names: mlx5, elapsed: time.Second,
			first: values{}, then: values{tx3: 900000}, source: SourceUnavailable, reason: `eth0: its driver "foo_en" has no table`,
		}, {
			name: "a virtual function counts no pauses", driver: "mlx5_core", names: []string{"rx_packets"}, elapsed: time.Second,
			source: SourceUnavailable, reason: "driver mlx5_core counts no pauses here",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			quiet(t, root)
			synctest.Test(t, func(t *testing.T) {
				eth0 := &netdevScript{driver: c.driver, names: c.names, values: c.first}
				m := New(onEthernet(), Options{Root: root, Readers: Readers{Netdev: netdevs(map[string]*netdevScript{"eth0": eth0})}})
				first := m.Sample(t.Context())
				assert.Nil(t, first.ElapsedMs, "the first look has nothing to compare with")
				assert.Nil(t, first.RNICs[0].TxPauseRatio)
				assert.Nil(t, first.RNICs[0].Drops)

				eth0.set(c.then)
				eth0.generation = c.generation
				s := after(t, m, c.elapsed)

				assert.Equal(t, new(float64(c.elapsed.Milliseconds())), s.ElapsedMs)
				r := s.RNICs[0]
				for name, pair := range map[string][2]*float64{
					"tx pause": {c.pause, r.TxPauseRatio}, "rx pause": {c.rx, r.RxPauseRatio}, "limit": {c.limit, r.TxPauseRatioLimit}, "drops": {c.drops, r.Drops},
				} {
					if pair[0] == nil {
						assert.Nil(t, pair[1], name)
					} else if assert.NotNil(t, pair[1], name) {
						assert.InDelta(t, *pair[0], *pair[1], 1e-4, name)
					}
				}
				source := byName(t, s.Sources, "rnic_pause")
				assert.Equal(t, c.source, source.State, source.Reason)
				assert.Contains(t, source.Reason, c.reason)
				assert.Equal(t, SourceOK, byName(t, s.Sources, "rnic_port").State, "sources are apart")
				assert.Equal(t, Idle, s.Idle.State, "pauses do not decide idleness")
				assert.NoError(t, m.Close())
				assert.Zero(t, eth0.open, "everything was given back")
			})
		})
	}
}

// An InfiniBand port has credits, not pauses: there is nothing to miss.
func TestC80_PortsWithoutNetdev(t *testing.T) {
	for name, c := range map[string]struct {
		layer  string
		reason string
	}{
		"InfiniBand":                {"InfiniBand", "no Ethernet port among the usable RNICs"},
		"Ethernet in another netns": {"Ethernet", "mlx5_0: it has no netdev"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			quiet(t, root)
			topo := hardware()
			topo.RNICs[0].LinkLayer = c.layer
			synctest.Test(t, func(t *testing.T) {
				s := newMonitor(t, topo, root).Sample(t.Context())
				source := byName(t, s.Sources, "rnic_pause")
				assert.Equal(t, SourceUnavailable, source.State)
				assert.Contains(t, source.Reason, c.reason)
			})
		})
	}
}

// Drops and evidence that the RDMA device itself counts.
func TestErrorsAreEvidence(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	hw := func(retransmits, cnps, discards string) tree {
		return tree{
			port + "hw_counters/to_retransmits": retransmits, port + "hw_counters/tx_cnp_pkts": cnps,
			port + "hw_counters/rx_roce_discards": discards, port + "counters/link_downed": "N/A (no PMA)\n",
			port + "hw_counters/SDMAIdInt1,32": "5\n",
		}
	}
	hw("10", "20", "30").write(t, root)
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, hardware(), root)
		m.Sample(t.Context())
		hw("17", "3", "32").write(t, root)
		s := after(t, m, time.Second)
		assert.Equal(t, []Increment{{"retransmissions", 7}}, s.RNICs[0].Errors, "what was reset, is no number, or has an unknown name is absent")
		assert.Equal(t, new(2.0), s.RNICs[0].Drops)
		assert.Equal(t, SourceOK, byName(t, s.Sources, "rnic_errors").State)
		assert.Equal(t, SourceOK, byName(t, s.Sources, "rnic_drops").State)
	})
}

// irdma shows no byte counters: its netdev's driver counts what crosses the wire.
func TestC02_BytesFromTheWire(t *testing.T) {
	root := t.TempDir()
	tree{
		port + "hw_counters/cnpSent": "0\n", netdev + "statistics/tx_bytes": "0\n", netdev + "statistics/rx_bytes": "0\n",
	}.write(t, root)
	synctest.Test(t, func(t *testing.T) {
		eth0 := &netdevScript{driver: "ice", names: []string{"tx_bytes.nic", "rx_bytes.nic"}, values: map[string]uint64{}}
		m := New(onEthernet(), Options{Root: root, Readers: Readers{Netdev: netdevs(map[string]*netdevScript{"eth0": eth0})}})
		time.AfterFunc(500*time.Millisecond, func() { eth0.set(map[string]uint64{"tx_bytes.nic": 2.5e9}) })
		got, _ := m.Read(t.Context())
		assert.Equal(t, Busy, got.State, got.Reasons)
		assert.InDelta(t, 0.1, *got.RNICs[0].Utilization, 1e-9)
		assert.NoError(t, m.StillIdle(t.Context()), "nothing moves any more")
	})
}

// TCP does not show in the port counters of some drivers.
func TestPlainTrafficIsLoad(t *testing.T) {
	root := t.TempDir()
	quiet(t, root)
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, onEthernet(), root)
		time.AfterFunc(500*time.Millisecond, func() { tree{netdev + "statistics/rx_bytes": octetsOf(60)}.write(t, root) })
		got, _ := m.Read(t.Context())
		assert.Equal(t, Busy, got.State)
		assert.InDelta(t, 0.3, *got.RNICs[0].Utilization, 1e-9)
	})
}

// Loopback on a software RNIC leaves its netdev alone, and shows in its packets.
func TestLoopbackOfSoftwareRNICs(t *testing.T) {
	root := t.TempDir()
	const rxe = "class/infiniband/rxe0/ports/1/hw_counters/"
	tree{netdev + "statistics/tx_bytes": "0", netdev + "statistics/rx_bytes": "0", rxe + "sent_pkts": "0", rxe + "rcvd_pkts": "0"}.write(t, root)
	topo := software()
	topo.RNICs[0].MTU = new(1024)
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, topo, root)
		time.AfterFunc(500*time.Millisecond, func() { tree{rxe + "sent_pkts": "100000"}.write(t, root) })
		got, _ := m.Read(t.Context())
		assert.Equal(t, Busy, got.State, got.Reasons)
		assert.InDelta(t, 0.3277, *got.RNICs[0].Utilization, 1e-3)
	})
}
