package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/baseline/calibrate"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
)

// calibration is what the flags of calibrate say.
type calibration struct {
	host   hostFlags
	pick   selection
	out    string
	rounds int
	accept bool
	merge  bool
	format string
}

func calibrateCommand(env Env) *cobra.Command {
	var c calibration
	cmd := &cobra.Command{
		Use:   "calibrate --out FILE",
		Short: "Measure what this healthy host can do, as a baseline for others of its kind",
		Long: `Measure every path of an idle, healthy host in several rounds, and write what its
paths can do to a baseline file: by distance class and by what else decides the
figure, so that the file of one host serves all hosts of its kind.

A host whose like parts do not perform alike has a sick part and is refused, unless
--accept-asymmetric says that it is built so. A fault that all parts share cannot be
seen that way: what stays below the default expectation is listed, and a file merged
from several hosts is safer than that of one.

--merge joins the files of several hosts. The median of the hosts counts, so that a
sick one among them does not move it. Unlike hosts may be merged: each finds its own
figures. Merged files merge again.

Exit status: 0 written; 2 wrong usage, or a file that cannot be used; 3 the
environment does not allow a run, or the host is not fit to be calibrated.`,
		Example: `  hostpingctl calibrate --out baseline.json
  hostpingctl diagnose --baseline-file baseline.json
  hostpingctl calibrate --merge node1.json node2.json node3.json --out fleet.json
  hostpingctl calibrate --sim --seed 7 --out sim.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if c.out == "" {
				return usagef("calibrate needs --out FILE, the baseline file to write")
			}
			if c.merge {
				return c.join(cmd, env, files)
			}
			if len(files) > 0 {
				return usagef("calibrate measures this host and takes no files, but got %q; --merge joins files", files[0])
			}
			return c.measure(cmd, env)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	c.host.add(cmd)
	c.pick.add(cmd, &c.host)
	cmd.Flags().StringVar(&c.out, "out", "", "the baseline file to write, whole or not at all")
	_ = cmd.MarkFlagFilename("out", "json")
	cmd.Flags().IntVar(&c.rounds, "rounds", calibrate.DefaultRounds, fmt.Sprintf("how often every path is measured, %d to %d", calibrate.MinRounds, calibrate.MaxRounds))
	cmd.Flags().BoolVar(&c.accept, "accept-asymmetric", false, "calibrate although like parts of this host do not perform alike; the file says so")
	cmd.Flags().BoolVar(&c.merge, "merge", false, "join the baseline files that are named, and measure nothing")
	addFormat(cmd, &c.format)
	return cmd
}

// measure calibrates the host.
func (c *calibration) measure(cmd *cobra.Command, env Env) error {
	if c.rounds < calibrate.MinRounds || c.rounds > calibrate.MaxRounds {
		return wrongFlagf("rounds", strconv.Itoa(c.rounds), ": it is from %d to %d", calibrate.MinRounds, calibrate.MaxRounds)
	}
	rnics, gpus, err := c.pick.parse()
	if err != nil {
		return err
	}
	out, err := openFile("out", c.out)
	if err != nil {
		return err
	}
	defer out.close()
	opened, err := c.host.open(cmd.Context(), cmd, env)
	if err != nil {
		return err
	}
	if opened.Close != nil {
		defer opened.Close()
	}
	if err := c.pick.check(opened.Topology); err != nil {
		return err
	}
	line := progressOn(env.Stderr, env.LookupEnv)
	result, err := calibrate.Host(cmd.Context(), opened, calibrate.Options{
		Run: run.Options{
			Tool:       report.Tool{Version: env.Build.Version, Revision: env.Build.Revision},
			RNICs:      rnics,
			GPUs:       gpus,
			Thresholds: c.host.limits,
			Events:     line.events(),
		},
		Rounds:           c.rounds,
		AcceptAsymmetric: c.accept,
		Round:            func(n int) { line.stage(fmt.Sprintf("round %d of %d: ", n, c.rounds)) },
	})
	line.wipe()
	switch {
	case errors.Is(err, calibrate.ErrAsymmetric):
		return environment(fmt.Errorf("%w; repair it, or say --accept-asymmetric if it is built so", err))
	case errors.Is(err, run.ErrSelection):
		return wrongFlagf("rnic", "", ": %w", err)
	case errors.Is(err, run.ErrBusy):
		return environment(fmt.Errorf("%w; nothing was written: stop what loads the host, then calibrate", err))
	case err != nil && cmd.Context().Err() != nil:
		return environment(errors.New("interrupted: nothing was written"))
	case err != nil:
		return environment(err)
	}
	return c.finish(env, out, result.File, calibrationText{
		title: fmt.Sprintf("CALIBRATED on %s (%s): %d rounds, %d reads", opened.Name, opened.Backend, c.rounds, result.Reads),
		notes: measuredNotes(result),
	})
}

// join merges baseline files.
func (c *calibration) join(cmd *cobra.Command, env Env, files []string) error {
	if len(files) == 0 {
		return usagef("--merge needs the baseline files to join: calibrate --merge A.json B.json --out FILE")
	}
	for _, name := range []string{"sim", "sim-topology", "fault", "busy", "seed", "noise", "sysfs", "procfs", "memory-nodes", "software-rnics", "rnic", "gpu", "rounds", "accept-asymmetric"} {
		if cmd.Flags().Changed(name) {
			return wrongFlagf(name, "", " is about a measurement, --merge measures nothing; use one of them")
		}
	}
	var named []baseline.NamedFile
	for _, path := range files {
		file, err := readBaseline(cmd.Context(), path)
		if err != nil {
			return usagef("%s: %w", quoteOdd(path), err)
		}
		named = append(named, baseline.NamedFile{Name: quoteOdd(path), File: file})
	}
	merged, err := baseline.Merge(baseline.Tool{Version: env.Build.Version, Revision: env.Build.Revision}, named)
	if err != nil {
		return usagef("--merge: %w", err)
	}
	out, err := openFile("out", c.out)
	if err != nil {
		return err
	}
	defer out.close()
	return c.finish(env, out, merged, calibrationText{
		title: fmt.Sprintf("MERGED %s of %s", plural(len(merged.Calibrations), "calibration"), plural(len(files), "file")),
		notes: mergedNotes(merged, c.host.limits.Path),
	})
}

// finish writes the file and tells of it.
func (c *calibration) finish(env Env, out *output, file baseline.File, text calibrationText) error {
	var document bytes.Buffer
	if err := report.WriteJSON(&document, file); err != nil {
		return err
	}
	if document.Len() > baseline.MaxDocumentBytes {
		return wrongFlagf("out", c.out, ": the file would be larger than %d MiB; merge fewer hosts", baseline.MaxDocumentBytes>>20)
	}
	whole := document.Bytes()
	if err := out.write(func(w io.Writer) error { _, err := w.Write(whole); return err }); err != nil {
		return err
	}
	to, err := openOutput("", env.Stdout)
	if err != nil {
		return err
	}
	err = to.write(func(w io.Writer) error {
		if c.format == "json" {
			_, err := w.Write(whole)
			return err
		}
		text.written, text.file = c.out, file
		_, err := io.WriteString(w, text.render(styleOf(env.Stdout, env.LookupEnv)))
		return err
	})
	if err != nil {
		return usagef("%s was written, but %w", quoteOdd(c.out), err)
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// measuredNotes is what an operator should know before he trusts the file.
func measuredNotes(result calibrate.Result) []note {
	var notes []note
	if lines := result.File.Calibrations[0].AcceptedAsymmetry; len(lines) > 0 {
		notes = append(notes, note{"Like parts do not perform alike, which was accepted:", lines})
	}
	if len(result.BelowDefault) > 0 {
		notes = append(notes, note{"Below the default expectation, as a limit of the platform would be, or a fault that all share. Compare with another host of this kind:", result.BelowDefault})
	}
	if result.ToolLimited > 0 {
		notes = append(notes, note{fmt.Sprintf("%d of %d reads were left out: the probe itself was their limit.", result.ToolLimited, result.Reads), nil})
	}
	return notes
}

func mergedNotes(file baseline.File, threshold float64) []note {
	var notes []note
	if lines := file.Outliers(threshold); len(lines) > 0 {
		notes = append(notes, note{"Slower than the median of their kind; look at these hosts:", lines})
	}
	var accepted []string
	for _, c := range file.Calibrations {
		if len(c.AcceptedAsymmetry) > 0 {
			accepted = append(accepted, fmt.Sprintf("%s: %s", c, strings.Join(c.AcceptedAsymmetry, "; ")))
		}
	}
	if len(accepted) > 0 {
		notes = append(notes, note{"Calibrated although like parts did not perform alike:", accepted})
	}
	return notes
}
