package analyzer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// TestFieldCases holds cases about what links show over time: low between reads is rest, low in
// every read under load is a fault of that link.
func TestFieldCases(t *testing.T) {
	const healthy = `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 195 195 195 195
		rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : `
	tests := []struct {
		name  string
		reads string
		speed []float64 // of the GPU's link, one sample a read, in turn
		want  diagnosis.Code
	}{
		{"C28_speed_flaps", "195 195 195 195", []float64{32, 5, 2.5, 32}, ""},
		{"C28_stuck_low_under_load", "61 61 61 61", []float64{5}, diagnosis.GPUPCIeFailure},
		{"C28_low_under_load_without_effect", "195 195 195 195", []float64{5}, diagnosis.PCIeLinkDowngraded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := describe(t, healthy+tt.reads)
			for i := range in.Topology.Hops {
				if h := &in.Topology.Hops[i]; h.Kind == topology.HopGPUPCIe {
					h.ExpectedSpeedGTs, h.ExpectedWidth = new(32.0), new(16)
				}
			}
			for i := range in.Outcomes[1].Reads {
				speed := tt.speed[i%len(tt.speed)]
				in.Outcomes[1].Reads[i].Links = []probe.LinkSample{{Hop: "gpu_pcie:gpu0", SpeedGTs: &speed, Width: new(16)}}
			}
			got := analyzer.Analyze(in).Diagnoses
			if tt.want == "" {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Equal(t, tt.want, got[0].Code)
			assert.Equal(t, "gpu_pcie:gpu0", got[0].Component)
			assert.Contains(t, strings.Join(got[0].Evidence, "\n"), "its link ran at 5 GT/s x16 under load, both ends can do 32 GT/s x16")
		})
	}
}
