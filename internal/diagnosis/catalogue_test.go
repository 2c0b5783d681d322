package diagnosis_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/diagnosis"
)

// declared reads the codes that the package declares from its source.
func declared(t *testing.T) map[diagnosis.Code]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "diagnosis.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	codes := map[diagnosis.Code]bool{}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if name, ok := value.Type.(*ast.Ident); ok && name.Name == "Code" {
				text, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				codes[diagnosis.Code(text)] = true
			}
		}
	}
	require.NotEmpty(t, codes)
	return codes
}

func TestCatalogueHasEveryCodeOnce(t *testing.T) {
	codes := declared(t)
	seen := map[diagnosis.Code]bool{}
	for _, e := range diagnosis.All() {
		assert.True(t, codes[e.Code], "%s is no declared code", e.Code)
		assert.False(t, seen[e.Code], "%s is listed twice", e.Code)
		seen[e.Code] = true
	}
	assert.Len(t, seen, len(codes), "codes without an entry")
}

func TestEntriesAreComplete(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z0-9` + "`" + `].*[.]$`)
	for _, e := range diagnosis.All() {
		t.Run(string(e.Code), func(t *testing.T) {
			assert.Regexp(t, `^[a-z0-9]+(_[a-z0-9]+)*$`, string(e.Code))
			assert.NotEmpty(t, e.Title)
			assert.NotRegexp(t, `\.$`, e.Title)
			assert.NotEmpty(t, e.Causes)
			assert.NotEmpty(t, e.CheckFirst)
			for _, text := range append(append([]string{e.Meaning, e.Confirm, e.Clears}, e.Causes...), e.CheckFirst...) {
				assert.Regexp(t, sentence, text)
			}
			got, ok := diagnosis.Lookup(e.Code)
			assert.True(t, ok)
			assert.Equal(t, e, got)
		})
	}
}

func TestLookupOfNoCode(t *testing.T) {
	_, ok := diagnosis.Lookup("no_such_code")
	assert.False(t, ok)
}

func TestSortPutsTheWorstFirst(t *testing.T) {
	list := []diagnosis.Diagnosis{
		{Code: diagnosis.GPUPCIeFailure, Severity: diagnosis.Warning, Component: "gpu_pcie:gpu1"},
		{Code: diagnosis.GPUPCIeFailure, Severity: diagnosis.Critical, Component: "gpu_pcie:gpu10"},
		{Code: diagnosis.GPUPCIeFailure, Severity: diagnosis.Critical, Component: "gpu_pcie:gpu2"},
		{Code: diagnosis.RNICPCIeFailure, Severity: diagnosis.Critical, Component: "rnic_pcie:rnic9"},
	}
	diagnosis.Sort(list)
	var got []string
	for _, d := range list {
		got = append(got, d.Component)
	}
	assert.Equal(t, []string{"rnic_pcie:rnic9", "gpu_pcie:gpu2", "gpu_pcie:gpu10", "gpu_pcie:gpu1"}, got)
}
