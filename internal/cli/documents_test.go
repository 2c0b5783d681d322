package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the top of the repository.
const root = "../.."

// fence finds the blocks of a document that are shown as they are typed.
var fence = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")

func blocksOf(t *testing.T, document string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	require.NoError(t, err)
	for _, found := range fence.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	names := []string{"README.md"}
	for _, file := range files {
		names = append(names, filepath.Join("docs", filepath.Base(file)))
	}
	return names
}

// commandLine finds the call in a line of a block, without prompt and comment.
var commandLine = regexp.MustCompile(`^(\$ )?(?:bin/)?hostpingctl (.*?)(?:\s+#.*)?$`)

// What a document shows of a command's output is what the command prints; a
// line of ... stands for any lines.
func TestDocumentsShowWhatIsPrinted(t *testing.T) {
	shown := 0
	for _, document := range documents(t) {
		for _, block := range blocksOf(t, document) {
			command, output, _ := strings.Cut(block, "\n")
			call := commandLine.FindStringSubmatch(command)
			if call == nil || call[1] == "" {
				continue
			}
			shown++
			printed := hostpingctl(t, call[2]).stdout
			var pattern strings.Builder
			pattern.WriteString(`^`)
			for line := range strings.Lines(output) {
				if strings.TrimSpace(line) == "..." {
					pattern.WriteString(`(?:.*\n)*?`)
				} else {
					pattern.WriteString(regexp.QuoteMeta(line))
				}
			}
			assert.Regexp(t, pattern.String(), printed, "%s: paste what %q prints", document, command)
		}
	}
	require.Positive(t, shown)
}

// Every call in a fenced block of a document is one that hostpingctl understands,
// in a folder with the files that the documents speak of.
func TestDocumentedCommandsRun(t *testing.T) {
	blocks := map[string][]string{}
	documents := documents(t)
	for _, document := range documents {
		blocks[document] = blocksOf(t, document)
	}
	capture := captureOf(t, "a100-four-rnics")
	t.Chdir(t.TempDir())
	require.NoError(t, os.Rename(capture, "host.capture"))
	for _, line := range []string{
		"diagnose --format json --output before.json", "diagnose --format json --output after.json",
		"calibrate --out node1.json", "calibrate --out node2.json",
	} {
		got := call{args: strings.Fields(line), live: liveHost{}.open}.run(t.Context())
		require.Equal(t, 0, got.code, got.stderr)
	}
	calls := 0
	for _, document := range documents {
		for _, block := range blocks[document] {
			for line := range strings.Lines(block) {
				found := commandLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
				if found == nil {
					continue
				}
				calls++
				t.Run(document+"/"+found[2], func(t *testing.T) {
					// Live calls meet a host that is healthy, or this machine.
					got := call{args: shellWords(t, found[2]), live: liveHost{}.open}.run(t.Context())
					require.NotEqual(t, 2, got.code, got.stderr)
				})
			}
		}
	}
	require.Greater(t, calls, 15)
}

// shellWords splits a line as a shell does that knows single quotes and globs.
func shellWords(t *testing.T, line string) (words []string) {
	t.Helper()
	for _, word := range strings.Fields(line) {
		if bare := strings.Trim(word, "'"); bare != word {
			words = append(words, bare)
			continue
		}
		files, err := filepath.Glob(word)
		require.NoError(t, err)
		if len(files) == 0 {
			files = []string{word}
		}
		words = append(words, files...)
	}
	return words
}

// The table of building.md has the targets that make lists, and no others.
func TestDocumentedTargets(t *testing.T) {
	targets := func(file, pattern string) (names []string) {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		return names
	}
	inMakefile := targets("Makefile", `(?m)^([a-z-]+):.*## `)
	require.Contains(t, inMakefile, "run")
	assert.Equal(t, inMakefile, targets(filepath.Join("docs", "building.md"), "(?m)^\\| `make ([a-z-]+)` \\|"))
}
