package monitor

// IdleState is a three-valued answer: unknown is never idle.
type IdleState string

// States of a host.
const (
	Idle    IdleState = "idle"
	Busy    IdleState = "busy"
	Unknown IdleState = "unknown"
)

// Reading says whether the host may be probed in full, and why.
type Reading struct {
	State   IdleState     `json:"state"`
	Reasons []string      `json:"reasons"` // why busy or unknown: which device, which source, how to make it readable
	RNICs   []Utilization `json:"rnics"`
	GPUs    []Utilization `json:"gpus"`
}

// Utilization is one device's load. Both fields are nil when unknown.
type Utilization struct {
	ID          string   `json:"id"`
	Utilization *float64 `json:"utilization"` // share of line rate, or GPU utilisation; 0..1
	Busy        *bool    `json:"busy"`
}
