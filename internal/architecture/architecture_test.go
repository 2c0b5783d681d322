// Package architecture holds the rules about who may import whom, as tests
// over the source. It has no code of its own.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/yuuki/hostping/"

// source is one non-test Go file.
type source struct {
	path string // from the module's root
	pkg  string // import path below the module
	ast  *ast.File
}

// imports are the import paths of the file.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.ast.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// sources parses every non-test Go file under cmd and internal, whatever its build tags.
func sources(t *testing.T) []source {
	root := filepath.Join("..", "..")
	var files []source
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			files = append(files, source{path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), ast: parsed})
			return err
		})
		require.NoError(t, err)
	}
	require.NotEmpty(t, files)
	return files
}

// reach returns every package of the module that pkg imports, directly or through others.
func reach(files []source, pkg string) map[string]bool {
	direct := map[string][]string{}
	for _, file := range files {
		for _, path := range file.imports() {
			if local, ok := strings.CutPrefix(path, module); ok {
				direct[file.pkg] = append(direct[file.pkg], local)
			}
		}
	}
	seen := map[string]bool{}
	for todo := []string{pkg}; len(todo) > 0; {
		next := direct[todo[0]]
		todo = todo[1:]
		for _, path := range next {
			if !seen[path] {
				seen[path] = true
				todo = append(todo, path)
			}
		}
	}
	return seen
}

func TestStagesDoNotTouchTheMachine(t *testing.T) {
	// Each of these is a value made from the stage before it. One that could reach the machine, or learn
	// that the host is simulated, could not be replayed from a report.
	files := sources(t)
	machine := []string{"internal/native", "internal/discover", "internal/sim", "internal/live", "internal/cli"}
	for _, pkg := range []string{
		"internal/topology", "internal/probe", "internal/engine", "internal/baseline",
		"internal/analyzer", "internal/diagnosis", "internal/report", "internal/run", "internal/daemon",
	} {
		t.Run(pkg, func(t *testing.T) {
			require.True(t, slices.ContainsFunc(files, func(s source) bool { return s.pkg == pkg }), "no such package: fix this list")
			reached := reach(files, pkg)
			for _, forbidden := range machine {
				require.False(t, reached[forbidden], "%s reaches %s: let the caller pass in what it needs", pkg, forbidden)
			}
		})
	}
}

func TestBackendsDoNotKnowEachOther(t *testing.T) {
	files := sources(t)
	require.False(t, reach(files, "internal/sim")["internal/live"], "the simulator must run without a live backend")
	require.False(t, reach(files, "internal/live")["internal/sim"], "a live run must not contain simulated parts")
	require.False(t, reach(files, "internal/sim")["internal/native"], "the simulator must build without cgo")
	require.False(t, reach(files, "internal/sim")["internal/analyzer"] && reach(files, "internal/analyzer")["internal/sim"], "the analyzer never learns that it is simulated")
}

func TestOneDoorPerDangerousThing(t *testing.T) {
	for _, file := range sources(t) {
		for _, path := range file.imports() {
			switch path {
			case "C":
				require.Equal(t, "internal/native", file.pkg, "%s: cgo belongs in internal/native alone", file.path)
			case "os/exec":
				t.Errorf("%s imports os/exec: read what the kernel offers; no helper processes", file.path)
			case "net/http/pprof":
				t.Errorf("%s imports net/http/pprof: it registers on the default mux", file.path)
			}
		}
		for _, decl := range file.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function: wire it in cmd", file.path)
			}
		}
	}
}

func TestDocumentIsALeaf(t *testing.T) {
	// Every format is read by it, so that it may know none of them.
	require.Empty(t, reach(sources(t), "internal/document"), "what a document means belongs to its owner")
}
