package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
	"github.com/yuuki/hostping/internal/topology"
)

func replayCommand(env Env) *cobra.Command {
	var (
		terms    judging
		format   string
		outputTo string
	)
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Judge saved reports anew, without the host that made them",
		Long: `Judge the report that "hostpingctl diagnose --format json" saved anew: verdicts,
diagnoses and findings follow from what was measured, by today's analyzer and
thresholds; those in the file are ignored. No hardware is needed, and on the same
terms the result is the same report again, byte by byte. - is the standard input.

Several files are consecutive runs of one host, the oldest first; the last one is
printed.

Exit status: as of "hostpingctl diagnose".`,
		Example: `  hostpingctl replay report.json
  hostpingctl replay --path-threshold 0.1 report.json
  hostpingctl replay --format tap monday.json tuesday.json
  ssh host hostpingctl diagnose --format json | hostpingctl replay -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				return usagef(`replay needs the file of a report; "hostpingctl diagnose --format json --output FILE" writes one`)
			}
			out, err := openOutput(outputTo, env.Stdout)
			if err != nil {
				return err
			}
			defer out.close()
			runs, err := readReports(cmd.Context(), env, files)
			if err != nil {
				return err
			}
			if err := consecutive(files, runs); err != nil {
				return err
			}
			result, earlier, err := terms.replayRuns(cmd.Context(), env, files, runs)
			if err != nil {
				return err
			}
			if err := out.write(func(w io.Writer) error { return render(w, &result, earlier, format, out.style(env)) }); err != nil {
				return err
			}
			return outcome(result)
		},
		ValidArgsFunction: completeReports,
	}
	terms.add(cmd)
	addOutput(cmd, &format, &outputTo, "tap")
	return cmd
}

// render writes a report in one of the formats of addOutput. The other formats
// hold what the runs before it said as history.
func render(w io.Writer, r *report.Report, earlier []report.Earlier, format string, style report.Style) error {
	switch format {
	case "json":
		return r.JSON(w)
	case "tap":
		return r.TAP(w)
	}
	return r.Text(w, style, earlier...)
}

// judging is how saved reports are judged anew.
type judging struct {
	thresholdFlags
	baseline baselineFlag
}

func (j *judging) add(cmd *cobra.Command) {
	j.thresholdFlags.add(cmd)
	j.baseline.add(cmd)
}

// replay judges one run. past is what the runs before it said; nil takes what
// the report says of them.
func (j *judging) replay(ctx context.Context, env Env, file string, r report.Report, past *analyzer.History) (report.Report, error) {
	terms := report.Terms{
		Tool:       report.Tool{Version: env.Build.Version, Revision: env.Build.Revision},
		Thresholds: j.limits,
		History:    past,
	}
	if j.baseline.path != "" {
		terms.Baselines = func(r report.Report) (baseline.Set, []diagnosis.Finding, error) {
			host := run.Host{Backend: r.Run.Backend, Platform: r.Host.Platform, Topology: r.Topology}
			err := j.baseline.apply(ctx, &host)
			return host.Baselines, host.Findings, err
		}
	}
	result, err := report.Replay(r, terms)
	if refused, ok := errors.AsType[*exitError](err); ok { // the baseline file, not the report
		return result, refused
	}
	if err != nil {
		return result, usagef("%s: %w", fileName(file), err)
	}
	return result, nil
}

// replayRuns judges consecutive runs, each in the light of those before, and
// returns the last, and what those before blamed.
func (j *judging) replayRuns(ctx context.Context, env Env, files []string, runs []report.Report) (last report.Report, earlier []report.Earlier, err error) {
	var past *analyzer.History
	for i, r := range runs {
		if last, err = j.replay(ctx, env, files[i], r, past); err != nil {
			return last, nil, err
		}
		history := last.Past()
		past, earlier = &history, blamedBefore(earlier, i, len(runs), last)
	}
	return last, earlier, nil
}

// readReports reads and parses saved reports.
func readReports(ctx context.Context, env Env, files []string) ([]report.Report, error) {
	if first := slices.Index(files, "-"); first >= 0 && slices.Contains(files[first+1:], "-") {
		return nil, usagef("- is the standard input, which can be read only once")
	}
	var runs []report.Report
	for _, file := range files {
		r, err := parseInput(ctx, env.Stdin, file, report.MaxDocumentBytes, report.Parse)
		switch {
		case errors.Is(err, errInterrupted):
			return nil, &exitError{ExitInconclusive, fmt.Errorf("%s: %w", fileName(file), err)}
		case err != nil:
			return nil, usagef("%s: %w", fileName(file), err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func fileName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return quoteOdd(file)
}

// consecutive refuses reports that are not runs of one host, one after the other.
func consecutive(files []string, runs []report.Report) error {
	seen := map[string]string{}
	for i, r := range runs {
		if other, twice := seen[r.Run.ID]; twice {
			return usagef("%s: run.id: %s is the run of %s too; name each run once", fileName(files[i]), r.Run.ID, fileName(other))
		}
		seen[r.Run.ID] = files[i]
		if i == 0 {
			continue
		}
		before := runs[i-1]
		switch {
		case r.Host.Name != before.Host.Name:
			return usagef("%s: host.name: %q is not the host of %s, %q; replay takes runs of one host, compare takes two hosts",
				fileName(files[i]), r.Host.Name, fileName(files[i-1]), before.Host.Name)
		case strangers(before.Topology, r.Topology):
			return usagef("%s: topology.rnics: none of them is among those of %s: another host of the same name? replay takes runs of one host, compare takes two hosts",
				fileName(files[i]), fileName(files[i-1]))
		case r.Run.StartedAt.Before(before.Run.StartedAt):
			return usagef("%s: run.started_at: the run is older than that of %s; name the oldest first", fileName(files[i]), fileName(files[i-1]))
		}
	}
	return nil
}

// strangers reports whether two hosts have RNICs, and none in common.
func strangers(a, b topology.Topology) bool {
	known := map[string]bool{}
	for _, r := range a.RNICs {
		known[r.Identity()] = true
	}
	return len(a.RNICs) > 0 && len(b.RNICs) > 0 && !slices.ContainsFunc(b.RNICs, func(r topology.RNIC) bool { return known[r.Identity()] })
}

// completeReports completes an argument with the names of files that may be reports.
func completeReports(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
}
