package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
)

// call is one call of hostpingctl, in process.
type call struct {
	args  []string
	stdin io.Reader // nil is empty
	env   map[string]string
	live  func(context.Context, cli.LiveOptions) (run.Host, error)
	watch func(context.Context, cli.LiveOptions) (run.Sampler, func() error, error)
}

// result is what a call left behind.
type result struct {
	code           int
	stdout, stderr string
}

func (c call) run(ctx context.Context) result {
	var stdout, stderr bytes.Buffer
	code := cli.Hostpingctl(ctx, c.environment(&stdout, &stderr), c.args)
	return result{code, stdout.String(), stderr.String()}
}

func (c call) environment(stdout, stderr *bytes.Buffer) cli.Env {
	return cli.Env{
		Stdin: c.stdin, Stdout: stdout, Stderr: stderr,
		LookupEnv: func(name string) (string, bool) { value, ok := c.env[name]; return value, ok },
		Environ: func() (environ []string) {
			for name, value := range c.env {
				environ = append(environ, name+"="+value)
			}
			return environ
		},
		Build: cli.BuildInfo{Version: "1.2.3", Revision: "abcdef", Zig: "0.16.0"},
		Live: func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
			if c.live == nil {
				return run.Host{}, errors.New("this test has no live host")
			}
			return c.live(ctx, opts)
		},
		Monitor: func(ctx context.Context, opts cli.LiveOptions) (run.Sampler, func() error, error) {
			if c.watch == nil {
				return nil, nil, errors.New("this test has no live host to watch")
			}
			return c.watch(ctx, opts)
		},
	}
}

// hostpingctl calls with a command line that has no quotes.
func hostpingctl(t *testing.T, line string) result {
	t.Helper()
	return call{args: strings.Fields(line)}.run(t.Context())
}

func parseReport(t *testing.T, text string) report.Report {
	t.Helper()
	var r report.Report
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r))
	return r
}

// requireOneLine is the contract of exit statuses 2 and 3.
func requireOneLine(t *testing.T, r result, code int) {
	t.Helper()
	require.Equal(t, code, r.code, "stderr: %s", r.stderr)
	require.Empty(t, r.stdout)
	require.Equal(t, 1, strings.Count(r.stderr, "\n"), "stderr: %q", r.stderr)
	require.True(t, strings.HasSuffix(r.stderr, "\n"), "stderr: %q", r.stderr)
	require.True(t, strings.HasPrefix(r.stderr, "hostpingctl: "), "stderr: %q", r.stderr)
}
