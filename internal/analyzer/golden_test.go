package analyzer_test

// Goal: the matrices of Figs. 8 and 10 of the paper come out cell by cell and
// cause by cause. Method: figures that make each cell, fed as readings.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/probe"
)

// golden is one matrix: rows are rnic0 to rnic3, columns mem0 mem1 gpu0 … gpu7.
type golden struct {
	name   string
	rows   [4]string
	late   bool     // abnormal cells are late as well
	busy   []string // RNICs with service traffic; any makes the run a busy one
	causes []string
}

func goldens() []golden {
	return []golden{
		{name: "8a", rows: [4]string{"NNNN......", "NN..NN....", "AAAAAAAAAA", "NN......NN"},
			causes: []string{"rnic_pcie_failure rnic_pcie:rnic2"}},
		{name: "8b", rows: [4]string{"ANNNA.....", "AN..AN....", "AN..A.NN..", "AN..A...NN"},
			causes: []string{"gpu_pcie_failure gpu_pcie:gpu2", "memory_channel_failure memory:mem0"}},
		{name: "8c", rows: [4]string{"NANN..AAAA", "NA..NNAAAA", "ANAAAANN..", "ANAAAA..NN"},
			causes: []string{"inter_socket_failure inter_socket:0-1"}},
		{name: "8d", rows: [4]string{"AANNAAAAAA", "NNAANN....", "NNAA..NN..", "NNAA....NN"},
			causes: []string{"root_port_failure root_port:rp0"}},
		{name: "8e", rows: [4]string{"AANN......", "NN..NN....", "NN....NN..", "NN......NN"},
			causes: []string{"root_port_failure root_port:rp0"}},
		{name: "8f", rows: [4]string{"NNAA......", "NN..AA....", "NN....AA..", "NN......AA"}, late: true,
			causes: []string{
				"p2p_misconfiguration gpu_pcie:gpu0", "p2p_misconfiguration gpu_pcie:gpu1",
				"p2p_misconfiguration gpu_pcie:gpu2", "p2p_misconfiguration gpu_pcie:gpu3",
				"p2p_misconfiguration gpu_pcie:gpu4", "p2p_misconfiguration gpu_pcie:gpu5",
				"p2p_misconfiguration gpu_pcie:gpu6", "p2p_misconfiguration gpu_pcie:gpu7",
			}},
		{name: "10a", rows: [4]string{"NNNN......", "NN..NN....", "......A...", "NN......NN"}, busy: []string{"rnic2"},
			causes: []string{"gpu_pcie_failure gpu_pcie:gpu4"}},
		// Without a reading of the buses' utilisation an overload is a failure.
		{name: "10b", rows: [4]string{".A........", "NA..NN....", "A.........", "AN......NN"}, busy: []string{"rnic0", "rnic2"},
			causes: []string{"inter_socket_failure inter_socket:0-1"}},
		{name: "10c", rows: [4]string{"A.........", "AN..NN....", "A.........", "AN......NN"}, busy: []string{"rnic0", "rnic2"},
			causes: []string{"memory_channel_failure memory:mem0"}},
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

func TestGoldenMatrices(t *testing.T) {
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			result := analyzer.Analyze(g.feed(fig2Input()))
			letters := map[analyzer.Verdict]byte{analyzer.Normal: 'N', analyzer.Abnormal: 'A', analyzer.Uncertain: '.'}
			for _, v := range result.Paths {
				assert.Equal(t, string(g.cell(v.Path.RNIC, v.Path.Endpoint)), string(letters[v.Verdict]), v.Path.Key())
			}
			assert.Equal(t, g.causes, blames(result))
		})
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
