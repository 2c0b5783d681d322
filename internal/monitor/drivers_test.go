package monitor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// each fills %d with the eight priorities.
func each(patterns ...string) []string {
	var names []string
	for _, pattern := range patterns {
		for i := range members {
			names = append(names, fmt.Sprintf(pattern, i))
		}
	}
	return names
}

// Goal: each driver's own names are found, and no others are taken for them.
// Method: names as the kernel's drivers (and the reports behind C79) spell
// them, among some that look alike; each name's counter grows by a number of its own.
func TestC79_NamesDifferByDriver(t *testing.T) {
	cases := []struct {
		driver string
		names  []string
		grow   map[string]uint64
		want   map[quantity]uint64 // absent: not counted at all
	}{
		{
			driver: "mlx5_core",
			names: append(each("rx_prio%d_pause", "rx_prio%d_pause_duration", "tx_prio%d_pause", "tx_prio%d_pause_duration", "rx_prio%d_pause_transition", "rx_prio%d_discards"),
				"rx_out_of_buffer", "rx_discards_phy", "outbound_pci_buffer_overflow", "tx_bytes_phy", "rx_bytes_phy", "tx_bytes", "rx_bytes",
				"rx_global_pause", "rx_global_pause_duration", "tx_global_pause", "tx_global_pause_duration"),
			grow: map[string]uint64{
				"tx_prio3_pause_duration": 300, "tx_prio4_pause_duration": 200, "tx_prio3_pause": 7, "rx_prio0_pause_duration": 40,
				"rx_prio3_pause_transition": 999, "rx_out_of_buffer": 5000, "rx_prio1_discards": 2, "rx_prio2_discards": 3,
				"outbound_pci_buffer_overflow": 4, "tx_bytes_phy": 1000, "tx_bytes": 77,
			},
			want: map[quantity]uint64{
				txPauseTime: 300, rxPauseTime: 40, txPauseFrames: 7, rxPauseFrames: 0, dropped: 5, outBytes: 1000, inBytes: 0,
			},
		}, {
			driver: "bnxt_en",
			names: append(each("rx_pfc_ena_frames_pri%d", "tx_pfc_ena_frames_pri%d", "pfc_pri%d_rx_duration_us", "pfc_pri%d_rx_transitions", "pfc_pri%d_tx_duration_us", "rx_discard_packets_cos%d"),
				"rx_pause_frames", "tx_pause_frames", "rx_bytes", "tx_bytes", "[0]: rx_discards"),
			grow: map[string]uint64{"rx_pfc_ena_frames_pri3": 11, "pfc_pri3_rx_transitions": 22, "pfc_pri3_tx_duration_us": 33, "rx_discard_packets_cos1": 1, "[0]: rx_discards": 9},
			want: map[quantity]uint64{txPauseTime: 33, rxPauseTime: 0, txPauseFrames: 0, rxPauseFrames: 11, dropped: 1, outBytes: 0, inBytes: 0},
		}, {
			driver: "ice",
			names: append(each("tx_priority_%d_xon.nic", "tx_priority_%d_xoff.nic", "rx_priority_%d_xoff.nic", "rx_queue_%d_bytes"),
				"link_xoff_tx.nic", "link_xon_tx.nic", "link_xoff_rx.nic", "rx_dropped.nic", "rx_dropped", "tx_bytes.nic", "rx_bytes.nic"),
			grow: map[string]uint64{"tx_priority_3_xon.nic": 50, "tx_priority_3_xoff.nic": 25, "rx_dropped": 8, "rx_bytes.nic": 9000},
			want: map[quantity]uint64{txPauseFrames: 25, rxPauseFrames: 0, dropped: 0, outBytes: 0, inBytes: 9000},
		}, {
			driver: "mlx4_en",
			names:  append(each("tx_pause_prio_%d", "tx_pause_duration_prio_%d", "rx_pause_prio_%d", "rx_pause_duration_prio_%d"), "rx_over_errors", "rx_dropped"),
			grow:   map[string]uint64{"tx_pause_duration_prio_0": 12, "rx_dropped": 3},
			want:   map[quantity]uint64{txPauseTime: 12, rxPauseTime: 0, txPauseFrames: 0, rxPauseFrames: 0, dropped: 0},
		}, {
			driver: "ionic",
			names:  append(each("tx_pripause_%d_1us_count", "rx_pripause_%d_1us_count", "frames_rx_pri_%d"), "frames_rx_pripause", "frames_tx_pripause", "frames_rx_dropped"),
			grow:   map[string]uint64{"frames_rx_pri_3": 1e6, "frames_rx_pripause": 5, "tx_pripause_3_1us_count": 600},
			want:   map[quantity]uint64{txPauseTime: 600, rxPauseTime: 0, txPauseFrames: 0, rxPauseFrames: 5, dropped: 0},
		}, {
			driver: "hns3",
			names:  append(each("mac_tx_pfc_pri%d_pkt_num", "mac_rx_pfc_pri%d_pkt_num", "mac_tx_pfc_pri%d_xoff_time"), "mac_tx_mac_pause_num"),
			grow:   map[string]uint64{"mac_tx_pfc_pri5_pkt_num": 4, "mac_tx_pfc_pri5_xoff_time": 400},
			want:   map[quantity]uint64{txPauseFrames: 4, rxPauseFrames: 0},
		}, {
			driver: "cxgb4",
			names:  append(each("tx_ppp%d_frames         ", "rx_ppp%d_frames         "), "tx_pause_frames        ", "rx_bg0_frames_dropped  ", "rx_bg1_frames_dropped  "),
			grow:   map[string]uint64{"tx_ppp3_frames         ": 6, "rx_bg0_frames_dropped  ": 1, "rx_bg1_frames_dropped  ": 1},
			want:   map[quantity]uint64{txPauseFrames: 6, rxPauseFrames: 0, dropped: 2},
		}, {
			driver: "mlx5_core[ib_ipoib]",
			names:  []string{"rx_discards_phy"},
			grow:   map[string]uint64{"rx_discards_phy": 1},
			want:   map[quantity]uint64{dropped: 1},
		}, {
			driver: "ena",
			names:  []string{"bw_in_allowance_exceeded"},
			want:   map[quantity]uint64{},
		},
	}
	for _, c := range cases {
		t.Run(c.driver, func(t *testing.T) {
			p := newPlan(c.driver, c.names)
			require.NoError(t, p.problem)
			before, now := make([]uint64, len(c.names)), make([]uint64, len(c.names))
			for i, name := range c.names {
				before[i] = 1000
				now[i] = 1000 + c.grow[name]
			}
			got := map[quantity]uint64{}
			for q := range quantity(quantities) {
				if p.has(q) {
					by, ok := p.grown(q, before, now)
					assert.True(t, ok)
					got[q] = by
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestC79_UnknownDriverIsSaid(t *testing.T) {
	p := newPlan("foo_en", each("rx_prio%d_pause", "tx_prio%d_pause_duration"))
	assert.ErrorIs(t, p.problem, ErrUnavailable)
	assert.ErrorContains(t, p.problem, `"foo_en"`)
	for q := range quantity(quantities) {
		assert.False(t, p.has(q))
	}
}

func TestDriverTablesAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range drivers() {
		for _, name := range d.names {
			assert.False(t, seen[name], "two tables for %s", name)
			seen[name] = true
		}
		twice := map[statistic]bool{}
		for _, s := range d.statistics {
			assert.False(t, twice[s], "%v: %v twice", d.names, s)
			assert.NotContains(t, s.name, "out_of_buffer", "the application's affair")
			twice[s] = true
		}
	}
	for _, name := range []string{"mlx5_core", "bnxt_en", "ice", "i40e", "mlx4_en", "ena", "hns3", "ionic", "cxgb4"} {
		assert.True(t, seen[name], name)
	}
}
