package sim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

func TestParseFault(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Fault
	}{
		{"severity by default", "rnic_pcie:rnic0", Fault{"rnic_pcie", "rnic0", 0.4}},
		{"severity given", "rnic_pcie:rnic0=0.6", Fault{"rnic_pcie", "rnic0", 0.6}},
		{"severity 1", "gpu_pcie:gpu7=1", Fault{"gpu_pcie", "gpu7", 1}},
		{"severity 0", "switch:low0=0", Fault{"switch", "low0", 0}},
		{"severity with exponent", "root_port:rp3=5e-1", Fault{"root_port", "rp3", 0.5}},
		{"root port by the switch below it", "root_port:up3", Fault{"root_port", "rp3", 0.4}},
		{"memory", "memory:mem1", Fault{"memory", "mem1", 0.4}},
		{"pair of sockets", "inter_socket:0-1=0.3", Fault{"inter_socket", "0-1", 0.3}},
		{"lower switch", "acs:low2", Fault{"acs", "low2", 0.4}},
		{"upper switch", "acs:up2", Fault{"acs", "up2", 0.4}},
		{"all switches", "acs:all=1", Fault{"acs", "all", 1}},
		{"an RNIC's ATS", "ats:rnic1", Fault{"ats", "rnic1", 0.4}},
		{"all RNICs' ATS", "ats:all", Fault{"ats", "all", 0.4}},
		{"slow start", "slow_start:rnic2", Fault{"slow_start", "rnic2", 0.4}},
		{"Tx window", "tx_window:rnic3=0.25", Fault{"tx_window", "rnic3", 0.25}},
		{"overloaded memory", "memory_overload:mem1", Fault{"memory_overload", "mem1", 0.4}},
		{"overloaded bus", "inter_socket_overload:0-1=0.6", Fault{"inter_socket_overload", "0-1", 0.6}},
		{"flapping", "flapping:memory:mem0", Fault{"flapping", "memory:mem0", 0.4}},
		{"flapping with severity", "flapping:inter_socket:0-1=0.6", Fault{"flapping", "inter_socket:0-1", 0.6}},
		{"flapping root port by the switch below it", "flapping:root_port:up3", Fault{"flapping", "root_port:rp3", 0.4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseFault(c.text, Fig2())
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			again, err := ParseFault(got.String(), Fig2())
			require.NoError(t, err)
			require.Equal(t, got, again, "its own text form")
		})
	}
}

func TestParseFaultRefuses(t *testing.T) {
	unknownRate := Fig2()
	unknownRate.RNICs[0].RateGbps = nil
	for _, c := range []struct {
		name, text, want string
		topo             topology.Topology
	}{
		{"empty", "", "want KIND:TARGET[=SEVERITY], such as rnic_pcie:rnic0", Fig2()},
		{"no target", "rnic_pcie", "want KIND:TARGET[=SEVERITY], such as rnic_pcie:rnic0", Fig2()},
		{"empty target", "rnic_pcie:", `no RNIC "" for rnic_pcie faults; it is one of rnic0, rnic1, rnic2, rnic3`, Fig2()},
		{"kind mistyped", "rnic_pci:rnic0", `unknown fault kind "rnic_pci"; did you mean rnic_pcie?`, Fig2()},
		{"kind of no sort", "disk:sda", `unknown fault kind "disk"; it is one of rnic_pcie, gpu_pcie, switch, root_port, memory, inter_socket, acs, ats, slow_start, tx_window, memory_overload, inter_socket_overload and 1 more`, Fig2()},
		{"target mistyped", "rnic_pcie:rnic9", `no RNIC "rnic9" for rnic_pcie faults; did you mean rnic0?`, Fig2()},
		{"target of another kind", "switch:rp0", `no switch "rp0" for switch faults; it is one of low0, low1, low2, low3`, Fig2()},
		{"sockets the other way round", "inter_socket:1-0", `no pair of sockets "1-0" for inter_socket faults; did you mean 0-1?`, Fig2()},
		{"a socket alone", "inter_socket:0", `no pair of sockets "0" for inter_socket faults; did you mean 0-1?`, Fig2()},
		{"all, where one is meant", "rnic_pcie:all", `no RNIC "all" for rnic_pcie faults; it is one of rnic0, rnic1, rnic2, rnic3`, Fig2()},
		{"severity above 1", "rnic_pcie:rnic0=1.5", `severity "1.5" is not a number from 0 to 1`, Fig2()},
		{"severity below 0", "rnic_pcie:rnic0=-0.1", `severity "-0.1" is not a number from 0 to 1`, Fig2()},
		{"severity not a number", "rnic_pcie:rnic0=NaN", `severity "NaN" is not a number from 0 to 1`, Fig2()},
		{"severity endless", "rnic_pcie:rnic0=Inf", `severity "Inf" is not a number from 0 to 1`, Fig2()},
		{"severity empty", "rnic_pcie:rnic0=", `severity "" is not a number from 0 to 1`, Fig2()},
		{"severity in percent", "acs:all=40%", `severity "40%" is not a number from 0 to 1`, Fig2()},
		{"overload mistyped", "memory_overlaod:mem0", `unknown fault kind "memory_overlaod"; did you mean memory_overload?`, Fig2()},
		{"overload of no memory", "memory_overload:mem7", `no memory node "mem7" for memory_overload faults; did you mean mem0?`, Fig2()},
		{"flapping of nothing", "flapping:mem0", `no fault of a hop "mem0" that could flap; want flapping:KIND:TARGET, such as flapping:rnic_pcie:rnic0`, Fig2()},
		{"flapping of a kind mistyped", "flapping:memry:mem0", `"memry" cannot flap; did you mean memory?`, Fig2()},
		{"flapping of a setting", "flapping:acs:low0", `"acs" cannot flap; it is one of rnic_pcie, gpu_pcie, switch, root_port, memory, inter_socket`, Fig2()},
		{"flapping of no such target", "flapping:memory:mem7", `no memory node "mem7" for memory faults; did you mean mem0?`, Fig2()},
		{"flapping with a bad severity", "flapping:memory:mem0=2", `severity "2" is not a number from 0 to 1`, Fig2()},
		{"no switch on the host", "acs:all", `no switch "all" for acs faults; there is none here`, host(t, 200, 16, false)},
		{"rate unknown", "rnic_pcie:rnic1", "rnics[0].rate_gbps of rnic0 is unknown, and a simulation needs it", unknownRate},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseFault(c.text, c.topo)
			require.EqualError(t, err, c.want)
		})
	}
}

// Functions on one link share its hop; each of their names means it.
func TestParseFaultTakesAnyFunctionOfALink(t *testing.T) {
	topo := Fig2()
	for i := range topo.Hops {
		if topo.Hops[i].ID == "rnic_pcie:rnic0" {
			topo.Hops[i].Members = []string{"rnic0", "rnic0_1"}
		}
	}
	f, err := ParseFault("rnic_pcie:rnic0_1", topo)
	require.NoError(t, err)
	require.Equal(t, "rnic0", f.Target)
}

func TestNewRefusesFaultsAndTrafficThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"kind", Options{Faults: []Fault{{"rnic_pci", "rnic0", 0.4}}}, `fault rnic_pci:rnic0=0.4: unknown fault kind "rnic_pci"; did you mean rnic_pcie?`},
		{"target", Options{Faults: []Fault{{"rnic_pcie", "rnic9", 0.4}}}, `fault rnic_pcie:rnic9=0.4: no RNIC "rnic9" for rnic_pcie faults; did you mean rnic0?`},
		{"severity", Options{Faults: []Fault{{"rnic_pcie", "rnic0", math.NaN()}}}, "fault rnic_pcie:rnic0=NaN: severity NaN is not a number from 0 to 1"},
		{"noise", Options{Noise: "loud"}, `unknown noise "loud"; it is one of none, typical, harsh`},
		{"busy RNIC", Options{Busy: []Busy{{"rnic4", 0.3}}}, `no RNIC "rnic4" that can be probed; did you mean rnic0?`},
		{"busy share", Options{Busy: []Busy{{"rnic0", 2}}}, "share 2 of rnic0 is not a number from 0 to 1"},
		{"busy twice", Options{Busy: []Busy{{"rnic0", 0.3}, {"rnic0", 0.2}}}, "service traffic of rnic0 is given twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(Fig2(), c.opts)
			require.EqualError(t, err, c.want)
		})
	}
}

// targets returns what is listed, by kind.
func targets(t *testing.T, topo topology.Topology) map[string][]string {
	t.Helper()
	list, err := Targets(topo)
	require.NoError(t, err)
	byKind := map[string][]string{}
	for _, k := range list {
		require.NotEmpty(t, k.Changes)
		require.NotEmpty(t, k.Target)
		require.InDelta(t, DefaultSeverity, k.DefaultSeverity, 0)
		require.Equal(t, k.Kind == "acs" || k.Kind == "ats", k.OnOrOff, k.Kind)
		require.NotNil(t, k.Targets)
		byKind[k.Kind] = k.Targets
	}
	return byKind
}

func TestTargetsOfFig2(t *testing.T) {
	rnics := []string{"rnic0", "rnic1", "rnic2", "rnic3"}
	got := targets(t, Fig2())
	var hops []string
	for _, kind := range []string{"rnic_pcie", "gpu_pcie", "switch", "root_port", "memory", "inter_socket"} {
		for _, target := range got[kind] {
			hops = append(hops, kind+":"+target)
		}
	}
	require.Equal(t, map[string][]string{
		"rnic_pcie":    rnics,
		"gpu_pcie":     {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"},
		"switch":       {"low0", "low1", "low2", "low3"},
		"root_port":    {"rp0", "rp1", "rp2", "rp3"},
		"memory":       {"mem0", "mem1"},
		"inter_socket": {"0-1"},
		"acs":          {"low0", "low1", "low2", "low3", "up0", "up1", "up2", "up3", "all"},
		"ats":          append(rnics, "all"),
		"slow_start":   rnics,
		"tx_window":    rnics,

		"memory_overload":       {"mem0", "mem1"},
		"inter_socket_overload": {"0-1"},
		"flapping":              hops,
	}, got)
}

func TestTargetsOfOtherHosts(t *testing.T) {
	none := []string{}
	for _, c := range []struct {
		name string
		topo topology.Topology
		want map[string][]string // of the kinds that differ from host to host
	}{
		{"one switch below each root port", host(t, 400, 32, true), map[string][]string{
			"gpu_pcie": {"gpu0", "gpu1"}, "switch": none, "root_port": {"0000:00:00.0", "0000:40:06.0"},
			"acs": {"0000:01:01.0", "0000:41:07.0", "all"}, "ats": {"mlx5_0", "mlx5_1", "all"},
		}},
		{"no switch: far GPUs alone do not show a fault of their link", host(t, 200, 16, false), map[string][]string{
			"gpu_pcie": none, "switch": none, "root_port": none, "acs": none, "ats": none,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := targets(t, c.topo)
			for kind, want := range c.want {
				require.Equal(t, want, got[kind], kind)
			}
			for _, kind := range []string{"rnic_pcie", "slow_start", "tx_window"} {
				require.Equal(t, []string{"mlx5_0", "mlx5_1"}, got[kind], kind)
			}
		})
	}
}

// What is listed can be given to --fault, and shows in what is read.
func TestEveryListedTargetTouchesAPath(t *testing.T) {
	for name, topo := range map[string]topology.Topology{
		"fig2": Fig2(), "400G": host(t, 400, 32, true), "no switch": host(t, 200, 16, false), "Gen3 slots": host(t, 200, 8, true),
	} {
		healthy := quiet(t, topo, Options{})
		for kind, list := range targets(t, topo) {
			for _, target := range list {
				sick := quiet(t, topo, Options{Faults: faults(t, topo, kind+":"+target)})
				touched := 0
				for _, p := range topo.Paths {
					sick.clock = 0 // when what comes and goes is there
					before, after := read(t, healthy, p.RNIC, p.Endpoint), read(t, sick, p.RNIC, p.Endpoint)
					require.LessOrEqual(t, after.BandwidthGbps, before.BandwidthGbps)
					if after.BandwidthGbps < 0.8*before.BandwidthGbps {
						touched++
					}
				}
				require.Positive(t, touched, "%s: %s:%s", name, kind, target)
			}
		}
	}
}
