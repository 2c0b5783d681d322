// Package monitortest describes a host that is large for a monitor: sixteen
// RNICs and eight GPUs, with the counters that their drivers show.
package monitortest

import (
	"fmt"
	"strings"

	"github.com/yuuki/hostping/internal/discover/hosttree"
)

// BigHost is two sockets of four NUMA nodes, and below each node a switch
// with two RNICs of 200 Gb/s and an AMD GPU.
func BigHost() (*hosttree.Tree, error) { return hosttree.Parse(description()) }

func description() string {
	var b strings.Builder
	for n := range 8 {
		fmt.Fprintf(&b, "node %d cpus %d-%d package %d memory 128\n", n, 16*n, 16*n+15, n/4)
	}
	for n := range 8 {
		bus := 0x10 + 8*n
		fmt.Fprintf(&b, "bus pci0000:%02x node %d\n", bus, n)
		fmt.Fprintf(&b, "  %02x:01.0 root_port 8086:347a 16x16\n", bus)
		fmt.Fprintf(&b, "    %02x:00.0 upstream 1000:c010 16x16\n", bus+1)
		for slot := range 3 {
			fmt.Fprintf(&b, "      %02x:%02x.0 downstream 1000:c010 16x16\n", bus+2, slot)
			if slot == 2 {
				fmt.Fprintf(&b, "        %02x:00.0 gpu 1002:74a1 16x16\n", bus+3+slot)
				continue
			}
			fmt.Fprintf(&b, "        %02x:00.0 nic 15b3:101b 16x16\n", bus+3+slot)
			fmt.Fprintf(&b, "          rdma mlx5_%d 200 net ens%d\n", 2*n+slot, 2*n+slot)
		}
	}
	for n := range 8 {
		address := fmt.Sprintf("%02x:00.0", 0x10+8*n+5)
		fmt.Fprintf(&b, "%s/uevent = DRIVER=amdgpu\n/sys/class/drm/card%d/device -> ../../../bus/pci/devices/0000:%s\n", address, n, address)
		for _, file := range []string{
			"gpu_busy_percent = 3", "mem_info_gtt_total = 1", "mem_info_gtt_used = 1", "mem_info_vis_vram_total = 1", "mem_info_vis_vram_used = 1",
			"mem_info_vram_total = 1", "mem_info_vram_used = 1", "mem_info_vram_vendor = hynix", "power_dpm_force_performance_level = auto",
			"unique_id = 1f0042", "mem_busy_percent = 0",
		} {
			fmt.Fprintf(&b, "%s/%s\n", address, file)
		}
	}
	for i := range 16 {
		port := fmt.Sprintf("/sys/class/infiniband/mlx5_%d/ports/1/", i)
		// Others than this program insist on these two.
		fmt.Fprintf(&b, "/sys/class/infiniband/mlx5_%d/board_id = MT_0000000223\n/sys/class/infiniband/mlx5_%d/hca_type = MT4123\n", i, i)
		for _, name := range []string{
			"port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets", "link_downed", "symbol_error", "port_rcv_errors",
			"port_xmit_discards", "port_xmit_wait", "excessive_buffer_overrun_errors", "link_error_recovery", "local_link_integrity_errors",
			"multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors", "port_rcv_remote_physical_errors",
			"port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "unicast_rcv_packets", "unicast_xmit_packets", "VL15_dropped",
		} {
			fmt.Fprintf(&b, "%scounters/%s = 123456789\n", port, name)
		}
		for _, name := range []string{
			"local_ack_timeout_err", "out_of_sequence", "np_cnp_sent", "rp_cnp_handled", "out_of_buffer", "packet_seq_err", "roce_adp_retrans",
			"rnr_nak_retry_err", "req_cqe_error", "resp_cqe_error", "duplicate_request", "implied_nak_seq_err", "np_ecn_marked_roce_packets",
		} {
			fmt.Fprintf(&b, "%shw_counters/%s = 42\n", port, name)
		}
		for _, name := range []string{"tx_bytes", "rx_bytes", "tx_packets", "rx_packets", "rx_dropped", "tx_dropped"} {
			fmt.Fprintf(&b, "/sys/class/net/ens%d/statistics/%s = 123456789\n", i, name)
		}
	}
	return b.String()
}
