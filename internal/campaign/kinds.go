package main

import (
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// kind is what the campaign needs to know of a kind of fault.
type kind struct {
	code diagnosis.Code // the diagnosis that it should get
	hop  topology.HopKind
	// read: a run can read that it is there, beside its effect: a setting, a
	// utilisation. Then it is not a suspect anywhere else.
	read bool
	// onOff: it knows no degrees.
	onOff bool
}

// kindOf looks a kind up; ok is false for kinds that one run of loopback
// probes cannot show, which are not part of the campaign.
func kindOf(name string) (k kind, ok bool) {
	k, ok = map[string]kind{
		"rnic_pcie":             {code: diagnosis.RNICPCIeFailure, hop: topology.HopRNICPCIe},
		"gpu_pcie":              {code: diagnosis.GPUPCIeFailure, hop: topology.HopGPUPCIe},
		"switch":                {code: diagnosis.SwitchLinkFailure, hop: topology.HopSwitch},
		"root_port":             {code: diagnosis.RootPortFailure, hop: topology.HopRootPort},
		"memory":                {code: diagnosis.MemoryChannelFailure, hop: topology.HopMemory},
		"inter_socket":          {code: diagnosis.InterSocketFailure, hop: topology.HopInterSocket},
		"acs":                   {code: diagnosis.P2PMisconfiguration, hop: topology.HopGPUPCIe, read: true, onOff: true},
		"ats":                   {code: diagnosis.P2PMisconfiguration, hop: topology.HopGPUPCIe, read: true, onOff: true},
		"slow_start":            {code: diagnosis.RNICSlowStart, hop: topology.HopRNICPCIe, read: true},
		"tx_window":             {code: diagnosis.RNICTxWindow, hop: topology.HopRNICPCIe, read: true},
		"memory_overload":       {code: diagnosis.MemoryChannelOverload, hop: topology.HopMemory, read: true},
		"inter_socket_overload": {code: diagnosis.InterSocketOverload, hop: topology.HopInterSocket, read: true},
	}[name]
	return k, ok
}

// cause is a diagnosis without its words: what is wrong with which part.
type cause struct {
	code      diagnosis.Code
	component string
}

func (c cause) String() string { return string(c.code) + "@" + c.component }

// causes are what a diagnosis should say of the fault.
func (h *host) causes(f sim.Fault) ([]cause, error) {
	k, ok := kindOf(f.Kind)
	switch {
	case !ok:
		return nil, fmt.Errorf("nobody said which diagnosis a %s fault should get", f.Kind)
	case k.onOff:
		return h.detours(f)
	case k.hop == topology.HopRNICPCIe:
		return []cause{{k.code, h.ownLink(f.Target)}}, nil
	}
	return []cause{{k.code, topology.HopID(k.hop, f.Target)}}, nil
}

// causesOf are the causes of several faults.
func (h *host) causesOf(faults []sim.Fault) (all []cause, err error) {
	for _, f := range faults {
		causes, err := h.causes(f)
		if err != nil {
			return nil, err
		}
		all = append(all, causes...)
	}
	return all, nil
}

// ownLink is the hop of an RNIC's own link, which it may share.
func (h *host) ownLink(rnic string) string {
	for _, p := range h.topo.Paths {
		if p.RNIC == rnic {
			return p.Hops[0]
		}
	}
	return topology.HopID(topology.HopRNICPCIe, rnic)
}

// detours names the GPUs that answer late under the fault: it sends their
// traffic a longer way.
func (h *host) detours(f sim.Fault) ([]cause, error) {
	f.Severity = sim.DefaultSeverity
	idle := gallery{host: h, mode: engine.ModeIdle}
	before, err := idle.look()
	if err != nil {
		return nil, err
	}
	after, err := idle.look(f)
	if err != nil {
		return nil, err
	}
	var late []cause
	for i, step := range h.plans[engine.ModeIdle].Steps {
		if hops := step.Request.Path.Hops; !within(before.us[i], after.us[i]) {
			late = append(late, cause{diagnosis.P2PMisconfiguration, hops[len(hops)-1]})
		}
	}
	return late, nil
}

// implies reports whether the faults include the suspected one, "all" included.
func implies(faults []sim.Fault, suspected sim.Fault) bool {
	return slices.ContainsFunc(faults, func(f sim.Fault) bool {
		return f.Kind == suspected.Kind && (f.Target == suspected.Target || f.Target == "all")
	})
}
