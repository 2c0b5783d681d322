package report

import (
	"math"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/stat"
	"github.com/yuuki/hostping/internal/topology"
)

// Spreads, as standard deviations in shares of a figure. Between the runs of
// one host 3 to 10 % were seen elsewhere, most of it systematic; a report too
// small to tell its own spread is taken to have the unknown one.
const (
	unknownSpread = 0.05
	leastSpread   = 0.01
	minChanges    = 20 // fewer changes say little about their spread
	minResiduals  = 8  // nor do fewer distances of like paths
	minGroup      = 4  // like paths that make a median to differ from
)

// bothTell reports whether the bandwidths of both sides say something about
// the path alone.
func bothTell(was, is seen) bool {
	return was.reading != nil && is.reading != nil && !was.service && !is.service && was.reading.BandwidthGbps > 0
}

func bandwidthOf(m *Measurement) float64 { return m.BandwidthGbps }
func latencyOf(m *Measurement) float64   { return m.LatencyUs.P50Us }

// changeSpread estimates how much a path's figure changes from one report
// to the other when nothing happened to it: from the changes of all paths,
// as long as they are enough and most paths are as they were; else from how
// much like paths differ within each report.
func changeSpread(figure func(*Measurement) float64, was, is map[topology.PathKey]seen, before, after Report) float64 {
	var changes []float64
	for key, a := range was {
		if b := is[key]; bothTell(a, b) && figure(a.reading) > 0 {
			changes = append(changes, figure(b.reading)/figure(a.reading))
		}
	}
	least := math.Sqrt2 * leastSpread
	if len(changes) < minChanges {
		return max(least, math.Hypot(spreadOf(before, figure), spreadOf(after, figure)))
	}
	// So few values may look steadier than they are.
	caution := 1 + 1.5/math.Sqrt(float64(len(changes)))
	return max(least, caution*stat.SigmaPerMedianDistance*stat.MedianDistance(changes))
}

// pathSpread is the spread of the change of one path: that of the calibration
// where both sides have one, else that of all paths; widened where the path's
// own reads scatter more.
func pathSpread(ofAll float64, was, is *Measurement) float64 {
	usual := ofAll
	if a, b := was.Baseline.SpreadShare, is.Baseline.SpreadShare; a != nil && b != nil {
		usual = max(math.Sqrt2*leastSpread, math.Hypot(*a, *b))
	}
	ofOne := usual / math.Sqrt2
	return math.Hypot(withReads(ofOne, was), withReads(ofOne, is))
}

// withReads weighs a spread with that of the path's own reads, as if it came
// from usualWeight reads more.
func withReads(spread float64, m *Measurement) float64 {
	const usualWeight = 10
	gbps := m.gbps()
	if len(gbps) < 3 || m.BandwidthGbps <= 0 {
		return spread
	}
	squares := usualWeight * spread * spread
	for _, x := range gbps {
		squares += (x/m.BandwidthGbps - 1) * (x/m.BandwidthGbps - 1)
	}
	return max(spread, math.Sqrt(squares/float64(usualWeight+len(gbps)-1)))
}

// spreadOf estimates how much a figure differs between equal paths of the
// report: the median distance from the median of the like paths, of all paths
// that are not abnormal. Real differences between the paths only make it larger.
func spreadOf(r Report, figure func(*Measurement) float64) float64 {
	type like struct {
		class              topology.Class
		driver, gpu        string
		rateGbps, expected float64
	}
	rnics, gpus := map[string]topology.RNIC{}, map[string]string{}
	for _, x := range r.Topology.RNICs {
		rnics[x.ID] = x
	}
	for _, g := range r.Topology.GPUs {
		gpus[g.ID] = g.Vendor + " " + g.Model
	}
	groups := map[like][]float64{}
	for i := range r.Measurements {
		m := &r.Measurements[i]
		if m.Verdict == string(analyzer.Abnormal) || figure(m) <= 0 {
			continue
		}
		x := rnics[m.RNIC]
		key := like{class: m.Class, driver: x.Driver, gpu: gpus[m.Endpoint]}
		if x.RateGbps != nil {
			key.rateGbps = *x.RateGbps
		}
		if m.Baseline.BandwidthGbps != nil {
			key.expected = *m.Baseline.BandwidthGbps
		}
		groups[key] = append(groups[key], figure(m))
	}
	var distances []float64
	for _, figures := range groups {
		if len(figures) < minGroup {
			continue
		}
		middle := stat.Median(figures)
		for _, x := range figures {
			distances = append(distances, math.Abs(x/middle-1))
		}
	}
	if len(distances) < minResiduals {
		return unknownSpread
	}
	return max(leastSpread, stat.SigmaPerMedianDistance*stat.Median(distances))
}
