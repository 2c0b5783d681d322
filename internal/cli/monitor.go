package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/run"
)

// monitorSchema names the JSON form of a sample, docs/monitor.schema.json.
const monitorSchema = "hostping.monitor/v1"

// monitorDocument is the JSON form of a sample.
type monitorDocument struct {
	Schema string `json:"schema"`
	monitor.Sample
}

func monitorCommand(env Env) *cobra.Command {
	view := monitorView{env: env}
	var once bool
	cmd := &cobra.Command{
		Use:   "monitor",
		Short: "Show what the monitor reads of the hardware, as it changes",
		Long: `Show the load of the RNICs, GPUs and buses of this host each second, one line for
each device: what the daemon sees, whether it calls the host idle, and what
cannot be read and why. Nothing is probed; Ctrl-C ends it.

With --format json each sample is one line; with --once there is one sample.
--sysfs watches another tree, through its files alone.`,
		Example: `  hostpingctl monitor
  hostpingctl monitor --once
  hostpingctl monitor --format json | jq -c '.idle'
  hostpingctl monitor --memory-bus-capacity 1638
  hostpingctl monitor --sim --busy rnic0 --once`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			watch, done, err := view.open(cmd)
			if err != nil {
				return err
			}
			defer done()
			return view.show(cmd.Context(), watch, once)
		},
	}
	view.sim.addHost(cmd)
	view.sim.addPhysics(cmd)
	view.load.add(cmd)
	cmd.Flags().Var(newShare(&view.pauseRatio, monitor.DefaultPauseRatio), "pause-threshold", "share of time paused above which an RNIC is marked as congested")
	cmd.Flags().BoolVar(&once, "once", false, "show one sample, over a second, and end")
	addFormat(cmd, &view.format)
	return cmd
}

// monitorView shows samples.
type monitorView struct {
	env        Env
	sim        simFlags
	load       loadFlags
	pauseRatio float64
	format     string
}

// open begins to watch the simulated or the live host.
func (v *monitorView) open(cmd *cobra.Command) (run.Sampler, func() error, error) {
	nothing := func() error { return nil }
	if err := v.sim.check(cmd); err != nil {
		return nil, nil, err
	}
	if v.sim.wanted() {
		if err := v.load.refuse(cmd); err != nil {
			return nil, nil, err
		}
		host, err := v.sim.open(cmd.Context(), v.load.idle)
		return host.Sampler, nothing, err
	}
	tree, err := v.sim.tree.options()
	switch {
	case err != nil:
		return nil, nil, err
	case tree.SysFiles != nil:
		return nil, nil, usagef("--sysfs %s is the capture of a host, in which nothing moves; name a folder", quoteOdd(v.sim.tree.sysfs))
	}
	watch, done, err := v.env.Monitor(cmd.Context(), v.load.live(tree))
	if err != nil {
		return nil, nil, environment(err)
	}
	return watch, done, nil
}

// show prints a sample each second until the user has seen enough.
func (v *monitorView) show(ctx context.Context, watch run.Sampler, once bool) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	redraw := !once && v.format == "text" && isTerminal(v.env.Stdout)
	// Rates need two looks; the first has nothing to show that the second has not.
	watch.Sample(ctx)
	for shown := 0; ; shown++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		sample := watch.Sample(ctx)
		if ctx.Err() != nil {
			return nil
		}
		var text bytes.Buffer
		if err := v.render(&text, sample, once); err != nil {
			return err
		}
		if err := put(v.env.Stdout, text.Bytes(), redraw, shown); err != nil {
			return usagef("the sample cannot be written to stdout: %w", withoutPath(err))
		}
		if once {
			return nil
		}
	}
}

func (v *monitorView) render(w io.Writer, s monitor.Sample, once bool) error {
	document := monitorDocument{monitorSchema, s}
	switch {
	case v.format == "json" && once:
		return report.WriteJSON(w, document)
	case v.format == "json":
		return json.NewEncoder(w).Encode(document)
	}
	_, err := io.WriteString(w, monitorText(s, v.pauseRatio, styleOf(v.env.Stdout, v.env.LookupEnv)))
	return err
}

// put writes a sample below the ones before, or over the last one: from the
// top, line by line, so that nothing flickers or scrolls.
func put(w io.Writer, text []byte, redraw bool, shown int) error {
	switch {
	case redraw:
		text = redrawn(text, heightOf(w))
		if shown == 0 {
			text = append([]byte("\x1b[2J"), text...)
		}
	case shown > 0 && text[0] != '{':
		text = append([]byte("\n"), text...)
	}
	_, err := w.Write(text)
	return err
}

// redrawn is the lines that fit, each written over what stood there.
func redrawn(text []byte, height int) []byte {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if fits := max(height-1, 2); len(lines) > fits {
		more := fmt.Sprintf("(%d more lines: a taller terminal, or --once, shows them)", len(lines)-fits+1)
		lines = append(lines[:fits-1], []byte(more))
	}
	out := []byte("\x1b[H")
	for _, line := range lines {
		out = append(append(out, line...), "\x1b[K\n"...)
	}
	return append(out, "\x1b[J"...)
}

// heightOf is a terminal's height in lines.
func heightOf(w io.Writer) int {
	const usual = 24
	file, ok := w.(*os.File)
	if !ok {
		return usual
	}
	_, lines, err := term.GetSize(int(file.Fd()))
	if err != nil || lines <= 0 {
		return usual
	}
	return lines
}
