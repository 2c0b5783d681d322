package monitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// rnicPort is the source of the RNICs' throughput.
type rnicPort struct {
	fs    *sysfs
	rnics []topology.RNIC
}

// newRNICPort watches the usable RNICs: the others are not probed, so their
// traffic has no say.
func newRNICPort(fs *sysfs, all []topology.RNIC) *rnicPort {
	p := &rnicPort{fs: fs}
	for _, rnic := range all {
		if rnic.Usable {
			p.rnics = append(p.rnics, rnic)
		}
	}
	return p
}

// octets is one reading of an RNIC's byte counters.
type octets struct {
	at      time.Time
	out, in uint64
}

// reading is an RNIC's octets, or why there are none.
type reading struct {
	octets
	lineGbps float64
	problem  error
}

// errBackwards is two readings of which the later is the smaller: the counter
// was reset or wrapped in between.
var errBackwards = errors.New("its byte counters went backwards twice; something keeps resetting them")

// loads reads all counters twice, interval apart. Where one went backwards a
// third reading replaces the first, once.
func (p *rnicPort) loads(ctx context.Context, interval time.Duration) []Load {
	if len(p.rnics) == 0 {
		return nil
	}
	first := p.readAll(ctx)
	loads := p.next(ctx, interval, &first)
	for i := range loads {
		if errors.Is(loads[i].Problem, errBackwards) {
			again := p.next(ctx, interval, &first)
			for j := range loads {
				if errors.Is(loads[j].Problem, errBackwards) {
					loads[j] = again[j]
				}
			}
			break
		}
	}
	return loads
}

// next reads again after an interval, compares with the previous readings and
// takes their place.
func (p *rnicPort) next(ctx context.Context, interval time.Duration, previous *[]reading) []Load {
	loads := make([]Load, len(p.rnics))
	if !pause(ctx, interval) {
		for i, rnic := range p.rnics {
			loads[i] = Load{ID: rnic.ID, Problem: errEnded}
		}
		return loads
	}
	now := p.readAll(ctx)
	for i, rnic := range p.rnics {
		loads[i] = load(rnic.ID, (*previous)[i], now[i])
	}
	*previous = now
	return loads
}

// load is the share of line rate between two readings, of the busier direction.
func load(id string, before, after reading) Load {
	for _, problem := range []error{before.problem, after.problem} {
		if problem != nil {
			return Load{ID: id, Problem: problem}
		}
	}
	seconds := after.at.Sub(before.at).Seconds()
	if after.out < before.out || after.in < before.in || seconds <= 0 {
		return Load{ID: id, Problem: errBackwards}
	}
	moved := max(after.out-before.out, after.in-before.in)
	share := float64(moved) * 8 / seconds / (after.lineGbps * 1e9)
	return Load{ID: id, Utilization: &share}
}

// readAll reads every RNIC, side by side so that a hanging one delays no other.
func (p *rnicPort) readAll(ctx context.Context) []reading {
	readings := make([]reading, len(p.rnics))
	var all sync.WaitGroup
	for i, rnic := range p.rnics {
		all.Go(func() {
			r, err := attempt(ctx, p.fs, rnic.ID, func() (reading, error) { return p.read(rnic) })
			r.problem = err
			readings[i] = r
		})
	}
	all.Wait()
	return readings
}

// counterPair is where a kernel keeps the two byte counters of a port.
type counterPair struct {
	out, in string
	unit    uint64 // bytes that the counter's step stands for
	narrow  bool   // stops at 32 bits on old devices
}

// read reads one RNIC's counters and its line rate.
func (p *rnicPort) read(rnic topology.RNIC) (reading, error) {
	lineGbps, err := p.lineRate(rnic)
	if err != nil {
		return reading{}, err
	}
	missing := fmt.Errorf("%w: it has no netdev whose byte counters could be read", errUnavailable)
	for _, pair := range p.counters(rnic) {
		counted, err := pair.read()
		if errors.Is(err, fs.ErrNotExist) {
			missing = fmt.Errorf("its byte counters cannot be read: %w", err)
			continue
		}
		return reading{octets: counted, lineGbps: lineGbps}, err
	}
	return reading{}, missing
}

// counters lists where the byte counters of an RNIC may be, the best first.
// A software RNIC has none of its own: those of its netdev count what leaves
// or reaches the host, and leave out its loopback.
func (p *rnicPort) counters(rnic topology.RNIC) []counterPair {
	if rnic.Role == topology.RoleSoftware {
		pairs := []counterPair{}
		for _, netdev := range rnic.Netdevs {
			dir := p.fs.path("class/net", netdev, "statistics")
			pairs = append(pairs, counterPair{out: dir + "/tx_bytes", in: dir + "/rx_bytes", unit: 1})
		}
		return pairs
	}
	// The port counters count words of four octets (InfiniBand Architecture
	// Specification, PortXmitData); counters_ext is where older drivers keep
	// those of 64 bits.
	port := p.fs.path("class/infiniband", rnic.Name, "ports", strconv.Itoa(rnic.Port))
	return []counterPair{
		{out: port + "/counters_ext/port_xmit_data_64", in: port + "/counters_ext/port_rcv_data_64", unit: 4},
		{out: port + "/counters/port_xmit_data", in: port + "/counters/port_rcv_data", unit: 4, narrow: true},
	}
}

func (c counterPair) read() (octets, error) {
	out, err := c.readOne(c.out)
	if err != nil {
		return octets{}, err
	}
	in, err := c.readOne(c.in)
	if err != nil {
		return octets{}, err
	}
	return octets{at: time.Now(), out: out, in: in}, nil
}

func (c counterPair) readOne(file string) (uint64, error) {
	count, err := readUint(file)
	if err != nil {
		return 0, err
	}
	// A 32-bit port counter does not wrap but stays at its largest value:
	// it would look idle for ever.
	if c.narrow && count == math.MaxUint32 {
		return 0, fmt.Errorf("%s is at the largest value of 32 bits and counts no more; reset it with perfquery -R", file)
	}
	if count > math.MaxUint64/c.unit {
		return 0, fmt.Errorf("%s holds %d, more than can be a number of octets", file, count)
	}
	return count * c.unit, nil
}

// lineRate is what full load of an RNIC means, in Gb/s. That of a software
// RNIC is its netdev's speed where it has one; the rate of the RDMA device
// itself is made up, and the last resort.
func (p *rnicPort) lineRate(rnic topology.RNIC) (float64, error) {
	if rnic.Role == topology.RoleSoftware {
		for _, netdev := range rnic.Netdevs {
			// In Mb/s; virtual netdevs say -1 or refuse to be read.
			if mbps, err := readUint(p.fs.path("class/net", netdev, "speed")); err == nil && mbps > 0 && mbps < math.MaxInt32 {
				return float64(mbps) / 1000, nil
			}
		}
	}
	if rnic.RateGbps == nil || !(*rnic.RateGbps > 0) {
		return 0, fmt.Errorf("its line rate is not known: see %s",
			p.fs.path("class/infiniband", rnic.Name, "ports", strconv.Itoa(rnic.Port), "rate"))
	}
	return *rnic.RateGbps, nil
}
