package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/daemon"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
)

// Hostping runs the daemon and returns its exit status: 0 once ctx has ended,
// ExitEnvironment on a host with nothing to probe.
func Hostping(ctx context.Context, env Env, args []string) int {
	var (
		host      hostFlags
		pick      selection
		logLevel  string
		logFormat string
	)
	root := newRoot(env, "hostping",
		"Watch a host for links that slow RDMA down",
		`hostping watches a host: when it is idle, it measures the paths between the RNICs
and the memory and GPUs by RDMA loopback, and reports the link or the setting
that explains the slow ones. It ends with status 0 on SIGTERM,
and with 3 at once where there is nothing to probe.

Every flag can also come from the environment, as HOSTPING_ and the flag's name
in capitals with underscores (HOSTPING_LOG_LEVEL=debug); the command line wins.`,
		`  hostping                                         # this host
  hostping --rnic 'mlx5_*,!mlx5_4' --log-format json
  hostping --sim --fault memory:mem0               # a simulated host, without RDMA hardware`)
	root.Args = noArguments
	root.CompletionOptions.DisableDefaultCmd = true
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		rnics, gpus, err := pick.parse()
		if err != nil {
			return err
		}
		open := func(ctx context.Context) (run.Host, error) {
			opened, err := host.open(ctx, cmd, env)
			if err == nil {
				err = pick.check(opened.Topology)
			}
			return opened, err
		}
		err = daemon.New(open, daemon.Options{
			Log: newLogger(env, logLevel, logFormat),
			Run: run.Options{
				Tool:  report.Tool{Version: env.Build.Version, Revision: env.Build.Revision},
				RNICs: rnics, GPUs: gpus, Thresholds: host.limits,
			},
		}).Serve(cmd.Context())
		if errors.Is(err, run.ErrNoDevice) {
			return environment(err)
		}
		return err
	}
	host.add(root)
	host.baseline.add(root)
	pick.add(root, &host)
	root.Flags().Var(newOneOf(&logLevel, "info", "debug", "info", "warn", "error"), "log-level", "what to log")
	root.Flags().Var(newOneOf(&logFormat, "text", "text", "json"), "log-format", "how to log")
	return Main(ctx, root, env, args)
}

// newLogger logs to stderr, as services do.
func newLogger(env Env, level, format string) *slog.Logger {
	var threshold slog.Level
	_ = threshold.UnmarshalText([]byte(level)) // the flag takes known levels only
	options := &slog.HandlerOptions{Level: threshold}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(env.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(env.Stderr, options))
}
