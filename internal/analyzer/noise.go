package analyzer

import (
	"fmt"
	"math"

	"github.com/yuuki/hostping/internal/stat"
)

// How far reads of one path scatter, as a share of its figure.
const (
	// assumedSpread is that of a host of which too few paths are alike. Ours:
	// loopback figures differ by 3 to 10 % from run to run.
	assumedSpread = 0.03
	// A spread is believed between these. Above the upper one, five reads could
	// no longer tell a figure 20 % below its reference from noise.
	leastSpread, mostSpread = 0.01, 0.12
	// minSpreadSamples is how many like paths it takes to estimate a spread.
	minSpreadSamples = 8
	// sigmas that noise hardly ever exceeds, and apart those that hardly ever lie
	// between the least and the greatest of three reads.
	sigmas, apart = 3, 4.5
)

// estimateSpread is how far the reads of this host's like paths scatter
// around their medians. A median is taken of the distances too, so that slow
// paths do not count as noise as long as most are healthy.
func (r *run) estimateSpread(alike map[likePath][]*path) float64 {
	var distances []float64
	for _, group := range alike {
		if r.in.Busy || len(group) < minLike { // service traffic is no noise
			continue
		}
		reference := shareOf(group)
		for _, p := range group {
			distances = append(distances, math.Abs(p.gbps/p.scaleGbps()/reference-1))
		}
	}
	if len(distances) < minSpreadSamples {
		return assumedSpread
	}
	return believable(stat.SigmaPerMedianDistance * stat.Median(distances))
}

func believable(spread float64) float64 { return min(max(spread, leastSpread), mostSpread) }

// spreadOf is the spread of one read of the path: as calibrated, else as estimated.
func (r *run) spreadOf(p *path) float64 {
	if s := p.expected.SpreadShare; s != nil && p.Rule == RuleBaseline {
		return believable(*s)
	}
	return r.spread
}

// divides reports whether the path's reads fall on both sides of its
// threshold, with more between them than noise.
func (r *run) divides(p *path) bool {
	if p.bandwidth.bad == 0 || p.bandwidth.good == 0 {
		return false
	}
	return p.lowestGoodGbps-p.highestLowGbps > sigmas*r.spreadOf(p)**p.ReferenceGbps
}

// isMarginal reports whether noise may have lifted a good read over the
// path's threshold: one such read would clear hops that others accuse.
func (r *run) isMarginal(p *path) bool {
	return !r.in.Plain.Noise && p.bandwidth.good > 0 &&
		p.lowestGoodGbps < (1-r.threshold+sigmas*r.spreadOf(p))**p.ReferenceGbps
}

// doubt says why low reads that agree are not believed yet; "" if they are.
//
// Reads that are divided speak of something that comes and goes, and so do low
// ones that do not agree with each other: then three low ones may be chance,
// and four are asked for. And where reads
// scatter widely, few of them leave the median so uncertain that 20 % mean nothing.
func (r *run) doubt(p *path) string {
	if r.in.Plain.Noise {
		return ""
	}
	n := float64(len(p.reads))
	if p.divided && p.bandwidth.bad <= agreeing {
		return fmt.Sprintf("%d of %d reads are low, the others are far above them: something comes and goes", p.LowReads, p.Reads)
	}
	if p.highestLowGbps-p.lowestLowGbps > apart*r.spreadOf(p)*p.gbps && p.bandwidth.bad <= agreeing {
		return fmt.Sprintf("%d of %d reads are low, but from %s to %s Gb/s: they do not agree",
			p.LowReads, p.Reads, figure(p.lowestLowGbps), figure(p.highestLowGbps))
	}
	// The standard error of a median is that of a mean times the root of pi/2.
	uncertainty := sigmas * math.Sqrt(math.Pi/2/n) * r.spreadOf(p)
	if deficit := 1 - p.gbps / *p.ReferenceGbps; deficit < uncertainty {
		return fmt.Sprintf("%s below its reference, but reads scatter by %s: %d of them leave %s uncertain",
			share(deficit), share(r.spreadOf(p)), p.Reads, share(uncertainty))
	}
	return ""
}

// shareOf is the median of what like paths reach of what is expected of them.
func shareOf(group []*path) float64 {
	shares := make([]float64, len(group))
	for i, p := range group {
		shares[i] = p.gbps / p.scaleGbps()
	}
	return stat.Median(shares)
}
