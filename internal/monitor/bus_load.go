package monitor

import (
	"context"
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// busLoad is the source of what a kind of shared bus carries: the memory
// channels, or the bus between sockets.
type busLoad struct {
	name         string
	kind         topology.HopKind
	capacityGbps float64 // of each such bus, in one direction between sockets
	hops         []topology.Hop
	sockets      map[string][]int // those that a hop's traffic is counted at
	nodes        map[int]int      // memory nodes of each socket
	guard        *guard[[]SocketBytes]
	problem      error // why nothing is read at all
}

// newBusLoad counts a kind of bus; open is nil where nothing can.
func newBusLoad(topo topology.Topology, kind topology.HopKind, capacityGbps float64, open func(context.Context) (Bus, error)) *busLoad {
	b := &busLoad{name: sourceMemoryBus, kind: kind, capacityGbps: capacityGbps, sockets: map[string][]int{}, nodes: map[int]int{}}
	flag := "--memory-bus-capacity"
	if kind == topology.HopInterSocket {
		b.name, flag = sourceSocketBus, "--inter-socket-capacity"
	}
	for _, hop := range topo.Hops {
		if hop.Kind == kind {
			b.hops = append(b.hops, hop)
		}
	}
	b.place(topo)
	switch {
	case len(b.hops) == 0:
	case capacityGbps <= 0:
		b.problem = Unavailable("what it can carry is not known: give %s", flag)
	case open == nil:
		b.problem = Unavailable("this host's PMUs alone can be asked")
	case kind == topology.HopInterSocket && len(b.hops) > 1:
		b.problem = Unavailable("a socket's PMUs do not tell to which other socket its traffic goes")
	default:
		b.guard = &guard[[]SocketBytes]{id: b.name, open: func(ctx context.Context) (reader[[]SocketBytes], error) {
			opened, err := open(ctx)
			if err != nil {
				return nil, err
			}
			return busReader{opened}, nil
		}}
	}
	return b
}

// place finds the sockets whose PMUs count a hop's traffic.
func (b *busLoad) place(topo topology.Topology) {
	for _, node := range topo.MemoryNodes {
		if node.Socket == nil {
			continue
		}
		if b.kind == topology.HopMemory {
			b.sockets[topology.HopID(b.kind, node.ID)] = []int{*node.Socket}
			b.nodes[*node.Socket]++
		}
	}
	if b.kind != topology.HopInterSocket {
		return
	}
	for _, hop := range b.hops {
		var one, other int
		if _, err := fmt.Sscanf(hop.ID, string(b.kind)+":%d-%d", &one, &other); err == nil {
			b.sockets[hop.ID] = []int{one, other}
		}
	}
}

type busReader struct{ bus Bus }

func (r busReader) read(ctx context.Context) ([]SocketBytes, error) {
	out := make([]SocketBytes, r.bus.Sockets())
	err := r.bus.Read(ctx, out)
	return out, err
}

func (r busReader) close() { r.bus.Close() }

func (b *busLoad) close() {
	if b.guard != nil {
		b.guard.close()
	}
}

func (b *busLoad) look(ctx context.Context) look {
	seen := busLook{busLoad: b}
	if b.guard != nil {
		seen.reading = readAll(ctx, []*guard[[]SocketBytes]{b.guard})[0]
	} else {
		seen.reading.problem = b.problem
	}
	return seen
}

type busLook struct {
	*busLoad
	reading outcome[[]SocketBytes]
}

func (now busLook) since(earlier look, into *account) {
	before, _ := earlier.(busLook)
	problems := []problem{}
	whole := now.reading.problem // of the source as a whole
	for _, hop := range now.hops {
		bus := BusUtilization{Kind: now.kind, Component: hop.ID[len(now.kind)+1:]}
		if whole == nil && earlier != nil {
			share, err := now.share(hop.ID, before)
			if err != nil {
				problems = append(problems, problem{hop.ID, err})
			}
			bus.Utilization = share
		}
		into.buses = append(into.buses, bus)
	}
	devices := len(now.hops)
	if whole != nil && devices > 0 {
		devices, problems = 1, []problem{{"", whole}}
	}
	into.enter(now.name, devices, problems, "no such bus on this host")
}

// share is a hop's utilisation between two looks; nil without error where
// nothing can be said about that time.
func (now busLook) share(hop string, before busLook) (*float64, error) {
	sockets := now.sockets[hop]
	if len(sockets) == 0 {
		return nil, Unavailable("its socket is not known")
	}
	elapsed, awake := now.reading.at.since(before.reading.at)
	if before.reading.problem != nil || !awake {
		return nil, nil
	}
	var most float64
	for _, socket := range sockets {
		carried, known := moved(now.reading.value, before.reading.value, socket)
		if !known {
			return nil, fmt.Errorf("the PMUs of socket %d were not counting for all of the time", socket)
		}
		if carried == 0 {
			// A host that runs this program moves something. Units that read
			// zero are not wired up (some virtual machines, new CPU models).
			return nil, Unavailable("the PMUs of socket %d read zero, which no running host does", socket)
		}
		if now.kind == topology.HopMemory {
			carried /= float64(max(1, now.nodes[socket])) // PMUs tell of sockets, not of nodes
		}
		most = max(most, carried)
	}
	return new(min(1, most*8/elapsed.Seconds()/(now.capacityGbps*1e9))), nil
}

func moved(now, before []SocketBytes, socket int) (float64, bool) {
	at := func(list []SocketBytes) *uint64 {
		if i := slices.IndexFunc(list, func(s SocketBytes) bool { return s.Socket == socket }); i >= 0 {
			return list[i].Bytes
		}
		return nil
	}
	later, earlier := at(now), at(before)
	if later == nil || earlier == nil || *later < *earlier {
		return 0, false
	}
	return float64(*later - *earlier), true
}
