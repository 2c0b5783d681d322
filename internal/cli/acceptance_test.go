package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/sim"
)

// gpusOf says which GPU each switch of the paper's Fig. 2 holds.
var gpusOf = map[string]string{
	"up0": "gpu1", "low0": "gpu0", "up1": "gpu2", "low1": "gpu3",
	"up2": "gpu5", "low2": "gpu4", "up3": "gpu6", "low3": "gpu7",
}

// blames says which diagnoses ("code at component") a single fault of the
// Fig. 2 host has to give, and no others.
func blames(t *testing.T, kind, target string) []string {
	t.Helper()
	one := func(code diagnosis.Code, hop string) []string {
		return []string{fmt.Sprintf("%s at %s:%s", code, hop, target)}
	}
	peers := func(keep func(bridge string) bool) []string {
		var all []string
		for bridge, gpu := range gpusOf {
			if keep(bridge) {
				all = append(all, fmt.Sprintf("%s at gpu_pcie:%s", diagnosis.P2PMisconfiguration, gpu))
			}
		}
		slices.Sort(all)
		return all
	}
	switch kind {
	case "memory_overload":
		return one(diagnosis.MemoryChannelOverload, "memory")
	case "inter_socket_overload":
		return one(diagnosis.InterSocketOverload, "inter_socket")
	case "flapping":
		return []string{fmt.Sprintf("%s at %s", diagnosis.LinkFlapping, target)}
	case "rnic_pcie":
		return one(diagnosis.RNICPCIeFailure, "rnic_pcie")
	case "gpu_pcie":
		return one(diagnosis.GPUPCIeFailure, "gpu_pcie")
	case "switch":
		return one(diagnosis.SwitchLinkFailure, "switch")
	case "root_port":
		return one(diagnosis.RootPortFailure, "root_port")
	case "memory":
		return one(diagnosis.MemoryChannelFailure, "memory")
	case "inter_socket":
		return one(diagnosis.InterSocketFailure, "inter_socket")
	case "slow_start":
		return one(diagnosis.RNICSlowStart, "rnic_pcie")
	case "tx_window":
		return one(diagnosis.RNICTxWindow, "rnic_pcie")
	case "acs":
		return peers(func(bridge string) bool { return target == "all" || bridge == target })
	case "ats": // rnicN sits below upN
		return peers(func(bridge string) bool {
			return target == "all" || strings.HasSuffix(bridge, strings.TrimPrefix(target, "rnic"))
		})
	}
	t.Fatalf("fault kind %q is new: say here what it must give", kind)
	return nil
}

// Every fault that `hostpingctl faults` lists, through the whole program: the
// right diagnoses at the right components, and nothing else.
func TestEveryFaultIsDiagnosed(t *testing.T) {
	kinds, err := sim.Targets(sim.Fig2())
	require.NoError(t, err)
	runs, wrong := 0, 0
	for _, kind := range kinds {
		require.NotEmpty(t, kind.Targets, "%s has no target on Fig. 2", kind.Kind)
		for _, target := range kind.Targets {
			want := blames(t, kind.Kind, target)
			for _, severity := range []string{"", "=0.3", "=0.6"} {
				for seed := 1; seed <= 3; seed++ {
					runs++
					fault := kind.Kind + ":" + target + severity
					if kind.Kind == "flapping" {
						fault += " --runs 3"
					}
					got := hostpingctl(t, fmt.Sprintf("diagnose --sim --fault %s --seed %d --format json", fault, seed))
					var found []string
					for _, d := range parseReport(t, got.stdout).Diagnoses {
						found = append(found, string(d.Code)+" at "+d.Component)
					}
					slices.Sort(found)
					if got.code != 1 || !slices.Equal(want, found) {
						wrong++
						t.Errorf("%s, seed %d: exit status %d with %q, want 1 with %q", fault, seed, got.code, found, want)
					}
				}
			}
		}
	}
	t.Logf("%d runs over %d kinds of fault, %d wrong", runs, len(kinds), wrong)
}

// An overload shows on the paper's busy hosts too, to idle RNICs and to those
// in service.
func TestOverloadOfABusyHostIsDiagnosed(t *testing.T) {
	for _, c := range []struct{ fault, busy, want string }{
		{"memory_overload:mem0", "rnic0,rnic2", "memory_channel_overloaded at memory:mem0"},
		{"memory_overload:mem1=0.6", "rnic1", "memory_channel_overloaded at memory:mem1"},
		{"memory_overload:mem0", "rnic0,rnic1,rnic2,rnic3", "memory_channel_overloaded at memory:mem0"},
		{"inter_socket_overload:0-1", "rnic0,rnic2", "inter_socket_overloaded at inter_socket:0-1"},
		{"inter_socket_overload:0-1=0.6", "rnic3=0.6", "inter_socket_overloaded at inter_socket:0-1"},
		{"inter_socket_overload:0-1=0.6", "rnic0,rnic1,rnic2,rnic3", "inter_socket_overloaded at inter_socket:0-1"},
	} {
		for seed := 1; seed <= 3; seed++ {
			got := hostpingctl(t, fmt.Sprintf("diagnose --sim --fault %s --busy %s --seed %d --format json", c.fault, c.busy, seed))
			r := parseReport(t, got.stdout)
			require.Equal(t, "busy", r.Run.Mode)
			var found []string
			for _, d := range r.Diagnoses {
				found = append(found, string(d.Code)+" at "+d.Component)
			}
			require.Equal(t, []string{c.want}, found, "%s with --busy %s, seed %d", c.fault, c.busy, seed)
		}
	}
}

func TestHealthyHostIsHealthy(t *testing.T) {
	for _, noise := range []string{"none", "typical", "harsh"} {
		for seed := 1; seed <= 20; seed++ {
			got := hostpingctl(t, fmt.Sprintf("diagnose --sim --noise %s --seed %d --format json", noise, seed))
			require.Equal(t, 0, got.code, "noise %s, seed %d: %s", noise, seed, got.stderr)
			require.Empty(t, parseReport(t, got.stdout).Diagnoses)
		}
	}
}
