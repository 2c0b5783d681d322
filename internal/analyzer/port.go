package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// diagnosePorts names ports without a link that should have one, and ports whose
// rate is below that of the like ports of this host. It needs no probe.
func (r *run) diagnosePorts() {
	usual := usualRates(r.in.Topology.RNICs)
	for _, rnic := range r.in.Topology.RNICs {
		switch {
		case r.in.Unselected[rnic.ID] || !r.standsForPort(rnic):
		case hasNoLink(rnic):
			r.diagnosePortDown(rnic)
		default:
			r.diagnosePortRate(rnic, usual[portKind(rnic)])
		}
	}
}

// standsForPort reports whether a fault of the RNIC's port is told under its name:
// a VF or SF leaves that to the PF on the same link.
func (r *run) standsForPort(rnic topology.RNIC) bool {
	if rnic.Role != topology.RoleRNIC && !r.hasPath(rnic.ID) {
		return false
	}
	if rnic.Function == topology.FunctionPF || rnic.Function == "" {
		return true
	}
	i := slices.IndexFunc(r.in.Topology.Hops, func(h topology.Hop) bool {
		return h.Kind == topology.HopRNICPCIe && slices.Contains(h.Members, rnic.ID)
	})
	return i < 0 || !slices.ContainsFunc(r.in.Topology.RNICs, func(other topology.RNIC) bool {
		return other.Function == topology.FunctionPF && slices.Contains(r.in.Topology.Hops[i].Members, other.ID)
	})
}

func (r *run) hasPath(rnic string) bool {
	return slices.ContainsFunc(r.in.Topology.Paths, func(p topology.Path) bool { return p.RNIC == rnic })
}

// hasNoLink reports whether the port is known to have none. A port that waits
// for a subnet manager (INIT) has one.
func hasNoLink(rnic topology.RNIC) bool {
	switch rnic.PhysState {
	case "":
		return rnic.State == "DOWN"
	case "LinkUp":
		return false
	}
	return rnic.State != "ACTIVE" && rnic.State != ""
}

func (r *run) diagnosePortDown(rnic topology.RNIC) {
	before, wanted := r.in.History.ActivePorts[rnic.Identity()], rnic.AdminUp != nil && *rnic.AdminUp
	if !before && !wanted {
		return
	}
	why, severity := "although it is enabled", diagnosis.Warning
	if before {
		why, severity = "and was ACTIVE in an earlier run", diagnosis.Critical
	}
	state := rnic.State
	if rnic.PhysState != "" {
		state += ", its physical link is " + rnic.PhysState
	}
	evidence := []string{fmt.Sprintf("port %d of %s is %s", rnic.Port, rnic.Name, state)}
	if len(rnic.Netdevs) > 0 && wanted {
		evidence = append(evidence, "its network device "+rnic.Netdevs[0]+" is set up")
	}
	r.addPort(diagnosis.Diagnosis{
		Code: diagnosis.RNICPortDown, Severity: severity, Component: rnic.ID, Confidence: certainty,
		Summary:  fmt.Sprintf("the port of %s has no link, %s", rnic.ID, why),
		Evidence: evidence,
	})
}

func (r *run) diagnosePortRate(rnic topology.RNIC, usual usualRate) {
	if rnic.RateGbps == nil || !(*rnic.RateGbps < usual.gbps) {
		return
	}
	r.addPort(diagnosis.Diagnosis{
		Code: diagnosis.RNICPortDegraded, Severity: diagnosis.Critical, Component: rnic.ID,
		Confidence: math.Round(100*certainty*float64(usual.having)/float64(usual.known)) / 100,
		Summary: fmt.Sprintf("the port of %s runs at %s Gb/s, the like ports of this host at %s",
			rnic.ID, figure(*rnic.RateGbps), figure(usual.gbps)),
		Evidence: []string{fmt.Sprintf("%d of %d ports of model %s run at %s Gb/s",
			usual.having, usual.known, rnic.Model, figure(usual.gbps))},
	})
}

func (r *run) addPort(d diagnosis.Diagnosis) {
	d.Components = []string{d.Component}
	d.Alternatives = []diagnosis.Alternative{}
	d.Runbook = diagnosis.Runbook(d.Code)
	r.diagnoses = append(r.diagnoses, d)
}

// usualRate is the rate that most ports of a kind have; zero where none has most.
type usualRate struct {
	gbps          float64
	having, known int
}

// portKind is equal for ports that should have one rate; "" for those of which nothing is expected.
func portKind(rnic topology.RNIC) string {
	if rnic.Role != topology.RoleRNIC || rnic.Model == "" || rnic.Function != topology.FunctionPF {
		return ""
	}
	return rnic.Model + " " + rnic.LinkLayer
}

// usualRates finds, by kind, the rate of most ports with a link. Of two ports nobody knows which one is odd.
func usualRates(rnics []topology.RNIC) map[string]usualRate {
	rates := map[string]map[float64]int{}
	for _, rnic := range rnics {
		if kind := portKind(rnic); kind != "" && rnic.RateGbps != nil && rnic.State == "ACTIVE" {
			if rates[kind] == nil {
				rates[kind] = map[float64]int{}
			}
			rates[kind][*rnic.RateGbps]++
		}
	}
	usual := map[string]usualRate{}
	for kind, counts := range rates {
		known := 0
		for _, n := range counts {
			known += n
		}
		for gbps, n := range counts {
			if known >= 3 && n*2 > known {
				usual[kind] = usualRate{gbps, n, known}
			}
		}
	}
	return usual
}
