package sim

import (
	"slices"
	"time"

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
	now := h.now()
	for _, r := range now.rnics {
		share := now.load.rnics[r.ID].gbps / *r.RateGbps
		rnics = append(rnics, monitor.Load{ID: r.ID, Utilization: &share})
	}
	for _, g := range h.topo.GPUs {
		share := now.linkShare(topology.HopID(topology.HopGPUPCIe, g.ID))
		gpus = append(gpus, monitor.Load{ID: g.ID, Utilization: &share})
	}
	return rnics, gpus
}

// Sample is what the monitor samples of the host: the same at any time, but
// for faults that come and go. The RNICs' errors, the GPUs' processes and the
// links' speeds are not simulated.
func (h *Host) Sample(limits monitor.Thresholds) monitor.Sample {
	s := monitor.Sample{
		At: time.Now(), Idle: h.Idle(limits), RNICs: []monitor.RNICSample{}, GPUs: []monitor.GPUSample{}, Links: []monitor.LinkSample{},
		Buses: h.Buses(), Sources: h.Sources(), Troubles: []monitor.Trouble{},
	}
	for _, source := range s.Sources {
		if source.State != monitor.SourceOK {
			s.Troubles = append(s.Troubles, monitor.Trouble{Source: source.Name, State: source.State, Reason: source.Reason})
		}
	}
	now := h.now()
	congestion := h.Congestion()
	rnics, gpus := h.Loads()
	for i, r := range now.rnics {
		bytesPerSecond := now.load.rnics[r.ID].gbps * 1e9 / 8
		share := now.linkShare(topology.HopID(topology.HopRNICPCIe, r.ID))
		s.RNICs = append(s.RNICs, monitor.RNICSample{
			ID: r.ID, State: r.State, RateGbps: r.RateGbps, OutBytesPerSecond: &bytesPerSecond, InBytesPerSecond: &bytesPerSecond,
			Utilization: rnics[i].Utilization, PCIeUtilization: &share,
			TxPauseRatio: congestion[i].PauseRatio, Drops: congestion[i].Drops, Errors: []monitor.Increment{},
		})
	}
	for i, g := range h.topo.GPUs {
		s.GPUs = append(s.GPUs, monitor.GPUSample{ID: g.ID, Utilization: gpus[i].Utilization})
	}
	return s
}

// linkShare is the share of a hop's capacity that service traffic takes; a hop
// that does not limit has none to speak of.
func (s state) linkShare(hop string) float64 {
	if capacity, ok := s.capacityGbps[hop]; ok && capacity > 0 {
		return s.load.hopGbps[hop] / capacity
	}
	return 0
}

// Sources lists the monitor's sources in the order of the live ones, with
// those that the simulation has.
func (h *Host) Sources() []monitor.Source {
	simulated := map[string]bool{
		"rnic_port": true, "rnic_pause": true, "rnic_drops": true, "gpu": len(h.topo.GPUs) > 0, "pcie": true, "rnic_config": true,
		"memory_bus": h.hasHop(topology.HopMemory), "inter_socket_bus": h.hasHop(topology.HopInterSocket),
	}
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

func (h *Host) hasHop(kind topology.HopKind) bool {
	return slices.ContainsFunc(h.topo.Hops, func(hop topology.Hop) bool { return hop.Kind == kind })
}

// RNICConfig is the source rnic_config: the settings of each usable RNIC.
func (h *Host) RNICConfig() map[string]analyzer.RNICConfig {
	configs := map[string]analyzer.RNICConfig{}
	for id, n := range h.with.nics {
		configs[id] = analyzer.RNICConfig{SlowStart: &n.slowStart, SmallTxWindow: &n.smallTxWindow}
	}
	return configs
}

// P2P is what the source pcie reads of the settings that decide where peer
// traffic turns: ACS of every switch where any does, ATS of every usable RNIC.
func (h *Host) P2P() analyzer.P2PSettings {
	settings := analyzer.P2PSettings{ACS: map[string]bool{}, ATS: map[string]bool{}}
	for _, r := range h.with.routes {
		if r.turnsAt != "" {
			settings.ACS[r.turnsAt] = h.with.acs[r.turnsAt]
		}
	}
	for id, n := range h.with.nics {
		settings.ATS[id] = !n.atsOff
	}
	return settings
}
