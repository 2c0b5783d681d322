package topology_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/yuuki/hostping/internal/topology"
)

func TestCompareNatural(t *testing.T) {
	tests := []struct {
		name   string
		sorted []string
	}{
		{"numbers by value", []string{"gpu2", "gpu10", "gpu11"}},
		{"two numbers", []string{"mlx5_0:2", "mlx5_0:10", "mlx5_1", "mlx5_10"}},
		{"a prefix first", []string{"mem", "mem0", "mem0x"}},
		{"digits longer than an integer", []string{"x9", "x99999999999999999998", "x99999999999999999999"}},
		{"leading zeros still differ", []string{"gpu01", "gpu1", "gpu2"}},
		{"letters of PCI addresses", []string{"0000:09:00.0", "0000:0a:00.0", "0000:10:00.0", "0000:9a:00.0", "0001:00:00.0", "10000:00:00.0"}},
		{"names before addresses", []string{"low0", "up3", "0000:09:00.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := slices.Clone(tt.sorted)
			slices.Reverse(got)
			slices.SortFunc(got, topology.CompareNatural)
			assert.Equal(t, tt.sorted, got)
		})
	}
}

func TestSortedKeys(t *testing.T) {
	assert.Equal(t, []string{"gpu2", "gpu10"}, topology.SortedKeys(map[string]int{"gpu10": 1, "gpu2": 2}))
	assert.Empty(t, topology.SortedKeys(map[string]int{}))
}
