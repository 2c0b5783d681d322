package baseline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// Apply gives what a calibrated host's paths should do, by the file named
// name: a path whose kind the file knows gets the median of its hosts, every
// other path its default, and the findings say which and why.
//
// A file that knows no path of this host is an error that names the differing
// facts: it is of another kind of host.
func (f File) Apply(name string, h Hardware) (Set, []diagnosis.Finding, error) {
	if f.Backend != h.Backend {
		return nil, nil, fmt.Errorf("the file holds %s hosts and this one is %s; calibrate on a host of this kind", f.Backend, h.Backend)
	}
	keys := Keys(h)
	wanted := map[string]bool{} // a file may know far more kinds than a host has
	for _, key := range keys {
		wanted[key.String()] = true
	}
	known := map[string]joined{}
	for _, e := range f.Entries {
		if id := e.Key.String(); wanted[id] {
			known[id] = f.join(e)
		}
	}
	set := Defaults(h.Topology)
	fitting := 0
	var strangers []topology.Path // that can be measured and are not in the file
	for _, p := range h.Topology.Paths {
		if j, ok := known[keys[p.Key()].String()]; ok {
			fitting++
			set[p.Key()] = j.expect(name, set[p.Key()])
			continue
		}
		expected := set[p.Key()]
		expected.Rule += "; " + name + " has no entry for this kind of path"
		set[p.Key()] = expected
		if measurable(h.Topology, p) {
			strangers = append(strangers, p)
		}
	}
	if fitting == 0 {
		return nil, nil, fmt.Errorf("the file does not fit this hardware: %s; calibrate on a host of this kind", f.misfit(keys, h.Topology.Paths))
	}
	return set, f.incomplete(name, keys, strangers), nil
}

// expect is what the hosts say of a path; the class's share of the latency,
// by which paths without an entry are judged, stays that of the default.
func (j joined) expect(name string, byDefault Expectation) Expectation {
	from := fmt.Sprintf("the median of %d hosts", j.hosts)
	if j.oneHost != "" {
		from = "calibrated on " + j.oneHost
	}
	return Expectation{
		BandwidthGbps:       &j.gbps,
		LatencyUs:           &j.us,
		LatencyAboveCloseUs: byDefault.LatencyAboveCloseUs,
		SpreadShare:         j.spreadShare,
		Source:              SourceCalibration,
		Rule:                fmt.Sprintf("%s: %s, %d reads, %s", name, from, j.samples, j.newest.UTC().Format(time.DateOnly)),
	}
}

func measurable(t topology.Topology, p topology.Path) bool {
	usable := func(id string) bool {
		return slices.ContainsFunc(t.RNICs, func(r topology.RNIC) bool { return r.ID == id && r.Usable })
	}
	blocked := func(id string) bool {
		return slices.ContainsFunc(t.GPUs, func(g topology.GPU) bool { return g.ID == id && !g.Usable })
	}
	return usable(p.RNIC) && !blocked(p.Endpoint)
}

// nearest says, once for each kind of path, in what it differs from the entry
// that is most like it, one of the same class if there is any.
type nearest struct {
	file  File
	known map[string][]difference
}

func (f File) nearest() nearest { return nearest{f, map[string][]difference{}} }

func (n nearest) to(key Key) []difference {
	id := key.String()
	if best, ok := n.known[id]; ok {
		return best
	}
	n.known[id] = n.file.leastDifferent(key)
	return n.known[id]
}

func (f File) leastDifferent(key Key) []difference {
	var best []difference
	fewest := -1
	for _, e := range f.Entries {
		list := key.differences(e.Key)
		weight := len(list)
		if e.Key.Class != key.Class {
			weight += len(key.facts())
		}
		if fewest < 0 || weight < fewest {
			best, fewest = list, weight
		}
	}
	return best
}

// maxDifferences bounds an error, which is one line.
const maxDifferences = 6

// misfit says in what all the paths of a host differ from a file.
func (f File) misfit(keys map[topology.PathKey]Key, paths []topology.Path) string {
	var seen []difference
	nearest := f.nearest()
	for _, p := range paths {
		for _, d := range nearest.to(keys[p.Key()]) {
			if !slices.Contains(seen, d) {
				seen = append(seen, d)
			}
		}
	}
	var parts []string
	for i, d := range seen {
		if i == maxDifferences {
			parts = append(parts, fmt.Sprintf("and %d more", len(seen)-i))
			break
		}
		parts = append(parts, d.String())
	}
	return cmp.Or(strings.Join(parts, ", "), "this host has no path")
}

// incomplete tells of the paths that the file does not know, an RNIC at a time.
func (f File) incomplete(name string, keys map[topology.PathKey]Key, strangers []topology.Path) []diagnosis.Finding {
	var findings []diagnosis.Finding
	nearest := f.nearest()
	for len(strangers) > 0 {
		rnic := strangers[0].RNIC
		var reasons []string
		paths, endpoints := 0, map[string][]string{} // by reason
		strangers = slices.DeleteFunc(strangers, func(p topology.Path) bool {
			if p.RNIC != rnic {
				return false
			}
			var why []string
			for _, d := range nearest.to(keys[p.Key()]) {
				why = append(why, d.String())
			}
			reason := strings.Join(why, ", ")
			if endpoints[reason] == nil {
				reasons = append(reasons, reason)
			}
			endpoints[reason] = append(endpoints[reason], p.Endpoint)
			paths++
			return true
		})
		what := "paths of %s have no entry in %s and are"
		if paths == 1 {
			what = "path of %s has no entry in %s and is"
		}
		summary := fmt.Sprintf("%d "+what+" judged by the defaults", paths, rnic, name)
		if len(reasons) == 1 {
			summary += ": " + reasons[0]
		}
		evidence := make([]string, len(reasons))
		for i, reason := range reasons {
			evidence[i] = rnic + "→" + strings.Join(endpoints[reason], ",") + ": " + reason
		}
		findings = append(findings, diagnosis.Finding{
			Code:      diagnosis.BaselineIncomplete,
			Component: rnic,
			Summary:   summary,
			Evidence:  evidence,
			Hint:      "calibrate on a host of this kind and merge its file, or undo the change that the differences show",
		})
	}
	return findings
}
