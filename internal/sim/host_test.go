package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

func TestProbeFailsByName(t *testing.T) {
	topo := Fig2()
	topo.RNICs[1].Usable, topo.RNICs[1].Reason = false, "no /dev/infiniband/uverbs1"
	topo.RNICs[2].State = "DOWN"
	topo.GPUs[3].Usable, topo.GPUs[3].Reason = false, "no CUDA library"
	h := quiet(t, topo, Options{})
	for _, c := range []struct {
		name, rnic, endpoint string
		want                 probe.Failure
	}{
		{"unknown RNIC", "rnic9", "mem0", probe.Failure{Reason: probe.ReasonUnusable, Detail: "the topology has no path rnic9→mem0"}},
		{"unknown endpoint", "rnic0", "mem9", probe.Failure{Reason: probe.ReasonUnusable, Detail: "the topology has no path rnic0→mem9"}},
		{"unusable RNIC", "rnic1", "mem0", probe.Failure{Reason: probe.ReasonUnusable, Detail: "RNIC rnic1 is not usable: no /dev/infiniband/uverbs1"}},
		{"unusable GPU", "rnic0", "gpu3", probe.Failure{Reason: probe.ReasonUnusable, Detail: "GPU gpu3 is not usable: no CUDA library"}},
		{"port down", "rnic2", "mem0", probe.Failure{Reason: probe.ReasonPortNotActive, Detail: "port of rnic2 is DOWN"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Probe(t.Context(), probe.Request{Path: topology.Path{RNIC: c.rnic, Endpoint: c.endpoint}})
			var failure *probe.Failure
			require.ErrorAs(t, err, &failure)
			require.Equal(t, c.want, *failure)
		})
	}
}

func TestProbeObeysItsContext(t *testing.T) {
	path := topology.Path{RNIC: "rnic0", Endpoint: "mem0"}
	for _, c := range []struct {
		name      string
		probeTime time.Duration
		end       func(context.Context) (context.Context, context.CancelFunc)
		want      probe.Reason // "" is a reading
		wantTime  time.Duration
	}{
		{"no time at all", 0, context.WithCancel, "", 0},
		{"its own time", 3 * time.Second, context.WithCancel, "", 3 * time.Second},
		{"cancelled before", 0, cancelled, probe.ReasonCancelled, 0},
		{"cancelled before, with time", time.Hour, cancelled, probe.ReasonCancelled, 0},
		{"cancelled in the middle", time.Hour, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, probe.ReasonCancelled, time.Second},
		{"deadline", time.Hour, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2*time.Second)
		}, probe.ReasonDeadline, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := quiet(t, Fig2(), Options{ProbeTime: c.probeTime})
				ctx, cancel := c.end(t.Context())
				defer cancel()
				start := time.Now()
				_, err := h.Probe(ctx, probe.Request{Path: path})
				require.Equal(t, c.wantTime, time.Since(start))
				var failure *probe.Failure
				if c.want == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorAs(t, err, &failure)
				require.Equal(t, c.want, failure.Reason)
			})
		})
	}
}

func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx, cancel
}

// A read that was cut short is no read: the next one is the first.
func TestCancelledProbesDoNotCountAsReads(t *testing.T) {
	path := topology.Path{RNIC: "rnic0", Endpoint: "mem0"}
	a, err := New(Fig2(), Options{Seed: 7})
	require.NoError(t, err)
	b, err := New(Fig2(), Options{Seed: 7})
	require.NoError(t, err)
	ctx, cancel := cancelled(t.Context())
	defer cancel()
	_, err = a.Probe(ctx, probe.Request{Path: path})
	require.Error(t, err)
	require.Equal(t, read(t, a, "rnic0", "mem0"), read(t, b, "rnic0", "mem0"))
}

// large is a host of many RNICs and GPUs, each pair under a switch of its own.
func large(b *testing.B, rnics, gpus int) topology.Topology {
	inv := topology.Inventory{}
	for node := range 2 {
		inv.MemoryNodes = append(inv.MemoryNodes, topology.MemoryNode{ID: fmt.Sprintf("mem%d", node), NUMANode: node, Socket: new(node)})
	}
	link := topology.PCILink{MaxSpeedGTs: new(32.0), MaxWidth: new(16)}
	for n := range rnics {
		node := n * 2 / rnics
		add := func(suffix string, kind topology.PCIType, parent string) string {
			address := fmt.Sprintf("%04x:%s", n, suffix)
			inv.PCI = append(inv.PCI, topology.PCIDevice{ID: address, Address: address, Parent: parent,
				HostBridge: fmt.Sprintf("pci%04x:00", n), Type: kind, NUMANode: new(node), Link: link})
			return address
		}
		up := add("01:00.0", topology.PCIUpstream, add("00:01.0", topology.PCIRootPort, ""))
		inv.RNICs = append(inv.RNICs, topology.RNIC{ID: fmt.Sprintf("mlx5_%d", n), Port: 1, State: "ACTIVE", RateGbps: new(400.0),
			PCI:  add("03:00.0", topology.PCIEndpoint, add("02:00.0", topology.PCIDownstream, up)),
			Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true})
		for g := n * gpus / rnics; g < (n+1)*gpus/rnics; g++ {
			inv.GPUs = append(inv.GPUs, topology.GPU{ID: fmt.Sprintf("gpu%d", g), Vendor: "nvidia", Usable: true,
				PCI: add(fmt.Sprintf("%02x:00.0", 0x80+g), topology.PCIEndpoint, add(fmt.Sprintf("02:%02x.0", 1+g%16), topology.PCIDownstream, up))})
		}
	}
	topo, err := topology.Build(inv)
	require.NoError(b, err)
	return topo
}

func BenchmarkSimulate(b *testing.B) {
	for _, c := range []struct {
		name string
		topo topology.Topology
	}{
		{"fig2", Fig2()},
		{"16 RNICs x 80 endpoints", large(b, 16, 78)},
	} {
		b.Run("new and read all/"+c.name, func(b *testing.B) {
			for b.Loop() {
				h, err := New(c.topo, Options{})
				require.NoError(b, err)
				for _, p := range c.topo.Paths {
					if _, err := h.Probe(context.Background(), probe.Request{Path: p}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run("targets/"+c.name, func(b *testing.B) {
			for b.Loop() {
				_, err := Targets(c.topo)
				require.NoError(b, err)
			}
		})
	}
}
