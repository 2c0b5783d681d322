package baseline

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/stat"
)

// NamedFile is a baseline file with the name that messages call it by.
type NamedFile struct {
	Name string
	File
}

// Merge joins the calibrations of several files. It keeps them all, so the
// order of the files does not matter, merged files merge again, and a
// calibration that several files hold counts once. Hosts of unlike hardware
// may be mixed: their figures have different keys.
//
// Simulated and live hosts do not mix, and two files that tell different
// things about one calibration are refused. tool is the one that merges.
func Merge(tool Tool, files []NamedFile) (File, error) {
	if len(files) == 0 {
		return File{}, errors.New("no baseline file to merge")
	}
	out := File{Schema: SchemaID, Tool: tool, Backend: files[0].Backend}
	type origin struct {
		file  NamedFile
		index int
	}
	seen := map[string]origin{}
	entries := map[string]int{}
	for _, f := range files {
		if f.Backend != out.Backend {
			return File{}, fmt.Errorf("%s holds %s hosts and %s %s ones; their figures cannot be mixed", files[0].Name, out.Backend, f.Name, f.Backend)
		}
		place := make([]int, len(f.Calibrations)) // -1: known already
		for i, c := range f.Calibrations {
			id := c.Host + "\n" + c.Fingerprint + "\n" + c.StartedAt.UTC().String()
			if first, ok := seen[id]; ok {
				if !reflect.DeepEqual(first.file.of(first.index), f.of(i)) {
					return File{}, fmt.Errorf("%s and %s tell different things about the calibration of %s", first.file.Name, f.Name, c)
				}
				place[i] = -1
				continue
			}
			place[i] = len(out.Calibrations)
			seen[id] = origin{f, i}
			out.Calibrations = append(out.Calibrations, c)
		}
		for _, e := range f.Entries {
			at, ok := entries[e.Key.String()]
			if !ok {
				at = len(out.Entries)
				entries[e.Key.String()] = at
				out.Entries = append(out.Entries, Entry{Key: e.Key})
			}
			for _, m := range e.Measured {
				if m.Calibration = place[m.Calibration]; m.Calibration >= 0 {
					out.Entries[at].Measured = append(out.Entries[at].Measured, m)
				}
			}
		}
	}
	out.sort()
	return out, out.Validate()
}

// of is all that a file says about one of its calibrations.
func (f File) of(calibration int) map[string]Measured {
	all := map[string]Measured{}
	for _, e := range f.Entries {
		for _, m := range e.Measured {
			if m.Calibration == calibration {
				m.Calibration = 0
				all[e.Key.String()] = m
			}
		}
	}
	return all
}

// joined is what the hosts of an entry say together.
type joined struct {
	gbps, us    float64
	spreadShare *float64 // of a read's bandwidth, on whatever host of this kind
	hosts       int
	samples     int
	newest      time.Time
	oneHost     string // its name, when there is one only
}

// Summary is what the hosts of one kind of path say together.
type Summary struct {
	Key           Key
	BandwidthGbps float64
	LatencyUs     float64
	SpreadShare   *float64 // as in Expectation
	Hosts         int
}

// Figures summarises every kind of path that the file knows, in its order.
func (f File) Figures() []Summary {
	list := make([]Summary, len(f.Entries))
	for i, e := range f.Entries {
		j := f.join(e)
		list[i] = Summary{Key: e.Key, BandwidthGbps: j.gbps, LatencyUs: j.us, SpreadShare: j.spreadShare, Hosts: j.hosts}
	}
	return list
}

// join takes the median over hosts, so that a sick one among them does not
// move it. Hosts and not calibrations have a voice: one that was calibrated
// again and again speaks with the median of its calibrations.
func (f File) join(e Entry) joined {
	type figures struct{ gbps, us []float64 }
	var hosts []string
	byHost := map[string]*figures{}
	var j joined
	var spreads []float64
	for _, m := range e.Measured {
		c := f.Calibrations[m.Calibration]
		id := c.Host + "\n" + c.Fingerprint
		if byHost[id] == nil {
			byHost[id] = &figures{}
			hosts = append(hosts, id)
			j.oneHost = c.Host
		}
		byHost[id].gbps = append(byHost[id].gbps, m.Bandwidth.Median)
		byHost[id].us = append(byHost[id].us, m.Latency.Median)
		j.samples += m.Bandwidth.Samples
		if m.Bandwidth.SpreadShare != nil {
			spreads = append(spreads, *m.Bandwidth.SpreadShare)
		}
		if c.FinishedAt.After(j.newest) {
			j.newest = c.FinishedAt
		}
	}
	var gbps, us []float64
	for _, id := range hosts {
		gbps = append(gbps, stat.Median(byHost[id].gbps))
		us = append(us, stat.Median(byHost[id].us))
	}
	j.hosts, j.gbps, j.us = len(hosts), stat.Median(gbps), stat.Median(us)
	if len(spreads) > 0 {
		// A read differs from its host's figure, and the host from its kind.
		j.spreadShare = new(math.Hypot(stat.Median(spreads), stat.SpreadShare(gbps)))
	}
	if j.hosts > 1 {
		j.oneHost = ""
	}
	return j
}

// Outliers lists the calibrations that are slower than the median of the
// hosts of their kind by more than the threshold, a share: hosts that may
// have been sick. They do not move the baseline as long as they are few.
func (f File) Outliers(threshold float64) []string {
	lines := map[int][]string{}
	for _, e := range f.Entries {
		j := f.join(e)
		if j.hosts < 2 {
			continue
		}
		for _, m := range e.Measured {
			if m.Bandwidth.Median < (1-threshold)*j.gbps {
				lines[m.Calibration] = append(lines[m.Calibration],
					fmt.Sprintf("%s %.3g of %.3g Gb/s", e.Key.Class, m.Bandwidth.Median, j.gbps))
			}
		}
	}
	var list []string
	for i, c := range f.Calibrations {
		if len(lines[i]) > 0 {
			list = append(list, fmt.Sprintf("%s: %s", c, strings.Join(slices.Compact(lines[i]), ", ")))
		}
	}
	return list
}
