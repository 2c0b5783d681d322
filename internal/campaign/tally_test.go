package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		k, n      int64
		low, high float64
	}{
		{0, 10, 0, 0.2775},
		{5, 10, 0.2366, 0.7634},
		{10, 10, 0.7225, 1},
		{999, 1000, 0.9944, 0.9998},
		{0, 0, 0, 1},
	} {
		low, high := wilson(tt.k, tt.n)
		require.InDelta(t, tt.low, low, 1e-4, "%d of %d", tt.k, tt.n)
		require.InDelta(t, tt.high, high, 1e-4, "%d of %d", tt.k, tt.n)
	}
}

func TestAtMost(t *testing.T) {
	for _, tt := range []struct {
		k, n int64
		want float64
	}{
		{0, 300_000, 1 - math.Pow(0.05, 1.0/300_000)}, // exact for none
		{0, 1, 0.95},
		{1, 10, 0.3942}, // Clopper and Pearson's, from tables
		{3, 3, 1},
	} {
		require.InEpsilon(t, tt.want, atMost(tt.k, tt.n), 1e-3, "%d of %d", tt.k, tt.n)
	}
	require.Less(t, atMost(0, 300_000), 1e-5, "300,000 runs are what one in 100,000 takes")
}

func TestPercent(t *testing.T) {
	require.Equal(t, "100 [98.74, 100]", percent(300, 300))
	require.Equal(t, "0 [0, 1.26]", percent(0, 300))
	require.Equal(t, "0 [0, 0.40]", percent(0, 962))
	require.Equal(t, "-", percent(0, 0))
}

func TestFigureKeepsAllAndNoneApart(t *testing.T) {
	for share, want := range map[float64]string{0: "0", 1: "100", 0.9999999: "99.99", 0.0000001: "1e-05", 0.5: "50.00"} {
		require.Equal(t, want, figure(share))
	}
}
