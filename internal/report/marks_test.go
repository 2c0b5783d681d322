package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/picture"
	"github.com/yuuki/hostping/internal/topology"
)

func TestMarks(t *testing.T) {
	r := Report{
		Hops:         []Hop{{ID: "rnic_pcie:rnic0", Verdict: "abnormal"}, {ID: "memory:mem0", Verdict: "normal"}},
		Measurements: []Measurement{{RNIC: "rnic0", Endpoint: "mem0", Verdict: "abnormal"}},
		Unmeasured: []Unmeasured{
			{RNIC: "rnic0", Endpoint: "mem0", Reason: "device_removed"}, // after a reading
			{RNIC: "rnic0", Endpoint: "mem1", Reason: "device_removed"},
		},
		Diagnoses: []diagnosis.Diagnosis{
			{Code: "rnic_pcie_failure", Severity: "critical", Component: "rnic_pcie:rnic0", Components: []string{"rnic_pcie:rnic0", "root_port:rp0"}},
			{Code: "rnic_port_down", Severity: "warning", Component: "rnic1"},
		},
	}
	assert.Equal(t, picture.Marks{
		Hops: map[string]string{"rnic_pcie:rnic0": "abnormal", "memory:mem0": "normal"},
		Paths: map[topology.PathKey]string{
			{RNIC: "rnic0", Endpoint: "mem0"}: "abnormal",
			{RNIC: "rnic0", Endpoint: "mem1"}: "unmeasured",
		},
		Blames: []picture.Blame{
			{Components: []string{"rnic_pcie:rnic0", "root_port:rp0"}, Text: "critical rnic_pcie_failure at rnic_pcie:rnic0"},
			{Components: []string{"rnic1"}, Text: "warning rnic_port_down at rnic1"},
		},
	}, r.Marks())
}
