package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/engine/enginetest"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// lawful is the least that keeps the contract.
type lawful struct{ topo topology.Topology }

func (l lawful) Probe(ctx context.Context, req probe.Request) (probe.Reading, error) {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		reason := probe.ReasonCancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			reason = probe.ReasonDeadline
		}
		return probe.Reading{}, &probe.Failure{Reason: reason, Detail: "probe of " + req.Path.Key().String()}
	}
	for _, path := range l.topo.Paths {
		if path.Key() == req.Path.Key() {
			return probe.Reading{BandwidthGbps: 195, Latency: probe.Latency{MinUs: 1, P50Us: 2, P99Us: 3, MaxUs: 4, Samples: 100}}, nil
		}
	}
	return probe.Reading{}, &probe.Failure{Reason: probe.ReasonUnusable, Detail: "no path " + req.Path.Key().String()}
}

func TestTheContractCanBeKept(t *testing.T) {
	var topo topology.Topology
	for i := range 3 {
		rnic, node := fmt.Sprintf("rnic%d", i), fmt.Sprintf("mem%d", i)
		topo.RNICs = append(topo.RNICs, topology.RNIC{ID: rnic, Name: rnic, Usable: true})
		topo.MemoryNodes = append(topo.MemoryNodes, topology.MemoryNode{ID: node})
		topo.Paths = append(topo.Paths, topology.Path{RNIC: rnic, Endpoint: node, Hops: []string{"rnic_pcie:" + rnic, "memory:" + node}})
	}
	enginetest.TestProber(t, func() engine.Prober { return lawful{topo} }, topo)
}
