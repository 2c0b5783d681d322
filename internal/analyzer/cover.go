package analyzer

import (
	"maps"
	"slices"
)

const (
	// maxCoverSize bounds the exact search within one group of entangled
	// paths; faults that share no path are separate groups and do not count.
	maxCoverSize = 4
	// maxCovers bounds how many equally small covers are kept.
	maxCovers = 16
	// maxCoverVisits bounds the search's work in sets looked at, so that no
	// input makes the analysis slow. Beyond it a greedy cover is taken.
	maxCoverVisits = 100_000
)

// puzzle is one group of entangled abnormal paths: the sets of hops that may
// explain each, and the smallest covers, that is sets of hops that hit all of them.
type puzzle struct {
	paths  []int   // indexes of the sets that belong to it
	covers [][]int // each in the order of preference; never empty
	exact  bool    // the covers are proven the smallest, and all that there are
}

// solve splits the sets (path → candidate hops, none empty) into groups that
// share no hop and finds the smallest covers of each. prefer orders hops that
// serve equally well; it decides which covers are found first when there are too many.
//
// A set of one hop forces that hop, which is the rule "blame first the hops
// that alone can explain a path"; what it hits as well needs no more blame.
func solve(sets [][]int, prefer func(a, b int) int) []puzzle {
	var puzzles []puzzle
	forced := map[int]int{} // hop → its puzzle
	for _, set := range sets {
		if _, ok := forced[set[0]]; !ok && len(set) == 1 {
			forced[set[0]] = len(puzzles)
			puzzles = append(puzzles, puzzle{covers: [][]int{{set[0]}}, exact: true})
		}
	}
	var open []int
	for i, set := range sets {
		hit := false
		for _, h := range set {
			if k, ok := forced[h]; ok {
				puzzles[k].paths = append(puzzles[k].paths, i)
				hit = true
			}
		}
		if !hit {
			open = append(open, i)
		}
	}
	for _, group := range entangled(sets, open) {
		s := newSearch(sets, group, prefer)
		s.run()
		puzzles = append(puzzles, puzzle{paths: group, covers: s.covers, exact: s.exact})
	}
	return puzzles
}

// entangled groups the sets that share hops, directly or through others.
func entangled(sets [][]int, open []int) [][]int {
	parent := make([]int, len(sets)) // a forest over the sets; roots are their own parents
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	owner := map[int]int{} // hop → first set that names it
	for _, i := range open {
		for _, h := range sets[i] {
			if j, ok := owner[h]; ok {
				a, b := root(i), root(j)
				parent[max(a, b)] = min(a, b)
			} else {
				owner[h] = i
			}
		}
	}
	var groups [][]int
	place := map[int]int{}
	for _, i := range open {
		k, ok := place[root(i)]
		if !ok {
			k = len(groups)
			place[root(i)] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	return groups
}

// search looks for the smallest covers of distinct sets by depth-first
// search, one size after the other.
type search struct {
	sets   [][]int // distinct, each in the order of preference, small ones first
	prefer func(a, b int) int
	visits int
	covers [][]int
	exact  bool
}

func newSearch(all [][]int, group []int, prefer func(a, b int) int) *search {
	s := &search{prefer: prefer}
	for _, i := range group {
		set := slices.Clone(all[i])
		slices.SortFunc(set, prefer)
		s.sets = append(s.sets, set)
	}
	slices.SortFunc(s.sets, func(a, b []int) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return slices.CompareFunc(a, b, prefer)
	})
	s.sets = slices.CompactFunc(s.sets, slices.Equal[[]int])
	return s
}

func (s *search) run() {
	for size := 1; size <= maxCoverSize; size++ {
		s.extend(nil, size)
		if s.visits > maxCoverVisits {
			break
		}
		if len(s.covers) > 0 {
			s.exact = len(s.covers) < maxCovers
			return
		}
	}
	if len(s.covers) == 0 {
		s.covers = [][]int{s.greedy()}
	}
}

// extend adds every cover of at most size more hops than chosen. Branching on
// the hops of one uncovered set finds each cover, since one of them is in it.
// Uncovered sets that share no hop need a hop each: more of them than size
// ends the branch.
func (s *search) extend(chosen []int, size int) {
	if len(s.covers) >= maxCovers || s.visits > maxCoverVisits {
		return
	}
	branch, apart := -1, 0
	used := slices.Clone(chosen)
	for i, set := range s.sets {
		s.visits++
		if intersects(set, used) {
			continue
		}
		if apart++; apart > size {
			return
		}
		if branch < 0 {
			branch = i
		}
		used = append(used, set...)
	}
	if branch < 0 {
		cover := slices.Clone(chosen)
		slices.SortFunc(cover, s.prefer)
		if !slices.ContainsFunc(s.covers, func(c []int) bool { return slices.Equal(c, cover) }) {
			s.covers = append(s.covers, cover)
		}
		return
	}
	for _, h := range s.sets[branch] {
		s.extend(append(slices.Clone(chosen), h), size-1)
	}
}

// greedy takes the hop that hits most open sets, again and again, and then
// leaves out the hops that the later ones made superfluous.
func (s *search) greedy() (cover []int) {
	open := map[int]int{} // hop → how many open sets it hits
	byHop := map[int][]int{}
	for i, set := range s.sets {
		for _, h := range set {
			open[h]++
			byHop[h] = append(byHop[h], i)
		}
	}
	hops := slices.SortedFunc(maps.Keys(open), s.prefer)
	hits := make([]int, len(s.sets)) // by chosen hops
	for {
		best := slices.MaxFunc(hops, func(a, b int) int { return open[a] - open[b] }) // the first of equals
		if open[best] == 0 {
			break
		}
		cover = append(cover, best)
		for _, i := range byHop[best] {
			if hits[i]++; hits[i] == 1 {
				for _, h := range s.sets[i] {
					open[h]--
				}
			}
		}
	}
	cover = slices.DeleteFunc(cover, func(h int) bool {
		if slices.ContainsFunc(byHop[h], func(i int) bool { return hits[i] == 1 }) {
			return false
		}
		for _, i := range byHop[h] {
			hits[i]--
		}
		return true
	})
	slices.SortFunc(cover, s.prefer)
	return cover
}

func intersects(a, b []int) bool {
	for _, x := range b {
		if slices.Contains(a, x) {
			return true
		}
	}
	return false
}
