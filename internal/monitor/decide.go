package monitor

import (
	"fmt"
)

// Thresholds are the shares of full load below which a device is idle.
type Thresholds struct {
	RNIC float64 // of line rate, in either direction
	GPU  float64 // of GPU utilisation
}

// DefaultThresholds are the paper's 5 % of line rate, and as much for GPUs.
func DefaultThresholds() Thresholds { return Thresholds{RNIC: 0.05, GPU: 0.05} }

// Load is how much of one device is in use.
type Load struct {
	ID          string
	Utilization *float64 // 0..1; nil is unknown
	Problem     error    // why Utilization is unknown, in one line
}

// Decide tells whether a host with these loads is idle: all RNICs and all
// GPUs are. One busy device makes the host busy whatever else is unknown; one
// unknown device, or no RNIC to look at, makes it unknown otherwise. It is pure.
func Decide(rnics, gpus []Load, limits Thresholds) Reading {
	r := Reading{State: Idle, Reasons: []string{}, RNICs: []Utilization{}, GPUs: []Utilization{}}
	if len(rnics) == 0 {
		r.State = Unknown
		r.Reasons = append(r.Reasons, "no usable RNIC whose traffic could be read")
	}
	for _, load := range rnics {
		r.RNICs = append(r.RNICs, r.judge(load, limits.RNIC, "line rate", sourceRNICPort))
	}
	for _, load := range gpus {
		r.GPUs = append(r.GPUs, r.judge(load, limits.GPU, "its time", sourceGPU))
	}
	return r
}

// judge enters one load into the host's state and reasons.
func (r *Reading) judge(load Load, limit float64, whole, source string) Utilization {
	if load.Utilization == nil {
		if r.State == Idle {
			r.State = Unknown
		}
		why := "its load is not known"
		if load.Problem != nil {
			why = load.Problem.Error()
		}
		r.Reasons = append(r.Reasons, fmt.Sprintf("%s: %s (source %s)", load.ID, why, source))
		return Utilization{ID: load.ID}
	}
	// A figure that is not a number compares as busy.
	busy := !(*load.Utilization < limit)
	if busy {
		r.State = Busy
		r.Reasons = append(r.Reasons, fmt.Sprintf("%s: busy for %.1f %% of %s; idle is below %.1f %%",
			load.ID, *load.Utilization*100, whole, limit*100))
	}
	return Utilization{ID: load.ID, Utilization: load.Utilization, Busy: &busy}
}
