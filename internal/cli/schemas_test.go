package cli_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "copy the schema of a topology into that of a report")

// alone loads nothing: a schema must not need another file, nor the network.
type alone struct{}

func (alone) Load(url string) (any, error) { return nil, errors.New("asks for " + url) }

// Each schema has an address of its own, and any validator can use it as it is.
func TestSchemasStandAlone(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.schema.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 6)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			require.NoError(t, err)
			fields := document.(map[string]any)
			require.Equal(t, "https://github.com/yuuki/hostping/docs/"+name, fields["$id"])
			require.Equal(t, "hostping."+strings.TrimSuffix(name, ".schema.json")+"/v1", fields["title"])
			compiler := jsonschema.NewCompiler()
			compiler.UseLoader(alone{})
			require.NoError(t, compiler.AddResource("file:///"+name, document))
			_, err = compiler.Compile("file:///" + name)
			require.NoError(t, err)
		})
	}
}

// What schemas have in common is the same in each: a report's holds a topology's
// whole, others hold single definitions.
func TestSchemasAgree(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, "docs", name))
		require.NoError(t, err)
		return string(text)
	}
	topology, report := read("topology.schema.json"), read("report.schema.json")
	const begins, ends = "\n    \"topology\": {\n", "\n    }\n  }\n}\n"
	before, _, found := strings.Cut(report, begins+`      "$schema"`)
	require.True(t, found)
	inner := strings.TrimSuffix(strings.TrimPrefix(topology, "{\n"), "\n}\n")
	whole := before + begins + "    " + strings.ReplaceAll(inner, "\n", "\n    ") + ends
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "report.schema.json"), []byte(whole), 0o644))
		report = whole
	}
	assert.Equal(t, whole, report, "go test ./internal/cli -run TestSchemasAgree -update copies the topology's schema")

	definitions := func(text string) map[string]any {
		var schema struct {
			Defs map[string]any `json:"$defs"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &schema))
		return schema.Defs
	}
	of := definitions(topology)
	for _, c := range []struct{ schema, definition string }{
		{"baseline.schema.json", "class"}, {"comparison.schema.json", "class"}, {"comparison.schema.json", "hop_id"},
	} {
		require.NotNil(t, of[c.definition])
		assert.Equal(t, of[c.definition], definitions(read(c.schema))[c.definition], "%s: %s", c.schema, c.definition)
	}
}

func TestListsFollowTheirSchemas(t *testing.T) {
	for line, name := range map[string]string{
		"explain --format json":                   "explanation.schema.json",
		"explain --format json rnic_pcie_failure": "explanation.schema.json",
		"faults --format json":                    "faults.schema.json",
	} {
		got := hostpingctl(t, line)
		require.Equal(t, 0, got.code, got.stderr)
		requireValid(t, schema(t, name), got.stdout)
	}
}
