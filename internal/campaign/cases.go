package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/sim"
)

// group is what is wrong with the hosts of a row.
type group string

// Groups. Those with "0.25" hold the faults of which at least one is that
// slight: they leave 150 of 200 Gb/s where abnormal begins at 156, so that
// noise decides, and the figures to reach do not count them.
const (
	healthy     group = "healthy"
	oneFault    group = "one fault"
	oneSlight   group = "one fault, 0.25"
	twoFaults   group = "two faults"
	twoOfSlight group = "two faults, 0.25"
)

// slight reports whether the group is one of slight faults.
func (g group) slight() bool { return g == oneSlight || g == twoOfSlight }

func groups() []group { return []group{healthy, oneFault, oneSlight, twoFaults, twoOfSlight} }

func modes() []engine.Mode { return []engine.Mode{engine.ModeIdle, engine.ModeBusy} }

func noises() []sim.Noise { return []sim.Noise{sim.NoiseTypical, sim.NoiseHarsh} }

const slightSeverity = 0.25

// severities of the faults that know degrees.
func severities() []float64 { return []float64{slightSeverity, 0.3, 0.4, 0.6, 0.9} }

// row is one line of the table.
type row struct {
	host  *host
	group group
	noise sim.Noise
	mode  engine.Mode
}

func (r row) String() string {
	return fmt.Sprintf("%s/%s/%s/%s", r.group, r.host.name, r.noise, r.mode)
}

// cases is what a row's runs are made of: every target of sim.Targets at every
// severity, but for the kinds that one run of loopback probes cannot show. A row of pairs has every two of them that are not one target.
type cases struct {
	row   row
	busy  [][]sim.Busy
	any   []sim.Fault // of any severity
	heavy []sim.Fault // above slightSeverity
	light []sim.Fault // of it
}

func newCases(r row) (cases, error) {
	c := cases{row: r, busy: services(r)}
	kinds, err := sim.Targets(r.host.topo)
	if err != nil {
		return c, err
	}
	for _, of := range kinds {
		k, ok := kindOf(of.Kind)
		if !ok {
			continue
		}
		for _, target := range of.Targets {
			if k.onOff {
				c.heavy = append(c.heavy, sim.Fault{Kind: of.Kind, Target: target, Severity: of.DefaultSeverity})
				continue
			}
			for _, severity := range severities() {
				f := sim.Fault{Kind: of.Kind, Target: target, Severity: severity}
				if severity == slightSeverity {
					c.light = append(c.light, f)
				} else {
					c.heavy = append(c.heavy, f)
				}
			}
		}
	}
	c.any = append(append(c.any, c.heavy...), c.light...)
	return c, nil
}

// services are the loads that busy runs take in turn: one RNIC, then one of
// each half of the host, at the default share and at twice it.
func services(r row) [][]sim.Busy {
	if r.mode == engine.ModeIdle {
		return [][]sim.Busy{nil}
	}
	first, second := r.host.rnics[0], r.host.rnics[len(r.host.rnics)/2]
	var list [][]sim.Busy
	for _, share := range []float64{sim.DefaultBusyShare, 2 * sim.DefaultBusyShare} {
		list = append(list, []sim.Busy{{RNIC: first, Share: share}})
		if first != second {
			list = append(list, []sim.Busy{{RNIC: first, Share: share}, {RNIC: second, Share: share}})
		}
	}
	return list
}

// random is the source of randomness of a row's n-th run.
func (c cases) random(seed, n uint64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", c.row, seed)
	return rand.New(rand.NewPCG(h.Sum64(), n))
}

// scene is the row's n-th run. Single faults come in turn, pairs are drawn.
func (c cases) scene(seed, n uint64) scene {
	random := c.random(seed, n)
	s := scene{
		host: c.row.host, mode: c.row.mode, noise: c.row.noise,
		seed: random.Uint64N(1 << 31), // short enough to type
		load: int(random.Uint64N(uint64(len(c.busy)))),
	}
	s.busy = c.busy[s.load]
	pick := func(list []sim.Fault) sim.Fault { return list[random.IntN(len(list))] }
	switch c.row.group {
	case oneFault:
		s.faults = []sim.Fault{c.heavy[n%uint64(len(c.heavy))]}
	case oneSlight:
		s.faults = []sim.Fault{c.light[n%uint64(len(c.light))]}
	case twoFaults:
		s.faults = pair(c.heavy, c.heavy, pick)
	case twoOfSlight:
		s.faults = pair(c.light, c.any, pick)
	}
	return s
}

// pair draws two faults of different targets.
func pair(from, and []sim.Fault, pick func([]sim.Fault) sim.Fault) []sim.Fault {
	for {
		a, b := pick(from), pick(and)
		if a.Kind != b.Kind || a.Target != b.Target {
			return []sim.Fault{a, b}
		}
	}
}
