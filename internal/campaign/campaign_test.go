package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/sim"
)

// TestShortCampaign is the campaign with few runs, the same in every test. The
// limits are those of make campaign less what so few runs may stray.
func TestShortCampaign(t *testing.T) {
	names, b := []string{fig2, "mi300x", "rome-nps4"}, budget{Healthy: 1500, Single: 150, Pair: 100}
	if raceDetector {
		names, b = names[:1], budget{Healthy: 200, Single: 40, Pair: 40}
	}
	c := newCampaign(hostsOf(t, names...), 1, b)
	c.rows = slices.DeleteFunc(c.rows, func(r row) bool {
		return r.group.slight() || r.group == healthy && r.noise == sim.NoiseHarsh ||
			r.host.name != fig2 && r.mode == engine.ModeBusy // many loads, each with a gallery
	})
	require.NoError(t, c.run(t.Context()))
	for _, r := range c.rows {
		s := c.of(r)
		t.Run(r.String(), func(t *testing.T) {
			graded := s.Runs - s.Edge
			require.Positive(t, graded)
			share := func(k int64) float64 { return float64(k) / float64(graded) }
			require.Equal(t, graded, s.Ours.Exact+s.Ours.Offered+s.Ours.Missed)
			require.GreaterOrEqual(t, s.Ours.Exact, s.Literal.Exact, "the published algorithm is exact more often")
			require.LessOrEqual(t, s.Ours.Wrong, s.Literal.Wrong, "the published algorithm blames the innocent less often")
			switch r.group {
			case healthy:
				require.Zero(t, s.Ours.Wrong, "false alarms: %v", s.Failures)
			case oneFault:
				require.GreaterOrEqual(t, share(s.Ours.Exact), 0.99, "%v", s.Failures)
				require.LessOrEqual(t, share(s.Ours.Wrong), 0.01, "%v", s.Failures)
			case twoFaults:
				least := 0.97
				if r.mode == engine.ModeBusy {
					least = 0.92
				}
				require.GreaterOrEqual(t, share(s.Ours.Exact), least, "%v", s.Failures)
				require.LessOrEqual(t, share(s.Ours.Wrong), 0.03, "%v", s.Failures)
			}
		})
	}
}
