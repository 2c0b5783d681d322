package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// rnicNetdev reads the statistics of the RNICs' netdevs: the source of pauses,
// and one of drops and of bytes.
type rnicNetdev struct {
	guards []*guard[netdevReading] // one for each netdev
	owners []string                // the RNIC of each
}

// netdevReading is one reading of a netdev's statistics.
type netdevReading struct {
	plan       *plan
	generation uint64
	values     []uint64
}

func newRNICNetdev(topo topology.Topology, open func(string) (Netdev, error)) *rnicNetdev {
	n := &rnicNetdev{}
	if open == nil {
		open = func(string) (Netdev, error) {
			return nil, Unavailable("the statistics of netdevs can be asked of this host's kernel alone")
		}
	}
	for _, rnic := range usable(topo) {
		for _, name := range rnic.Netdevs {
			n.owners = append(n.owners, rnic.ID)
			n.guards = append(n.guards, &guard[netdevReading]{id: name, open: func(context.Context) (reader[netdevReading], error) {
				opened, err := open(name)
				if err != nil {
					return nil, err
				}
				return &netdevReader{netdev: opened}, nil
			}})
		}
	}
	return n
}

// netdevReader reads one netdev, and finds its statistics when they change.
type netdevReader struct {
	netdev Netdev
	stats  NetdevStats
	plan   *plan
	found  uint64 // generation of plan
}

func (r *netdevReader) read(ctx context.Context) (netdevReading, error) {
	if err := r.netdev.Read(ctx, &r.stats); err != nil {
		return netdevReading{}, err
	}
	if r.plan == nil || r.found != r.stats.Generation {
		found := newPlan(r.stats.Driver, r.stats.Names)
		r.plan, r.found = &found, r.stats.Generation
	}
	if r.plan.problem != nil {
		return netdevReading{plan: r.plan}, nil // an answer: there is nothing to expect of this driver
	}
	return netdevReading{r.plan, r.stats.Generation, slices.Clone(r.stats.Values)}, nil
}

func (r *netdevReader) close() { r.netdev.Close() }

func (n *rnicNetdev) close() {
	for _, g := range n.guards {
		g.close()
	}
}

func (n *rnicNetdev) look(ctx context.Context) look {
	return netdevLook{n.owners, readAll(ctx, n.guards)}
}

type netdevLook struct {
	owners   []string
	readings []outcome[netdevReading]
}

func (now netdevLook) since(earlier look, into *account) {
	before, _ := earlier.(netdevLook)
	for _, id := range into.order {
		f := into.rnics[id]
		f.pauses = f.rnic.LinkLayer != "InfiniBand"
		if f.pauses && !slices.Contains(now.owners, id) {
			none := Unavailable("it has no netdev whose statistics could be read")
			f.pause = append(f.pause, problem{id, none})
			f.drops = append(f.drops, problem{id, none})
		}
	}
	for i, reading := range now.readings {
		f := into.rnics[now.owners[i]]
		if reading.problem == nil {
			reading.problem = reading.value.plan.problem
		}
		if reading.problem != nil {
			err := fmt.Errorf("%s: %w", reading.id, reading.problem)
			f.pause = append(f.pause, problem{f.rnic.ID, err})
			f.drops = append(f.drops, problem{f.rnic.ID, err})
			continue
		}
		f.expect(reading)
		if i < len(before.readings) {
			f.enterNetdev(reading, before.readings[i])
		}
	}
}

// expect notes what the driver does not count.
func (f *rnicFacts) expect(now outcome[netdevReading]) {
	p := now.value.plan
	lacks := func(what string) problem {
		return problem{f.rnic.ID, Unavailable("%s: driver %s counts no %s here (virtual functions often do not)", now.id, p.driver, what)}
	}
	if !p.has(txPauseTime) && !p.has(txPauseFrames) {
		f.pause = append(f.pause, lacks("pauses"))
	}
	if !p.has(dropped) {
		f.drops = append(f.drops, lacks("drops"))
	}
}

// errPauseUnit is a driver that counts another unit than its table says.
var errPauseUnit = errors.New("counted more pause than time passed; its unit is not microseconds")

// enterNetdev enters two readings of one of the RNIC's netdevs.
func (f *rnicFacts) enterNetdev(now, before outcome[netdevReading]) {
	elapsed, awake := now.at.since(before.at)
	if before.problem != nil || !awake || now.value.generation != before.value.generation || len(now.value.values) != len(before.value.values) {
		return
	}
	grown := func(q quantity) *float64 {
		p := now.value.plan
		if !p.has(q) {
			return nil
		}
		by, ok := p.grown(q, before.value.values, now.value.values)
		if !ok {
			return nil
		}
		return new(float64(by))
	}
	s := &f.sample
	s.TxPauseRatio = worse(s.TxPauseRatio, f.pauseRatio(now.id, grown(txPauseTime), elapsed.Seconds()))
	s.RxPauseRatio = worse(s.RxPauseRatio, f.pauseRatio(now.id, grown(rxPauseTime), elapsed.Seconds()))
	tx, rx := grown(txPauseFrames), grown(rxPauseFrames)
	s.TxPauseFrames, s.RxPauseFrames = sum(s.TxPauseFrames, tx), sum(s.RxPauseFrames, rx)
	if tx != nil && !now.value.plan.has(txPauseTime) {
		s.TxPauseRatioLimit = worse(s.TxPauseRatioLimit, f.pauseLimit(*tx, elapsed.Seconds()))
	}
	s.Drops = sum(s.Drops, grown(dropped))
	if out, in := grown(outBytes), grown(inBytes); out != nil && in != nil && f.rnic.Role != topology.RoleSoftware {
		f.rates = append(f.rates, rate{*out / elapsed.Seconds(), *in / elapsed.Seconds()})
		f.whole = true
	}
}

// pauseRatio is the share of the time that so many microseconds of pause are.
// Firmware does not count to the instant, so a little more than all the time is all of it.
func (f *rnicFacts) pauseRatio(netdev string, pausedUs *float64, seconds float64) *float64 {
	if pausedUs == nil {
		return nil
	}
	const slack = 1.5
	ratio := *pausedUs / 1e6 / seconds
	if ratio > slack && seconds > 0.5 {
		f.pause = append(f.pause, problem{f.rnic.ID, fmt.Errorf("%s: %w", netdev, errPauseUnit)})
		return nil
	}
	return new(min(ratio, 1))
}

// pauseLimit is the most that so many pause frames stop the peer for: each
// 65535 quanta of 512 bit times (IEEE 802.3, 31B.2). nil without a line rate.
func (f *rnicFacts) pauseLimit(frames, seconds float64) *float64 {
	if !(f.lineGbps > 0) {
		return nil
	}
	const bitsPerFrame = 65535 * 512
	return new(min(1, frames*bitsPerFrame/(f.lineGbps*1e9)/seconds))
}

// worse is the greater of two figures, sum their sum; what is unknown adds nothing.
func worse(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return worse(a, b)
	}
	return new(*a + *b)
}
