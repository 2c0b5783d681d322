//go:build cgo && linux && fakeverbs

package native

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// standIn is the stand-in for libnvidia-ml.so.1 (zig/testing/nvml_standin.zig), which does what a file says.
type standIn struct {
	t       *testing.T
	library string
	files   tree
}

func newStandIn(t *testing.T, edition string) standIn {
	t.Helper()
	library, err := filepath.Abs("../../zig-out/test/" + edition + "/libnvidia-ml.so.1")
	require.NoError(t, err)
	s := standIn{t, library, newTree(t)}
	t.Setenv("NVML_STANDIN", s.files.path("script"))
	t.Setenv("NVML_STANDIN_CENSUS", s.files.path("census"))
	return s
}

func (s standIn) script(text string) {
	s.t.Helper()
	// In one step: the library reads the file at any time.
	require.NoError(s.t, os.Rename(s.files.write("next", text), s.files.path("script")))
}

func (s standIn) open(pci ...string) *NVML {
	s.t.Helper()
	nvml, err := OpenNVML(s.t.Context(), s.library, pci)
	require.NoError(s.t, err)
	return nvml
}

// census is the number that the library counts under that name.
func (s standIn) census(name string) int {
	s.t.Helper()
	text, err := os.ReadFile(s.files.path("census"))
	require.NoError(s.t, err)
	match := regexp.MustCompile(name + ` (-?\d+)`).FindStringSubmatch(string(text))
	require.NotNil(s.t, match, "%s", text)
	number, err := strconv.Atoi(match[1])
	require.NoError(s.t, err)
	return number
}

// isClean waits for the library to be shut down as often as it was initialised, without a misuse.
func (s standIn) isClean() {
	s.t.Helper()
	assert.Eventually(s.t, func() bool { return s.census("initialised") == 0 && s.census("running") == 0 }, waitFor, pollEvery)
	assert.Zero(s.t, s.census("misuses"))
}

const gpu0, gpu1, gpu2 = "0000:17:00.0", "0000:65:00.0", "0000:ca:00.0"

func TestNVMLReadsEveryDevice(t *testing.T) {
	s := newStandIn(t, "nvml")
	s.script(gpu0 + " utilization=35 sent=1000 received=2500 compute=2 graphics=0 mode=3 mig=0\n" +
		gpu1 + " utilization=!3 sent=0 received=0 compute=0 graphics=1 mode=0 mig=1\n")
	nvml := s.open(gpu0, gpu1, gpu2)
	assert.Empty(t, nvml.Missing())
	out := make([]NVMLDevice, 3)
	require.NoError(t, nvml.Read(t.Context(), out))

	read := func(number uint64) NVMLValue { return NVMLValue{Value: number} }
	assert.Equal(t, NVMLDevice{
		UtilizationPercent: read(35), PCIeSentBytesPerSecond: read(1_000_000), PCIeReceivedBytesPerSecond: read(2_500_000),
		ComputeProcesses: read(2), GraphicsProcesses: read(0), ComputeMode: read(ComputeModeExclusiveProcess), MIGMode: read(0),
	}, out[0])
	// Field case C85: not supported with MIG is absent, not 0.
	assert.Equal(t, NVMLValue{Code: NVMLNotSupported}, out[1].UtilizationPercent)
	_, known := out[1].UtilizationPercent.Get()
	assert.False(t, known)
	assert.Equal(t, read(1), out[1].MIGMode)
	assert.Equal(t, read(1), out[1].GraphicsProcesses)
	require.ErrorIs(t, out[2].Err, StatusLibraryRefused)
	var failure *Error
	require.ErrorAs(t, out[2].Err, &failure)
	assert.EqualValues(t, NVMLNotFound, failure.LibraryCode)
	assert.EqualError(t, failure, gpu2+": nvmlDeviceGetHandleByPciBusId_v2: Not Found (6)")

	assert.ErrorContains(t, nvml.Read(t.Context(), out[:1]), "room for 1 readings of 3 devices")
	nvml.Close()
	s.isClean()
	require.NoError(t, nvml.Read(t.Context(), out))
	assert.ErrorIs(t, out[0].Err, os.ErrClosed)
}

// Field case C86: a device that hangs costs itself alone, and nobody calls into it again until it answers.
func TestNVMLDeviceThatHangs(t *testing.T) {
	s := newStandIn(t, "nvml")
	healthy := gpu0 + " utilization=10\n" + gpu1 + " utilization=20\n"
	s.script(healthy + gpu2 + " utilization=30 hang=1\n")
	nvml := s.open(gpu0, gpu1, gpu2)
	out := make([]NVMLDevice, 3)
	read := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		require.NoError(t, nvml.Read(ctx, out))
	}
	for range 3 {
		read()
		require.NoError(t, out[0].Err)
		require.NoError(t, out[1].Err)
		assert.EqualValues(t, 10, out[0].UtilizationPercent.Value)
		assert.EqualValues(t, 20, out[1].UtilizationPercent.Value)
		require.ErrorIs(t, out[2].Err, StatusAbandoned)
		assert.ErrorContains(t, out[2].Err, gpu2)
		assert.Zero(t, out[2].UtilizationPercent.Value, "old values are withdrawn")
	}
	assert.Equal(t, 1, s.census("running"))
	require.ErrorIs(t, nvml.Reinit(t.Context()), StatusAbandoned, "the library is not shut down under a call")

	s.script(healthy + gpu2 + " utilization=31\n")
	require.Eventually(t, func() bool { read(); return out[2].Err == nil }, waitFor, pollEvery)
	assert.EqualValues(t, 31, out[2].UtilizationPercent.Value)

	// Closed while it hangs: shut down when it returns, not before.
	s.script(healthy + gpu2 + " hang=1\n")
	read()
	nvml.Close()
	assert.Equal(t, 1, s.census("initialised"))
	s.script(healthy)
	s.isClean()
}

// Field case C94: the library loses its devices; a new initialisation cures it, an absent GPU it is not.
func TestNVMLLosesItsDevices(t *testing.T) {
	s := newStandIn(t, "nvml")
	s.script(gpu0 + " utilization=10\n")
	nvml := s.open(gpu0)
	defer nvml.Close()
	out := make([]NVMLDevice, 1)
	code := func() NVMLCode {
		require.NoError(t, nvml.Read(t.Context(), out))
		if out[0].Err == nil {
			return NVMLSuccess
		}
		var failure *Error
		require.ErrorAs(t, out[0].Err, &failure)
		require.ErrorIs(t, failure, StatusLibraryRefused)
		return NVMLCode(failure.LibraryCode)
	}
	require.Equal(t, NVMLSuccess, code())

	s.script("library fail=999 calls=3\n" + gpu0 + " utilization=10\n")
	for range 3 {
		require.Equal(t, NVMLUnknown, code())
	}
	require.Equal(t, NVMLSuccess, code())

	s.script("library init=999\n" + gpu0 + " utilization=10\n")
	err := nvml.Reinit(t.Context())
	require.ErrorIs(t, err, StatusLibraryRefused)
	assert.ErrorContains(t, err, "NVML: nvmlInit_v2: Unknown Error (999)")
	s.script(gpu0 + " utilization=11\n")
	require.NoError(t, nvml.Reinit(t.Context()))
	require.Equal(t, NVMLSuccess, code())
	assert.EqualValues(t, 11, out[0].UtilizationPercent.Value)
	assert.Equal(t, 1, s.census("initialised"))
	assert.Zero(t, s.census("misuses"))
}

func TestNVMLOfOtherVersions(t *testing.T) {
	s := newStandIn(t, "nvml-old")
	s.script(gpu0 + " compute=3 graphics=1 mode=0 mig=1\n")
	nvml := s.open(gpu0)
	assert.Equal(t, []string{"nvmlDeviceGetMigMode"}, nvml.Missing())
	out := make([]NVMLDevice, 1)
	require.NoError(t, nvml.Read(t.Context(), out))
	assert.EqualValues(t, 3, out[0].ComputeProcesses.Value, "by the unversioned name")
	assert.EqualValues(t, 1, out[0].GraphicsProcesses.Value)
	assert.Equal(t, NVMLValue{Code: NVMLFunctionNotFound}, out[0].MIGMode)
	nvml.Close()
	s.isClean()

	_, err := OpenNVML(t.Context(), newStandIn(t, "nvml-broken").library, []string{gpu0})
	require.ErrorIs(t, err, StatusLibraryIncomplete)
	assert.ErrorContains(t, err, "it lacks nvmlInit_v2")
}

func TestNVMLThatDoesNotBegin(t *testing.T) {
	s := newStandIn(t, "nvml")
	_, err := OpenNVML(t.Context(), s.files.path("libnvidia-ml.so.1"), nil)
	require.ErrorIs(t, err, StatusLibraryMissing)
	assert.ErrorContains(t, err, "dlopen")
	assert.NotContains(t, err.Error(), "\n")

	s.script("library init=9\n")
	_, err = OpenNVML(t.Context(), s.library, nil)
	require.ErrorIs(t, err, StatusLibraryRefused)
	var failure *Error
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, NVMLDriverNotLoaded, NVMLCode(failure.LibraryCode))
	assert.Equal(t, "NVML_ERROR_DRIVER_NOT_LOADED", NVMLCode(failure.LibraryCode).String())
	assert.Equal(t, "NVML error 77", NVMLCode(77).String())

	for _, pci := range []string{"", "a\x00b"} {
		_, err = OpenNVML(t.Context(), s.library, []string{pci})
		assert.Error(t, err)
	}
}

// A library that is removed or replaced on disk goes on as it was loaded.
func TestNVMLLibraryThatVanishes(t *testing.T) {
	s := newStandIn(t, "nvml")
	s.script(gpu0 + " utilization=10\n")
	bytes, err := os.ReadFile(s.library)
	require.NoError(t, err)
	copied := s.files.write("libnvidia-ml.so.1", string(bytes))
	nvml, err := OpenNVML(t.Context(), copied, []string{gpu0})
	require.NoError(t, err)
	require.NoError(t, os.Remove(copied))
	out := make([]NVMLDevice, 1)
	require.NoError(t, nvml.Read(t.Context(), out))
	require.NoError(t, out[0].Err)
	nvml.Close()
	s.isClean()
	_, err = OpenNVML(t.Context(), copied, []string{gpu0})
	require.ErrorIs(t, err, StatusLibraryMissing)
}

func TestNVMLFromManyGoroutines(t *testing.T) {
	s := newStandIn(t, "nvml")
	s.script(gpu0 + " utilization=10\n" + gpu1 + " utilization=20\n")
	nvml := s.open(gpu0, gpu1)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			out := make([]NVMLDevice, 2)
			for range 50 {
				assert.NoError(t, nvml.Read(t.Context(), out))
				if out[0].Err == nil {
					assert.EqualValues(t, 10, out[0].UtilizationPercent.Value)
				}
			}
		})
	}
	all.Go(func() {
		for range 20 {
			_ = nvml.Reinit(t.Context())
		}
		nvml.Close()
	})
	all.Wait()
	s.isClean()
}

func TestNVMLLeavesNothing(t *testing.T) {
	s := newStandIn(t, "nvml")
	s.script(gpu0 + " utilization=10\n")
	out := make([]NVMLDevice, 1)
	before := 0
	for round := range 1000 {
		nvml := s.open(gpu0)
		require.NoError(t, nvml.Read(t.Context(), out))
		require.NoError(t, out[0].Err)
		nvml.Close()
		if round == 50 {
			before = descriptors(t)
		}
	}
	assert.Eventually(t, func() bool { return descriptors(t) <= before }, waitFor, pollEvery)
	s.isClean()

	nvml := s.open(gpu0)
	defer nvml.Close()
	require.NoError(t, nvml.Read(t.Context(), out))
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = nvml.Read(t.Context(), out) }))
}
