// Package baseline says what a healthy path should do: bandwidth and latency
// by distance class, scaled to the hardware, and where each number comes from.
//
// Defaults makes a Set from a topology alone. A File holds what healthy hosts
// measured, by what decides it (Key), and replaces the defaults of the paths
// that it knows. MarkClose then reads off the Set which endpoints are close.
package baseline

import "github.com/yuuki/hostping/internal/topology"

// Source says where an expectation comes from.
type Source string

// Sources of an expectation.
const (
	SourceDefault     Source = "default"     // the paper's window law, scaled
	SourceCalibration Source = "calibration" // measured on a healthy host
	SourceNone        Source = "none"        // nothing is known: siblings alone judge
)

// Expectation is what one path should do. nil is unknown.
type Expectation struct {
	BandwidthGbps *float64 `json:"bandwidth_gbps"`
	// LatencyUs is the absolute expected 1-byte loopback latency; nil as long as
	// only the difference to the close median of like RNICs is known.
	LatencyUs *float64 `json:"latency_us"`
	// LatencyAboveCloseUs is the class's PCIe latency above that of a close path.
	LatencyAboveCloseUs *float64 `json:"latency_above_close_us,omitempty"`
	// SpreadShare estimates the standard deviation of a single read of a
	// healthy path, as a share of BandwidthGbps; only a calibration knows it.
	SpreadShare *float64 `json:"spread_share,omitempty"`
	Source      Source   `json:"source"`
	// Rule says in one line for people what set BandwidthGbps, or why it is unknown.
	Rule string `json:"rule,omitempty"`
}

// Set maps each path of a topology to its expectation.
type Set map[topology.PathKey]Expectation
