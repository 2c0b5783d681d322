package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/sim"
)

// faultList is the JSON form of the faults that a simulated host can have.
type faultList struct {
	Schema string            `json:"schema"`
	Faults []sim.KindTargets `json:"faults"`
}

func faultsCommand(env Env) *cobra.Command {
	var (
		host     simFlags
		format   string
		outputTo string
	)
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "List the faults that --fault takes, with their targets",
		Long: `List the faults that a simulated host can have, with the targets where each
shows. A fault is written KIND:TARGET[=SEVERITY]; commas separate several.

SEVERITY is from 0 to 1, with a decimal point. 0 is no fault at all; at 1 a link
still carries 1 % of the line rate, since one that carries nothing is down and
its device is gone. A fault that is listed without SEVERITY is on or off.`,
		Example: `  hostpingctl faults
  hostpingctl faults --sim-topology host.json --format json
  hostpingctl diagnose --sim --fault gpu_pcie:gpu2=0.6`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if host.tree.sysfs == "" {
				if err := host.tree.refuse(cmd, "procfs", "memory-nodes"); err != nil {
					return err
				}
			}
			out, err := openOutput(outputTo, env.Stdout)
			if err != nil {
				return err
			}
			defer out.close()
			topo, err := host.topology(cmd.Context())
			if err != nil {
				return err
			}
			kinds, err := sim.Targets(topo)
			if err != nil {
				return usagef("cannot simulate this host: %w", err)
			}
			return out.write(func(w io.Writer) error {
				if format == "json" {
					return report.WriteJSON(w, faultList{Schema: "hostping.faults/v1", Faults: kinds})
				}
				return faultsText(w, kinds, out.style(env))
			})
		},
	}
	host.addHost(cmd)
	addOutput(cmd, &format, &outputTo)
	return cmd
}

func faultsText(w io.Writer, kinds []sim.KindTargets, style report.Style) error {
	var b strings.Builder
	for i, kind := range kinds {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(kind.Kind + ":TARGET")
		if !kind.OnOrOff {
			fmt.Fprintf(&b, "[=%g]", kind.DefaultSeverity)
		}
		b.WriteByte('\n')
		b.WriteString(style.Wrap("  changes  ", "           ", kind.Changes))
		b.WriteString(style.Wrap("  targets  ", "           ", cmp.Or(strings.Join(kind.Targets, " "), "none on this host")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
