package topology_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/document"
	"github.com/yuuki/hostping/internal/topology"
)

func TestParseReturnsWhatBuildMade(t *testing.T) {
	built, err := topology.Build(fig2())
	require.NoError(t, err)
	doc, err := json.Marshal(built)
	require.NoError(t, err)
	parsed, err := topology.Parse(doc)
	require.NoError(t, err)
	assert.Equal(t, built, parsed)
}

// A small host written by hand, with what may be left out left out.
const handWritten = `{
  "schema": "hostping.topology/v1",
  "rnics": [{"id": "mlx5_0", "name": "mlx5_0", "pci": "0000:17:00.0", "port": 1, "rate_gbps": 200,
             "numa_node": 0, "socket": 0, "role": "rnic", "function": "pf", "usable": true}],
  "gpus": [{"id": "gpu0", "pci": "0000:18:00.0", "vendor": "nvidia", "usable": false, "reason": "no driver"}],
  "memory_nodes": [{"id": "mem0", "numa_node": 0, "socket": 0}, {"id": "mem1", "numa_node": 1, "socket": 1}],
  "hops": [
    {"id": "rnic_pcie:mlx5_0", "kind": "rnic_pcie", "expected_speed_gts": 16, "expected_width": 16},
    {"id": "gpu_pcie:gpu0", "kind": "gpu_pcie"},
    {"id": "memory:mem0", "kind": "memory"},
    {"id": "memory:mem1", "kind": "memory"},
    {"id": "inter_socket:0-1", "kind": "inter_socket"}
  ],
  "paths": [
    {"rnic": "mlx5_0", "endpoint": "mem0", "class": "mem_local", "hops": ["rnic_pcie:mlx5_0", "memory:mem0"]},
    {"rnic": "mlx5_0", "endpoint": "mem1", "class": "mem_remote", "hops": ["rnic_pcie:mlx5_0", "inter_socket:0-1", "memory:mem1"]},
    {"rnic": "mlx5_0", "endpoint": "gpu0", "class": "pix", "hops": ["rnic_pcie:mlx5_0", "gpu_pcie:gpu0"]}
  ]
}`

func TestParseCompletesWhatFollows(t *testing.T) {
	top, err := topology.Parse([]byte(handWritten))
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1"}, top.Hops[4].Members)
	assert.Equal(t, []string{"mlx5_0"}, top.Hops[0].Members)
	assert.Equal(t, topology.TrustUnknown, top.Hops[0].Trust)
	assert.Equal(t, []string{}, top.RNICs[0].Netdevs)
	assert.Nil(t, top.Hops[0].SpeedGTs)
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name     string
		old, new string // an edit of handWritten
		want     string // how the error begins
	}{
		{"another schema", `topology/v1`, `topology/v2`, `schema: "hostping.topology/v2" is not`},
		{"no schema", `"schema": "hostping.topology/v1",`, ``, `schema: is missing`},
		{"a list is missing", `"gpus": [{"id": "gpu0", "pci": "0000:18:00.0", "vendor": "nvidia", "usable": false, "reason": "no driver"}],`, ``, `gpus: is missing`},
		{"a list is null", `[{"id": "gpu0", "pci": "0000:18:00.0", "vendor": "nvidia", "usable": false, "reason": "no driver"}]`, `null`, `gpus: is null`},
		{"unknown list", `"hops": [`, `"links": [], "hops": [`, `links: is no field`},
		{"misspelt field", `"rate_gbps"`, `"rate_gbs"`, `rnics[0].rate_gbs: is no field`},
		{"text for a number", `"rate_gbps": 200`, `"rate_gbps": "200"`, `rnics[0].rate_gbps: is a text, not a number`},
		{"negative rate", `"rate_gbps": 200`, `"rate_gbps": -200`, `rnics[0].rate_gbps: -200 is not above 0`},
		{"zero rate", `"rate_gbps": 200`, `"rate_gbps": 0`, `rnics[0].rate_gbps: 0 is not above 0`},
		{"absurd rate", `"rate_gbps": 200`, `"rate_gbps": 2e11`, `rnics[0].rate_gbps: 2e+11 is not above 0 and at most 100000`},
		{"rate beyond a float", `"rate_gbps": 200`, `"rate_gbps": 1e999`, `rnics[0].rate_gbps: 1e999 is beyond any number`},
		{"NaN", `"rate_gbps": 200`, `"rate_gbps": NaN`, `rnics[0].rate_gbps: is NaN, which is no number`},
		{"half a lane", `"expected_width": 16`, `"expected_width": 7.5`, `hops[0].expected_width: 7.5 is no whole number`},
		{"lanes below zero", `"expected_width": 16`, `"expected_width": -1`, `hops[0].expected_width: -1 is not between`},
		{"NUMA node -1", `"numa_node": 0, "socket": 0, "role"`, `"numa_node": -1, "socket": 0, "role"`, `rnics[0].numa_node: -1 is negative`},
		{"port 0", `"port": 1`, `"port": 0`, `rnics[0].port: 0 is not between`},
		{"empty id", `"id": "mlx5_0"`, `"id": ""`, `rnics[0].id: is empty`},
		{"terminal escape in a name", `"name": "mlx5_0"`, `"name": "\u001b[2J"`, `rnics[0].name: "\x1b[2J" holds a control character`},
		{"unknown role", `"role": "rnic"`, `"role": "nic"`, `rnics[0].role: "nic" is none of`},
		{"unusable without a reason", `"reason": "no driver"`, `"reason": ""`, `gpus[0].reason: is empty`},
		{"usable with a reason", `"usable": false`, `"usable": true`, `gpus[0].reason: "no driver" stands on`},
		{"GPU named otherwise", `"id": "gpu0"`, `"id": "gpu00"`, `gpus[0].id: "gpu00" is not gpu<N>`},
		{"memory named after another node", `"id": "mem1", "numa_node": 1`, `"id": "mem1", "numa_node": 2`, `memory_nodes[1].id: "mem1" is not "mem2"`},
		{"unknown kind of memory", `"id": "mem1", "numa_node"`, `"id": "mem1", "kind": "hbm", "numa_node"`, `memory_nodes[1].kind: "hbm" is none of with_cpus, memory_only`},
		{"duplicate memory node", `{"id": "mem1", "numa_node": 1`, `{"id": "mem0", "numa_node": 0`, `memory_nodes[1].id: "mem0" is given twice`},
		{"duplicate hop", `"id": "memory:mem1", "kind"`, `"id": "memory:mem0", "kind"`, `hops[3].id: "memory:mem0" is given twice`},
		{"hop of another kind", `"kind": "gpu_pcie"`, `"kind": "rnic_pcie"`, `hops[1].id: "gpu_pcie:gpu0" does not begin`},
		{"hop of no device", `"id": "gpu_pcie:gpu0"`, `"id": "gpu_pcie:gpu7"`, `hops[1].members[0]: "gpu7" is not listed`},
		{"sockets in the wrong order", `"id": "inter_socket:0-1"`, `"id": "inter_socket:1-0"`, `hops[4].id: "inter_socket:1-0" does not name`},
		{"path of no RNIC", `{"rnic": "mlx5_0", "endpoint": "mem0"`, `{"rnic": "mlx5_9", "endpoint": "mem0"`, `paths[0].rnic: "mlx5_9" is not listed`},
		{"path to no endpoint", `"endpoint": "mem0"`, `"endpoint": "mem9"`, `paths[0].endpoint: "mem9" is not listed`},
		{"path given twice", `"endpoint": "mem1", "class": "mem_remote"`, `"endpoint": "mem0", "class": "mem_remote"`, `paths[1].endpoint: mlx5_0→mem0 is given twice`},
		{"empty hop list", `"hops": ["rnic_pcie:mlx5_0", "memory:mem0"]`, `"hops": []`, `paths[0].hops: is empty`},
		{"unknown hop", `"hops": ["rnic_pcie:mlx5_0", "memory:mem0"]`, `"hops": ["rnic_pcie:mlx5_0", "switch:x", "memory:mem0"]`, `paths[0].hops[1]: "switch:x" is not listed`},
		{"hop passed twice", `["rnic_pcie:mlx5_0", "inter_socket:0-1", "memory:mem1"]`, `["rnic_pcie:mlx5_0", "inter_socket:0-1", "inter_socket:0-1", "memory:mem1"]`, `paths[1].hops[2]: "inter_socket:0-1" is given twice`},
		{"path begins elsewhere", `["rnic_pcie:mlx5_0", "memory:mem0"]`, `["memory:mem0"]`, `paths[0].hops[0]: "memory:mem0" is not the link of mlx5_0`},
		{"path ends elsewhere", `["rnic_pcie:mlx5_0", "memory:mem0"]`, `["rnic_pcie:mlx5_0", "memory:mem1"]`, `paths[0].hops[1]: "memory:mem1" is not the memory hop of mem0`},
		{"GPU class to memory", `"class": "mem_local"`, `"class": "pix"`, `paths[0].class: "pix" is none of`},
		{"cut short", `"gpu_pcie:gpu0"]}
  ]
}`, ``, `paths[2].hops[1]: ends here`},
		{"a second document", "  ]\n}", "  ]\n}{}", `something follows the document`},
		{"a list as the document", handWritten, `[]`, `the document is a list, not an object`},
		{"null as the document", handWritten, `null`, `the document is null`},
		{"nothing at all", handWritten, ``, `the document is empty`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Contains(t, handWritten, tt.old, "the edit must apply")
			i := strings.LastIndex(handWritten, tt.old)
			if strings.Count(handWritten, tt.old) > 1 {
				i = strings.Index(handWritten, tt.old)
			}
			_, err := topology.Parse([]byte(handWritten[:i] + tt.new + handWritten[i+len(tt.old):]))
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), tt.want), "got %q\nwant %q", err, tt.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestParseBoundsWhatItReads(t *testing.T) {
	_, err := topology.Parse(make([]byte, topology.MaxDocumentBytes+1))
	assert.ErrorContains(t, err, "longer than 8 MiB")

	_, err = topology.Parse([]byte(`{"schema": "` + strings.Repeat("x", 1<<20) + `"}`))
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 1000, "a long value must not fill the screen")
}

func TestValidateRefusesWhatJSONCannotHold(t *testing.T) {
	for name, rate := range map[string]float64{"NaN": math.NaN(), "infinity": math.Inf(1)} {
		t.Run(name, func(t *testing.T) {
			top, err := topology.Build(fig2())
			require.NoError(t, err)
			top.RNICs[2].RateGbps = &rate
			var field *document.FieldError
			require.ErrorAs(t, top.Validate(), &field)
			assert.Equal(t, "rnics[2].rate_gbps", field.Field)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(handWritten))
	f.Add([]byte(`{"schema":"hostping.topology/v1","rnics":[],"gpus":[],"memory_nodes":[],"hops":[],"paths":[]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		top, err := topology.Parse(doc)
		if err != nil {
			return
		}
		again, err := json.Marshal(top)
		require.NoError(t, err)
		same, err := topology.Parse(again)
		require.NoError(t, err)
		assert.Equal(t, top, same)
	})
}
