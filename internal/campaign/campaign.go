package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuuki/hostping/internal/analyzer"
)

// budget is how many runs a row of each group gets.
type budget struct {
	Healthy int64 `json:"healthy"`
	Single  int64 `json:"single"`
	Pair    int64 `json:"pair"`
}

func (b budget) of(g group) int64 {
	switch g {
	case healthy:
		return b.Healthy
	case oneFault, oneSlight:
		return b.Single
	}
	return b.Pair
}

// rowState is what is known of a row after its first Runs runs.
type rowState struct {
	Runs int64 `json:"runs"`
	// Edge counts the runs that are not graded, because noise decides what there is to see.
	Edge    int64 `json:"edge,omitempty"`
	Ours    tally `json:"ours"`
	Literal tally `json:"literal"`
	// Failures are the first of our answers that were not exact; Classes counts them all by their kinds of fault.
	Failures []string         `json:"failures,omitempty"`
	Classes  map[string]int64 `json:"classes,omitempty"`
}

const (
	maxFailures = 20
	maxClasses  = 500
	// chunk is how many runs of a row come between two saves, per worker.
	chunk = 500
)

// campaign is a set of rows with the runs that they shall have.
type campaign struct {
	seed   uint64
	plain  analyzer.Plain // what the analyzer has to do without
	budget budget
	rows   []row
	state  map[string]*rowState
	// after is called when the state has grown; may be nil.
	after func(row) error

	galleries map[galleryKey]*gallery
}

type galleryKey struct {
	host string
	load string
}

// newCampaign has every row over the hosts.
func newCampaign(hosts []*host, seed uint64, b budget) *campaign {
	c := &campaign{seed: seed, budget: b, state: map[string]*rowState{}, galleries: map[galleryKey]*gallery{}}
	for _, g := range groups() {
		for _, h := range hosts {
			for _, noise := range noises() {
				for _, mode := range modes() {
					c.rows = append(c.rows, row{h, g, noise, mode})
				}
			}
		}
	}
	return c
}

// of is the state of a row.
func (c *campaign) of(r row) *rowState {
	s := c.state[r.String()]
	if s == nil {
		s = &rowState{}
		c.state[r.String()] = s
	}
	return s
}

// run plays what the rows still lack, small rows first, until it is done or
// ctx ends.
func (c *campaign) run(ctx context.Context) error {
	order := slices.Clone(c.rows)
	slices.SortStableFunc(order, func(a, b row) int { return int(c.budget.of(a.group) - c.budget.of(b.group)) })
	for _, r := range order {
		if err := c.runRow(ctx, r); err != nil {
			return fmt.Errorf("%v: %w", r, err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

func (c *campaign) runRow(ctx context.Context, r row) error {
	state, want := c.of(r), c.budget.of(r.group)
	if state.Runs >= want {
		return nil
	}
	list, err := newCases(r)
	if err != nil || !list.exist() {
		return err
	}
	views, err := c.views(list)
	if err != nil {
		return err
	}
	for state.Runs < want && ctx.Err() == nil {
		workers := int64(runtime.GOMAXPROCS(0))
		n := min(want-state.Runs, chunk*workers)
		if err := c.play(list, views, state, n); err != nil {
			return err
		}
		if c.after != nil {
			if err := c.after(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// views are the galleries of the row's loads; a row without a fault needs none.
func (c *campaign) views(list cases) (views []*gallery, err error) {
	r := list.row
	for _, busy := range list.busy {
		key := galleryKey{r.host.name, fmt.Sprint(r.mode, busy)}
		if c.galleries[key] == nil && r.group != healthy {
			if c.galleries[key], err = newGallery(r.host, r.mode, busy); err != nil {
				return nil, err
			}
		}
		views = append(views, c.galleries[key])
	}
	return views, nil
}

// play makes the row's next n runs on all processors.
func (c *campaign) play(list cases, views []*gallery, state *rowState, n int64) error {
	first := state.Runs
	var next atomic.Int64
	type part struct {
		ours, literal tally
		edge          int64
		bad           []numbered
		err           error
	}
	parts := make([]part, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for w := range parts {
		wait.Go(func() {
			p := &parts[w]
			for {
				i := next.Add(1) - 1
				if i >= n || p.err != nil {
					return
				}
				s := list.scene(c.seed, uint64(first+i))
				s.plain = c.plain
				var got result
				if got, p.err = judge(s, views[s.load]); p.err != nil {
					return
				}
				if got.view.edge && !list.row.group.slight() {
					p.edge++
					continue
				}
				grade := got.ours.grade(got.view)
				p.ours.count(grade)
				p.literal.count(got.literal.grade(got.view.plain()))
				if !grade.exact {
					p.bad = append(p.bad, numbered{i, grade, got})
				}
			}
		})
	}
	wait.Wait()
	var bad []numbered
	for _, p := range parts {
		if p.err != nil {
			return p.err
		}
		bad = append(bad, p.bad...)
		state.Edge += p.edge
		state.Ours.add(p.ours)
		state.Literal.add(p.literal)
	}
	slices.SortFunc(bad, func(a, b numbered) int { return int(a.n - b.n) })
	for _, b := range bad {
		state.fail(b.grade, b.result)
	}
	state.Runs += n
	return nil
}

// numbered is a result with the number of its run.
type numbered struct {
	n int64
	grade
	result
}

// fail remembers an answer that was not exact.
func (s *rowState) fail(g grade, r result) {
	var kinds []string
	for _, f := range r.scene.faults {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	class := g.String() + ": " + strings.Join(kinds, "+")
	if s.Classes == nil {
		s.Classes = map[string]int64{}
	}
	if _, known := s.Classes[class]; known || len(s.Classes) < maxClasses {
		s.Classes[class]++
	}
	if s.Classes[class] <= 2 && len(s.Failures) < maxFailures {
		s.Failures = append(s.Failures, fmt.Sprintf("%s\n  %v\n  right: %v\n  blamed: %v\n  offered: %v",
			class, r.scene, r.view.right, r.ours.blamed, offers(r.ours)))
	}
}

func offers(a answer) (list []string) {
	for _, x := range a.offered {
		list = append(list, string(x.Code)+"@"+strings.Join(x.Components, "+"))
	}
	return list
}

// String names the grade.
func (g grade) String() string {
	text := "exact"
	switch {
	case g.offered:
		text = "offered"
	case g.missed:
		text = "missed"
	}
	if g.wrong {
		text += ", wrong blame"
	}
	return text
}

// exist reports whether the row has anything to play: a host may have no
// fault of the group.
func (c cases) exist() bool {
	switch c.row.group {
	case oneFault, twoFaults:
		return len(c.heavy) > 0
	case oneSlight, twoOfSlight:
		return len(c.light) > 0
	}
	return true
}

// missing is how many runs the rows still lack.
func (c *campaign) missing() (runs int64) {
	for _, r := range c.rows {
		runs += max(0, c.budget.of(r.group)-c.of(r).Runs)
	}
	return runs
}

// eta is the time that the missing runs take at this pace.
func eta(missing, done int64, since time.Duration) time.Duration {
	if done == 0 {
		return 0
	}
	return time.Duration(float64(since) / float64(done) * float64(missing)).Round(time.Second)
}
