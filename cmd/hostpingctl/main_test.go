package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be hostpingctl, so that exit statuses are
// those of a real process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_RUNS_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"healthy": {[]string{"diagnose", "--sim"}, 0},
		"faulty":  {[]string{"diagnose", "--sim", "--fault", "rnic_pcie:rnic0"}, 1},
		"wrong":   {[]string{"diagnose", "--sim", "--fault", "rnic_pcie:rnic9"}, 2},
		"busy":    {[]string{"diagnose", "--sim", "--busy", "rnic0", "--mode", "idle"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			ctl := exec.CommandContext(t.Context(), os.Args[0], c.args...)
			ctl.Env = append(os.Environ(), "TEST_RUNS_MAIN=1")
			err := ctl.Run()
			if c.code == 0 {
				require.NoError(t, err)
				return
			}
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, c.code, exit.ExitCode())
		})
	}
}
