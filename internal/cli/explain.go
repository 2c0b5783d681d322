package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/suggest"
)

// explanation is the JSON form of the catalogue, or of one entry of it.
type explanation struct {
	Schema string            `json:"schema"`
	Codes  []diagnosis.Entry `json:"codes"`
}

func explainCommand(env Env) *cobra.Command {
	var (
		format   string
		outputTo string
	)
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Say what a diagnosis or finding code means and what to check first",
		Long: `Print the runbook entry of a diagnosis or finding code: what it means, its likely
causes, what to check first, how to confirm it and how it clears. Without a code,
list the codes.`,
		Example: `  hostpingctl explain
  hostpingctl explain p2p_misconfiguration
  hostpingctl explain --format json rnic_pcie_failure`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, codes []string) error {
			if len(codes) > 1 {
				return usagef("explain takes one code, but got %q as well; without a code it lists all", codes[1])
			}
			out, err := openOutput(outputTo, env.Stdout)
			if err != nil {
				return err
			}
			defer out.close()
			entries := diagnosis.All()
			if len(codes) == 1 {
				entry, ok := diagnosis.Lookup(diagnosis.Code(codes[0]))
				if !ok {
					return unknownCode(codes[0])
				}
				entries = []diagnosis.Entry{entry}
			}
			return out.write(func(w io.Writer) error {
				switch {
				case format == "json":
					return report.WriteJSON(w, explanation{Schema: "hostping.explanation/v1", Codes: entries})
				case len(codes) == 1:
					return report.ExplainText(w, entries[0], out.style(env))
				}
				return report.CodesText(w, entries, out.style(env))
			})
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			var codes []string
			for _, e := range diagnosis.All() {
				if len(args) == 0 && strings.HasPrefix(string(e.Code), prefix) {
					codes = append(codes, cobra.CompletionWithDesc(string(e.Code), e.Title))
				}
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
	}
	addOutput(cmd, &format, &outputTo)
	return cmd
}

func unknownCode(code string) error {
	var known []string
	for _, e := range diagnosis.All() {
		known = append(known, string(e.Code))
	}
	near, ok := suggest.Nearest(code, known)
	if i := slices.IndexFunc(known, func(k string) bool { return len(code) >= 3 && strings.Contains(k, code) }); !ok && i >= 0 {
		near, ok = known[i], true // a part of it
	}
	if ok {
		return usagef("unknown code %q; did you mean %s?", code, near)
	}
	return usagef("unknown code %q; \"hostpingctl explain\" lists the codes", code)
}
