package baseline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/stat"
	"github.com/yuuki/hostping/internal/topology"
)

// Samples are the good reads of one path.
type Samples struct {
	BandwidthGbps []float64
	LatencyUs     []float64 // p50 of each read
}

// FromSamples makes the baseline file of one host, c. Paths of one kind are
// taken together; a kind without a bandwidth and a latency gets no entry.
func FromSamples(h Hardware, c Calibration, samples map[topology.PathKey]Samples) (File, error) {
	c.Fingerprint = Fingerprint(h)
	f := File{Schema: SchemaID, Tool: c.Tool, Backend: h.Backend, Calibrations: []Calibration{c}}
	for _, kind := range kinds(h, samples) {
		var gbps, us []float64
		for _, p := range kind.paths {
			gbps = append(gbps, samples[p].BandwidthGbps...)
			us = append(us, samples[p].LatencyUs...)
		}
		if len(gbps) == 0 || len(us) == 0 {
			continue
		}
		f.Entries = append(f.Entries, Entry{Key: kind.key, Measured: []Measured{{
			Paths: len(kind.paths), Bandwidth: figureOf(gbps), Latency: figureOf(us),
		}}})
	}
	f.sort()
	return f, f.Validate()
}

// kind is the paths of a host that have one key, in the topology's order.
type kind struct {
	key   Key
	paths []topology.PathKey
}

// kinds groups the paths that have a bandwidth sample, nearest classes first.
func kinds(h Hardware, samples map[topology.PathKey]Samples) []kind {
	index := map[string]int{}
	var list []kind
	keys := Keys(h)
	for _, p := range h.Topology.Paths {
		if len(samples[p.Key()].BandwidthGbps) == 0 {
			continue
		}
		key := keys[p.Key()]
		i, ok := index[key.String()]
		if !ok {
			i = len(list)
			index[key.String()] = i
			list = append(list, kind{key: key})
		}
		list[i].paths = append(list[i].paths, p.Key())
	}
	slices.SortStableFunc(list, func(a, b kind) int { return compareKeys(a.key, b.key) })
	return list
}

// Asymmetries lists what in a host does not perform as its like does, by more
// than the threshold, a share.
//
// Paths of one kind should be as fast as the fastest of them. That is the
// reference and not the median, which a fault that half of the paths cross
// would hold down. And near kinds, which have no limit of their own, should
// all come as near to the default expectation: peer traffic that detours
// through the root complex is slow on every path to a GPU alike, but not to
// memory.
//
// It says nothing about a path without its like, or about a fault that all share.
func Asymmetries(h Hardware, samples map[topology.PathKey]Samples, threshold float64) []string {
	var lines []string
	for _, kind := range kinds(h, samples) {
		speed := func(p topology.PathKey) float64 { return stat.Median(samples[p].BandwidthGbps) }
		fastest := slices.MaxFunc(kind.paths, func(a, b topology.PathKey) int { return cmp.Compare(speed(a), speed(b)) })
		for _, p := range kind.paths {
			if speed(p) < (1-threshold)*speed(fastest) {
				lines = append(lines, fmt.Sprintf("%v carries %.3g Gb/s, its like %v %.3g", p, speed(p), fastest, speed(fastest)))
			}
		}
	}
	return append(lines, nearAsymmetries(h, samples, threshold)...)
}

func nearAsymmetries(h Hardware, samples map[topology.PathKey]Samples, threshold float64) []string {
	var best share
	var shares []share
	for _, s := range shareOfDefault(h, samples) {
		if near(s.kind.key.Class) {
			shares = append(shares, s)
			if s.share > best.share {
				best = s
			}
		}
	}
	var lines []string
	for _, s := range shares {
		if s.share < (1-threshold)*best.share {
			lines = append(lines, fmt.Sprintf("class %s carries %.3g Gb/s, %.0f %% of the default expectation, and class %s %.0f %%",
				s.kind.key.Class, s.gbps, 100*s.share, best.kind.key.Class, 100*best.share))
		}
	}
	return lines
}

// share is what a kind of path carries of its default expectation.
type share struct {
	kind  kind
	gbps  float64
	share float64
}

// shareOfDefault leaves out kinds without a default expectation.
func shareOfDefault(h Hardware, samples map[topology.PathKey]Samples) []share {
	defaults := Defaults(h.Topology)
	var list []share
	for _, kind := range kinds(h, samples) {
		var shares, gbps []float64
		for _, p := range kind.paths {
			if expected := defaults[p].BandwidthGbps; expected != nil {
				gbps = append(gbps, samples[p].BandwidthGbps...)
				shares = append(shares, stat.Median(samples[p].BandwidthGbps) / *expected)
			}
		}
		if len(shares) > 0 {
			list = append(list, share{kind, stat.Median(gbps), stat.Median(shares)})
		}
	}
	return list
}

// BelowDefault lists the kinds of path that stay below the default
// expectation as a whole, by more than the threshold: a limit of the
// platform, or a fault that all of them share.
func BelowDefault(h Hardware, samples map[topology.PathKey]Samples, threshold float64) []string {
	var lines []string
	for _, s := range shareOfDefault(h, samples) {
		if s.share < 1-threshold {
			lines = append(lines, fmt.Sprintf("class %s (%s) carries %.3g Gb/s, %.0f %% of the default expectation",
				s.kind.key.Class, countPaths(len(s.kind.paths)), s.gbps, 100*s.share))
		}
	}
	return lines
}

func countPaths(n int) string {
	if n == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", n)
}
