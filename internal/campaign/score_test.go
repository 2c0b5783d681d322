package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/diagnosis"
)

func TestGrade(t *testing.T) {
	link := cause{diagnosis.RNICPCIeFailure, "rnic_pcie:rnic0"}
	setting := cause{diagnosis.RNICSlowStart, "rnic_pcie:rnic0"}
	gpu := cause{diagnosis.GPUPCIeFailure, "gpu_pcie:gpu1"}
	port := cause{diagnosis.RootPortFailure, "root_port:rp0"}
	bus := cause{diagnosis.InterSocketFailure, "inter_socket:0-1"}
	as := func(c cause, more ...string) diagnosis.Alternative {
		return diagnosis.Alternative{Code: c.code, Components: append([]string{c.component}, more...)}
	}
	tests := []struct {
		name    string
		right   []explanation
		truth   explanation
		blamed  []cause
		offered []diagnosis.Alternative
		want    grade
	}{
		{name: "healthy and said so", right: []explanation{{}}, want: grade{exact: true}},
		{name: "false alarm", right: []explanation{{}}, blamed: []cause{gpu}, want: grade{offered: true, wrong: true}},
		{name: "the only explanation", right: []explanation{{gpu}}, blamed: []cause{gpu}, want: grade{exact: true}},
		{name: "nothing said", right: []explanation{{gpu}}, want: grade{missed: true}},
		{name: "another part", right: []explanation{{gpu}}, blamed: []cause{bus}, want: grade{missed: true, wrong: true}},
		{name: "the part for another reason", right: []explanation{{setting}}, blamed: []cause{link}, want: grade{missed: true}},
		{name: "another part, the right one offered", right: []explanation{{gpu}}, blamed: []cause{bus},
			offered: []diagnosis.Alternative{as(gpu)}, want: grade{offered: true, wrong: true}},
		{name: "too many", right: []explanation{{gpu}}, blamed: []cause{gpu, bus}, want: grade{offered: true, wrong: true}},
		{name: "one of two that look the same, the other offered", right: []explanation{{gpu}, {bus}}, blamed: []cause{bus},
			offered: []diagnosis.Alternative{as(gpu)}, want: grade{exact: true}},
		{name: "one of two that look the same, the other kept back", right: []explanation{{gpu}, {bus}}, blamed: []cause{bus},
			want: grade{offered: true}},
		{name: "half of a pair", right: []explanation{{bus, gpu}}, blamed: []cause{gpu}, want: grade{missed: true}},
		{name: "a pair offered together", right: []explanation{{port}, {bus, gpu}}, blamed: []cause{port},
			offered: []diagnosis.Alternative{as(gpu, bus.component)}, want: grade{exact: true}},
		{name: "the very truth, though less would do", right: []explanation{{}}, truth: explanation{gpu}, blamed: []cause{gpu},
			want: grade{exact: true}},
		{name: "a part of the truth, though less would do", right: []explanation{{}}, truth: explain(port, gpu), blamed: []cause{gpu},
			want: grade{exact: true}},
		{name: "more of the truth than shows", right: []explanation{{port}}, truth: explain(gpu, bus), blamed: []cause{port, gpu},
			want: grade{exact: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var right []explanation
			for _, e := range tt.right {
				right = append(right, explain(e...))
			}
			a := answer{blamed: explain(tt.blamed...), offered: tt.offered}
			require.Equal(t, tt.want, a.grade(view{right: right, truth: tt.truth}))
		})
	}
}

func TestPlainViewNamesParts(t *testing.T) {
	v := view{right: []explanation{
		{{diagnosis.RNICSlowStart, "rnic_pcie:rnic0"}, {diagnosis.RNICTxWindow, "rnic_pcie:rnic0"}},
		{{diagnosis.MemoryChannelOverload, "memory:mem0"}},
		{{diagnosis.InterSocketOverload, "inter_socket:0-1"}},
		{{diagnosis.P2PMisconfiguration, "gpu_pcie:gpu0"}},
	}}
	require.Equal(t, []explanation{
		{{diagnosis.RNICPCIeFailure, "rnic_pcie:rnic0"}},
		{{diagnosis.MemoryChannelFailure, "memory:mem0"}},
		{{diagnosis.InterSocketFailure, "inter_socket:0-1"}},
		{{diagnosis.P2PMisconfiguration, "gpu_pcie:gpu0"}},
	}, v.plain().right)
}
