package monitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/topology"
)

// rnicPort is the source of the RNICs' state, rate and throughput.
type rnicPort struct {
	guards []*guard[portReading]
}

// counterPair is the counters of what a port sent and received, in bytes.
type counterPair struct {
	out, in counter
	rdma    bool // they count RDMA, if not all of it
	// required: where it cannot be read, the load is unknown. Of the RDMA
	// counters that are not required, one is enough.
	required bool
}

// portFiles is what is read of one RNIC: files in the order of layout.
type portFiles struct {
	rnic  topology.RNIC
	dir   string // of the port
	pairs []counterPair
	speed []string // of the netdevs that a software RNIC sends through
	paths []string // state and rate, the pairs, the speeds
}

// portReading is one reading of them.
type portReading struct {
	files  *portFiles
	values []FileValue
}

func newRNICPort(root string, topo topology.Topology, open func([]string) (Files, error)) *rnicPort {
	p := &rnicPort{}
	for _, rnic := range usable(topo) {
		files := newPortFiles(root, rnic)
		p.guards = append(p.guards, &guard[portReading]{id: rnic.ID, open: func(context.Context) (reader[portReading], error) {
			opened, err := open(files.paths)
			if err != nil {
				return nil, err
			}
			return &portReader{files, opened}, nil
		}})
	}
	return p
}

func newPortFiles(root string, rnic topology.RNIC) *portFiles {
	f := &portFiles{rnic: rnic, dir: portDir(root, rnic)}
	f.paths = append(f.paths, f.dir+"/state", f.dir+"/rate")
	statistics := func(netdev string) string { return filepath.Join(root, "class/net", netdev, "statistics") }
	bytes := func(dir, out, in string, unit uint64) counterPair {
		return counterPair{out: counter{path: dir + out, unit: unit}, in: counter{path: dir + in, unit: unit}, rdma: true}
	}
	if rnic.Role == topology.RoleSoftware {
		// It sends through its netdev, whose counters leave out its loopback:
		// that shows in the device's own count of packets, each of one MTU at most.
		for _, netdev := range rnic.Netdevs {
			pair := bytes(statistics(netdev), "/tx_bytes", "/rx_bytes", 1)
			pair.required = true
			f.pairs = append(f.pairs, pair)
		}
		if rnic.MTU != nil && *rnic.MTU > 0 {
			pair := bytes(f.dir+"/hw_counters", "/sent_pkts", "/rcvd_pkts", uint64(*rnic.MTU))
			pair.rdma = false // not by itself: a device without netdev is odd
			f.pairs = append(f.pairs, pair)
		}
	} else {
		// Port counters count words of four octets (InfiniBand Architecture
		// Specification, PortXmitData); counters_ext is where older drivers
		// keep those of 64 bits. Drivers without them may count bytes in hw_counters.
		narrow := bytes(f.dir+"/counters", "/port_xmit_data", "/port_rcv_data", 4)
		narrow.out.narrow, narrow.in.narrow = true, true
		f.pairs = append(f.pairs,
			bytes(f.dir+"/counters_ext", "/port_xmit_data_64", "/port_rcv_data_64", 4), narrow,
			bytes(f.dir+"/hw_counters", "/tx_bytes", "/rx_bytes", 1))
		// Port counters may leave out what is not RDMA.
		for _, netdev := range rnic.Netdevs {
			pair := bytes(statistics(netdev), "/tx_bytes", "/rx_bytes", 1)
			pair.rdma, pair.required = false, true
			f.pairs = append(f.pairs, pair)
		}
	}
	for _, pair := range f.pairs {
		f.paths = append(f.paths, pair.out.path, pair.in.path)
	}
	if rnic.Role == topology.RoleSoftware {
		for _, netdev := range rnic.Netdevs {
			f.speed = append(f.speed, filepath.Join(root, "class/net", netdev, "speed"))
		}
		f.paths = append(f.paths, f.speed...)
	}
	return f
}

func portDir(root string, rnic topology.RNIC) string {
	return filepath.Join(root, "class/infiniband", rnic.Name, "ports", strconv.Itoa(rnic.Port))
}

// portReader reads the files of one RNIC.
type portReader struct {
	layout *portFiles
	files  Files
}

func (r *portReader) read(ctx context.Context) (portReading, error) {
	values := make([]FileValue, len(r.layout.paths))
	err := r.files.Read(ctx, values)
	return portReading{r.layout, values}, err
}

func (r *portReader) close() { r.files.Close() }

func (p *rnicPort) close() {
	for _, g := range p.guards {
		g.close()
	}
}

func (p *rnicPort) look(ctx context.Context) look { return portLook(readAll(ctx, p.guards)) }

type portLook []outcome[portReading]

// errBackwards is two readings of which the later is the smaller: the counter
// was reset in between.
var errBackwards = errors.New("its byte counters went backwards; something resets them")

// errFirst is a counter that was read for the first time.
var errFirst = errors.New("its byte counters were read only once so far")

// isPassing reports whether an error says nothing about a source: its counters
// can be read, and the next two looks will tell.
func isPassing(err error) bool {
	return errors.Is(err, errFirst) || errors.Is(err, errSlept) || errors.Is(err, errBackwards)
}

// errSlept is two readings between which the host was suspended.
var errSlept = errors.New("the host was suspended since its byte counters were read")

func (now portLook) since(earlier look, into *account) {
	before, _ := earlier.(portLook)
	for i, reading := range now {
		f := into.rnics[reading.id]
		var previous *outcome[portReading]
		if i < len(before) {
			previous = &before[i]
		}
		f.enterPort(reading, previous)
		if errors.Is(f.missing, errBackwards) || errors.Is(f.unread, errBackwards) {
			into.reset = true
		}
	}
}

// enterPort enters two readings of an RNIC's files.
func (f *rnicFacts) enterPort(now outcome[portReading], before *outcome[portReading]) {
	if now.problem != nil {
		f.missing, f.unread, f.lineProblem = now.problem, now.problem, now.problem
		return
	}
	files, values := now.value.files, now.value.values
	f.sample.State = portState(values[0])
	f.sample.RateGbps = portRate(values[1])
	f.lineGbps, f.lineProblem = files.lineRate(values)

	f.missing = Unavailable("it has no netdev whose byte counters could be read")
	found := false
	for i, pair := range files.pairs {
		at := 2 + 2*i
		if found && pair.rdma && !pair.required {
			continue // a second count of the same
		}
		moved, err := pair.between(now, before, at)
		switch {
		case err == nil:
			f.rates = append(f.rates, moved)
			if pair.rdma {
				f.whole, found = true, true
			}
		case pair.required:
			if f.unread == nil {
				f.unread = fmt.Errorf("its byte counters cannot be read: %w", err)
				if !errors.Is(err, fs.ErrNotExist) {
					f.unread = err
				}
			}
		case pair.rdma && errors.Is(err, fs.ErrNotExist):
			if !pair.out.narrow && i > 0 {
				continue // the standard's own counters are the ones to name
			}
			f.missing = fmt.Errorf("its byte counters cannot be read: %w", err)
		case pair.rdma:
			f.missing, found = err, true // it is there, and the next is no substitute
		}
	}
}

// between is the rate from one reading to the next.
func (p counterPair) between(now outcome[portReading], before *outcome[portReading], at int) (rate, error) {
	out, err := p.out.value(now.value.values[at])
	if err != nil {
		return rate{}, err
	}
	in, err := p.in.value(now.value.values[at+1])
	if err != nil {
		return rate{}, err
	}
	if before == nil || before.problem != nil {
		return rate{}, errFirst
	}
	outBefore, outErr := p.out.value(before.value.values[at])
	inBefore, inErr := p.in.value(before.value.values[at+1])
	if outErr != nil || inErr != nil {
		return rate{}, errFirst
	}
	elapsed, awake := now.at.since(before.at)
	switch {
	case out < outBefore || in < inBefore:
		return rate{}, errBackwards
	case elapsed <= 0:
		return rate{}, errFirst
	case !awake:
		return rate{}, errSlept
	}
	return rate{float64(out-outBefore) / elapsed.Seconds(), float64(in-inBefore) / elapsed.Seconds()}, nil
}

// portState is the word of "4: ACTIVE".
func portState(v FileValue) string {
	if _, word, ok := strings.Cut(v.Text, ": "); ok && v.Err == nil {
		return word
	}
	return ""
}

// portRate is the number of "200 Gb/sec (4X HDR)".
func portRate(v FileValue) *float64 {
	number, _, ok := strings.Cut(v.Text, " Gb/sec")
	gbps, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || v.Err != nil || !(gbps > 0) || math.IsInf(gbps, 1) {
		return nil
	}
	return &gbps
}

// lineRate is what full load of an RNIC means, in Gb/s. That of a software
// RNIC is its netdev's speed where it has one; the rate of the RDMA device
// itself is made up, and the last resort.
func (f *portFiles) lineRate(values []FileValue) (float64, error) {
	speeds := values[len(values)-len(f.speed):]
	for _, v := range speeds {
		// In Mb/s; virtual netdevs say -1 or refuse to be read.
		if v.Err == nil && v.IsNumber && v.Number > 0 && v.Number < math.MaxInt32 {
			return float64(v.Number) / 1000, nil
		}
	}
	if f.rnic.RateGbps != nil && *f.rnic.RateGbps > 0 {
		return *f.rnic.RateGbps, nil
	}
	if gbps := portRate(values[1]); gbps != nil {
		return *gbps, nil
	}
	return 0, fmt.Errorf("its line rate is not known: see %s/rate", f.dir)
}
