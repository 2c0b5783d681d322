package sim

import (
	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

// Idle is the monitor's reading of the host: its decision over the loads that
// the service traffic makes. Probes leave no load behind.
func (h *Host) Idle(limits monitor.Thresholds) monitor.Reading {
	rnics, gpus := h.Loads()
	return monitor.Decide(rnics, gpus, limits)
}

// Loads is what the usable RNICs and all GPUs are doing. An RNIC's is the share
// of its line rate that its service traffic gets through; a GPU, of which
// the model knows no computation, shows the share of its link's capacity that service traffic takes.
func (h *Host) Loads() (rnics, gpus []monitor.Load) {
	for _, r := range h.physics.rnics {
		share := h.load.rnics[r.ID].gbps / *r.RateGbps
		rnics = append(rnics, monitor.Load{ID: r.ID, Utilization: &share})
	}
	for _, g := range h.topo.GPUs {
		share := h.linkShare(topology.HopID(topology.HopGPUPCIe, g.ID))
		gpus = append(gpus, monitor.Load{ID: g.ID, Utilization: &share})
	}
	return rnics, gpus
}

// linkShare is the share of a hop's capacity that service traffic takes; a hop
// that does not limit has none to speak of.
func (h *Host) linkShare(hop string) float64 {
	if capacity, ok := h.physics.capacityGbps[hop]; ok && capacity > 0 {
		return h.load.hopGbps[hop] / capacity
	}
	return 0
}

// Sources lists the monitor's sources in the order of the live ones, with
// those that the simulation has.
func (h *Host) Sources() []monitor.Source {
	simulated := map[string]bool{"rnic_port": true, "gpu": len(h.topo.GPUs) > 0, "pcie": true, "rnic_config": true}
	var list []monitor.Source
	for _, name := range []string{
		"rnic_port", "rnic_pause", "rnic_drops", "rnic_errors", "gpu", "pcie", "rnic_config", "memory_bus", "inter_socket_bus",
	} {
		s := monitor.Source{Name: name, State: monitor.SourceOK}
		if !simulated[name] {
			s.State, s.Reason = monitor.SourceUnavailable, "not simulated"
		}
		list = append(list, s)
	}
	return list
}

// RNICConfig is the source rnic_config: the settings of each usable RNIC.
func (h *Host) RNICConfig() map[string]analyzer.RNICConfig {
	configs := map[string]analyzer.RNICConfig{}
	for id, n := range h.physics.nics {
		configs[id] = analyzer.RNICConfig{SlowStart: &n.slowStart, SmallTxWindow: &n.smallTxWindow}
	}
	return configs
}

// P2P is what the source pcie reads of the settings that decide where peer
// traffic turns: ACS of every switch where any does, ATS of every usable RNIC.
func (h *Host) P2P() analyzer.P2PSettings {
	settings := analyzer.P2PSettings{ACS: map[string]bool{}, ATS: map[string]bool{}}
	for _, r := range h.physics.routes {
		if r.turnsAt != "" {
			settings.ACS[r.turnsAt] = h.physics.acs[r.turnsAt]
		}
	}
	for id, n := range h.physics.nics {
		settings.ATS[id] = !n.atsOff
	}
	return settings
}
