package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// Options tune an IdleCheck. A field that is zero takes its default.
type Options struct {
	// Interval lies between the two readings of Read (1 s, the paper's sampling).
	Interval time.Duration
	// RecheckInterval is that of StillIdle, which stands before every probe (50 ms).
	RecheckInterval time.Duration
	Thresholds      Thresholds // DefaultThresholds
}

// IdleCheck reads a live host's load from sysfs. Its calls must take turns: a
// device that is being read counts as hanging for a second reader.
type IdleCheck struct {
	opts  Options
	rnics *rnicPort
	gpus  *gpuLoad
}

// NewIdleCheck watches the usable RNICs and all GPUs of a topology through
// the sysfs tree at root (normally "/sys").
func NewIdleCheck(topo topology.Topology, root string, opts Options) *IdleCheck {
	if opts.Interval <= 0 {
		opts.Interval = time.Second
	}
	if opts.RecheckInterval <= 0 {
		opts.RecheckInterval = 50 * time.Millisecond
	}
	if opts.Thresholds == (Thresholds{}) {
		opts.Thresholds = DefaultThresholds()
	}
	fs := newSysfs(root)
	return &IdleCheck{opts: opts, rnics: newRNICPort(fs, topo.RNICs), gpus: newGPULoad(fs, topo.GPUs)}
}

// Read tells whether the host is idle, over one Interval (two where a counter
// was reset in between), and how every source of the monitor is doing. It
// ends early, with an unknown state, when ctx does.
func (c *IdleCheck) Read(ctx context.Context) (Reading, []Source) {
	return c.read(ctx, c.opts.Interval)
}

// StillIdle is nil when the host is idle right now, else it says in one line
// what is not. Call it only while no probe runs: it cannot tell a probe's
// traffic from a workload's. A short look that finds traffic is confirmed by
// a whole Interval, since a burst of milliseconds is no load and drivers may
// be late to account for the last probe.
func (c *IdleCheck) StillIdle(ctx context.Context) error {
	reading, _ := c.read(ctx, c.opts.RecheckInterval)
	if reading.State != Idle {
		reading, _ = c.read(ctx, c.opts.Interval)
	}
	if reading.State == Idle {
		return nil
	}
	reason := reading.Reasons[0]
	if more := len(reading.Reasons) - 1; more > 0 {
		reason = fmt.Sprintf("%s (and %d more)", reason, more)
	}
	return fmt.Errorf("host is %s: %s", reading.State, reason)
}

func (c *IdleCheck) read(ctx context.Context, interval time.Duration) (Reading, []Source) {
	rnics := c.rnics.loads(ctx, interval)
	gpus := c.gpus.loads(ctx)
	return Decide(rnics, gpus, c.opts.Thresholds), sources(
		summarise(sourceRNICPort, rnics, "no usable RNIC"),
		summarise(sourceGPU, gpus, "no GPU on this host"),
	)
}

// pause waits, and reports whether it could wait in full.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errEnded is the problem of a reading that the caller's context cut short.
var errEnded = errors.New("the reading was cut short")
