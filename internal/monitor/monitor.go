package monitor

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// Options tune a Monitor. A field that is zero takes its default.
type Options struct {
	// Root is the sysfs tree to read ("/sys").
	Root string
	// LinkDirs maps a PCIe hop to the sysfs folder of its link's device.
	LinkDirs map[string]string
	Readers  Readers
	// Interval lies between the two looks of Read (1 s, the paper's sampling).
	Interval time.Duration
	// RecheckInterval is that of StillIdle, which stands before every probe (50 ms).
	RecheckInterval time.Duration
	Thresholds      Thresholds // DefaultThresholds
	// What one memory node's channels carry, and the bus between two sockets
	// in one direction, in Gb/s; 0 is not known, and their utilisation then unavailable.
	MemoryBusCapacityGbps, InterSocketCapacityGbps float64
}

// Monitor reads the load of a live host. It is safe for concurrent use.
type Monitor struct {
	topo topology.Topology
	opts Options
	all  []source
	// What decides idleness: counters are looked at twice, then the GPUs,
	// which tell rates, once.
	counting, telling []source
	closers           []interface{ close() }

	looking sync.Mutex // one look at a time

	mu      sync.Mutex
	last    *moments // the latest look of Sample
	sample  Sample   // the latest of all
	probing probing
}

// moments is one look at all sources.
type moments struct {
	at      moment
	probing probing
	looks   []look
}

// New watches the usable RNICs, the GPUs, links and buses of a topology.
func New(topo topology.Topology, opts Options) *Monitor {
	if opts.Root == "" {
		opts.Root = "/sys"
	}
	if opts.Interval <= 0 {
		opts.Interval = time.Second
	}
	if opts.RecheckInterval <= 0 {
		opts.RecheckInterval = 50 * time.Millisecond
	}
	if opts.Thresholds == (Thresholds{}) {
		opts.Thresholds = DefaultThresholds()
	}
	if opts.Readers.Files == nil {
		opts.Readers.Files = OpenFiles
	}
	port := newRNICPort(opts.Root, topo, opts.Readers.Files)
	netdev := newRNICNetdev(topo, opts.Readers.Netdev)
	errs := newRNICErrors(opts.Root, topo, opts.Readers.Files)
	gpu := newGPULoad(opts.Root, topo, opts.Readers)
	links := newPCIeLinks(topo, opts.LinkDirs)
	memory := newBusLoad(topo, topology.HopMemory, opts.MemoryBusCapacityGbps, opts.Readers.MemoryBus)
	sockets := newBusLoad(topo, topology.HopInterSocket, opts.InterSocketCapacityGbps, opts.Readers.InterSocketBus)
	m := &Monitor{
		topo: topo, opts: opts,
		all:      []source{port, netdev, errs, gpu, links, rnicConfig{}, memory, sockets},
		counting: []source{port},
		telling:  []source{gpu},
		closers:  []interface{ close() }{port, netdev, errs, gpu, links, memory, sockets},
	}
	if countsElsewhere(opts.Root, topo) {
		m.counting = append(m.counting, netdev)
	}
	return m
}

// countsElsewhere reports whether an RNIC shows no byte counters in sysfs
// (irdma): then its netdev's statistics have to tell.
func countsElsewhere(root string, topo topology.Topology) bool {
	for _, rnic := range usable(topo) {
		if rnic.Role == topology.RoleSoftware {
			continue
		}
		if _, err := os.Stat(portDir(root, rnic) + "/counters/port_xmit_data"); err != nil {
			return true
		}
	}
	return false
}

// Read tells whether the host is idle, over one Interval (two where a counter
// was reset in between; after our own probes it waits until they have settled), and how every source is doing. It ends early, with
// an unknown state, when ctx does.
func (m *Monitor) Read(ctx context.Context) (Reading, []Source) {
	s := m.over(ctx, m.opts.Interval)
	return s.Idle, s.Sources
}

// over looks twice, an interval apart, once the last of our probes has settled.
func (m *Monitor) over(ctx context.Context, interval time.Duration) Sample {
	pause(ctx, m.unsettled())
	before := m.lookAt(ctx, m.all)
	pause(ctx, interval)
	now := m.lookAt(ctx, m.all)
	s, reset := m.between(before, now)
	if reset && pause(ctx, interval) {
		s, _ = m.between(now, m.lookAt(ctx, m.all))
	}
	m.keep(s)
	return s
}

// Sample looks once, and tells what went on since the last call of Sample.
func (m *Monitor) Sample(ctx context.Context) Sample {
	now := m.lookAt(ctx, m.all)
	m.mu.Lock()
	before := m.last
	m.last = &now
	m.mu.Unlock()
	if before == nil {
		before = &moments{}
	}
	s, _ := m.between(*before, now)
	m.keep(s)
	return s
}

func (m *Monitor) keep(s Sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sample = s
}

// Traffic is what the latest sample says of the shared buses and of the
// RNICs' congestion.
func (m *Monitor) Traffic(context.Context) ([]BusUtilization, []Congestion) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sample.Buses, m.sample.Congestion()
}

// StillIdle is nil when the host is idle right now, else it says in one line
// what is not. Call it only while no probe runs: it cannot tell a probe's
// traffic from a workload's. A short look that finds traffic is confirmed by
// a whole Interval, since a burst of milliseconds is no load and drivers may
// be late to account for the last probe.
func (m *Monitor) StillIdle(ctx context.Context) error {
	reading := m.glance(ctx, m.opts.RecheckInterval)
	if reading.State != Idle {
		reading = m.glance(ctx, m.opts.Interval)
	}
	if reading.State == Idle {
		return nil
	}
	reason := reading.Reasons[0]
	if more := len(reading.Reasons) - 1; more > 0 {
		reason = fmt.Sprintf("%s (and %d more)", reason, more)
	}
	return fmt.Errorf("host is %s: %s", reading.State, reason)
}

// glance reads only what decides idleness.
func (m *Monitor) glance(ctx context.Context, interval time.Duration) Reading {
	before := m.lookAt(ctx, m.counting)
	pause(ctx, interval)
	now := m.lookAt(ctx, append(m.counting[:len(m.counting):len(m.counting)], m.telling...))
	account := newAccount(m.topo)
	for i, l := range now.looks {
		var earlier look
		if i < len(before.looks) {
			earlier = before.looks[i]
		}
		l.since(earlier, account)
	}
	return account.conclude(m.opts.Thresholds).Idle
}

// lookAt looks at sources, all at once.
func (m *Monitor) lookAt(ctx context.Context, sources []source) moments {
	m.looking.Lock()
	defer m.looking.Unlock()
	seen := moments{looks: make([]look, len(sources))}
	m.mu.Lock()
	seen.probing = m.probing
	m.mu.Unlock()
	var all sync.WaitGroup
	for i, s := range sources {
		all.Go(func() { seen.looks[i] = s.look(ctx) })
	}
	all.Wait()
	seen.at = now()
	return seen
}

// between makes the sample of what went on from one look to the next. The
// second result says that a byte counter was reset, so that another look would help.
func (m *Monitor) between(before, now moments) (Sample, bool) {
	account := newAccount(m.topo)
	for i, l := range now.looks {
		var earlier look
		if i < len(before.looks) {
			earlier = before.looks[i]
		}
		l.since(earlier, account)
	}
	s := account.conclude(m.opts.Thresholds)
	s.At = now.at.at
	if before.looks != nil {
		if elapsed, awake := now.at.since(before.at); awake {
			s.ElapsedMs = new(float64(elapsed) / float64(time.Millisecond))
		}
		s.Overlapped = now.probing.overlaps(before.probing, before.at.at)
	}
	if s.Overlapped {
		s.Idle = ourselves(s.Idle)
	}
	return s, account.reset
}

// probing says when probes of ours ran.
type probing struct {
	running int
	begun   uint64    // runs so far
	ended   time.Time // the last one
}

// settling is how long drivers take to account for a probe's last bytes: some
// refresh their statistics once or twice a second.
const settling = 2 * time.Second

// overlaps reports whether a probe ran between two looks, or shortly before them.
func (now probing) overlaps(before probing, from time.Time) bool {
	return now.running > 0 || before.running > 0 || now.begun != before.begun ||
		!now.ended.IsZero() && from.Sub(now.ended) < settling
}

// unsettled is how long drivers may yet be late to account for our last probe.
func (m *Monitor) unsettled() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probing.ended.IsZero() {
		return 0
	}
	return settling - time.Since(m.probing.ended)
}

// Probing says that probes run from now until done is called. The samples of
// that time are marked: see Sample.Overlapped.
func (m *Monitor) Probing() (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.probing.running++
	m.probing.begun++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.probing.running--
		m.probing.ended = time.Now()
	})
}

// ourselves is a reading that our own probes spoilt. What was unknown stays
// so; the load, and with it the state, says nothing about others.
func ourselves(r Reading) Reading {
	own := Reading{State: Unknown, Reasons: []string{"probes of this program ran in this time"}, RNICs: []Utilization{}, GPUs: []Utilization{}}
	for _, u := range r.RNICs {
		own.RNICs = append(own.RNICs, Utilization{ID: u.ID})
	}
	for _, u := range r.GPUs {
		own.GPUs = append(own.GPUs, Utilization{ID: u.ID})
	}
	return own
}

// Close gives back what the sources hold open.
func (m *Monitor) Close() error {
	for _, c := range m.closers {
		c.close()
	}
	return nil
}

// pause waits, and reports whether it could wait in full.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
