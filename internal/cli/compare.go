package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/report"
)

func compareCommand(env Env) *cobra.Command {
	var (
		terms    judging
		format   string
		outputTo string
	)
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Say what got worse, and what better, from one report to another",
		Long: `Compare two reports of one host, or of two like hosts, that "hostpingctl diagnose
--format json" saved. Both are judged anew on the same terms. A path or a hop got
worse when its figure fell by more than the spread of the readings explains. Parts
are the same where their PCI address is, whatever they are called. - is the
standard input.

Exit status: 0 no regression; 1 a path or hop got worse, a path is no longer
measured though the run meant to, a part is gone or degraded, or a diagnosis
appeared; 2 wrong usage, or reports with no path in common.`,
		Example: `  hostpingctl compare before.json after.json
  hostpingctl compare --format tap golden.json host17.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) != 2 {
				return usagef("compare takes two reports, the old one first, but got %d; \"hostpingctl diagnose --format json --output FILE\" writes one", len(files))
			}
			out, err := openOutput(outputTo, env.Stdout)
			if err != nil {
				return err
			}
			defer out.close()
			sides, err := readReports(cmd.Context(), env, files)
			if err != nil {
				return err
			}
			for i := range sides {
				if sides[i], err = terms.replay(cmd.Context(), env, files[i], sides[i], nil); err != nil {
					return err
				}
			}
			c, ok := report.Compare(sides[0], sides[1])
			if !ok {
				return usagef("%s and %s have no path in common: they are not of one host, nor of like ones", fileName(files[0]), fileName(files[1]))
			}
			err = out.write(func(w io.Writer) error {
				switch format {
				case "json":
					return c.JSON(w)
				case "tap":
					return c.TAP(w)
				}
				return c.Text(w, out.style(env))
			})
			if err == nil && c.Regression {
				err = &exitError{code: ExitRegression}
			}
			return err
		},
		ValidArgsFunction: completeReports,
	}
	terms.add(cmd)
	addOutput(cmd, &format, &outputTo, "tap")
	return cmd
}
