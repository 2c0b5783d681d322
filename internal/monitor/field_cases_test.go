package monitor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// Goal: one odd device costs its own figures, no other's. Method: mlx5_0 has good counters, the
// device under test shows what was met in the field.
func TestFieldCases(t *testing.T) {
	const odd = "class/infiniband/odd0/"
	cases := []struct {
		name    string
		files   tree
		problem string // of odd0
	}{
		{
			name: "C01_counters_hold_text",
			files: tree{
				odd + "ports/1/counters/port_rcv_data": "N/A (no PMA)\n", odd + "ports/1/counters/port_xmit_data": "5\n",
				odd + "ports/1/counters/link_downed": "0\n",
			},
			problem: `port_rcv_data holds "N/A (no PMA)", not a number`,
		}, {
			name:    "C02_no_counters_directory",
			files:   tree{odd + "ports/1/hw_counters/ip4InOctets": "12\n"},
			problem: "its byte counters cannot be read",
		}, {
			name: "C05_counters_at_device_level",
			files: tree{
				odd + "hw_counters/PcicPostHdQUncErr": "0\n", odd + "hw_counters/SDEDscFdCn10,32": "0\n",
			},
			problem: "its byte counters cannot be read",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			c.files.write(t, root)
			tree{counters + "port_xmit_data": words(5), counters + "port_rcv_data": words(7)}.write(t, root)
			rnics := hardware().RNICs
			rnics = append(rnics, topology.RNIC{ID: "odd0", Name: "odd0", Port: 1, RateGbps: new(100.0), Role: topology.RoleRNIC, Usable: true})

			got, sources := New(topology.Topology{RNICs: rnics}, Options{Root: root, Interval: time.Millisecond}).Read(t.Context())
			require.Len(t, got.RNICs, 2)
			assert.Equal(t, new(0.0), got.RNICs[0].Utilization)
			assert.Nil(t, got.RNICs[1].Utilization, "unknown, not 0")
			assert.Equal(t, Unknown, got.State)
			assert.Contains(t, got.Reasons[0], "odd0: ")
			assert.Contains(t, got.Reasons[0], c.problem)
			assert.Equal(t, SourceFailing, byName(t, sources, "rnic_port").State)
		})
	}
}
