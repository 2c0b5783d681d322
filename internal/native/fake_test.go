//go:build cgo && linux && fakeverbs

package native

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeConfig is small enough that a probe of the scripted provider takes a millisecond.
func fakeConfig() LoopbackConfig {
	config := DefaultLoopbackConfig("fake0", 1, 200)
	config.MessageBytes, config.RegionBytes = 4096, 64<<10
	config.SmallSamples, config.LargeSamples, config.WarmupWrites = 50, 10, 2
	config.BandwidthBytesMax = 200 * 4096
	config.CompletionTimeout = 20 * time.Millisecond
	config.BasePages = true
	return config
}

func TestFakeHealthyProbeThroughTheWholeBoundary(t *testing.T) {
	root := t.TempDir()
	hop := filepath.Join(root, "hop")
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(filepath.Join(hop, "current_link_speed"), "16.0 GT/s PCIe\n")
	write(filepath.Join(hop, "current_link_width"), "16\n")
	write(filepath.Join(root, "fake0/ports/1/counters/port_xmit_data"), "1000\n")
	t.Setenv("HOSTPING_FAKE_SYSFS", root)
	t.Setenv("HOSTPING_FAKE_VERBS", "")

	require.NoError(t, Check())
	config := fakeConfig()
	node := 0
	config.MemoryNode, config.RNICNode = &node, &node
	config.KeepSamples = true
	config.HopDirs = []string{hop, filepath.Join(root, "unreadable")}
	result, err := Loopback(context.Background(), config)
	require.NoError(t, err)

	assert.Equal(t, 50, result.Small.Count)
	assert.Len(t, result.SmallSamples, 50)
	for _, sample := range result.SmallSamples {
		assert.GreaterOrEqual(t, sample, result.Small.Min)
		assert.LessOrEqual(t, sample, result.Small.Max)
	}
	assert.Equal(t, 10, result.Large.Count)
	assert.Positive(t, result.Sustained.BytesPerSecond())
	assert.Equal(t, 16, result.Sustained.Window)
	assert.Nil(t, result.Repeat)
	assert.Equal(t, ToolCheckNotNeeded, result.ToolCheck)
	require.NotNil(t, result.GIDIndex)
	assert.EqualValues(t, 3, *result.GIDIndex)
	assert.Equal(t, 1024, result.MTUBytes)
	require.NotNil(t, result.PortStateBefore)
	assert.EqualValues(t, 4, *result.PortStateBefore)
	require.NotNil(t, result.PortBytesBefore.Sent)
	assert.EqualValues(t, 4000, *result.PortBytesBefore.Sent)
	assert.Nil(t, result.PortBytesBefore.Received, "an unreadable counter is unknown, not 0")
	require.Len(t, result.Hops, 2)
	for _, reading := range []LinkReading{result.Hops[0].Before, result.Hops[0].During} {
		require.NotNil(t, reading.SpeedMTs)
		assert.EqualValues(t, 16000, *reading.SpeedMTs)
		require.NotNil(t, reading.WidthLanes)
		assert.EqualValues(t, 16, *reading.WidthLanes)
	}
	assert.Nil(t, result.Hops[1].During.SpeedMTs)
	assert.Positive(t, result.Duration)
	assert.Zero(t, FakeCensus())
}

func TestFakeFailuresArriveByName(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		want         Status
		op           string
		errno        syscall.Errno
	}{
		{"lost completion", "lose_write=10", StatusCompletionLost, "ibv_poll_cq", 0},
		{"failed completion", "fail_write=10", StatusCompletionFailed, "ibv_poll_cq", 0},
		{"vanished device", "kill_write=10", StatusDeviceRemoved, "ibv_get_async_event", 0},
		{"port down", "port_down_write=10", StatusPortChanged, "ibv_get_async_event", 0},
		{"refused registration", "fail=reg_mr,fail_errno=14", StatusRegistrationRefused, "ibv_reg_mr", syscall.EFAULT},
		{"refused queue pair", "fail=modify_rtr", StatusQueuePairRefused, "ibv_modify_qp(RTR)", syscall.EINVAL},
		{"wrong bytes", "spoil_write=1", StatusWrongData, "RDMA WRITE", 0},
		{"no GID", "gids=switchdev", StatusNoUsableGID, "ibv_query_gid_table", 0},
		{"no such device", "devices=0", StatusDeviceNotFound, "ibv_get_device_list", 0},
		{"no permission", "fail=open_device,fail_errno=13", StatusPermissionDenied, "ibv_open_device", syscall.EACCES},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("HOSTPING_FAKE_VERBS", tc.script)
			_, err := Loopback(context.Background(), fakeConfig())
			require.ErrorIs(t, err, tc.want)
			var failure *Error
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, tc.op, failure.Op)
			assert.Equal(t, tc.errno, failure.Errno)
			assert.Equal(t, "fake0 port 1", failure.Object)
			assert.NotContains(t, failure.Text, "\n")
			assert.Zero(t, FakeCensus())
		})
	}
}

func TestFakeCancellationEndsAWait(t *testing.T) {
	t.Setenv("HOSTPING_FAKE_VERBS", "lose_write=10")
	config := fakeConfig()
	config.CompletionTimeout, config.Deadline = time.Hour, time.Hour
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := Loopback(ctx, config)
	assert.ErrorIs(t, err, StatusCancelled)
	assert.Zero(t, FakeCensus())
}

func TestFakeDeadline(t *testing.T) {
	t.Setenv("HOSTPING_FAKE_VERBS", "lose_write=10")
	config := fakeConfig()
	config.CompletionTimeout, config.Deadline = time.Hour, 50*time.Millisecond
	_, err := Loopback(context.Background(), config)
	assert.ErrorIs(t, err, StatusDeadlineExceeded)
}

// A verb that hangs in the kernel sees no flag: the caller goes on without it, and its memory goes when it ends.
func TestFakeCallThatHangsIsLeftBehind(t *testing.T) {
	t.Setenv("HOSTPING_FAKE_VERBS", "stall=create_cq,stall_ms=3000")
	config := fakeConfig()
	config.Deadline = time.Millisecond
	started := time.Now()
	_, err := Loopback(context.Background(), config)
	assert.ErrorIs(t, err, StatusAbandoned)
	assert.Less(t, time.Since(started), 3*time.Second)
	assert.NotZero(t, FakeCensus())
	assert.Eventually(t, func() bool { return FakeCensus() == 0 }, 30*time.Second, 10*time.Millisecond)
}

func TestFakeOneSickDeviceAmongHealthyOnes(t *testing.T) {
	t.Setenv("HOSTPING_FAKE_VERBS", "devices=3,faulty=1,fail=create_cq")
	for device, want := range map[string]Status{"fake0": StatusOK, "fake1": StatusCompletionQueueRefused, "fake2": StatusOK} {
		config := fakeConfig()
		config.Device = device
		_, err := Loopback(context.Background(), config)
		if want == StatusOK {
			assert.NoError(t, err, device)
		} else {
			assert.ErrorIs(t, err, want, device)
		}
	}
}

func TestFakeConfigMistakesAreTold(t *testing.T) {
	negative := -5
	for _, tc := range []struct {
		name  string
		spoil func(*LoopbackConfig)
		says  string
	}{
		{"device name too long", func(c *LoopbackConfig) { c.Device = string(make([]byte, 64)) }, "1 to 63 bytes"},
		{"no device name", func(c *LoopbackConfig) { c.Device = "" }, "1 to 63 bytes"},
		{"window", func(c *LoopbackConfig) { c.Window = -1 }, "window is 0, must be 1 to 1024"},
		{"node", func(c *LoopbackConfig) { c.MemoryNode = &negative }, "memory_node"},
		{"message larger than its region", func(c *LoopbackConfig) { c.RegionBytes = 1 }, "region_bytes is 1"},
		{"deadline", func(c *LoopbackConfig) { c.Deadline = 0 }, "deadline_ns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("HOSTPING_FAKE_VERBS", "")
			config := fakeConfig()
			tc.spoil(&config)
			_, err := Loopback(context.Background(), config)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}
