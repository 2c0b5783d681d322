package analyzer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// port is a healthy port that a case changes.
func port(id string, change func(*topology.RNIC)) topology.RNIC {
	r := topology.RNIC{
		ID: id, Name: id, PCI: "0000:" + id[len(id)-1:] + "0:00.0", Port: 1, LinkLayer: "InfiniBand", State: "ACTIVE", PhysState: "LinkUp",
		AdminUp: new(true), RateGbps: new(400.0), Model: "15b3:1021", Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true,
	}
	if change != nil {
		change(&r)
	}
	return r
}

// TestPorts judges mlx5_0 among three healthy ports.
func TestPorts(t *testing.T) {
	down := func(physState string, adminUp *bool) func(*topology.RNIC) {
		return func(r *topology.RNIC) {
			r.State, r.PhysState, r.AdminUp, r.RateGbps, r.Usable, r.Reason = "DOWN", physState, adminUp, nil, false, "port_not_active: "
		}
	}
	rate := func(gbps float64) func(*topology.RNIC) { return func(r *topology.RNIC) { r.RateGbps = &gbps } }
	tests := []struct {
		name   string
		change func(*topology.RNIC)
		before bool // it was ACTIVE in an earlier run
		alone  bool // only one other port is there
		want   diagnosis.Code
	}{
		{name: "healthy"},
		{name: "enabled without link", change: down("Polling", new(true)), want: diagnosis.RNICPortDown},
		{name: "enabled Ethernet without link", change: down("Disabled", new(true)), want: diagnosis.RNICPortDown},
		{name: "disabled by the operator", change: down("Disabled", new(false))},
		{name: "disabled, and active before", change: down("Disabled", new(false)), before: true, want: diagnosis.RNICPortDown},
		{name: "nobody knows whether it is wanted", change: down("", nil)},
		{name: "nobody knows, but it was active before", change: down("", nil), before: true, want: diagnosis.RNICPortDown},
		{name: "waits for a subnet manager", change: func(r *topology.RNIC) { r.State = "INIT" }, before: true},
		{name: "state unknown", change: func(r *topology.RNIC) { r.State, r.PhysState, r.RateGbps = "", "", nil }},
		{name: "management function of a GPU switch", change: func(r *topology.RNIC) {
			down("Polling", new(true))(r)
			r.Role = topology.RoleNVSwitchMgmt
		}},
		{name: "slower than its siblings", change: rate(100), want: diagnosis.RNICPortDegraded},
		{name: "faster than its siblings", change: rate(800)},
		{name: "slower, of another model", change: func(r *topology.RNIC) { rate(100)(r); r.Model = "15b3:101d" }},
		{name: "slower than a single sibling", change: rate(100), alone: true},
		{name: "rate unknown", change: func(r *topology.RNIC) { r.RateGbps = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rnics := []topology.RNIC{port("mlx5_0", tt.change), port("mlx5_1", nil)}
			if !tt.alone {
				rnics = append(rnics, port("mlx5_2", nil), port("mlx5_3", nil))
			}
			in := analyzer.Input{Topology: topology.Topology{RNICs: rnics}}
			if tt.before {
				in.History.ActivePorts = map[string]bool{"0000:00:00.0/1": true}
			}
			got := analyzer.Analyze(in).Diagnoses
			if tt.want == "" {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Equal(t, tt.want, got[0].Code)
			assert.Equal(t, "mlx5_0", got[0].Component)
			assert.NotEmpty(t, got[0].Evidence)
		})
	}
}

// TestPortsThatWereActive: a run passes on which ports it saw ACTIVE.
func TestPortsThatWereActive(t *testing.T) {
	lost := func(r *topology.RNIC) { r.State, r.PhysState, r.AdminUp, r.RateGbps = "DOWN", "Disabled", nil, nil }
	up := analyzer.Analyze(analyzer.Input{Topology: topology.Topology{RNICs: []topology.RNIC{port("mlx5_0", nil)}}})
	assert.Empty(t, up.Diagnoses)
	down := analyzer.Input{Topology: topology.Topology{RNICs: []topology.RNIC{port("mlx5_0", lost)}}}
	assert.Empty(t, analyzer.Analyze(down).Diagnoses)
	down.History = up.History
	for range 2 {
		result := analyzer.Analyze(down)
		require.Len(t, result.Diagnoses, 1)
		assert.Equal(t, diagnosis.Critical, result.Diagnoses[0].Severity)
		down.History = result.History
	}
	down.Unselected = map[string]bool{"mlx5_0": true}
	assert.Empty(t, analyzer.Analyze(down).Diagnoses, "the operator left it out")
}

// TestPortOfVirtualFunctions: a port that is down is told once, by its physical
// function where that is visible.
func TestPortOfVirtualFunctions(t *testing.T) {
	down := func(f topology.Function) func(*topology.RNIC) {
		return func(r *topology.RNIC) {
			r.State, r.PhysState, r.RateGbps, r.Function = "DOWN", "Polling", nil, f
		}
	}
	link := topology.Hop{ID: "rnic_pcie:mlx5_0", Kind: topology.HopRNICPCIe, Members: []string{"mlx5_0", "mlx5_1"}}
	top := topology.Topology{Hops: []topology.Hop{link}, RNICs: []topology.RNIC{port("mlx5_0", down(topology.FunctionPF)), port("mlx5_1", down(topology.FunctionVF))}}
	got := analyzer.Analyze(analyzer.Input{Topology: top}).Diagnoses
	require.Len(t, got, 1)
	assert.Equal(t, "mlx5_0", got[0].Component)

	top.RNICs = top.RNICs[1:]
	got = analyzer.Analyze(analyzer.Input{Topology: top}).Diagnoses
	require.Len(t, got, 1, "in a guest the VF stands for the port")
	assert.Equal(t, "mlx5_1", got[0].Component)
}
