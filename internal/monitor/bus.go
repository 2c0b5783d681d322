package monitor

import "github.com/yuuki/hostping/internal/topology"

// BusUtilization is how much of a shared bus is in use: a node's memory
// channels or the bus between two sockets.
type BusUtilization struct {
	Kind        topology.HopKind `json:"kind"`        // memory or inter_socket
	Component   string           `json:"component"`   // "mem0", "0-1"
	Utilization *float64         `json:"utilization"` // share of what the healthy bus carries, 0..1; nil is unknown
}

// Hop is the id of the hop that the bus is.
func (b BusUtilization) Hop() string { return topology.HopID(b.Kind, b.Component) }

// Congestion is how often an RNIC could not take what was sent to it.
type Congestion struct {
	RNIC       string   `json:"rnic"`
	PauseRatio *float64 `json:"pause_ratio"` // time paused by its worst priority, 0..1; nil is unknown
	Drops      *float64 `json:"drops"`       // packets since the last sample; nil is unknown
}

// DefaultPauseRatio is the paper's trigger: Tx pause for more than 3 % of the time.
const DefaultPauseRatio = 0.03

// Triggered reports whether the RNIC's pauses pass the ratio, or it dropped
// anything. What is unknown triggers nothing.
func (c Congestion) Triggered(pauseRatio float64) bool {
	return c.PauseRatio != nil && *c.PauseRatio > pauseRatio || c.Drops != nil && *c.Drops > 0
}
