package monitor

import (
	"fmt"
	"slices"
	"time"
)

// Cause is why a run is asked for; reports call it the run's trigger.
type Cause string

// Causes.
const (
	CausePause Cause = "pause" // an RNIC told its peer to pause for too long
	CauseDrops Cause = "drops" // an RNIC dropped packets that the host could not take
)

// Request asks for one busy run.
type Request struct {
	Cause   Cause
	RNICs   []string  // in pain since it was asked for
	Since   time.Time // when it was asked for
	Reasons []string  // one line for each RNIC: the first pain of it
}

// TriggerOptions tune Triggers. A field that is zero takes its default.
type TriggerOptions struct {
	PauseRatio float64 // above which an RNIC is in pain (DefaultPauseRatio)
	// A run that was asked for may follow the one before after Interval (30 s);
	// while the pain lasts that doubles with each run, up to MaxInterval (15 min).
	Interval, MaxInterval time.Duration
	// Calm is how long no RNIC may be in pain for the next pain to be a new one (2 min).
	Calm time.Duration
}

// Triggers turns samples into requests for busy runs: at most one waits and
// one runs, however many samples tell of pain. It knows no clock: all times
// are told. It is not safe for concurrent use.
type Triggers struct {
	opts    TriggerOptions
	paused  map[string]bool // RNICs above the pause ratio, with hysteresis
	waiting *Request
	running bool
	hurt    time.Time     // of the last pain
	next    time.Time     // no run before then
	delay   time.Duration // after the next run
}

// NewTriggers starts without pain.
func NewTriggers(opts TriggerOptions) *Triggers {
	if opts.PauseRatio <= 0 {
		opts.PauseRatio = DefaultPauseRatio
	}
	if opts.Interval <= 0 {
		opts.Interval = 30 * time.Second
	}
	if opts.MaxInterval <= 0 {
		opts.MaxInterval = 15 * time.Minute
	}
	opts.MaxInterval = max(opts.MaxInterval, opts.Interval)
	if opts.Calm <= 0 {
		opts.Calm = 2 * time.Minute
	}
	return &Triggers{opts: opts, paused: map[string]bool{}, delay: opts.Interval}
}

// Feed tells what was sampled now. Samples that overlap our own probes, and
// what is unknown, trigger nothing.
func (t *Triggers) Feed(now time.Time, s Sample) {
	if s.Overlapped {
		return
	}
	for _, r := range s.RNICs {
		if cause, reason := t.pain(r); cause != "" {
			t.ask(now, r.ID, cause, reason)
		}
	}
	if !t.running && t.waiting == nil && now.Sub(t.hurt) >= t.opts.Calm {
		t.delay = t.opts.Interval
		clear(t.paused)
	}
}

// pain is why an RNIC asks for a run. Pausing goes on until it falls below
// half the ratio, so that a figure around the ratio is one pain, not many;
// only its beginning, and each sample above the ratio, ask.
func (t *Triggers) pain(r RNICSample) (Cause, string) {
	if r.Drops != nil && *r.Drops > 0 {
		return CauseDrops, fmt.Sprintf("%s dropped %.0f packets that the host could not take", r.ID, *r.Drops)
	}
	ratio, how := r.TxPauseRatio, ""
	if ratio == nil {
		// Frames alone bound the time: more runs than needed are better than none.
		ratio, how = r.TxPauseRatioLimit, "up to "
	}
	if ratio == nil {
		return "", ""
	}
	limit := t.opts.PauseRatio
	if t.paused[r.ID] {
		limit /= 2
	}
	if !(*ratio > limit) {
		delete(t.paused, r.ID)
		return "", ""
	}
	t.paused[r.ID] = true
	return CausePause, fmt.Sprintf("%s paused its peer for %s%.1f %% of the time", r.ID, how, *ratio*100)
}

// ask enters a pain into the one request that waits.
func (t *Triggers) ask(now time.Time, rnic string, cause Cause, reason string) {
	t.hurt = now
	if t.waiting == nil {
		t.waiting = &Request{Cause: cause, Since: now}
	}
	if !slices.Contains(t.waiting.RNICs, rnic) {
		t.waiting.RNICs = append(t.waiting.RNICs, rnic)
		t.waiting.Reasons = append(t.waiting.Reasons, reason)
	}
}

// Next hands out the request that waits, if it may run now. Done must follow.
func (t *Triggers) Next(now time.Time) (Request, bool) {
	if t.running || t.waiting == nil || now.Before(t.next) {
		return Request{}, false
	}
	request := *t.waiting
	t.waiting, t.running = nil, true
	return request, true
}

// Done says that the run of the last request has ended, or did not start.
func (t *Triggers) Done(now time.Time) {
	if !t.running {
		return
	}
	t.running = false
	t.next = now.Add(t.delay)
	t.delay = min(2*t.delay, t.opts.MaxInterval)
}

// Waiting reports a request that waits, and until when.
func (t *Triggers) Waiting() (until time.Time, waits bool) {
	return t.next, t.waiting != nil
}
