package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yuuki/hostping/internal/analyzer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(2)
	}
}

// command runs a campaign by its arguments. Interrupted, it prints what it has.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("campaign", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var (
		b        budget
		seed     = flags.Uint64("seed", 1, "seed of the campaign")
		only     = flags.String("only", "", "regular expression: only the rows whose GROUP/HOST/NOISE/MODE it matches")
		state    = flags.String("state", "", "file that keeps the counts, so that a campaign can go on; none keeps nothing")
		failures = flags.String("failures", "", "file to write the answers to that were not exact, with the commands that repeat them")
		without  = flags.String("without", "", "rules beyond the paper to leave out, between commas: ambiguity, capacity, evidence, noise")
		dir      = flags.String("topologies", filepath.Join("testdata", "topologies"), "folder of the hosts' topologies")
	)
	flags.Int64Var(&b.Healthy, "healthy", 300_000, "runs of each row of healthy hosts")
	flags.Int64Var(&b.Single, "single", 20_000, "runs of each row of single faults")
	flags.Int64Var(&b.Pair, "pair", 20_000, "runs of each row of pairs of faults")
	if err := flags.Parse(args); err != nil {
		usage(stderr, flags)
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; there are only flags", flags.Arg(0))
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only %q is no regular expression: %w", *only, err)
	}

	plain, err := leftOut(*without)
	if err != nil {
		return err
	}

	var hosts []*host
	for _, name := range hostNames() {
		h, err := loadHost(*dir, name)
		if err != nil {
			return err
		}
		hosts = append(hosts, h)
	}
	c := newCampaign(hosts, *seed, b)
	c.plain = plain
	c.rows = slices.DeleteFunc(c.rows, func(r row) bool { return !chosen.MatchString(r.String()) })
	if err := c.keep(*state); err != nil {
		return err
	}
	c.progress(stderr)
	if err := c.run(ctx); err != nil {
		return err
	}
	if *failures != "" {
		file, err := os.Create(filepath.Clean(*failures))
		if err != nil {
			return err
		}
		err = c.writeFailures(file)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "seed %d", *seed)
	if *without != "" {
		fmt.Fprintf(stdout, ", without %s", *without)
	}
	fmt.Fprint(stdout, "\n\n")
	return c.writeTable(stdout)
}

// leftOut reads the names of rules to leave out.
func leftOut(names string) (p analyzer.Plain, err error) {
	rules := map[string]*bool{"ambiguity": &p.Ambiguity, "capacity": &p.Capacity, "evidence": &p.Evidence, "noise": &p.Noise}
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		rule := rules[name]
		if rule == nil {
			return p, fmt.Errorf("-without %s: no such rule; there are ambiguity, capacity, evidence, noise", name)
		}
		*rule = true
	}
	return p, nil
}

func usage(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintln(w, "usage: campaign [flags]")
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// keep resumes from the state file and lets each step save to it.
func (c *campaign) keep(name string) error {
	if name == "" {
		return nil
	}
	id, err := build()
	if err != nil {
		return err
	}
	if c.state, err = resume(name, id, c.seed, c.plain); err != nil {
		return err
	}
	c.after = func(row) error {
		return save(name, saved{Schema: schema, Build: id, Seed: c.seed, Plain: c.plain, Rows: c.state})
	}
	return nil
}

// progress says on w, every few seconds, which row is played and how long the
// rest may take.
func (c *campaign) progress(w io.Writer) {
	const pause = 5 * time.Second
	begin, last, lacked, keep := time.Now(), time.Now(), c.missing(), c.after
	c.after = func(r row) error {
		if now := time.Now(); now.Sub(last) >= pause {
			last = now
			missing := c.missing()
			done := lacked - missing
			fmt.Fprintf(w, "%v: %d of %d runs; all rows: %d to go, %.0f a second, about %v\n",
				r, c.of(r).Runs, c.budget.of(r.group), missing, float64(done)/now.Sub(begin).Seconds(), eta(missing, done, now.Sub(begin)))
		}
		if keep != nil {
			return keep(r)
		}
		return nil
	}
}

// byCount lists the keys, those with the highest count first.
func byCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
