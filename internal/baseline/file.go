package baseline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/stat"
)

// SchemaID names the JSON form of File.
const SchemaID = "hostping.baseline/v1"

// File is a baseline file: what healthy hosts measured, by what decides it.
// It keeps the figures of every calibration apart, so that files can be
// joined in any order and a figure be traced to its host; what a path should
// do is derived when the file is used. Calibrations and entries are sorted.
type File struct {
	Schema       string        `json:"schema"`
	Tool         Tool          `json:"tool"`    // that wrote the file
	Backend      string        `json:"backend"` // "live" or "sim", of all calibrations
	Calibrations []Calibration `json:"calibrations"`
	Entries      []Entry       `json:"entries"`
}

// Tool is a version of the program.
type Tool struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
}

// Calibration is where figures come from: one host, measured several times.
type Calibration struct {
	Host string `json:"host"` // its name
	// Fingerprint is equal for hosts of like hardware.
	Fingerprint string    `json:"fingerprint"`
	Tool        Tool      `json:"tool"` // that measured
	StartedAt   time.Time `json:"started_at"`
	FinishedAt  time.Time `json:"finished_at"`
	Rounds      int       `json:"rounds"`
	// AcceptedAsymmetry says in what the host's like parts differed, when the
	// operator calibrated it all the same.
	AcceptedAsymmetry []string `json:"accepted_asymmetry"`
}

// Entry is what one kind of path did.
type Entry struct {
	Key      Key        `json:"key"`
	Measured []Measured `json:"measured"` // at most one per calibration
}

// Measured is what the paths of one kind did on one host.
type Measured struct {
	Calibration int    `json:"calibration"` // index into File.Calibrations
	Paths       int    `json:"paths"`       // of this kind
	Bandwidth   Figure `json:"bandwidth_gbps"`
	Latency     Figure `json:"latency_us"` // p50 of 1-byte writes
}

// Figure summarises samples of one quantity.
type Figure struct {
	Samples int     `json:"samples"`
	Median  float64 `json:"median"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	// SpreadShare estimates the standard deviation of a single sample, as a
	// share of the median; nil for fewer than five samples.
	SpreadShare *float64 `json:"spread_share"`
}

// fewForSpread samples say too little about how much samples differ.
const fewForSpread = 5

func figureOf(samples []float64) Figure {
	f := Figure{Samples: len(samples), Median: stat.Median(samples), Min: slices.Min(samples), Max: slices.Max(samples)}
	if len(samples) >= fewForSpread {
		f.SpreadShare = new(stat.SpreadShare(samples))
	}
	return f
}

// Fingerprint is equal for hosts whose paths are of the same kinds and
// numbers: 16 hex digits.
func Fingerprint(h Hardware) string {
	var lines []string
	for _, key := range Keys(h) {
		lines = append(lines, key.String())
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(h.Backend + "\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// sort puts calibrations and entries into the one order that a file with this
// content has.
func (f *File) sort() {
	order := make([]int, len(f.Calibrations))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return f.Calibrations[a].compare(f.Calibrations[b]) })
	place := make([]int, len(order))
	sorted := make([]Calibration, len(order))
	for to, from := range order {
		place[from], sorted[to] = to, f.Calibrations[from]
	}
	f.Calibrations = sorted
	for i := range f.Entries {
		measured := f.Entries[i].Measured
		for j := range measured {
			measured[j].Calibration = place[measured[j].Calibration]
		}
		slices.SortFunc(measured, func(a, b Measured) int { return cmp.Compare(a.Calibration, b.Calibration) })
	}
	slices.SortFunc(f.Entries, func(a, b Entry) int { return compareKeys(a.Key, b.Key) })
}

func (c Calibration) compare(other Calibration) int {
	return cmp.Or(
		strings.Compare(c.Host, other.Host),
		c.StartedAt.Compare(other.StartedAt),
		strings.Compare(c.Fingerprint, other.Fingerprint),
	)
}

// String names the calibration in one line.
func (c Calibration) String() string {
	return fmt.Sprintf("%s at %s", quoteOdd(c.Host), c.StartedAt.Format(time.RFC3339))
}
