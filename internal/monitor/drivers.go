package monitor

import (
	"fmt"
	"slices"
	"strings"
)

// quantity is what a statistic of a netdev counts.
type quantity int

const (
	txPauseTime   quantity = iota // µs for which this port told its peer to pause
	rxPauseTime                   // µs for which the peer told this port to pause
	txPauseFrames                 // frames that told the peer so; those that end a pause may be among them
	rxPauseFrames
	dropped  // packets that this host had no room for
	outBytes // what crosses the port's wire, RDMA included
	inBytes
	quantities int = iota
)

// statistic is a family of statistics that count one quantity: one name, or
// with %d one for each priority or buffer. Of pauses the worst member counts,
// of drops and bytes the sum; of several families with one quantity the
// greatest, since they count the same in two ways.
type statistic struct {
	counts quantity
	name   string
}

// members is the most that %d in a name stands for: IEEE 802.1Q has eight priorities.
const members = 8

// driver is what a driver calls the statistics that matter here.
type driver struct {
	names      []string // as ETHTOOL_GDRVINFO tells it
	statistics []statistic
}

// drivers is the table of all known drivers. A driver that is not in it tells
// nothing: names that look alike count other things elsewhere. Of drops only
// those count that mean "this host could not take it"; a consumer without
// posted receives (rx_out_of_buffer) is the application's affair.
func drivers() []driver {
	return []driver{
		{ // drivers/net/ethernet/mellanox/mlx5/core/en_stats.c; durations in µs (NVIDIA, "Understanding mlx5 ethtool counters")
			names: []string{"mlx5_core"},
			statistics: []statistic{
				{txPauseTime, "tx_prio%d_pause_duration"}, {txPauseTime, "tx_global_pause_duration"},
				{rxPauseTime, "rx_prio%d_pause_duration"}, {rxPauseTime, "rx_global_pause_duration"},
				{txPauseFrames, "tx_prio%d_pause"}, {txPauseFrames, "tx_global_pause"},
				{rxPauseFrames, "rx_prio%d_pause"}, {rxPauseFrames, "rx_global_pause"},
				{dropped, "rx_discards_phy"}, {dropped, "rx_prio%d_discards"}, {dropped, "rx_prio%d_buf_discard"},
				{dropped, "outbound_pci_buffer_overflow"},
				{outBytes, "tx_bytes_phy"}, {inBytes, "rx_bytes_phy"},
			},
		},
		{ // drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c
			names: []string{"bnxt_en"},
			statistics: []statistic{
				{txPauseTime, "pfc_pri%d_tx_duration_us"}, {rxPauseTime, "pfc_pri%d_rx_duration_us"},
				{txPauseFrames, "tx_pfc_ena_frames_pri%d"}, {txPauseFrames, "tx_pause_frames"},
				{rxPauseFrames, "rx_pfc_ena_frames_pri%d"}, {rxPauseFrames, "rx_pause_frames"},
				{dropped, "rx_discard_packets_cos%d"},
				{outBytes, "tx_bytes"}, {inBytes, "rx_bytes"},
			},
		},
		{ // drivers/net/ethernet/intel/ice/ice_ethtool.c; rx_dropped.nic is the port's rx_discards
			names: []string{"ice"},
			statistics: []statistic{
				{txPauseFrames, "tx_priority_%d_xoff.nic"}, {txPauseFrames, "link_xoff_tx.nic"},
				{rxPauseFrames, "rx_priority_%d_xoff.nic"}, {rxPauseFrames, "link_xoff_rx.nic"},
				{dropped, "rx_dropped.nic"},
				{outBytes, "tx_bytes.nic"}, {inBytes, "rx_bytes.nic"},
			},
		},
		{ // drivers/net/ethernet/intel/i40e/i40e_ethtool.c
			names: []string{"i40e"},
			statistics: []statistic{
				{txPauseFrames, "port.tx_priority_%d_xoff"}, {txPauseFrames, "port.link_xoff_tx"},
				{rxPauseFrames, "port.rx_priority_%d_xoff"}, {rxPauseFrames, "port.link_xoff_rx"},
				{dropped, "port.rx_dropped"},
				{outBytes, "port.tx_bytes"}, {inBytes, "port.rx_bytes"},
			},
		},
		{ // drivers/net/ethernet/mellanox/mlx4/en_ethtool.c; durations in µs
			names: []string{"mlx4_en"},
			statistics: []statistic{
				{txPauseTime, "tx_pause_duration_prio_%d"}, {txPauseTime, "tx_pause_duration"},
				{rxPauseTime, "rx_pause_duration_prio_%d"}, {rxPauseTime, "rx_pause_duration"},
				{txPauseFrames, "tx_pause_prio_%d"}, {txPauseFrames, "tx_pause"},
				{rxPauseFrames, "rx_pause_prio_%d"}, {rxPauseFrames, "rx_pause"},
				{dropped, "rx_over_errors"},
			},
		},
		{ // drivers/net/ethernet/hisilicon/hns3; the unit of its xoff_time is not documented
			names: []string{"hns3"},
			statistics: []statistic{
				{txPauseFrames, "mac_tx_pfc_pri%d_pkt_num"}, {txPauseFrames, "mac_tx_mac_pause_num"},
				{rxPauseFrames, "mac_rx_pfc_pri%d_pkt_num"}, {rxPauseFrames, "mac_rx_mac_pause_num"},
				{outBytes, "mac_tx_total_oct_num"}, {inBytes, "mac_rx_total_oct_num"},
			},
		},
		{ // drivers/net/ethernet/pensando/ionic/ionic_stats.c
			names: []string{"ionic"},
			statistics: []statistic{
				{txPauseTime, "tx_pripause_%d_1us_count"},
				{rxPauseTime, "rx_pripause_%d_1us_count"}, {rxPauseTime, "rx_pause_1us_count"},
				{txPauseFrames, "frames_tx_pripause"}, {txPauseFrames, "frames_tx_pause"},
				{rxPauseFrames, "frames_rx_pripause"}, {rxPauseFrames, "frames_rx_pause"},
				{dropped, "frames_rx_dropped"},
				{outBytes, "octets_tx_ok"}, {inBytes, "octets_rx_ok"},
			},
		},
		{ // drivers/net/ethernet/chelsio/cxgb4/cxgb4_ethtool.c; bg: the buffer groups
			names: []string{"cxgb4"},
			statistics: []statistic{
				{txPauseFrames, "tx_ppp%d_frames"}, {txPauseFrames, "tx_pause_frames"},
				{rxPauseFrames, "rx_ppp%d_frames"}, {rxPauseFrames, "rx_pause_frames"},
				{dropped, "rx_bg%d_frames_dropped"},
				{outBytes, "tx_octets_ok"}, {inBytes, "rx_octets_ok"},
			},
		},
		{ // EFA has no netdev, the ENA beside it no flow control
			names: []string{"ena"},
		},
	}
}

// plan is where in a netdev's statistics each quantity is found.
type plan struct {
	driver   string
	families [quantities][][]int // per family the places of its members
	problem  error               // why nothing is found
}

// newPlan finds the statistics of a netdev by its driver's table.
func newPlan(name string, names []string) plan {
	p := plan{driver: name}
	known, _, _ := strings.Cut(name, "[") // "mlx5_core[ib_ipoib]"
	var table *driver
	for _, d := range drivers() {
		if slices.Contains(d.names, known) {
			table = &d
			break
		}
	}
	if table == nil {
		p.problem = Unavailable("its driver %q has no table of what its statistics mean", name)
		return p
	}
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[strings.TrimSpace(name)] = i // cxgb4 fills them up with blanks
	}
	for _, s := range table.statistics {
		var found []int
		if !strings.Contains(s.name, "%d") {
			if i, ok := at[s.name]; ok {
				found = append(found, i)
			}
		} else {
			for member := range members {
				if i, ok := at[fmt.Sprintf(s.name, member)]; ok {
					found = append(found, i)
				}
			}
		}
		if len(found) > 0 {
			p.families[s.counts] = append(p.families[s.counts], found)
		}
	}
	return p
}

// has reports whether the netdev counts a quantity at all.
func (p *plan) has(q quantity) bool { return len(p.families[q]) > 0 }

// grown is by how much a quantity grew between two readings; false when one
// of its counters went backwards.
func (p *plan) grown(q quantity, before, now []uint64) (uint64, bool) {
	var most uint64
	for _, family := range p.families[q] {
		var sum, worst uint64
		for _, i := range family {
			if now[i] < before[i] {
				return 0, false
			}
			sum += now[i] - before[i]
			worst = max(worst, now[i]-before[i])
		}
		switch q {
		case dropped, outBytes, inBytes:
			most = max(most, sum)
		default:
			most = max(most, worst)
		}
	}
	return most, true
}
