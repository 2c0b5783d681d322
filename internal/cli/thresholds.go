package cli

import (
	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/analyzer"
)

// thresholdFlags are the limits by which a run is judged.
type thresholdFlags struct{ limits analyzer.Thresholds }

func (f *thresholdFlags) add(cmd *cobra.Command) {
	normal := analyzer.DefaultThresholds()
	cmd.Flags().Var(newShare(&f.limits.Path, normal.Path), "path-threshold", "how much worse than its reference makes a path abnormal")
	cmd.Flags().Var(newShare(&f.limits.Overload, normal.Overload), "overload-threshold", "utilisation above which memory or the bus between sockets is overloaded")
	cmd.Flags().Var(newShare(&f.limits.Pause, normal.Pause), "pause-threshold", "share of time paused above which an RNIC counts as congested")
	cmd.Flags().Var(newCount(&f.limits.FlapRuns, normal.FlapRuns, maxRuns), "flap-runs", "consecutive gray runs that make a hop flapping")
}
