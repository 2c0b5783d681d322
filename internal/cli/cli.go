// Package cli is the command line of both programs: hostpingctl, the
// operator's tool, and hostping, the daemon. It parses, refuses what is
// wrong in one line, opens a live or a simulated host, and prints what
// internal/run found. It decides nothing about a host.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/run"
)

// Exit statuses. They are part of the programs' contract.
const (
	ExitHealthy      = 0
	ExitDiagnosed    = 1 // at least one diagnosis
	ExitRegression   = 1 // of compare: something got worse
	ExitUsage        = 2 // wrong usage, unreadable input, unwritable output
	ExitEnvironment  = 3 // the environment does not allow a run
	ExitInconclusive = 4 // nothing blamed, but the plan was not completed
)

// Env is the world that a program runs in.
type Env struct {
	Stdin          io.Reader // nil is empty
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	Environ        func() []string // all of it, NAME=VALUE; nil is none
	Build          BuildInfo
	// Live opens the host that the program runs on.
	Live func(context.Context, LiveOptions) (run.Host, error)
	// Monitor watches it without probing; close frees what that holds.
	Monitor func(context.Context, LiveOptions) (watch run.Sampler, close func() error, err error)
}

// LiveOptions is what flags say about a live host; it has the fields of live.Options.
type LiveOptions struct {
	Sysfs, Procfs  string // read instead of /sys and /proc by discovery; "" for these
	SoftwareRNICs  bool
	AllMemoryNodes bool
	Idle           monitor.Thresholds
	// In Gb/s; 0 is not known.
	MemoryBusCapacityGbps, InterSocketCapacityGbps float64
}

// exitError carries an exit status. Without an error nothing is left to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef is wrong usage: exit status 2.
func usagef(format string, args ...any) error {
	return &exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// environment is a host that does not allow what was asked: exit status 3.
func environment(err error) error { return &exitError{ExitEnvironment, err} }

// Main runs a program and returns its exit status. What goes wrong is one
// line on stderr.
func Main(ctx context.Context, root *cobra.Command, env Env, args []string) int {
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if word := unknownWord(cmd, args); word != "" {
			return unknownCommand(cmd, word)
		}
		return flagError(cmd, err)
	})
	cmd, err := root.ExecuteContextC(ctx)
	if unwritten := root.OutOrStdout().(*keptWriter).err; unwritten != nil {
		err = stdoutFailed(unwritten)
	}
	if err == nil {
		return ExitHealthy
	}
	status := &exitError{ExitUsage, err} // what cobra itself refuses is usage
	if e, ok := errors.AsType[*exitError](err); ok {
		status = e
	}
	if status.err != nil {
		text := status.Error()
		if wrong, ok := errors.AsType[*wrongFlag](err); ok {
			text = wrong.asGiven(cmd, text)
		}
		fmt.Fprintf(env.Stderr, "%s: %s\n", root.Name(), oneLine(text))
	}
	return status.code
}

// oneLine keeps an error that quotes a file or a device on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
