//go:build cgo && linux && !fakeverbs

package native

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckAcceptsItsOwnLibrary(t *testing.T) {
	require.NoError(t, Check())
	pinned, err := os.ReadFile("../../build.zig.zon")
	require.NoError(t, err)
	assert.Contains(t, string(pinned), `.minimum_zig_version = "`+ZigVersion()+`"`)
}

func TestUnknownDevice(t *testing.T) {
	_, err := Loopback(context.Background(), DefaultLoopbackConfig("no_such_rnic", 1, 200))
	require.ErrorIs(t, err, StatusDeviceNotFound)
	assert.ErrorContains(t, err, "no_such_rnic port 1: ibv_get_device_list")
}

// Goal: 200 probes of each real device leave no descriptor and no verbs object behind.
// Method: HOSTPING_TEST_DEVICES names devices (the lab's); with the counting provider preloaded its census must read 0 at the end.
func TestRoundsOnRealDevicesLeaveNothing(t *testing.T) {
	names := os.Getenv("HOSTPING_TEST_DEVICES")
	if names == "" {
		t.Skip("HOSTPING_TEST_DEVICES names no RDMA device to probe")
	}
	const rounds = 200
	for _, device := range strings.Split(names, ",") {
		t.Run(device, func(t *testing.T) {
			config := DefaultLoopbackConfig(device, 1, 2.5)
			config.MessageBytes, config.RegionBytes = 4096, 4096
			config.SmallSamples, config.LargeSamples, config.WarmupWrites = 5, 2, 1
			config.BandwidthBytesMax = 32 * 4096
			before := -1
			for round := range rounds {
				_, err := Loopback(t.Context(), config)
				require.NoError(t, err, "round %d", round)
				descriptors, err := filepath.Glob("/proc/self/fd/*")
				require.NoError(t, err)
				if before < 0 {
					before = len(descriptors)
				}
				require.Len(t, descriptors, before, "round %d", round)
			}
			if file := os.Getenv("VERBS_FAULT_CENSUS"); file != "" {
				census, err := os.ReadFile(file)
				require.NoError(t, err)
				t.Logf("census: %s", census)
				require.Regexp(t, `^contexts 0 +domains 0 +regions 0 +completion_queues 0 +queue_pairs 0 +made [1-9]`, string(census))
			}
		})
	}
}
