package discover_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/discover/hosttree"
)

// faulty is a tree in which single answers, or all from one on, are wrong.
type faulty struct {
	discover.Files
	asked *int
	// wrong says whether the nth question gets a wrong answer.
	wrong func(n int) bool
	err   error  // the wrong answer, or
	junk  string // what files hold, and folders and links name
}

func (f faulty) ask() bool {
	*f.asked++
	return f.wrong(*f.asked - 1)
}

func (f faulty) Read(name string, buffer []byte) (int, error) {
	switch {
	case !f.ask():
		return f.Files.Read(name, buffer)
	case f.err != nil:
		return 0, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return copy(buffer, f.junk), nil
}

func (f faulty) List(name string) ([]string, error) {
	switch {
	case !f.ask():
		return f.Files.List(name)
	case f.err != nil:
		return nil, f.err
	}
	names, err := f.Files.List(name)
	return append(names, f.junk), err
}

func (f faulty) Readlink(name string) (string, error) {
	switch {
	case !f.ask():
		return f.Files.Readlink(name)
	case f.err != nil:
		return "", f.err
	}
	return f.junk, nil
}

func (f faulty) Exists(name string) bool { return f.ask() != f.Files.Exists(name) }

// TestAnyAnswerMayBeWrong gives each question that discovery asks a wrong answer, once alone
// and once with all that follow, as when a device goes away. Whatever happens, the rest of the host is told, and
// what is told is a valid topology.
func TestAnyAnswerMayBeWrong(t *testing.T) {
	wrong := map[string]faulty{
		"gone":         {err: fs.ErrNotExist},
		"unplugged":    {err: syscall.ENODEV},
		"unreadable":   {err: syscall.EACCES},
		"broken":       {err: syscall.EIO},
		"link loop":    {err: syscall.ELOOP},
		"empty":        {junk: ""},
		"binary":       {junk: "\x7fELF\x00\xff\xfe\x1b[31m\n"},
		"huge":         {junk: strings.Repeat("9", 5000)},
		"minus one":    {junk: "-1\n"},
		"not a number": {junk: "NaN Gb/sec"},
		"a path":       {junk: "../../../../etc/passwd"},
		"an address":   {junk: "0000:10:01.0"},
	}
	for _, host := range []string{"two-sockets", "shared-links"} {
		tree := describe(t, host)
		for name, fault := range wrong {
			t.Run(host+"/"+name, func(t *testing.T) {
				for _, forever := range []bool{false, true} {
					for at, more := 0, true; more; at += 1 + at/8 {
						more = discoverFaulty(t, tree, fault, at, forever)
					}
				}
			})
		}
	}
}

// discoverFaulty reads a tree whose answers are wrong at one question, or from
// it on. It reports whether there was such a question.
func discoverFaulty(t *testing.T, tree *hosttree.Tree, fault faulty, at int, forever bool) bool {
	t.Helper()
	asked := 0
	fault.Files, fault.asked = tree.Files("sys"), &asked
	fault.wrong = func(n int) bool { return n == at || forever && n > at }
	host, err := discover.Discover(discover.Options{SysFiles: fault, ProcFiles: tree.Files("proc"), SoftwareRNICs: true, AllMemoryNodes: true})
	where := fmt.Sprintf("question %d, and all that follow: %v", at, forever)
	if err != nil {
		require.True(t, errors.Is(err, discover.ErrNoRDMA), "%s: %v", where, err)
	}
	require.NoError(t, host.Topology.Validate(), where)
	for _, f := range host.Findings {
		require.LessOrEqual(t, len(f.Evidence), 33, where)
		for _, line := range f.Evidence {
			require.Less(t, len(line), 1024, "%s: evidence is bounded", where)
			require.NotContains(t, line, "\x1b", "%s: evidence leaves a terminal alone", where)
		}
	}
	return asked > at
}
