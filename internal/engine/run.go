package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// grace is how long a probe may take to return once its context has ended.
// It keeps the end of a cancelled run below two seconds.
const grace = time.Second

// idleCheckDeadline bounds one call of Options.IdleCheck.
const idleCheckDeadline = 10 * time.Second

// Options is what surrounds a run. Every field may be zero.
type Options struct {
	// Events receives the run's progress, one call at a time.
	Events func(Event)
	// IdleCheck is asked before each probe, while none is running; an error
	// says in one line what is busy or unknown, and ends the run.
	IdleCheck func(context.Context) error
	// InhibitPath is a file whose existence ends the run; "" is none.
	InhibitPath string
	// Now stamps the result; nil is time.Now. Deadlines do not use it.
	Now func() time.Time
}

// EndReason says why a run ended.
type EndReason string

// Ends of a run.
const (
	EndCompleted EndReason = "completed"
	EndCancelled EndReason = "cancelled" // by the caller's context
	EndDeadline  EndReason = "deadline"  // of the run
	EndHostBusy  EndReason = "host_busy" // busy, or no longer known to be idle
	EndInhibited EndReason = "inhibited" // the inhibit file appeared
)

// Result is what a run measured.
type Result struct {
	Outcomes          []probe.Outcome // one for each step, in the plan's order
	Started, Finished time.Time
	// Interrupted is true when the run ended before every path was read as
	// often as its verdict needs; EndReason and EndDetail say why.
	Interrupted bool
	EndReason   EndReason
	EndDetail   string // one line; "" when completed
	// Abandoned names the devices whose probe never returned. Its thread may
	// still hold them, so probing them again is not safe.
	Abandoned []string
}

// Run reads every path of the plan once, and again those that the judge finds
// unsettled, up to the plan's MaxReads. A nil judge wants no second read.
//
// It returns within two seconds after ctx ends, and soon after the plan's
// RunDeadline, whatever the prober does. A path that was not reached has a
// Failure that says so; one that has readings keeps them without a Failure.
func Run(ctx context.Context, plan Plan, prober Prober, judge Judge, opts Options) Result {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	plan.fillLimits()
	r := &run{
		plan:   plan,
		prober: prober,
		opts:   opts,
		caller: ctx,
		result: Result{Outcomes: make([]probe.Outcome, len(plan.Steps)), Started: opts.Now(), Abandoned: []string{}},
		step:   map[topology.PathKey]int{},
		lost:   map[string]*probe.Failure{},
	}
	pending := make([]int, len(plan.Steps))
	for i, step := range plan.Steps {
		pending[i] = i
		r.result.Outcomes[i].Path = step.Request.Path
		r.step[step.Request.Path.Key()] = i
	}
	ctx, cancel := context.WithTimeout(ctx, plan.Limits.RunDeadline)
	defer cancel()

	r.emit(Event{Kind: EventPlanned, Total: len(plan.Steps)})
	for len(pending) > 0 && !r.ended() {
		r.round(ctx, pending)
		pending = r.unsettled(judge)
	}
	return r.finish()
}

type run struct {
	plan   Plan
	prober Prober
	opts   Options
	caller context.Context // the caller's, without the run's deadline
	result Result
	step   map[topology.PathKey]int
	lost   map[string]*probe.Failure // why a device gets no further probe

	number, done, total int // of the present round
}

// round reads each pending path once.
func (r *run) round(ctx context.Context, pending []int) {
	r.number++
	r.done, r.total = 0, len(pending)
	r.emit(Event{Kind: EventRound, Round: r.number, Total: r.total})
	pending = r.plan.spread(pending)
	for len(pending) > 0 && !r.endWith(ctx) {
		if pending = r.dropLost(pending); len(pending) == 0 || !r.mayProbe(ctx) {
			return
		}
		var batch []int
		batch, pending = r.plan.nextBatch(pending)
		r.batch(ctx, batch)
	}
}

// answer is what came of one probe.
type answer struct {
	step     int
	reading  probe.Reading
	err      error
	returned bool
}

// batch probes steps side by side and waits until all are over.
func (r *run) batch(ctx context.Context, batch []int) {
	answers := make(chan answer, len(batch))
	for _, step := range batch {
		r.emit(r.event(EventStarted, step))
		go func() { answers <- r.probe(ctx, step) }()
	}
	for range batch {
		r.settle(ctx, <-answers)
	}
}

// probe reads one path within its deadline.
func (r *run) probe(ctx context.Context, step int) answer {
	ctx, cancel := context.WithTimeout(ctx, r.plan.Limits.ProbeDeadline)
	defer cancel()
	a, returned := await(ctx, func() answer {
		reading, err := r.prober.Probe(ctx, r.plan.Steps[step].Request)
		return answer{reading: reading, err: err}
	})
	a.step, a.returned = step, returned
	return a
}

// settle enters an answer into its path's outcome.
func (r *run) settle(ctx context.Context, a answer) {
	outcome := &r.result.Outcomes[a.step]
	device := r.plan.Steps[a.step].Device
	r.done++
	if a.returned && a.err == nil {
		outcome.Reads = append(outcome.Reads, a.reading)
		event := r.event(EventRead, a.step)
		event.Reading = &a.reading
		r.emit(event)
		return
	}

	failure := r.failure(a)
	if !a.returned {
		r.result.Abandoned = append(r.result.Abandoned, device)
		r.lose(device, failure)
	}
	if failure.Reason == probe.ReasonDeviceRemoved {
		r.lose(device, failure)
	}
	stopped := failure.Reason == probe.ReasonCancelled || failure.Reason == probe.ReasonDeadline
	if stopped {
		failure.Reason = r.stopReason()
	}
	// A read that the end of the run cut short says nothing about a path
	// that was measured before.
	if cutShort := stopped && r.endWith(ctx); !cutShort || len(outcome.Reads) == 0 {
		outcome.Failure = failure
	}
	r.emitFailure(a.step, failure)
}

// stopReason tells the caller's wish from a deadline: a prober sees only that
// its context ended.
func (r *run) stopReason() probe.Reason {
	if r.caller.Err() != nil {
		return probe.ReasonCancelled
	}
	return probe.ReasonDeadline
}

// failure names what went wrong with a probe.
func (r *run) failure(a answer) *probe.Failure {
	key := r.plan.Steps[a.step].Request.Path.Key()
	if !a.returned {
		return &probe.Failure{Reason: probe.ReasonDeadline, Detail: fmt.Sprintf("probe of %v did not return within %v of being told to end; abandoned", key, grace)}
	}
	var failure *probe.Failure
	switch {
	case errors.As(a.err, &failure):
		copied := *failure
		return &copied
	case errors.Is(a.err, context.DeadlineExceeded):
		return &probe.Failure{Reason: probe.ReasonDeadline, Detail: fmt.Sprintf("probe of %v: %v", key, a.err)}
	case errors.Is(a.err, context.Canceled):
		return &probe.Failure{Reason: probe.ReasonCancelled, Detail: fmt.Sprintf("probe of %v: %v", key, a.err)}
	}
	return &probe.Failure{Reason: probe.ReasonInternal, Detail: fmt.Sprintf("probe of %v: %v", key, a.err)}
}

// lose marks a device that must not be probed again in this run. Its hops
// stay open to other devices: a bandwidth loop is bounded in bytes, so a probe
// that hangs beyond its deadline waits and moves nothing.
func (r *run) lose(device string, why *probe.Failure) {
	if r.lost[device] == nil {
		r.lost[device] = why
	}
}

// dropLost takes the paths of lost devices out of pending. Those without a
// reading fail for the device's reason, untried.
func (r *run) dropLost(pending []int) []int {
	kept := pending[:0]
	for _, step := range pending {
		why := r.lost[r.plan.Steps[step].Device]
		if why == nil {
			kept = append(kept, step)
			continue
		}
		r.done++
		failure := &probe.Failure{Reason: why.Reason, Detail: "not tried: " + why.Detail}
		if outcome := &r.result.Outcomes[step]; len(outcome.Reads) == 0 {
			outcome.Failure = failure
		}
		r.emitFailure(step, failure)
	}
	return kept
}

// mayProbe asks everything that can forbid the next probes.
func (r *run) mayProbe(ctx context.Context) bool {
	if r.endWith(ctx) {
		return false
	}
	if r.opts.InhibitPath != "" {
		if inhibited, why := Inhibited(r.opts.InhibitPath); inhibited {
			r.end(EndInhibited, why)
			return false
		}
	}
	if r.opts.IdleCheck == nil {
		return true
	}
	check, cancel := context.WithTimeout(ctx, idleCheckDeadline)
	defer cancel()
	busy, returned := await(check, func() error { return r.opts.IdleCheck(check) })
	switch {
	case r.endWith(ctx):
	case !returned:
		r.end(EndHostBusy, fmt.Sprintf("the idle check did not answer within %v", idleCheckDeadline+grace))
	case busy != nil:
		r.end(EndHostBusy, busy.Error())
	}
	return !r.ended()
}

// unsettled is what the judge wants to be read again, as far as that can help.
func (r *run) unsettled(judge Judge) []int {
	again := []int{}
	if judge == nil || r.ended() {
		return again
	}
	seen := map[int]bool{}
	for _, key := range judge.Unsettled(r.result.Outcomes) {
		step, planned := r.step[key]
		if !planned || seen[step] {
			continue
		}
		seen[step] = true
		outcome := r.result.Outcomes[step]
		if outcome.Failure == nil && len(outcome.Reads) < r.plan.Limits.MaxReads && r.lost[r.plan.Steps[step].Device] == nil {
			again = append(again, step)
		}
	}
	return again
}

// endWith ends the run if ctx has ended, and reports whether it has.
func (r *run) endWith(ctx context.Context) bool {
	switch {
	case r.caller.Err() != nil:
		r.end(EndCancelled, "the run was cancelled")
	case ctx.Err() != nil:
		r.end(EndDeadline, fmt.Sprintf("the run's deadline of %v passed", r.plan.Limits.RunDeadline))
	default:
		return false
	}
	return true
}

func (r *run) end(reason EndReason, detail string) {
	if !r.ended() {
		r.result.EndReason, r.result.EndDetail = reason, detail
	}
}

func (r *run) ended() bool { return r.result.EndReason != "" }

// finish accounts for every path that has neither reading nor failure.
func (r *run) finish() Result {
	r.end(EndCompleted, "")
	r.result.Interrupted = r.result.EndReason != EndCompleted
	reason := probe.ReasonNotReached
	if r.result.EndReason == EndHostBusy {
		reason = probe.ReasonHostBusy
	}
	measured := 0
	for i := range r.result.Outcomes {
		outcome := &r.result.Outcomes[i]
		if len(outcome.Reads) > 0 {
			measured++
		} else if outcome.Failure == nil {
			outcome.Failure = &probe.Failure{Reason: reason, Detail: r.result.EndDetail}
		}
	}
	r.result.Finished = r.opts.Now()
	r.emit(Event{Kind: EventFinished, Round: r.number, Done: measured, Total: len(r.plan.Steps), End: r.result.EndReason})
	return r.result
}

func (r *run) event(kind EventKind, step int) Event {
	return Event{Kind: kind, Round: r.number, Path: r.plan.Steps[step].Request.Path.Key(), Done: r.done, Total: r.total}
}

func (r *run) emitFailure(step int, failure *probe.Failure) {
	event := r.event(EventFailed, step)
	event.Failure = failure
	r.emit(event)
}

func (r *run) emit(e Event) {
	if r.opts.Events != nil {
		r.opts.Events(e)
	}
}

// await returns what f returns, or false when f has not returned a grace
// after ctx ended. The goroutine that f hangs in is then left behind.
func await[T any](ctx context.Context, f func() T) (T, bool) {
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case value := <-done:
		return value, true
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case value := <-done:
		return value, true
	case <-patience.C:
		var none T
		return none, false
	}
}
