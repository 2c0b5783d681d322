package native

import (
	"context"
	"errors"
	"go/build/constraint"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatusesAreSentinels(t *testing.T) {
	err := error(&Error{Status: StatusDeviceRemoved, Text: "mlx5_0 port 1: gone"})
	assert.ErrorIs(t, err, StatusDeviceRemoved)
	assert.NotErrorIs(t, err, StatusCompletionLost)
	assert.Equal(t, "mlx5_0 port 1: gone", err.Error())
	assert.Equal(t, "device_removed", StatusDeviceRemoved.Error())
	var typed *Error
	require.True(t, errors.As(err, &typed))
}

func TestStatusNamesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for status, name := range statusNames {
		assert.NotEmpty(t, name, "status %d", status)
		assert.False(t, seen[name], name)
		seen[name] = true
	}
	assert.Len(t, statusNames, int(StatusPMURefused)+1)
}

// The header is generated from the Zig types, so that these are the numbers of the data plane.
func TestConstantsAreThoseOfTheHeader(t *testing.T) {
	source, err := os.ReadFile("../../zig/include/hostping.h")
	require.NoError(t, err)
	header := map[string]uint64{}
	for _, match := range regexp.MustCompile(`(?m)^(?:\t|#define )(HP_\w+)(?: = | )(\d+)[u,]`).FindAllStringSubmatch(string(source), -1) {
		value, err := strconv.ParseUint(match[2], 10, 64)
		require.NoError(t, err)
		header[match[1]] = value
	}
	statuses := 0
	for name := range header {
		if strings.HasPrefix(name, "HP_STATUS_") {
			statuses++
		}
	}
	assert.Len(t, statusNames, statuses)
	for status, name := range statusNames {
		assert.Equal(t, uint64(status), header["HP_STATUS_"+strings.ToUpper(name)], name)
	}
	for name, want := range map[string]uint64{
		"HP_HOPS_MAX":                 HopsMax,
		"HP_CONNECTIONS_MAX":          ConnectionsMax,
		"HP_WINDOW_MAX":               WindowMax,
		"HP_MESSAGE_BYTES_MAX":        MessageBytesMax,
		"HP_REGION_BYTES_MAX":         RegionBytesMax,
		"HP_LATENCY_SAMPLES_MAX":      LatencySamplesMax,
		"HP_TOOL_CHECK_NOT_NEEDED":    uint64(ToolCheckNotNeeded),
		"HP_TOOL_CHECK_PATH_LIMITED":  uint64(ToolCheckPathLimited),
		"HP_TOOL_CHECK_TOOL_LIMITED":  uint64(ToolCheckToolLimited),
		"HP_TOOL_CHECK_NOT_POSSIBLE":  uint64(ToolCheckNotPossible),
		"HP_COUNTER_FILES_MAX":        CounterFilesMax,
		"HP_COUNTER_TEXT_BYTES":       CounterTextBytes,
		"HP_COUNTER_STATE_ABSENT":     uint64(CounterAbsent),
		"HP_COUNTER_STATE_NUMBER":     uint64(CounterNumber),
		"HP_COUNTER_STATE_TEXT":       uint64(CounterText),
		"HP_UNCORE_KIND_MEMORY":       uint64(UncoreMemory),
		"HP_UNCORE_KIND_INTER_SOCKET": uint64(UncoreInterSocket),
		"HP_PAGE_KIND_BASE":           uint64(PagesBase),
		"HP_PAGE_KIND_HUGE_2MIB":      uint64(PagesHuge2MiB),
	} {
		got, ok := header[name]
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
}

func TestDefaultConfigScalesWithLineRate(t *testing.T) {
	for _, tc := range []struct {
		name         string
		lineRateGbps float64
		messageBytes int
		connections  int
	}{
		{"soft-RoCE", 2.5, 128 << 10, 1},
		{"100 Gb/s", 100, 128 << 10, 1},
		{"200 Gb/s, the paper's", 200, 128 << 10, 1},
		{"400 Gb/s", 400, 256 << 10, 2},
		{"2 x 400 Gb/s in a LAG", 800, 512 << 10, 4},
		{"nonsense stays in bounds", 1e12, MessageBytesMax, ConnectionsMax},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := DefaultLoopbackConfig("mlx5_0", 1, tc.lineRateGbps)
			assert.Equal(t, tc.messageBytes, config.MessageBytes)
			assert.Equal(t, tc.connections, config.Connections)
			assert.GreaterOrEqual(t, config.RegionBytes, config.MessageBytes)
			assert.LessOrEqual(t, config.RegionBytes, RegionBytesMax)
			assert.Positive(t, config.Deadline)
			assert.Positive(t, config.CompletionTimeout)
		})
	}
}

func TestThroughputUnits(t *testing.T) {
	throughput := Throughput{Bytes: 25_000_000_000, Duration: time.Second}
	assert.InDelta(t, 200, throughput.Gbps(), 1e-9)
	assert.InDelta(t, 25e9, throughput.BytesPerSecond(), 1e-3)
}

// The two halves of the package must cover every build, and no build twice.
func TestStubHasTheOppositeBuildTag(t *testing.T) {
	tags := func(file string) constraint.Expr {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		line, _, _ := strings.Cut(string(source), "\n")
		expr, err := constraint.Parse(line)
		require.NoError(t, err, file)
		return expr
	}
	cgoFiles, err := filepath.Glob("*_cgo.go")
	require.NoError(t, err)
	for _, cgoFile := range slices.DeleteFunc(cgoFiles, func(file string) bool { return file == "fake_cgo.go" }) {
		for _, build := range []map[string]bool{{}, {"cgo": true}, {"linux": true}, {"cgo": true, "linux": true}} {
			has := func(tag string) bool { return build[tag] }
			assert.NotEqual(t, tags(cgoFile).Eval(has), tags("stub.go").Eval(has), "%s, %v", cgoFile, build)
		}
	}
}

func TestNothingOpensWithoutTheDataPlane(t *testing.T) {
	if ZigVersion() != "" {
		assert.NoError(t, Check())
		return
	}
	_, err := OpenCounters([]string{"/sys/class/net/lo/mtu"})
	assert.ErrorIs(t, err, ErrUnavailable)
	_, err = OpenEthtool("lo")
	assert.ErrorIs(t, err, ErrUnavailable)
	_, err = OpenNVML(t.Context(), NVMLLibrary, nil)
	assert.ErrorIs(t, err, ErrUnavailable)
	_, err = OpenUncore(t.Context(), UncoreConfig{SysfsRoot: "/sys"})
	assert.ErrorIs(t, err, ErrUnavailable)
	_, err = DiscoverUncore(t.Context(), UncoreConfig{SysfsRoot: "/sys"})
	assert.ErrorIs(t, err, ErrUnavailable)
}

func TestLoopbackRefusesTooManyHops(t *testing.T) {
	if ZigVersion() == "" {
		_, err := Loopback(context.Background(), LoopbackConfig{})
		assert.ErrorIs(t, err, ErrUnavailable)
		assert.ErrorIs(t, Check(), ErrUnavailable)
		return
	}
	config := DefaultLoopbackConfig("mlx5_0", 1, 200)
	config.HopDirs = make([]string, HopsMax+1)
	_, err := Loopback(context.Background(), config)
	assert.ErrorContains(t, err, "at most 16")
}
