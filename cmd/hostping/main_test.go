package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the daemon, so that real signals reach a
// real process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_RUNS_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestSignalsStopTheDaemon(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			daemon := exec.CommandContext(t.Context(), os.Args[0], "--sim")
			daemon.Env = append(os.Environ(), "TEST_RUNS_MAIN=1")
			log, err := daemon.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, daemon.Start())
			lines := bufio.NewScanner(log)
			ran := false
			for !ran && lines.Scan() {
				ran = strings.Contains(lines.Text(), "run finished")
			}
			require.True(t, ran, "the log ended before the first run")
			require.NoError(t, daemon.Process.Signal(signal))
			sent := time.Now()
			for lines.Scan() {
			}
			require.NoError(t, daemon.Wait(), "exit status 0")
			require.Less(t, time.Since(sent), 5*time.Second)
		})
	}
}
