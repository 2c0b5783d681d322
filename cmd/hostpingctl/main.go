// Command hostpingctl is the operator's tool.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/live"
	"github.com/yuuki/hostping/internal/native"
	"github.com/yuuki/hostping/internal/run"
)

// Set by the linker.
var version, revision = "0.1.0-dev", "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the run in good order, a second one the program.
	context.AfterFunc(ctx, stop)
	env := cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Environ: os.Environ,
		Build: cli.BuildInfo{Version: version, Revision: revision, Zig: native.ZigVersion()},
		Live: func(ctx context.Context, opts cli.LiveOptions) (run.Host, error) {
			return live.Open(ctx, live.Options(opts))
		},
		Monitor: func(ctx context.Context, opts cli.LiveOptions) (run.Sampler, func() error, error) {
			watch, err := live.OpenMonitor(ctx, live.Options(opts))
			if err != nil {
				return nil, nil, err
			}
			return watch, watch.Close, nil
		},
	}
	os.Exit(cli.Hostpingctl(ctx, env, os.Args[1:]))
}
