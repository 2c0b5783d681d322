// Package probe holds what one probe of one path returns: a Reading or a
// Failure. Observation only: nothing here judges.
package probe

import (
	"fmt"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// Request asks for one probe of one path.
type Request struct {
	Path topology.Path
	// ExpectedGbps is what the path should carry. A prober that stays below
	// it by more than a fifth repeats with twice the queue pairs, to learn whether the tool was
	// the limit. nil: no expectation, no such check.
	ExpectedGbps *float64
	Budget       Budget
}

// Budget is the most that one probe may spend, the tool check included. A
// prober stays below each limit; zero leaves the choice to it.
type Budget struct {
	Bytes       int64         // written under one bandwidth loop
	Duration    time.Duration // of one bandwidth loop
	QueuePairs  int           // at one time, both ends counted
	PinnedBytes int64         // at one time
}

// Latency summarises the 1-byte writes of one reading, in microseconds from
// post to completion. Warm-up writes are left out.
type Latency struct {
	P50Us   float64 `json:"p50"`
	P99Us   float64 `json:"p99"`
	MinUs   float64 `json:"min"`
	MaxUs   float64 `json:"max"`
	Samples int     `json:"samples"`
}

// Reading is one successful probe of a path.
type Reading struct {
	// BandwidthGbps is the sustained rate with several writes in flight.
	BandwidthGbps float64
	// PaperBandwidthGbps is size/(t_large - t_small), the figure of the paper.
	PaperBandwidthGbps *float64
	Latency            Latency
	// ToolLimited is true when twice the queue pairs raised a low figure, so
	// that the first figure was the tool's limit; BandwidthGbps is then the higher one.
	ToolLimited bool
	// SelfNoiseNs is the cost of the measuring loop around nothing.
	SelfNoiseNs *float64
	Links       []LinkSample
	Setup       *Setup
}

// LinkSample is the state of one hop's PCIe link while the probe loaded it.
type LinkSample struct {
	Hop      string   `json:"hop"`
	SpeedGTs *float64 `json:"speed_gts"`
	Width    *int     `json:"width"`
}

// Setup is how the probe was made, after clipping to the device's limits.
type Setup struct {
	QueuePairs   int    `json:"queue_pairs"`
	Depth        int    `json:"depth"`
	MessageBytes int    `json:"message_bytes"`
	MTUBytes     int    `json:"mtu_bytes"`
	GIDIndex     *int   `json:"gid_index"`
	Pages        string `json:"pages"` // "4k", "2m", ...
}

// Reason names why a path has no reading. Stable: it is part of reports.
type Reason string

// Reasons. Each stands for one kind of failure that an operator acts on.
const (
	ReasonLostCompletion      Reason = "lost_completion"
	ReasonFailedCompletion    Reason = "failed_completion"
	ReasonDeviceRemoved       Reason = "device_removed"
	ReasonRegistrationRefused Reason = "registration_refused"
	ReasonQueuePairRefused    Reason = "queue_pair_refused"
	ReasonResourceRefused     Reason = "resource_refused" // completion queue, protection domain
	ReasonMemlockLimit        Reason = "memlock_limit"
	ReasonNoUsableGID         Reason = "no_usable_gid"
	ReasonPortNotActive       Reason = "port_not_active"
	ReasonPlacementFailed     Reason = "placement_failed" // the buffer is not on its NUMA node
	ReasonWrongData           Reason = "wrong_data"
	ReasonDeadline            Reason = "deadline"
	ReasonCancelled           Reason = "cancelled"
	ReasonNotPermitted        Reason = "not_permitted"
	ReasonNotAccessible       Reason = "not_accessible" // no /dev/infiniband/uverbsN
	ReasonUnsupported         Reason = "unsupported"
	ReasonNotReached          Reason = "not_reached" // the run ended first
	ReasonHostBusy            Reason = "host_busy"
	ReasonUnusable            Reason = "unusable" // the device or endpoint was not usable from the start
	ReasonInternal            Reason = "internal"
)

// Failure is a probe that gave no reading. It is an error.
type Failure struct {
	Reason Reason
	Detail string // one line: what was tried, on what, what came back
}

// Error is the reason with its detail.
func (f *Failure) Error() string {
	if f.Detail == "" {
		return string(f.Reason)
	}
	return fmt.Sprintf("%s: %s", f.Reason, f.Detail)
}

// Outcome is everything that a run learned about one path: all reads in
// order, and the failure that ended it, if one did. A path may have both.
type Outcome struct {
	Path    topology.Path
	Reads   []Reading
	Failure *Failure
}
