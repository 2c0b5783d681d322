package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
)

func diagnoseCommand(env Env) *cobra.Command {
	var (
		host     hostFlags
		pick     selection
		mode     string
		runs     int
		format   string
		outputTo string
	)
	cmd := &cobra.Command{
		Use:   "diagnose",
		Short: "Measure every path once and say what is slow, and why",
		Long: `Measure the paths between the RNICs and the endpoints of this host, and name the
link or the setting that explains the slow ones.

On an idle host every path is measured. On a busy host only close endpoints are,
and RNICs under load are compared with themselves. A live run refuses to start
when the host's idle state cannot be read.

Exit status: 0 healthy; 1 at least one diagnosis; 2 wrong usage; 3 the
environment does not allow a run; 4 inconclusive: nothing blamed, but a planned
path was not measured, or nothing is proven of an RNIC, or a GPU has nothing to
be compared with. RNICs in service are healthy by their own close paths, and named.`,
		Example: `  hostpingctl diagnose
  hostpingctl diagnose --rnic 'mlx5_*,!mlx5_4' --format json --output report.json
  hostpingctl diagnose --format tap | tee acceptance.tap
  hostpingctl diagnose --baseline-file baseline.json
  hostpingctl diagnose --sim --fault rnic_pcie:rnic0
  hostpingctl diagnose --sim --fault memory:mem0=0.6 --busy rnic2
  hostpingctl diagnose --sim --fault flapping:memory:mem0 --runs 3`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rnics, gpus, err := pick.parse()
			if err != nil {
				return err
			}
			out, err := openOutput(outputTo, env.Stdout)
			if err != nil {
				return err
			}
			defer out.close()
			opened, err := host.open(cmd.Context(), cmd, env)
			if err != nil {
				return err
			}
			if opened.Close != nil {
				defer opened.Close()
			}
			if err := pick.check(opened.Topology); err != nil {
				return err
			}
			line := progressOn(env.Stderr, env.LookupEnv)
			line.say("checking whether the host is idle")
			result, earlier, err := consecutiveRuns(cmd.Context(), opened, runs, run.Options{
				Tool:       report.Tool{Version: env.Build.Version, Revision: env.Build.Revision},
				Trigger:    "manual",
				Mode:       run.Mode(mode),
				RNICs:      rnics,
				GPUs:       gpus,
				Thresholds: host.limits,
				Events:     line.events(),
			})
			line.wipe()
			if err != nil {
				return err
			}
			if err := out.write(func(w io.Writer) error { return render(w, &result, earlier, format, out.style(env)) }); err != nil {
				return err
			}
			return outcome(result)
		},
	}
	host.add(cmd)
	host.baseline.add(cmd)
	pick.add(cmd, &host)
	cmd.Flags().Var(newOneOf(&mode, "auto", "auto", "idle", "busy"), "mode", "idle measures every path and needs an idle host, busy close endpoints only, auto goes by the host's load")
	complete(cmd, "mode", func(string) []string { return []string{"auto", "idle", "busy"} })
	cmd.Flags().Var(newCount(&runs, 1, maxRuns), "runs", "consecutive runs, of which the last is printed; a fault that comes and goes shows over three")
	addOutput(cmd, &format, &outputTo, "tap")
	return cmd
}

// maxRuns bounds consecutive runs: about a day of idle checks.
const maxRuns = 300

// consecutiveRuns makes n runs, each of which knows what those before it
// said, and returns the last one's report and what those before it blamed. An
// interrupted run ends them. The error, with its exit status, says why a run
// did not start.
func consecutiveRuns(ctx context.Context, host run.Host, n int, opts run.Options) (last report.Report, earlier []report.Earlier, err error) {
	for i := range n {
		next, err := run.Execute(ctx, host, opts)
		switch {
		case err != nil && i > 0 && ctx.Err() != nil: // between two runs: what was measured stands
			last.Run.Interrupted, last.Run.EndReason = true, fmt.Sprintf("interrupted after %d of %d runs", i, n)
			earlier = slices.DeleteFunc(earlier, func(x report.Earlier) bool { return x.Run == i })
			return last, earlier, nil
		case err != nil && i > 0:
			return last, nil, refused(ctx, fmt.Errorf("run %d of %d: %w", i+1, n, err))
		case err != nil:
			return last, nil, refused(ctx, err)
		}
		last, opts.History = next, next.Past()
		if last.Run.Interrupted {
			break
		}
		earlier = blamedBefore(earlier, i, n, last)
	}
	return last, earlier, nil
}

// blamedBefore adds what run i of n blamed, unless it is the last one.
func blamedBefore(earlier []report.Earlier, i, n int, r report.Report) []report.Earlier {
	if i+1 == n || len(r.Diagnoses) == 0 {
		return earlier
	}
	return append(earlier, report.Earlier{Run: i + 1, Runs: n, Diagnoses: r.Diagnoses})
}

// refused gives a run that did not start its exit status.
func refused(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, run.ErrSelection):
		return wrongFlagf("rnic", "", ": %w", err)
	case errors.Is(err, run.ErrBusy):
		return environment(fmt.Errorf("%w: say --mode busy, or stop what loads the host", err))
	case ctx.Err() != nil:
		return &exitError{ExitInconclusive, errors.New("interrupted before anything was measured")}
	}
	return environment(err)
}

// outcome is the exit status of a report.
func outcome(r report.Report) error {
	switch r.Outcome() {
	case report.Diagnosed:
		return &exitError{code: ExitDiagnosed}
	case report.Inconclusive:
		return &exitError{code: ExitInconclusive}
	}
	return nil
}
