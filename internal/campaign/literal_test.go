package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/sim"
)

// TestLiteral runs the published algorithm on cases of the paper's Figs. 8 and
// 10. Where our analyzer names one hop it names all that only sick paths cross.
func TestLiteral(t *testing.T) {
	tests := []struct {
		name, faults string
		busy         []sim.Busy
		want         []string
	}{
		{name: "healthy", want: []string{}},
		{name: "8a: a link that all slow paths begin with", faults: "rnic_pcie:rnic2=0.6", want: []string{
			"gpu_pcie_failure@gpu_pcie:gpu4", "gpu_pcie_failure@gpu_pcie:gpu5", "rnic_pcie_failure@rnic_pcie:rnic2",
			"root_port_failure@root_port:rp2", "switch_link_failure@switch:low2"}},
		{name: "8b: two faults, each the only hop left", faults: "gpu_pcie:gpu2=0.6 memory:mem0=0.6", want: []string{
			"gpu_pcie_failure@gpu_pcie:gpu2", "memory_channel_failure@memory:mem0"}},
		{name: "8e: a root port", faults: "root_port:rp0=0.4", want: []string{"root_port_failure@root_port:rp0"}},
		{name: "late GPUs", faults: "acs:low1", want: []string{"p2p_misconfiguration@gpu_pcie:gpu3"}},
		{name: "10a: the slow path of an RNIC in service", faults: "gpu_pcie:gpu4=0.6", busy: []sim.Busy{{RNIC: "rnic2", Share: 0.6}},
			want: []string{"gpu_pcie_failure@gpu_pcie:gpu4", "rnic_pcie_failure@rnic_pcie:rnic2"}},
		{name: "10c: the hop that most RNICs report", faults: "memory:mem0=0.6",
			busy: []sim.Busy{{RNIC: "rnic0", Share: 0.3}, {RNIC: "rnic2", Share: 0.3}},
			want: []string{"memory_channel_failure@memory:mem0"}},
	}
	h := hostsOf(t, "fig2")[0]
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scene{host: h, mode: engine.ModeIdle, noise: sim.NoiseNone, busy: tt.busy, seed: 1}
			if len(tt.busy) > 0 {
				s.mode = engine.ModeBusy
			}
			s.faults = faultsOf(t, &gallery{host: h}, tt.faults)
			in, _, err := s.play()
			require.NoError(t, err)
			got := []string{}
			for _, c := range literal(in) {
				got = append(got, c.String())
			}
			require.ElementsMatch(t, tt.want, got)
		})
	}
}
