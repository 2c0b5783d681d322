package main

import (
	"fmt"
	"io"
	"strings"
)

// writeTable renders the rows that have runs, as Markdown. Healthy rows come
// first, with the upper bound of their false alarms.
func (c *campaign) writeTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| healthy hosts | noise | mode | runs | false alarms | rate is below (95 %) | literal |\n|---|---|---|--:|--:|--:|--:|\n")
	for _, r := range c.rows {
		if s := c.of(r); r.group == healthy && s.Runs > 0 {
			fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %.1e | %d |\n",
				r.host.name, r.noise, r.mode, s.Runs, s.Ours.Wrong, atMost(s.Ours.Wrong, s.Runs), s.Literal.Wrong)
		}
	}
	b.WriteString("\n| faults | host | noise | mode | runs | on the edge % | exact % | in alternatives % | missed % | wrong blame % |" +
		" literal: exact % | among its blames % | missed % | wrong blame % |\n|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range c.rows {
		s := c.of(r)
		if r.group == healthy || s.Runs == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s |", r.group, r.host.name, r.noise, r.mode, s.Runs, figure(float64(s.Edge)/float64(s.Runs)))
		for _, t := range []tally{s.Ours, s.Literal} {
			for _, k := range []int64{t.Exact, t.Offered, t.Missed, t.Wrong} {
				fmt.Fprintf(&b, " %s |", percent(k, s.Runs-s.Edge))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFailures lists what was not exact, row by row: how often which kinds of
// fault, and the first runs with the commands that repeat them.
func (c *campaign) writeFailures(w io.Writer) error {
	var b strings.Builder
	for _, r := range c.rows {
		s := c.of(r)
		if len(s.Failures) == 0 {
			continue
		}
		fmt.Fprintf(&b, "== %v: %d of %d not exact\n", r, s.Runs-s.Edge-s.Ours.Exact, s.Runs-s.Edge)
		for _, class := range byCount(s.Classes) {
			fmt.Fprintf(&b, "%6d %s\n", s.Classes[class], class)
		}
		for _, f := range s.Failures {
			fmt.Fprintln(&b, f)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
