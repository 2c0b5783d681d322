package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/discover/hosttree"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/run"
)

// hostTree writes a host of testdata and returns the flags that choose it.
func hostTree(t *testing.T, name string) (flags string) {
	t.Helper()
	tree, err := hosttree.Load(filepath.Join("..", "..", "testdata", "hosts", name+".host"))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tree.Write(dir))
	return "--sysfs " + filepath.Join(dir, "sys") + " --procfs " + filepath.Join(dir, "proc")
}

// captureOf captures a host of testdata.
func captureOf(t *testing.T, name string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name+".capture")
	got := hostpingctl(t, "topology "+hostTree(t, name)+" --capture "+file)
	require.Equal(t, 0, got.code, got.stderr)
	return file
}

func TestCapture(t *testing.T) {
	for _, name := range []string{"two-sockets", "soft-roce", "shared-links"} {
		t.Run(name, func(t *testing.T) {
			flags := hostTree(t, name)
			file := filepath.Join(t.TempDir(), "host capture")
			got := call{args: append(strings.Fields("topology --format json "+flags+" --capture"), file)}.run(t.Context())
			require.Equal(t, 0, got.code, got.stderr)
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"))
			assert.Contains(t, got.stderr, "anonymised")
			assert.Contains(t, got.stderr, `host capture"`)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(string(text), "hostping.capture/v1\n# What hostping 1.2.3 read of a host."))

			again := call{args: []string{"topology", "--format", "json", "--sysfs", file}}.run(t.Context())
			require.Equal(t, 0, again.code, again.stderr)
			assert.Equal(t, got.stdout, again.stdout)
			assert.Empty(t, again.stderr)

			// What was captured without --software-rnics answers with it as well.
			software := hostpingctl(t, "topology --software-rnics --format json "+flags)
			again = call{args: []string{"topology", "--software-rnics", "--format", "json", "--sysfs", file}}.run(t.Context())
			assert.Equal(t, software.stdout, again.stdout)
		})
	}
}

// A host without RDMA devices is the one that others are asked about.
func TestCaptureWithoutRDMA(t *testing.T) {
	file := filepath.Join(t.TempDir(), "host.capture")
	got := hostpingctl(t, "topology "+hostTree(t, "no-class")+" --capture "+file)
	requireOneLine(t, got, 3)
	assert.Contains(t, got.stderr, "what was read is in "+file)
	assert.FileExists(t, file)
	requireOneLine(t, hostpingctl(t, "topology --sysfs "+file), 3)
}

func TestPictures(t *testing.T) {
	for format, begins := range map[string]string{"svg": "<svg xmlns=", "dot": "graph hostping {\n"} {
		got := hostpingctl(t, "topology --sim --format "+format)
		require.Equal(t, 0, got.code, got.stderr)
		assert.True(t, strings.HasPrefix(got.stdout, begins), format)
		assert.Contains(t, got.stdout, "rnic3")
	}
}

func TestCapturesAreSimulated(t *testing.T) {
	file := captureOf(t, "two-sockets")
	got := hostpingctl(t, "diagnose --sim --sysfs "+file+" --fault rnic_pcie:mlx5_2")
	assert.Equal(t, 1, got.code, got.stderr)
	assert.Contains(t, got.stdout, "rnic_pcie_failure at rnic_pcie:mlx5_2")
	got = hostpingctl(t, "faults --sysfs "+file)
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stdout, "mlx5_3")
}

func TestOtherTreesReachDiscoveryAlone(t *testing.T) {
	var seen cli.LiveOptions
	live := func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
		seen = opts
		return liveHost{}.open(ctx, opts)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "class"), 0o755))
	got := call{args: []string{"diagnose", "--sysfs", dir, "--procfs", dir}, live: live}.run(t.Context())
	require.Equal(t, 0, got.code, got.stderr)
	require.Equal(t, cli.LiveOptions{Sysfs: dir, Procfs: dir, Idle: monitor.DefaultThresholds()}, seen)
}

func TestWrongTrees(t *testing.T) {
	dir := t.TempDir()
	capture := captureOf(t, "two-sockets")
	broken := filepath.Join(dir, "broken.capture")
	require.NoError(t, os.WriteFile(broken, []byte("hostping.capture/v1\n# one\n/sys/class is odd\n"), 0o644))
	whole, err := os.ReadFile(capture)
	require.NoError(t, err)
	cut := filepath.Join(dir, "cut.capture")
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)/2], 0o644))
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("{}\n"), 0o644))
	huge := filepath.Join(dir, "huge")
	require.NoError(t, os.WriteFile(huge, nil, 0o644))
	require.NoError(t, os.Truncate(huge, 64<<20))
	unwritable := filepath.Join(dir, "none", "host.capture")
	for name, c := range map[string]struct {
		line string
		says []string
	}{
		"broken capture":           {"topology --sysfs " + broken, []string{broken, "line 3"}},
		"broken capture, faults":   {"faults --sysfs " + broken, []string{broken, "line 3"}},
		"broken capture, sim":      {"diagnose --sim --sysfs " + broken, []string{broken, "line 3"}},
		"broken capture, live":     {"diagnose --sysfs " + broken, []string{broken, "line 3"}},
		"cut capture":              {"topology --sysfs " + cut, []string{cut, "line"}},
		"no capture":               {"topology --sysfs " + other, []string{other, "line 1", "hostping.capture/v1"}},
		"endless capture":          {"topology --sysfs " + huge, []string{huge, "line 1"}},
		"neither folder nor file":  {"topology --sysfs /dev/null", []string{"/dev/null", "neither a folder nor a file"}},
		"a capture and procfs":     {"topology --sysfs " + capture + " --procfs " + dir, []string{"--procfs", "leave --procfs out"}},
		"a capture cannot be live": {"diagnose --sysfs " + capture, []string{capture, "add --sim"}},
		"two hosts to simulate":    {"diagnose --sim-topology x.json --sysfs " + capture, []string{"--sim-topology", "--sysfs", "one of them"}},
		"procfs of no sysfs":       {"diagnose --sim --procfs " + dir, []string{"--procfs", "--sim"}},
		"capture of a simulation":  {"topology --sim --capture x", []string{"--capture", "--sim", "one of them"}},
		"capture and output":       {"topology --capture " + other + " --output " + other, []string{"--capture and --output", other}},
		"capture to nowhere":       {"topology --capture " + unwritable, []string{"--capture " + unwritable, "cannot be written"}},
		"capture to a folder":      {"topology --capture " + dir, []string{"it is a folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := hostpingctl(t, c.line)
			requireOneLine(t, got, 2)
			for _, want := range c.says {
				assert.Contains(t, got.stderr, want)
			}
		})
	}
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "{}\n", string(text), "nothing was written")
}

// A switch whose link is the root port's shows under its own name as well.
func TestTreeNamesEverySwitch(t *testing.T) {
	got := hostpingctl(t, "topology --sim")
	require.Equal(t, 0, got.code, got.stderr)
	for _, line := range []string{"root port rp0 → switch up0  16 GT/s x16\n", "root port rp3 → switch up3  16 GT/s x16\n", "switch low2  16 GT/s x16\n"} {
		assert.Contains(t, got.stdout, line)
	}
}
