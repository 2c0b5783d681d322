package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/run"
)

// logBuffer is written by the daemon while a test reads it.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// The daemon makes one run if the host is idle, says so in its log, and ends
// with 0 when it is told to stop.
func TestDaemon(t *testing.T) {
	busy := liveHost{idle: monitor.Reading{State: monitor.Busy, Reasons: []string{"rnic2: busy"}}}
	unknown := liveHost{idle: monitor.Reading{State: monitor.Unknown, Reasons: []string{"rnic2: no counters"}}}
	for name, c := range map[string]struct {
		line string
		host liveHost
		logs []string
	}{
		"a healthy host":      {"--sim", liveHost{}, []string{"msg=started", `msg="run finished"`, "outcome=healthy", "trigger=idle"}},
		"a faulty host":       {"--sim --fault memory:mem1", liveHost{}, []string{"outcome=diagnosed", "code=memory_channel_failure", "component=memory:mem1"}},
		"a live host":         {"", liveHost{}, []string{"backend=live", "host=node17", "outcome=healthy"}},
		"a busy host":         {"--sim --busy rnic0", liveHost{}, []string{`msg="idle check skipped"`, "rnic0"}},
		"a busy live host":    {"", busy, []string{`msg="idle check skipped"`, "rnic2"}},
		"a host of unknown":   {"", unknown, []string{`msg="idle check skipped"`, "no counters"}},
		"only what is wrong":  {"--sim --log-level warn --fault memory:mem1", liveHost{}, []string{"msg=diagnosis"}},
		"a run that is stuck": {"", liveHost{prober: deafProber{}}, []string{"msg=started"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var log logBuffer
			env := call{live: c.host.open}.environment(nil, nil)
			env.Stdout, env.Stderr = &log, &log
			code := make(chan int, 1)
			go func() { code <- cli.Hostping(ctx, env, strings.Fields(c.line)) }()
			require.Eventually(t, func() bool {
				for _, text := range c.logs {
					if !strings.Contains(log.String(), text) {
						return false
					}
				}
				return true
			}, 10*time.Second, 5*time.Millisecond, "missing from the log")
			select {
			case got := <-code:
				t.Fatalf("the daemon ended by itself with %d: %s", got, log.String())
			default:
			}
			cancel()
			select {
			case got := <-code:
				require.Equal(t, 0, got)
			case <-time.After(5 * time.Second):
				t.Fatal("the daemon did not stop within 5 s")
			}
		})
	}
}

func TestDaemonLogsJSON(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log logBuffer
	env := call{}.environment(nil, nil)
	env.Stdout, env.Stderr = &log, &log
	require.Equal(t, 0, cli.Hostping(ctx, env, strings.Fields("--sim --log-format json")))
	for line := range strings.Lines(log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, log.String(), `"msg":"stopped"`)
}

func TestDaemonWrongUsage(t *testing.T) {
	noDevice := func(context.Context, cli.LiveOptions) (run.Host, error) {
		return run.Host{}, errors.New("no RDMA device")
	}
	for name, c := range map[string]struct {
		line string
		code int
		says string
	}{
		"unknown flag":      {"--metrcs :9464", 2, "unknown flag --metrcs"},
		"near miss":         {"--log-levle info", 2, "did you mean --log-level?"},
		"argument":          {"start", 2, "takes no arguments"},
		"log level":         {"--log-level inof", 2, "did you mean info?"},
		"fault without sim": {"--fault memory:mem0", 2, "add --sim"},
		"unknown target":    {"--sim --fault memory:mem7", 2, "mem0"},
		"RNIC not there":    {"--sim --rnic rnic9", 2, "rnic9"},
		"no RDMA device":    {"", 3, "no RDMA device"},
		"nothing usable":    {"--sim-topology ../../testdata/topologies/arm-x8.json", 3, "nothing to probe: no RDMA device can be probed"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := cli.Hostping(t.Context(), call{live: noDevice}.environment(&stdout, &stderr), strings.Fields(c.line))
			require.Equal(t, c.code, code)
			require.Empty(t, stdout.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.Contains(t, stderr.String(), "hostping: ")
			require.Contains(t, stderr.String(), c.says)
		})
	}
}

func TestDaemonHelpAndVersion(t *testing.T) {
	for line, says := range map[string]string{
		"--help":    "Examples:",
		"--version": "hostping 1.2.3 (revision abcdef, go1.",
	} {
		t.Run(line, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, 0, cli.Hostping(t.Context(), call{}.environment(&stdout, &stderr), []string{line}))
			require.Contains(t, stdout.String(), says)
			require.Empty(t, stderr.String())
		})
	}
}
