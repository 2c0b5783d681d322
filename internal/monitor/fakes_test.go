package monitor

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/topology"
)

// netdevScript is a netdev whose statistics the test sets.
type netdevScript struct {
	mu         sync.Mutex
	driver     string
	names      []string
	values     map[string]uint64
	generation uint64
	err        error
	reads      int
	open       int
}

func (n *netdevScript) set(values map[string]uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.values = values
}

func (n *netdevScript) Read(_ context.Context, stats *NetdevStats) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads++
	if n.err != nil {
		return n.err
	}
	*stats = NetdevStats{Driver: n.driver, Names: n.names, Generation: max(n.generation, 1)}
	for _, name := range n.names {
		stats.Values = append(stats.Values, n.values[name])
	}
	return nil
}

func (n *netdevScript) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open--
}

// netdevs are the netdevs of a host by name.
func netdevs(scripts map[string]*netdevScript) func(string) (Netdev, error) {
	return func(name string) (Netdev, error) {
		script := scripts[name]
		if script == nil {
			return nil, Unavailable("no such netdev: %s", name)
		}
		script.mu.Lock()
		defer script.mu.Unlock()
		script.open++
		return script, nil
	}
}

// gpuScript is a GPU library that answers as the test says.
type gpuScript struct {
	read    func(out []GPUReading) error
	reinits int
}

func (g *gpuScript) Read(_ context.Context, out []GPUReading) error { return g.read(out) }
func (g *gpuScript) Reinit(context.Context) error                   { g.reinits++; return nil }
func (g *gpuScript) Close()                                         {}

func library(g *gpuScript) func(context.Context, []string) (GPUs, error) {
	return func(context.Context, []string) (GPUs, error) { return g, nil }
}

// busScript is a bus that has carried what the test says, by socket.
type busScript struct{ read func() []*uint64 }

func (b *busScript) Sockets() int { return len(b.read()) }
func (b *busScript) Read(_ context.Context, out []SocketBytes) error {
	for i, bytes := range b.read() {
		out[i] = SocketBytes{Socket: i, Bytes: bytes}
	}
	return nil
}
func (b *busScript) Close() {}

// onEthernet is a host with one 200 Gb/s RNIC over eth0.
func onEthernet() topology.Topology {
	topo := hardware()
	topo.RNICs[0].Netdevs, topo.RNICs[0].LinkLayer = []string{"eth0"}, "Ethernet"
	return topo
}

// quiet is the files of onEthernet's host, on which nothing moves.
func quiet(t *testing.T, root string) {
	t.Helper()
	tree{
		counters + "port_xmit_data": "0\n", counters + "port_rcv_data": "0\n",
		netdev + "statistics/tx_bytes": "0\n", netdev + "statistics/rx_bytes": "0\n",
		port + "state": "4: ACTIVE\n", port + "rate": "200 Gb/sec (4X HDR)\n",
	}.write(t, root)
}

const port = "class/infiniband/mlx5_0/ports/1/"

// after samples once more, after so much time.
func after(t *testing.T, m *Monitor, d time.Duration) Sample {
	t.Helper()
	time.Sleep(d)
	s := m.Sample(t.Context())
	require.NotEmpty(t, s.Sources)
	return s
}

func twoSockets() topology.Topology {
	topo := hardware()
	topo.MemoryNodes = []topology.MemoryNode{
		{ID: "mem0", NUMANode: 0, Socket: new(0)}, {ID: "mem1", NUMANode: 1, Socket: new(1)},
	}
	for _, part := range []string{"memory:mem0", "memory:mem1"} {
		topo.Hops = append(topo.Hops, topology.Hop{ID: part, Kind: topology.HopMemory})
	}
	topo.Hops = append(topo.Hops, topology.Hop{ID: "inter_socket:0-1", Kind: topology.HopInterSocket})
	return topo
}
