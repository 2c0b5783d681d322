package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/stat"
)

func TestMedian(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"one":           {[]float64{7}, 7},
		"odd":           {[]float64{9, 1, 5}, 5},
		"even":          {[]float64{4, 1, 9, 2}, 3},
		"one is wild":   {[]float64{195, 196, 1e9}, 196},
		"huge ones":     {[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
		"negative ones": {[]float64{-1, -3}, -2},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]float64{}, c.values...)
			require.Equal(t, c.want, stat.Median(c.values))
			require.Equal(t, before, c.values, "the caller's order stays")
		})
	}
	require.True(t, math.IsNaN(stat.Median(nil)))
}

// The spread is the standard deviation of normal values, whatever a few do.
func TestSpreadShare(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = 200 * (1 + 0.025*random.NormFloat64())
	}
	require.InDelta(t, 0.025, stat.SpreadShare(values), 0.001)
	for i := range 500 {
		values[i] = 0
	}
	require.InDelta(t, 0.025, stat.SpreadShare(values), 0.003)
	require.Zero(t, stat.SpreadShare([]float64{5, 5, 5}))
}
