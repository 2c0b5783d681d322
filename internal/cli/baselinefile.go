package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/run"
)

// baselineFlag is the file of calibrated baselines that a host is judged by.
type baselineFlag struct{ path string }

func (f *baselineFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "baseline-file", "", "judge by the figures of this hostping.baseline/v1 file, which \"hostpingctl calibrate\" writes")
	_ = cmd.MarkFlagFilename("baseline-file", "json")
}

// apply replaces the host's default expectations by those of the file.
func (f *baselineFlag) apply(ctx context.Context, host *run.Host) error {
	if f.path == "" {
		return nil
	}
	file, err := readBaseline(ctx, f.path)
	if err != nil {
		return usagef("--baseline-file %w", err)
	}
	set, findings, err := file.Apply(filepath.Base(f.path), baseline.Hardware{
		Backend: host.Backend, Platform: host.Platform, Topology: host.Topology,
	})
	if err != nil {
		return usagef("--baseline-file %s: %w", quoteOdd(f.path), err)
	}
	// The prober may share the list: what is close is not its business.
	host.Topology.Paths = slices.Clone(host.Topology.Paths)
	baseline.MarkClose(&host.Topology, set)
	host.Baselines = set
	host.Findings = append(slices.Clip(host.Findings), findings...)
	return nil
}

// readBaseline reads and checks a baseline file. The error begins with its
// name. A pipe that nobody writes to may be interrupted.
func readBaseline(ctx context.Context, path string) (baseline.File, error) {
	type answer struct {
		file baseline.File
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		var a answer
		a.file, a.err = parseBaseline(path)
		read <- a
	}()
	select {
	case a := <-read:
		return a.file, a.err
	case <-ctx.Done():
		return baseline.File{}, usagef("%s: interrupted while it was read", quoteOdd(path))
	}
}

func parseBaseline(path string) (baseline.File, error) {
	opened, err := os.Open(path)
	if err != nil {
		hint := ""
		if errors.Is(err, os.ErrNotExist) {
			hint = "; \"hostpingctl calibrate --out FILE\" writes such a file"
		}
		return baseline.File{}, usagef("%s cannot be read: %w%s", quoteOdd(path), withoutPath(err), hint)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, baseline.MaxDocumentBytes+1))
	if err != nil {
		return baseline.File{}, usagef("%s cannot be read: %w", quoteOdd(path), withoutPath(err))
	}
	if len(text) > baseline.MaxDocumentBytes {
		return baseline.File{}, usagef("%s is larger than %d MiB: it is no %s document", quoteOdd(path), baseline.MaxDocumentBytes>>20, baseline.SchemaID)
	}
	file, err := baseline.Parse(text)
	if err != nil {
		return file, usagef("%s: %w", quoteOdd(path), err)
	}
	return file, nil
}
