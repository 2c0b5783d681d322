package capture_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/capture"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/discover/hosttree"
)

// captured discovers a host while recording, and returns what was discovered
// and the archive as text.
func captured(t testing.TB, o discover.Options, hostNames ...string) (discover.Host, string) {
	t.Helper()
	recorder := capture.NewRecorder()
	o.SysFiles = recorder.Record("sys", o.SysFiles)
	if o.ProcFiles != nil {
		o.ProcFiles = recorder.Record("proc", o.ProcFiles)
	}
	host, err := discover.Discover(o)
	if err != nil {
		require.ErrorIs(t, err, discover.ErrNoRDMA)
	}
	archive, err := recorder.Archive()
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, archive.Anonymise(hostNames...).Write(&text, "a host\nof a test"))
	return host, text.String()
}

func restored(t testing.TB, text string, software bool) discover.Host {
	t.Helper()
	archive, err := capture.Parse(strings.NewReader(text))
	require.NoError(t, err)
	host, err := discover.Discover(discover.Options{
		SysFiles: archive.Files("sys"), ProcFiles: archive.Files("proc"), SoftwareRNICs: software,
	})
	if err != nil {
		require.ErrorIs(t, err, discover.ErrNoRDMA)
	}
	return host
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// TestEveryHost captures each host of testdata and discovers it anew.
func TestEveryHost(t *testing.T) {
	descriptions, err := filepath.Glob(filepath.Join("..", "..", "testdata", "hosts", "*.host"))
	require.NoError(t, err)
	require.Greater(t, len(descriptions), 10)
	for _, description := range descriptions {
		for _, software := range []bool{false, true} {
			name := strings.TrimSuffix(filepath.Base(description), ".host")
			t.Run(fmt.Sprintf("%s/software=%t", name, software), func(t *testing.T) {
				tree, err := hosttree.Load(description)
				require.NoError(t, err)
				live, text := captured(t, discover.Options{
					SysFiles: tree.Files("sys"), ProcFiles: tree.Files("proc"), SoftwareRNICs: software,
				})
				again := restored(t, text, software)
				assert.Equal(t, asJSON(t, live.Topology), asJSON(t, again.Topology))
				assert.Equal(t, asJSON(t, live.Findings), asJSON(t, again.Findings))
				assert.Equal(t, live.VerbsNodes, again.VerbsNodes)

				archive, err := capture.Parse(strings.NewReader(text))
				require.NoError(t, err)
				var twice bytes.Buffer
				require.NoError(t, archive.Write(&twice, "a host\nof a test"))
				assert.Equal(t, text, twice.String(), "what was parsed is written as it was")
			})
		}
	}
}

// TestKernelMadeHost captures the lab's guest once more, from its capture.
func TestKernelMadeHost(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "testdata", "captures", "lab.capture"))
	require.NoError(t, err)
	defer file.Close()
	archive, err := capture.Parse(file)
	require.NoError(t, err)
	live, text := captured(t, discover.Options{SysFiles: archive.Files("sys"), ProcFiles: archive.Files("proc"), SoftwareRNICs: true})
	assert.Len(t, live.Topology.Paths, 8)
	assert.Equal(t, asJSON(t, live.Topology), asJSON(t, restored(t, text, true).Topology))
}

// TestRealDirectory captures from a directory, as on a host.
func TestRealDirectory(t *testing.T) {
	tree, err := hosttree.Load(filepath.Join("..", "..", "testdata", "hosts", "two-sockets.host"))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tree.Write(dir))
	require.NoError(t, os.Symlink("../etc", filepath.Join(dir, "sys", "class", "infiniband", "out")))
	sysfs, err := discover.OpenDir(filepath.Join(dir, "sys"))
	require.NoError(t, err)
	defer sysfs.Close()
	live, text := captured(t, discover.Options{SysFiles: sysfs})
	assert.Equal(t, asJSON(t, live.Topology), asJSON(t, restored(t, text, false).Topology))
}

// refusing fails to read some files.
type refusing struct {
	discover.Files
	fails map[string]error
}

func (r refusing) Read(name string, buffer []byte) (int, error) {
	if err := r.fails[filepath.Base(name)]; err != nil {
		return 0, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return r.Files.Read(name, buffer)
}

// TestFailures: what could not be read on the host cannot be read in the archive.
func TestFailures(t *testing.T) {
	tree, err := hosttree.Load(filepath.Join("..", "..", "testdata", "hosts", "two-sockets.host"))
	require.NoError(t, err)
	live, text := captured(t, discover.Options{SysFiles: refusing{tree.Files("sys"), map[string]error{
		"max_link_speed": syscall.EACCES, "numa_node": syscall.EIO, "vendor": syscall.ESTALE,
	}}})
	assert.Contains(t, text, "/max_link_speed fails EACCES\n")
	assert.Contains(t, text, "/vendor fails EIO\n", "an error without a name here")
	again := restored(t, text, false)
	assert.Equal(t, asJSON(t, live.Topology), asJSON(t, again.Topology))
	assert.NotEmpty(t, live.Findings)
	assert.Len(t, again.Findings, len(live.Findings))
}

// TestArchiveText shows what an archive looks like.
func TestArchiveText(t *testing.T) {
	tree, err := hosttree.Parse(`
node 0 cpus 0-1 package 0 memory 1
bus pci0000:16 node 0
  16:01.0 root_port 8086:352a 32x16
    17:00.0 nic 15b3:1021 32x16
      rdma mlx5_0 400 net ens1
/sys/devices/pci0000:16/0000:16:01.0/max_link_width fails EINVAL
`)
	require.NoError(t, err)
	_, text := captured(t, discover.Options{SysFiles: tree.Files("sys")})
	for _, want := range []string{
		"hostping.capture/v1\n# a host\n# of a test\n/sys/",
		"\n/sys/class/infiniband/mlx5_0 -> ../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/infiniband/mlx5_0\n",
		"\n/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/vendor = 0x15b3\n",
		"\n/sys/devices/pci0000:16/0000:16:01.0/max_link_width fails EINVAL\n",
		"\n/sys/devices/system/node/node0/meminfo text\n  Node 0 MemTotal:",
		"/config hex 4096\n  000 ",
	} {
		assert.Contains(t, text, want)
	}
	assert.Regexp(t, `\nend [1-9][0-9]*\n$`, text)
	assert.NotContains(t, text, "infiniband folder", "folders with something in them go without saying")
}

func TestParseRefuses(t *testing.T) {
	const head = "hostping.capture/v1\n"
	tests := map[string]struct{ text, want string }{
		"empty":                {"", `line 1: is missing`},
		"something else":       {"{}\n", `line 1: is not "hostping.capture/v1"`},
		"another version":      {"hostping.capture/v2\n", `line 1: is not`},
		"elsewhere":            {head + "/etc/passwd = x\n", `line 2: "/etc/passwd" is no path below /sys or /proc`},
		"upwards":              {head + "# c\n/sys/../etc = x\n", `line 3: "/sys/../etc" is no path`},
		"twice":                {head + "/sys/a = 1\n/sys/a = 2\n", `line 3: /sys/a is given twice`},
		"no verb":              {head + "/sys/a\n", `line 2: "": after a path comes`},
		"unknown verb":         {head + "/sys/a is 1\n", `line 2: "is 1": after a path comes`},
		"unknown error":        {head + "/sys/a fails OFTEN\n", `line 2: "OFTEN" is no error`},
		"open quotes":          {head + `/sys/a = "x` + "\n", `line 2: "x is no quoted text`},
		"open path":            {head + `"/sys/a = x` + "\n", `line 2: begins with a path whose quotes do not end`},
		"nothing to belong to": {head + "  x\n", `line 2: is set in`},
		"size":                 {head + "/sys/a hex many\n", `line 2: hex "many": is no number of bytes`},
		"huge":                 {head + "/sys/a hex 99999999\n", `line 2: hex "99999999": is no number of bytes`},
		"offset":               {head + "/sys/a hex 4\n  zz 00\n", `line 3: "zz" is no hexadecimal offset`},
		"digits":               {head + "/sys/a hex 4\n  000 0g\n", `line 3: "0g" are no hexadecimal bytes`},
		"behind its bytes":     {head + "/sys/a hex 4\n  002 000000\n", `line 3: the bytes from 2 end behind the 4`},
		"endless line":         {head + "/sys/a = " + strings.Repeat("x", 1<<19) + "\n", `line 2: is longer than`},
		"large file":           {head + "/sys/a = " + strings.Repeat("x", 1<<17) + "\n", `line 2: /sys/a holds more than`},
		"large text":           {head + "/sys/a text\n" + strings.Repeat("  "+strings.Repeat("x", 1000)+"\n", 70), `holds more than`},
		"deep path":            {head + "/sys/" + strings.Repeat("a/", 600) + "a = 1\n", `is too long`},
		"too many files":       {head + manyFiles(1<<16+1), `more than 65536 files`},
		"no end":               {head + "/sys/a = 1\n", `line 3: the archive is cut short`},
		"cut in a text":        {head + "/sys/a text\n  x\n  y", `line 5: the archive is cut short`},
		"cut in the end":       {head + "/sys/a = 1\nen", `line 3: "en" is no path`},
		"cut in the middle":    {head + "/sys/a = 1\nend 2\n", `line 3: the archive is cut short: it has 1 paths of 2`},
		"end of nothing":       {head + "/sys/a = 1\nend of it\n", `line 3: end "of it": is no number`},
		"behind the end":       {head + "/sys/a = 1\nend 1\n/sys/b = 1\n", `line 4: "/sys/b = 1" stands behind`},
		"too long":             {head + strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 17<<10), `longer than 16 MiB`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := capture.Parse(strings.NewReader(tt.text))
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 300)
		})
	}
}

// TestEveryCut: wherever a capture is cut, the rest is refused.
func TestEveryCut(t *testing.T) {
	const whole = "hostping.capture/v1\n/sys/a = 1\n/sys/b text\n  end 2\n  x\n/sys/c hex 4\n  000 01020304\nend 3\n"
	_, err := capture.Parse(strings.NewReader(whole))
	require.NoError(t, err)
	for n := range len(whole) - 1 { // the last newline alone may go
		_, err := capture.Parse(strings.NewReader(whole[:n]))
		assert.Error(t, err, whole[:n])
	}
}

func manyFiles(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "/sys/%d = 1\n", i)
	}
	return b.String()
}

// FuzzParse: no text makes the reader or discovery fail otherwise than by an
// error, and what is accepted is written and read again unchanged.
func FuzzParse(f *testing.F) {
	f.Add("hostping.capture/v1\n/sys/class/infiniband/a -> ../b\n/sys/class/b -> infiniband/a\n/sys/a/b text\n  x\n\n  y\n\"/sys/a b\" = \"\\x00\"\n/sys/c hex 20\n  010 00ff\n/sys/d fails EIO\n/sys/e folder\nend 7\n")
	f.Add("hostping.capture/v1\n/sys/class/infiniband/r -> ../../d/infiniband/r\n/sys/d/infiniband/r/ports/1/state = 4: ACTIVE\nend 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		archive, err := capture.Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		var once bytes.Buffer
		require.NoError(t, archive.Write(&once, ""))
		again, err := capture.Parse(bytes.NewReader(once.Bytes()))
		require.NoError(t, err)
		var twice bytes.Buffer
		require.NoError(t, again.Write(&twice, ""))
		require.Equal(t, once.String(), twice.String())
		_, _ = discover.Discover(discover.Options{SysFiles: archive.Files("sys"), ProcFiles: archive.Files("proc"), SoftwareRNICs: true})
	})
}

// BenchmarkAnonymise replaces what identifies a host with four RNICs and eight GPUs.
func BenchmarkAnonymise(b *testing.B) {
	tree, err := hosttree.Load(filepath.Join("..", "..", "testdata", "hosts", "two-sockets.host"))
	require.NoError(b, err)
	recorder := capture.NewRecorder()
	_, err = discover.Discover(discover.Options{SysFiles: recorder.Record("sys", tree.Files("sys"))})
	require.NoError(b, err)
	archive, err := recorder.Archive()
	require.NoError(b, err)
	for b.Loop() {
		archive.Anonymise("host")
	}
	b.ReportMetric(float64(archive.Len()), "entries")
}
