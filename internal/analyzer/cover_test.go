package analyzer

// Goal: the covers are the smallest, complete, and bounded in work. Method:
// small cases by hand, random ones against brute force.

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ascending(a, b int) int { return a - b }

func TestSolve(t *testing.T) {
	cases := []struct {
		name string
		sets [][]int
		want []puzzle
	}{
		{"nothing", nil, nil},
		{"a hop that alone explains its path", [][]int{{7}}, []puzzle{{[]int{0}, [][]int{{7}}, true}}},
		{"what a forced hop hits needs no more", [][]int{{1, 2}, {2}}, []puzzle{{[]int{0, 1}, [][]int{{2}}, true}}},
		{"equals", [][]int{{3, 1}}, []puzzle{{[]int{0}, [][]int{{1}, {3}}, true}}},
		{"one hop beats two", [][]int{{1, 2}, {1, 3}}, []puzzle{{[]int{0, 1}, [][]int{{1}}, true}}},
		{"groups that share no hop", [][]int{{1, 2}, {3, 4}, {2, 1}}, []puzzle{
			{[]int{0, 2}, [][]int{{1}, {2}}, true}, {[]int{1}, [][]int{{3}, {4}}, true}}},
		{"two are needed", [][]int{{1, 2}, {2, 3}, {3, 1}}, []puzzle{
			{[]int{0, 1, 2}, [][]int{{1, 2}, {1, 3}, {2, 3}}, true}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, solve(c.sets, ascending)) })
	}
}

func TestCoversAreTheSmallestAndComplete(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		sets := make([][]int, 1+random.IntN(6))
		for i := range sets {
			for h := range 7 {
				if random.IntN(3) == 0 {
					sets[i] = append(sets[i], h)
				}
			}
			if len(sets[i]) == 0 {
				sets[i] = []int{random.IntN(7)}
			}
		}
		for _, z := range solve(sets, ascending) {
			var own [][]int
			for _, i := range z.paths {
				own = append(own, sets[i])
			}
			require.True(t, z.exact || len(z.covers) == maxCovers, "%v", sets)
			got := slices.Clone(z.covers)
			slices.SortFunc(got, slices.Compare[[]int])
			if z.exact {
				require.Equal(t, bruteForce(own, 7), got, "%v", sets)
			}
		}
	}
}

// bruteForce finds all smallest covers over hops 0 to n-1.
func bruteForce(sets [][]int, n int) (covers [][]int) {
	best := n + 1
	for mask := range 1 << n {
		var cover []int
		for h := range n {
			if mask>>h&1 == 1 {
				cover = append(cover, h)
			}
		}
		if slices.ContainsFunc(sets, func(set []int) bool { return !intersects(set, cover) }) {
			continue
		}
		if len(cover) < best {
			best, covers = len(cover), nil
		}
		if len(cover) == best {
			covers = append(covers, cover)
		}
	}
	slices.SortFunc(covers, slices.Compare[[]int])
	return covers
}

func TestHardPuzzlesAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	sets := make([][]int, 1280)
	for i := range sets {
		for len(sets[i]) < 8 {
			if h := random.IntN(120); !slices.Contains(sets[i], h) {
				sets[i] = append(sets[i], h)
			}
		}
	}
	s := newSearch(sets, entangled(sets, indexes(len(sets)))[0], ascending)
	s.run()
	require.Len(t, s.covers, 1)
	assert.False(t, s.exact)
	assert.LessOrEqual(t, s.visits, maxCoverVisits+len(sets))
	for _, set := range sets {
		require.True(t, intersects(set, s.covers[0]))
	}
}

func indexes(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
