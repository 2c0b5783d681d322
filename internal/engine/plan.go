package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Reasons of paths that a plan leaves out, besides probe.ReasonUnusable.
const (
	ReasonExcluded  probe.Reason = "excluded"          // by the operator's selection
	ReasonFarOnBusy probe.Reason = "far_on_a_busy_run" // busy runs touch close endpoints only
)

// PlanOptions is what the operator and the backend ask of a plan.
type PlanOptions struct {
	Mode   Mode
	RNICs  Selector
	GPUs   Selector
	Limits Limits
}

// Limits bound what a run may cost. A field that is zero takes its default.
type Limits struct {
	// ProbeBytes is the most that one bandwidth loop writes.
	ProbeBytes int64
	// ProbeDuration is the longest that one bandwidth loop runs.
	ProbeDuration time.Duration
	// QueuePairs is the most that one probe creates, both ends and the
	// tool check's doubling included.
	QueuePairs int
	// PinnedBytes is the most memory that one probe registers.
	PinnedBytes int64
	// ProbeDeadline is when a probe is told to end. One that has not
	// returned a second later is abandoned.
	ProbeDeadline time.Duration
	// RunDeadline ends the whole run. The default follows from the plan.
	RunDeadline time.Duration
	// Parallel is how many probes may run side by side; see DefaultParallel.
	Parallel int
	// MaxReads is how often one path is read at most.
	MaxReads int
}

// Defaults of Limits. A bandwidth loop's time leaves several thousand
// completions on a 200 Gb/s RNIC and keeps the 40 paths of the paper's host
// under 10 s. The deadline leaves a lost completion, which the transport
// reports after some seconds, time to be told by its name. The reads are the
// paper's three, and two to break a tie.
const (
	defaultProbeBytes    = 4 << 30
	defaultProbeDuration = 50 * time.Millisecond
	defaultQueuePairs    = 32
	defaultPinnedBytes   = 16 << 20
	defaultProbeDeadline = 10 * time.Second
	defaultMaxReads      = 5
)

// probeOverhead is the time of a probe outside its bandwidth loop: building
// the connection, registering memory, the latency loops, tearing down.
const probeOverhead = 50 * time.Millisecond

// gbpsPerConnection is the rate above which one loopback connection no longer
// fills the link.
const gbpsPerConnection = 200

func (l Limits) withDefaults() Limits {
	return Limits{
		ProbeBytes:    orDefault(l.ProbeBytes, defaultProbeBytes),
		ProbeDuration: orDefault(l.ProbeDuration, defaultProbeDuration),
		QueuePairs:    orDefault(l.QueuePairs, defaultQueuePairs),
		PinnedBytes:   orDefault(l.PinnedBytes, defaultPinnedBytes),
		ProbeDeadline: orDefault(l.ProbeDeadline, defaultProbeDeadline),
		RunDeadline:   max(l.RunDeadline, 0),
		Parallel:      orDefault(l.Parallel, 1),
		MaxReads:      orDefault(l.MaxReads, defaultMaxReads),
	}
}

func orDefault[T int | int64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// DefaultParallel is how many live probes a host with this many CPUs may run
// side by side: each measuring thread polls without pause and keeps a CPU for
// itself, and with fewer than two spare ones beside it probes disturb each
// other's figures.
func DefaultParallel(cpus int) int { return max(1, cpus/3) }

// Plan is a run as data: what it will touch, in which order, at what cost.
type Plan struct {
	Mode      Mode
	Steps     []Step      // in the topology's order; Batches has the order of running
	Unplanned []Unplanned // in the topology's order
	Limits    Limits      // with every default filled in
}

// Step is the probing of one path.
type Step struct {
	Request probe.Request
	Device  string // the RDMA device; its ports vanish together
	// PortPeers are the devices that send through the same port (Socket Direct).
	PortPeers []string
	Cost      Cost // of one read
}

// Unplanned is a path that the run leaves alone.
type Unplanned struct {
	Path   topology.Path
	Reason probe.Reason
	Detail string
}

// Cost is what one read of a path takes at most, or a whole run of one read
// per path. Only the tool check of a low figure repeats the bandwidth loop,
// within the queue pairs stated here.
type Cost struct {
	Bytes       int64         // written by the bandwidth loop
	Duration    time.Duration // expected time, not the deadline
	QueuePairs  int           // at one time
	PinnedBytes int64         // at one time
	Hops        []string      // used, each named once
}

// NewPlan plans a run. It is pure and does not fail: a path that cannot be
// probed is in Unplanned, with its reason.
func NewPlan(topo topology.Topology, baselines baseline.Set, opts PlanOptions) Plan {
	plan := Plan{
		Mode:      opts.Mode,
		Steps:     []Step{},
		Unplanned: []Unplanned{},
		Limits:    opts.Limits.withDefaults(),
	}
	rnics := map[string]topology.RNIC{}
	for _, rnic := range topo.RNICs {
		rnics[rnic.ID] = rnic
	}
	endpoints := map[string]endpoint{}
	for _, node := range topo.MemoryNodes {
		endpoints[node.ID] = endpoint{usable: true, selected: true}
	}
	for _, gpu := range topo.GPUs {
		endpoints[gpu.ID] = endpoint{gpu.Usable, gpu.Reason, opts.GPUs.Match(gpu.ID, gpu.PCI)}
	}

	for _, path := range topo.Paths {
		rnic, known := rnics[path.RNIC]
		if reason, detail := whyNot(path, rnic, known, endpoints, opts); reason != "" {
			plan.Unplanned = append(plan.Unplanned, Unplanned{path, reason, detail})
			continue
		}
		expected := baselines[path.Key()].BandwidthGbps
		cost := cost(path, rnic, expected, plan.Limits)
		plan.Steps = append(plan.Steps, Step{
			Request: probe.Request{Path: path, ExpectedGbps: expected, Budget: probe.Budget{
				Bytes: cost.Bytes, Duration: loopDuration(rnic, plan.Limits),
				QueuePairs: cost.QueuePairs, PinnedBytes: cost.PinnedBytes,
			}},
			Device:    rnic.Name,
			PortPeers: portPeers(rnic, rnics),
			Cost:      cost,
		})
	}
	plan.fillLimits()
	return plan
}

// portPeers names the devices whose traffic leaves by the RNIC's own port.
func portPeers(rnic topology.RNIC, rnics map[string]topology.RNIC) (devices []string) {
	for _, id := range rnic.SamePort {
		if other, known := rnics[id]; known {
			devices = append(devices, other.Name)
		}
	}
	return devices
}

// fillLimits gives every limit that is not set its default.
func (p *Plan) fillLimits() {
	p.Limits = p.Limits.withDefaults()
	if p.Limits.RunDeadline == 0 {
		p.Limits.RunDeadline = p.defaultDeadline()
	}
}

// endpoint is what planning needs to know of a memory node or a GPU.
type endpoint struct {
	usable   bool
	reason   string
	selected bool
}

// whyNot says why a path stays out of the plan; "" if it is in.
func whyNot(path topology.Path, rnic topology.RNIC, known bool, endpoints map[string]endpoint, opts PlanOptions) (probe.Reason, string) {
	end, knownEnd := endpoints[path.Endpoint]
	switch {
	case !known:
		return probe.ReasonUnusable, path.RNIC + " is not among the topology's RNICs"
	case !knownEnd:
		return probe.ReasonUnusable, path.Endpoint + " is not among the topology's endpoints"
	case !opts.RNICs.Match(rnic.ID, rnic.Name, rnic.PCI):
		return ReasonExcluded, rnic.ID + " is not selected"
	case !end.selected:
		return ReasonExcluded, path.Endpoint + " is not selected"
	case !rnic.Usable:
		return probe.ReasonUnusable, rnic.ID + ": " + rnic.Reason
	case !end.usable:
		return probe.ReasonUnusable, path.Endpoint + ": " + end.reason
	case opts.Mode == ModeBusy && !path.Close:
		return ReasonFarOnBusy, "a busy run touches close endpoints only"
	}
	return "", ""
}

// softwareFactor is how much longer a software RNIC is measured. Its payload
// is copied by CPUs whose scheduler works in milliseconds: in the time that
// suits hardware only some dozen writes complete, and their rate is chance.
const softwareFactor = 5

// loopDuration is the time of one bandwidth loop on the RNIC.
func loopDuration(rnic topology.RNIC, limits Limits) time.Duration {
	if rnic.Role == topology.RoleSoftware {
		return softwareFactor * limits.ProbeDuration
	}
	return limits.ProbeDuration
}

// cost is what one read of a path takes at most.
func cost(path topology.Path, rnic topology.RNIC, expectedGbps *float64, limits Limits) Cost {
	loop := loopDuration(rnic, limits)
	c := Cost{
		Bytes:       limits.ProbeBytes,
		Duration:    probeOverhead + loop,
		QueuePairs:  limits.QueuePairs,
		PinnedBytes: limits.PinnedBytes,
		Hops:        slices.Clone(path.Hops),
	}
	if rnic.RateGbps != nil {
		connections := max(1, int(math.Ceil(*rnic.RateGbps/gbpsPerConnection)))
		if rnic.LAGPorts != nil {
			connections = max(connections, *rnic.LAGPorts)
		}
		const ends, toolCheck = 2, 2
		c.QueuePairs = min(limits.QueuePairs, connections*ends*toolCheck)
	}
	// The loop ends at its bytes or at its time, whichever comes first.
	rate := expectedGbps
	if rate == nil {
		rate = rnic.RateGbps
	}
	if rate != nil && *rate > 0 {
		bytesPerSecond := *rate * 1e9 / 8
		if bytes := bytesPerSecond * loop.Seconds(); bytes < float64(limits.ProbeBytes) {
			c.Bytes = int64(bytes)
		} else {
			seconds := float64(limits.ProbeBytes) / bytesPerSecond
			c.Duration = probeOverhead + time.Duration(seconds*float64(time.Second))
		}
	}
	return c
}

// Total is the cost of reading every path once: bytes add up, the duration
// allows for probes side by side, and queue pairs and memory are those of the
// dearest batch. Suspect paths are read again, up to Limits.MaxReads times.
func (p Plan) Total() Cost {
	var total Cost
	hops := map[string]bool{}
	for _, batch := range p.Batches() {
		var duration time.Duration
		var queuePairs int
		var pinned int64
		for _, step := range batch {
			c := p.Steps[step].Cost
			total.Bytes += c.Bytes
			duration = max(duration, c.Duration)
			queuePairs += c.QueuePairs
			pinned += c.PinnedBytes
			for _, hop := range c.Hops {
				hops[hop] = true
			}
		}
		total.Duration += duration
		total.QueuePairs = max(total.QueuePairs, queuePairs)
		total.PinnedBytes = max(total.PinnedBytes, pinned)
	}
	total.Hops = slices.Sorted(maps.Keys(hops))
	return total
}

// defaultDeadline is twice the time of all possible reads, plus one hang of
// each device: after that a device gets no second probe.
func (p Plan) defaultDeadline() time.Duration {
	devices := map[string]bool{}
	for _, step := range p.Steps {
		devices[step.Device] = true
	}
	reads := 2 * time.Duration(p.Limits.MaxReads) * p.Total().Duration
	hangs := time.Duration(1+len(devices)) * (p.Limits.ProbeDeadline + grace)
	return (reads + hangs).Round(time.Second)
}

// String is the plan in one line: paths, cost, and what is left out.
func (p Plan) String() string {
	total := p.Total()
	var b strings.Builder
	fmt.Fprintf(&b, "%s run of %d paths over %d hops: about %v, %.1f GB written, at most %d queue pairs and %d MiB pinned at a time, deadline %v",
		p.Mode, len(p.Steps), len(total.Hops), total.Duration.Round(10*time.Millisecond), float64(total.Bytes)/1e9,
		total.QueuePairs, total.PinnedBytes>>20, p.Limits.RunDeadline)
	if len(p.Unplanned) > 0 {
		count := map[probe.Reason]int{}
		for _, left := range p.Unplanned {
			count[left.Reason]++
		}
		parts := []string{}
		for _, reason := range slices.Sorted(maps.Keys(count)) {
			parts = append(parts, fmt.Sprintf("%d %s", count[reason], reason))
		}
		fmt.Fprintf(&b, "; left out: %s", strings.Join(parts, ", "))
	}
	return b.String()
}
