package cli

import (
	"context"
	"errors"
	"fmt"
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
		return wrongFlagf("baseline-file", f.path, ": %w", err)
	}
	set, findings, err := file.Apply(filepath.Base(f.path), baseline.Hardware{
		Backend: host.Backend, Platform: host.Platform, Topology: host.Topology,
	})
	if err != nil {
		return wrongFlagf("baseline-file", f.path, ": %w", err)
	}
	// The prober may share the list: what is close is not its business.
	host.Topology.Paths = slices.Clone(host.Topology.Paths)
	baseline.MarkClose(&host.Topology, set)
	host.Baselines = set
	host.Findings = append(slices.Clip(host.Findings), findings...)
	return nil
}

// readBaseline reads and checks a baseline file.
func readBaseline(ctx context.Context, path string) (baseline.File, error) {
	file, err := parseInput(ctx, nil, path, baseline.MaxDocumentBytes, baseline.Parse)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w; \"hostpingctl calibrate --out FILE\" writes such a file", err)
	}
	return file, err
}
