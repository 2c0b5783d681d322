package baseline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// onePath is a host of one RNIC and one path over one PCIe link.
func onePath(class topology.Class, rateGbps, linkGbps *float64, change func(*topology.Topology)) topology.Topology {
	t := topology.Topology{
		RNICs: []topology.RNIC{{ID: "rnic0", Role: topology.RoleRNIC, RateGbps: rateGbps}},
		Hops:  []topology.Hop{{ID: "rnic_pcie:rnic0", Kind: topology.HopRNICPCIe, CapacityGbps: linkGbps}},
		Paths: []topology.Path{{RNIC: "rnic0", Endpoint: "end", Class: class, Hops: []string{"rnic_pcie:rnic0"}}},
	}
	if change != nil {
		change(&t)
	}
	return t
}

var endpoint = topology.PathKey{RNIC: "rnic0", Endpoint: "end"}

func TestDefaultsAndClose(t *testing.T) {
	gen := func(speedGTs float64, width int) *float64 { return new(topology.PCIeCapacityGbps(speedGTs, width)) }
	software := func(t *topology.Topology) { t.RNICs[0].Role = topology.RoleSoftware }
	for _, c := range []struct {
		name      string
		class     topology.Class
		rateGbps  *float64
		linkGbps  *float64
		change    func(*topology.Topology)
		want      *float64 // bandwidth in Gb/s
		aboveUs   *float64
		wantClose bool
	}{
		{"200G, one switch", topology.ClassPIX, new(200.0), gen(16, 16), nil, new(195.0), new(0.0), true},
		{"200G, several switches", topology.ClassPXB, new(200.0), gen(16, 16), nil, new(195.0), new(0.0), true},
		{"200G, root complex", topology.ClassPHB, new(200.0), gen(16, 16), nil, new(125.5), new(1.2), false},
		{"200G, another host bridge", topology.ClassNode, new(200.0), gen(16, 16), nil, new(125.5), new(1.2), false},
		{"200G, another socket", topology.ClassSys, new(200.0), gen(16, 16), nil, new(116.4), new(1.4), false},
		{"200G, own memory", topology.ClassMemLocal, new(200.0), gen(16, 16), nil, new(195.0), new(0.0), true},
		{"200G, memory of the socket", topology.ClassMemSocket, new(200.0), gen(16, 16), nil, new(195.0), new(0.0), true},
		{"200G, remote memory", topology.ClassMemRemote, new(200.0), gen(16, 16), nil, new(195.0), new(0.2), true},
		{"400G, one switch", topology.ClassPIX, new(400.0), gen(32, 16), nil, new(390.0), new(0.0), true},
		{"400G, root complex: the window scales", topology.ClassPHB, new(400.0), gen(32, 16), nil, new(251.0), new(1.2), false},
		{"800G on Gen6, one switch", topology.ClassPIX, new(800.0), gen(64, 16), nil, new(780.0), new(0.0), true},
		{"100G, another socket: the window suffices", topology.ClassSys, new(100.0), gen(8, 16), nil, new(97.5), new(1.4), true},
		{"200G in a Gen3 x16 slot", topology.ClassMemLocal, new(200.0), gen(8, 16), nil, new(109.00), new(0.0), true},
		{"400G in a Gen4 x16 slot, root complex", topology.ClassPHB, new(400.0), gen(16, 16), nil, new(217.99), new(1.2), false},
		{"link unknown", topology.ClassMemLocal, new(200.0), nil, nil, new(195.0), new(0.0), true},
		{"memory known and narrow", topology.ClassMemLocal, new(200.0), nil, func(t *topology.Topology) {
			t.Hops[0].Kind, t.Hops[0].CapacityGbps = topology.HopMemory, new(150.0)
		}, new(150.0), new(0.0), false},
		{"rate unknown, own memory", topology.ClassMemLocal, nil, gen(16, 16), nil, nil, nil, true},
		{"rate unknown, remote memory", topology.ClassMemRemote, nil, gen(16, 16), nil, nil, nil, false},
		{"rate unknown, root complex", topology.ClassPHB, nil, gen(16, 16), nil, nil, nil, false},
		{"rate zero", topology.ClassSys, new(0.0), gen(16, 16), nil, nil, nil, false},
		{"virtual", topology.ClassVirt, new(200.0), gen(16, 16), nil, nil, nil, false},
		{"chip to chip", topology.ClassC2C, new(200.0), gen(16, 16), nil, nil, nil, false},
		{"software, own memory", topology.ClassMemLocal, new(2.5), nil, software, nil, nil, true},
		{"software, remote memory", topology.ClassMemRemote, new(2.5), nil, software, nil, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			topo := onePath(c.class, c.rateGbps, c.linkGbps, c.change)
			set := Defaults(topo)
			require.Len(t, set, 1)
			got := set[endpoint]
			require.Equal(t, c.aboveUs, got.LatencyAboveCloseUs)
			require.Nil(t, got.LatencyUs, "only a calibration knows an absolute latency")
			require.NotEmpty(t, got.Rule)
			if c.want == nil {
				require.Nil(t, got.BandwidthGbps)
				require.Equal(t, SourceNone, got.Source)
			} else {
				require.NotNil(t, got.BandwidthGbps)
				require.InDelta(t, *c.want, *got.BandwidthGbps, 0.01)
				require.Equal(t, SourceDefault, got.Source)
			}
			topo.Paths[0].Close = !c.wantClose
			MarkClose(&topo, set)
			require.Equal(t, c.wantClose, topo.Paths[0].Close)
		})
	}
}

// The rule is what an operator reads beside the figure.
func TestRuleNamesWhatSetTheFigure(t *testing.T) {
	for _, c := range []struct {
		name     string
		class    topology.Class
		rateGbps *float64
		linkGbps *float64
		want     string
	}{
		{"line rate", topology.ClassPIX, new(200.0), nil, "0.975 x the line rate of 200 Gb/s"},
		{"window", topology.ClassSys, new(400.0), nil, "Fig. 4, class sys: 116.4 Gb/s at 200 Gb/s"},
		{"hop", topology.ClassPIX, new(200.0), new(126.0), "the capacity of rnic_pcie:rnic0, payload only"},
		{"no rate", topology.ClassPIX, nil, nil, "the line rate of rnic0 is unknown"},
		{"no figure", topology.ClassVirt, new(200.0), nil, "no figure is known for class virt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := Defaults(onePath(c.class, c.rateGbps, c.linkGbps, nil))
			require.Equal(t, c.want, set[endpoint].Rule)
		})
	}
}

// A calibrated figure decides on closeness like a default one.
func TestMarkCloseFollowsTheSet(t *testing.T) {
	topo := onePath(topology.ClassMemRemote, new(200.0), nil, nil)
	for gbps, want := range map[float64]bool{179.9: false, 180: true} {
		MarkClose(&topo, Set{endpoint: {BandwidthGbps: new(gbps), Source: SourceCalibration}})
		require.Equal(t, want, topo.Paths[0].Close, "%g Gb/s", gbps)
	}
}
