package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// faults parses fault texts.
func faults(t *testing.T, topo topology.Topology, texts ...string) []Fault {
	t.Helper()
	var list []Fault
	for _, text := range texts {
		f, err := ParseFault(text, topo)
		require.NoError(t, err)
		list = append(list, f)
	}
	return list
}

// read probes one path.
func read(t *testing.T, h *Host, rnic, endpoint string) probe.Reading {
	t.Helper()
	r, err := h.Probe(context.Background(), probe.Request{Path: topology.Path{RNIC: rnic, Endpoint: endpoint}})
	require.NoError(t, err)
	return r
}

// quiet simulates without noise.
func quiet(t *testing.T, topo topology.Topology, opts Options) *Host {
	t.Helper()
	opts.Noise = NoiseNone
	h, err := New(topo, opts)
	require.NoError(t, err)
	return h
}

func TestFiguresByClassAreThoseOfFig4(t *testing.T) {
	h := quiet(t, Fig2(), Options{})
	for _, c := range []struct {
		endpoint      string
		gbps, aboveUs float64
	}{
		{"mem0", 195, 0},
		{"mem1", 195, 0.2},
		{"gpu0", 195, 0},
		{"gpu1", 195, 0},
		{"gpu2", 125.5, 1.2},
		{"gpu4", 116.4, 1.4},
	} {
		t.Run(c.endpoint, func(t *testing.T) {
			r := read(t, h, "rnic0", c.endpoint)
			require.InEpsilon(t, c.gbps, r.BandwidthGbps, 0.01)
			require.InEpsilon(t, c.gbps, *r.PaperBandwidthGbps, 0.01)
			near := read(t, h, "rnic0", "mem0").Latency
			require.InDelta(t, c.aboveUs, r.Latency.P50Us-near.P50Us, 1e-9)
			require.Equal(t, probe.Latency{P50Us: r.Latency.P50Us, P99Us: r.Latency.P50Us, MinUs: r.Latency.P50Us, MaxUs: r.Latency.P50Us, Samples: 1000}, r.Latency)
		})
	}
}

// matrix reads every path and marks it: A where it is more than a fifth below
// its baseline, N where it is not and the endpoint is close, "." elsewhere.
func matrix(t *testing.T, texts ...string) string {
	topo, set := marked(Fig2())
	h := quiet(t, topo, Options{Faults: faults(t, topo, texts...)})
	rows := map[string]string{}
	for _, p := range topo.Paths {
		cell := "."
		switch got := read(t, h, p.RNIC, p.Endpoint).BandwidthGbps; {
		case got < 0.8**set[p.Key()].BandwidthGbps:
			cell = "A"
		case p.Close:
			cell = "N"
		}
		rows[p.RNIC] += cell
	}
	return strings.Join([]string{rows["rnic0"], rows["rnic1"], rows["rnic2"], rows["rnic3"]}, " ")
}

func TestMatricesOfFig8(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []string
		want   string
	}{
		{"healthy", nil, "NNNN...... NN..NN.... NN....NN.. NN......NN"},
		{"8a", []string{"rnic_pcie:rnic2=0.6"}, "NNNN...... NN..NN.... AAAAAAAAAA NN......NN"},
		{"8b", []string{"gpu_pcie:gpu2=0.6", "memory:mem0=0.6"}, "ANNNA..... AN..AN.... AN..A.NN.. AN..A...NN"},
		{"8c", []string{"inter_socket:0-1=0.6"}, "NANN..AAAA NA..NNAAAA ANAAAANN.. ANAAAA..NN"},
		{"8d", []string{"root_port:rp0=0.6"}, "AANNAAAAAA NNAANN.... NNAA..NN.. NNAA....NN"},
		{"8e", []string{"root_port:rp0=0.4"}, "AANN...... NN..NN.... NN....NN.. NN......NN"},
		{"8e at the default severity", []string{"root_port:rp0"}, "AANN...... NN..NN.... NN....NN.. NN......NN"},
		{"8f", []string{"acs:all"}, "NNAA...... NN..AA.... NN....AA.. NN......AA"},
		{"ATS off everywhere looks the same", []string{"ats:all"}, "NNAA...... NN..AA.... NN....AA.. NN......AA"},
		{"slow start looks like 8a", []string{"slow_start:rnic2=0.6"}, "NNNN...... NN..NN.... AAAAAAAAAA NN......NN"},
		{"ACS of a lower switch: its own pair", []string{"acs:low0"}, "NNAN...... NN..NN.... NN....NN.. NN......NN"},
		{"ACS of an upper switch: its own pair", []string{"acs:up0"}, "NNNA...... NN..NN.... NN....NN.. NN......NN"},
		{"ATS of one RNIC", []string{"ats:rnic3"}, "NNNN...... NN..NN.... NN....NN.. NN......AA"},
		{"link above a lower switch", []string{"switch:low0"}, "AANA...... NN..NN.... NN....NN.. NN......NN"},
		{"severity 0 is no fault", []string{"root_port:rp0=0", "acs:all=0"}, "NNNN...... NN..NN.... NN....NN.. NN......NN"},
		{"severity 1 still lets reads through", []string{"memory:mem0=1"}, "ANNN...... AN..NN.... AN....NN.. AN......NN"},
		{"a slight fault stays hidden", []string{"root_port:rp0=0.15"}, "NNNN...... NN..NN.... NN....NN.. NN......NN"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, matrix(t, c.faults...)) })
	}
}

func TestPeerTrafficThroughTheRootComplexIsLate(t *testing.T) {
	topo := Fig2()
	for _, text := range []string{"acs:low0", "acs:all", "ats:rnic0", "ats:all"} {
		t.Run(text, func(t *testing.T) {
			h := quiet(t, topo, Options{Faults: faults(t, topo, text)})
			late := read(t, h, "rnic0", "gpu0").Latency.P50Us - read(t, h, "rnic0", "mem0").Latency.P50Us
			require.InDelta(t, 1.2, late, 1e-9)
		})
	}
}

// Traffic that detours crosses the links up to the root port as well.
func TestDetourMeetsFaultsAboveTheSwitch(t *testing.T) {
	topo := Fig2()
	for _, c := range []struct {
		faults []string
		want   float64
	}{
		{[]string{"root_port:rp0=0.6"}, 195},
		{[]string{"root_port:rp0=0.6", "acs:low0"}, 80},
		{[]string{"acs:low0", "root_port:rp0=0.6"}, 80},
	} {
		h := quiet(t, topo, Options{Faults: faults(t, topo, c.faults...)})
		require.InDelta(t, c.want, read(t, h, "rnic0", "gpu0").BandwidthGbps, 1e-9, "%v", c.faults)
	}
}

// A fault is a share of the healthy host's rate, whatever else is wrong.
func TestFaultsDoNotDependOnTheirOrder(t *testing.T) {
	topo := Fig2()
	texts := []string{"root_port:rp0=0.6", "rnic_pcie:rnic0=0.5", "rnic_pcie:rnic0=0.3", "slow_start:rnic0=0.2"}
	for range texts {
		texts = append(texts[1:], texts[0])
		h := quiet(t, topo, Options{Faults: faults(t, topo, texts...)})
		require.InDelta(t, 100, read(t, h, "rnic0", "gpu0").BandwidthGbps, 1e-9, "%v", texts)
		require.InDelta(t, 80, read(t, h, "rnic0", "mem0").BandwidthGbps, 1e-9, "%v", texts)
	}
}

// host is a small two-socket host for topologies other than Fig. 2: one RNIC
// per socket, a GPU beside each, with or without a switch between them.
func host(t *testing.T, rateGbps, speedGTs float64, switches bool) topology.Topology {
	t.Helper()
	var inv topology.Inventory
	for s := range 2 {
		add := func(bus int, kind topology.PCIType, parent string) string {
			address := fmt.Sprintf("0000:%02x:%02x.0", 0x40*s+bus, len(inv.PCI))
			inv.PCI = append(inv.PCI, topology.PCIDevice{
				ID: address, Address: address, Parent: parent, HostBridge: fmt.Sprintf("pci0000:%02x", 0x40*s), Type: kind,
				NUMANode: new(s), Link: topology.PCILink{MaxSpeedGTs: new(speedGTs), MaxWidth: new(16)},
			})
			return address
		}
		under := func() string { return add(0, topology.PCIRootPort, "") }
		if switches {
			up := add(1, topology.PCIUpstream, under())
			under = func() string { return add(2, topology.PCIDownstream, up) }
		}
		inv.MemoryNodes = append(inv.MemoryNodes, topology.MemoryNode{ID: fmt.Sprintf("mem%d", s), NUMANode: s, Socket: new(s)})
		inv.RNICs = append(inv.RNICs, topology.RNIC{
			ID: fmt.Sprintf("mlx5_%d", s), Name: fmt.Sprintf("mlx5_%d", s), PCI: add(3, topology.PCIEndpoint, under()), Port: 1,
			State: "ACTIVE", RateGbps: &rateGbps, Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true,
		})
		inv.GPUs = append(inv.GPUs, topology.GPU{
			ID: fmt.Sprintf("gpu%d", s), PCI: add(4, topology.PCIEndpoint, under()), Vendor: "nvidia", Usable: true,
		})
	}
	built, err := topology.Build(inv)
	require.NoError(t, err)
	text, err := json.Marshal(built)
	require.NoError(t, err)
	read, err := topology.Parse(text)
	require.NoError(t, err)
	return read
}

func TestOtherHosts(t *testing.T) {
	for _, c := range []struct {
		name     string
		topo     topology.Topology
		fault    string
		endpoint string
		want     float64
	}{
		{"400G on Gen5", host(t, 400, 32, true), "", "mem0", 390},
		{"400G on Gen5, twice the window", host(t, 400, 32, true), "", "gpu1", 2 * 115.67},
		{"400G on Gen5, a fault is relative to its rate", host(t, 400, 32, true), "rnic_pcie:mlx5_0", "mem0", 240},
		{"no switch, GPU through the host bridge", host(t, 200, 16, false), "", "gpu0", 126.18},
		{"no switch, own link", host(t, 200, 16, false), "rnic_pcie:mlx5_0", "mem1", 120},
		{"200G on Gen3, the slot limits", host(t, 200, 8, true), "", "mem0", 109.00},
		{"200G on Gen3, a fault is relative to what the slot lets through", host(t, 200, 8, true), "rnic_pcie:mlx5_0", "mem0", 65.40},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list []Fault
			if c.fault != "" {
				list = faults(t, c.topo, c.fault)
			}
			require.InDelta(t, c.want, read(t, quiet(t, c.topo, Options{Faults: list}), "mlx5_0", c.endpoint).BandwidthGbps, 0.01)
		})
	}
}

func TestLinksAreSampledUnderLoad(t *testing.T) {
	topo := Fig2()
	h := quiet(t, topo, Options{Faults: faults(t, topo, "acs:low0")})
	full := func(hop string) probe.LinkSample {
		return probe.LinkSample{Hop: hop, SpeedGTs: new(16.0), Width: new(16)}
	}
	require.Equal(t, []probe.LinkSample{full("rnic_pcie:rnic0"), full("switch:low0"), full("root_port:rp0")},
		read(t, h, "rnic0", "mem0").Links)
	require.Equal(t, []probe.LinkSample{full("rnic_pcie:rnic0"), full("gpu_pcie:gpu0"), full("switch:low0"), full("root_port:rp0")},
		read(t, h, "rnic0", "gpu0").Links)
}
