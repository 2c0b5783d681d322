package analyzer_test

// Goal: the matrices of Figs. 8 and 10 of the paper come out cell by cell and
// cause by cause. Method: figures that make each cell, fed as readings; and
// the faults themselves, under the simulator's physics.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// golden is one matrix: rows are rnic0 to rnic3, columns mem0 mem1 gpu0 … gpu7.
type golden struct {
	name   string
	rows   [4]string
	late   bool     // abnormal cells are late as well
	busy   []string // RNICs with service traffic; any makes the run a busy one
	used   string   // hop that the monitor sees used at 90 %
	causes []string

	// what the simulator is told to show the same
	faults  []string
	service string // share of line rate; "" is the default
}

func goldens() []golden {
	return []golden{
		{name: "8a", rows: [4]string{"NNNN......", "NN..NN....", "AAAAAAAAAA", "NN......NN"},
			causes: []string{"rnic_pcie_failure rnic_pcie:rnic2"}, faults: []string{"rnic_pcie:rnic2=0.6"}},
		{name: "8b", rows: [4]string{"ANNNA.....", "AN..AN....", "AN..A.NN..", "AN..A...NN"},
			causes: []string{"gpu_pcie_failure gpu_pcie:gpu2", "memory_channel_failure memory:mem0"},
			faults: []string{"gpu_pcie:gpu2=0.6", "memory:mem0=0.6"}},
		{name: "8c", rows: [4]string{"NANN..AAAA", "NA..NNAAAA", "ANAAAANN..", "ANAAAA..NN"},
			causes: []string{"inter_socket_failure inter_socket:0-1"}, faults: []string{"inter_socket:0-1=0.6"}},
		{name: "8d", rows: [4]string{"AANNAAAAAA", "NNAANN....", "NNAA..NN..", "NNAA....NN"},
			causes: []string{"root_port_failure root_port:rp0"}, faults: []string{"root_port:rp0=0.6"}},
		{name: "8e", rows: [4]string{"AANN......", "NN..NN....", "NN....NN..", "NN......NN"},
			causes: []string{"root_port_failure root_port:rp0"}, faults: []string{"root_port:rp0=0.4"}},
		{name: "8f", rows: [4]string{"NNAA......", "NN..AA....", "NN....AA..", "NN......AA"}, late: true, faults: []string{"acs:all"},
			causes: []string{
				"p2p_misconfiguration gpu_pcie:gpu0", "p2p_misconfiguration gpu_pcie:gpu1",
				"p2p_misconfiguration gpu_pcie:gpu2", "p2p_misconfiguration gpu_pcie:gpu3",
				"p2p_misconfiguration gpu_pcie:gpu4", "p2p_misconfiguration gpu_pcie:gpu5",
				"p2p_misconfiguration gpu_pcie:gpu6", "p2p_misconfiguration gpu_pcie:gpu7",
			}},
		{name: "10a", rows: [4]string{"NNNN......", "NN..NN....", "......A...", "NN......NN"}, busy: []string{"rnic2"},
			causes: []string{"gpu_pcie_failure gpu_pcie:gpu4"}, faults: []string{"gpu_pcie:gpu4=0.6"}, service: "0.6"},
		{name: "10b", rows: [4]string{".A........", "NA..NN....", "A.........", "AN......NN"}, busy: []string{"rnic0", "rnic2"},
			used: "inter_socket:0-1", causes: []string{"inter_socket_overloaded inter_socket:0-1"}, faults: []string{"inter_socket_overload:0-1"}},
		{name: "10c", rows: [4]string{"A.........", "AN..NN....", "A.........", "AN......NN"}, busy: []string{"rnic0", "rnic2"},
			used: "memory:mem0", causes: []string{"memory_channel_overloaded memory:mem0"}, faults: []string{"memory_overload:mem0"}},
	}
}

// feed makes figures that give the cells of the matrix.
func (g golden) feed(in analyzer.Input) analyzer.Input {
	in.Busy = len(g.busy) > 0
	service := map[string]bool{}
	for _, id := range g.busy {
		service[id] = true
	}
	for _, x := range in.Topology.RNICs {
		in.Idle.RNICs = append(in.Idle.RNICs, monitor.Utilization{ID: x.ID, Busy: new(service[x.ID])})
	}
	if kind, part, ok := strings.Cut(g.used, ":"); ok {
		in.Buses = []monitor.BusUtilization{{Kind: topology.HopKind(kind), Component: part, Utilization: new(0.9)}}
	}
	for _, p := range in.Topology.Paths {
		if in.Busy && !p.Close {
			continue
		}
		expected := in.Baselines[p.Key()]
		gbps, latencyUs := *expected.BandwidthGbps, 2+*expected.LatencyAboveCloseUs
		if service[p.RNIC] {
			gbps *= 0.7
		}
		if g.cell(p.RNIC, p.Endpoint) == 'A' {
			gbps *= 0.6
			if g.late {
				latencyUs += 1.2
			}
		}
		read := probe.Reading{BandwidthGbps: gbps, Latency: probe.Latency{P50Us: latencyUs}}
		in.Outcomes = append(in.Outcomes, probe.Outcome{Path: p, Reads: []probe.Reading{read, read, read}})
	}
	return in
}

func (g golden) cell(rnic, endpoint string) byte {
	columns := []string{"mem0", "mem1", "gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"}
	for i, name := range columns {
		if name == endpoint {
			return g.rows[rnic[len("rnic")]-'0'][i]
		}
	}
	panic("no column " + endpoint)
}

// check compares a result cell by cell and cause by cause.
func (g golden) check(t *testing.T, result analyzer.Result) {
	t.Helper()
	letters := map[analyzer.Verdict]byte{analyzer.Normal: 'N', analyzer.Abnormal: 'A', analyzer.Uncertain: '.'}
	for _, v := range result.Paths {
		assert.Equal(t, string(g.cell(v.Path.RNIC, v.Path.Endpoint)), string(letters[v.Verdict]), v.Path.Key())
	}
	assert.Equal(t, g.causes, blames(result))
}

func TestGoldenMatrices(t *testing.T) {
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) { g.check(t, analyzer.Analyze(g.feed(fig2Input()))) })
	}
}

func TestGoldenMatricesFromPhysics(t *testing.T) {
	for _, g := range goldens() {
		for _, noise := range []sim.Noise{sim.NoiseNone, sim.NoiseTypical} {
			t.Run(g.name+" "+string(noise), func(t *testing.T) {
				var busy []string
				for _, rnic := range g.busy {
					if g.service != "" {
						rnic += "=" + g.service
					}
					busy = append(busy, rnic)
				}
				in := fig2Input()
				g.check(t, analyzer.Analyze(measure(t, in, simulated(t, in.Topology, noise, 1, busy, g.faults...))))
			})
		}
	}
}

// Where nothing tells how much a bus is used, a failure may be an overload.
func TestOverloadWithoutUtilization(t *testing.T) {
	for _, g := range goldens() {
		if g.used == "" {
			continue
		}
		in := g.feed(fig2Input())
		for _, c := range []struct {
			name                string
			buses               []monitor.BusUtilization
			overloaded, offered bool
		}{
			{"nothing read", nil, false, true},
			{"unknown", []monitor.BusUtilization{{Kind: in.Buses[0].Kind, Component: in.Buses[0].Component}}, false, true},
			{"at the threshold", []monitor.BusUtilization{{Kind: in.Buses[0].Kind, Component: in.Buses[0].Component, Utilization: new(0.8)}}, false, false},
			{"above it", in.Buses, true, false},
		} {
			t.Run(g.name+" "+c.name, func(t *testing.T) {
				in.Buses = c.buses
				d := analyzer.Analyze(in).Diagnoses[0]
				assert.Equal(t, c.overloaded, strings.HasSuffix(string(d.Code), "_overloaded"))
				assert.Equal(t, c.offered, strings.Contains(strings.Join(alternativesOf(d), " "), "_overloaded"))
				in.Thresholds.Overload = 0.95
				assert.NotContains(t, string(analyzer.Analyze(in).Diagnoses[0].Code), "overloaded")
				in.Thresholds.Overload = 0
			})
		}
	}
}

func TestReportsOnBusyHostsAreCounted(t *testing.T) {
	for _, g := range goldens() {
		var want map[string]int
		switch g.name {
		case "10b":
			want = map[string]int{"inter_socket:0-1": 4, "rnic_pcie:rnic0": 1, "rnic_pcie:rnic2": 1}
		case "10c":
			want = map[string]int{"memory:mem0": 4, "rnic_pcie:rnic0": 1, "rnic_pcie:rnic2": 1}
		default:
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			counts := map[string]int{}
			for _, h := range analyzer.Analyze(g.feed(fig2Input())).Hops {
				counts[h.Hop] = h.AbnormalCount
			}
			for hop, n := range want {
				assert.Equal(t, n, counts[hop], hop)
			}
		})
	}
}

func TestSlowGPUOnBusyHostMayBeMisconfigured(t *testing.T) {
	g := goldens()[6]
	alternatives := analyzer.Analyze(g.feed(fig2Input())).Diagnoses[0].Alternatives
	var codes []string
	for _, a := range alternatives {
		codes = append(codes, string(a.Code))
	}
	assert.Contains(t, strings.Join(codes, " "), "p2p_misconfiguration")
}
