package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/engine/enginetest"
	"github.com/yuuki/hostping/internal/sim"
)

// The simulated host keeps the contract that live hosts keep.
func TestHostIsAProber(t *testing.T) {
	for name, probeTime := range map[string]time.Duration{"at once": 0, "in its own time": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			topo := sim.Fig2()
			enginetest.TestProber(t, func() engine.Prober {
				host, err := sim.New(topo, sim.Options{ProbeTime: probeTime})
				require.NoError(t, err)
				return host
			}, topo)
		})
	}
}
