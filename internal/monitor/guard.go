package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// reader reads one device of a source.
type reader[T any] interface {
	read(ctx context.Context) (T, error)
	close()
}

// readDeadline bounds the reads of one device. Drivers that ask their
// firmware for a counter take up to some milliseconds.
const readDeadline = 2 * time.Second

// openDeadline bounds the first look at a device, which opens it: NVIDIA's
// library may have to wake the GPUs first.
const openDeadline = 10 * time.Second

// guard keeps a device's trouble to itself. A read can hang in the kernel: it
// runs apart from the caller, who waits for a bounded time, and the device is
// left alone until it returns. What failed is closed, and opened anew after a
// time that grows with the failures in a row.
type guard[T any] struct {
	id   string
	open func(ctx context.Context) (reader[T], error)

	mu       sync.Mutex
	handle   reader[T]
	out      bool // a read has not returned
	closed   bool
	failures int
	again    time.Time // not before then
	problem  error     // of the last failure
}

// outcome is what a device said, or why it did not.
type outcome[T any] struct {
	id      string
	at      moment
	value   T
	problem error
}

// errEnded is the problem of a reading that the caller's context cut short.
var errEnded = errors.New("the reading was cut short")

// readAll reads all devices side by side, in bounded time.
func readAll[T any](ctx context.Context, guards []*guard[T]) []outcome[T] {
	outcomes := make([]outcome[T], len(guards))
	if ctx.Err() != nil {
		for i, g := range guards {
			outcomes[i] = outcome[T]{id: g.id, problem: errEnded}
		}
		return outcomes
	}
	type answer struct {
		i int
		outcome[T]
	}
	patience := readDeadline
	for _, g := range guards {
		if g.isNew() {
			patience = openDeadline
		}
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make(chan answer, len(guards))
	waiting := 0
	for i, g := range guards {
		outcomes[i].id = g.id
		if outcomes[i].problem = g.begin(); outcomes[i].problem != nil {
			continue
		}
		outcomes[i].problem = fmt.Errorf("reading it hangs for more than %v", patience)
		waiting++
		go func() {
			value, err := g.attempt(bounded)
			answers <- answer{i, outcome[T]{g.id, now(), value, err}}
		}()
	}
	for waiting > 0 {
		select {
		case a := <-answers:
			waiting--
			outcomes[a.i] = a.outcome
			continue
		case <-bounded.Done():
		}
		// What came in together with the deadline still counts.
		select {
		case a := <-answers:
			waiting--
			outcomes[a.i] = a.outcome
		default:
			waiting = 0
		}
	}
	if ctx.Err() != nil {
		for i := range outcomes {
			if outcomes[i].problem != nil {
				outcomes[i].problem = errEnded
			}
		}
	}
	return outcomes
}

// begin claims the device for one read, or says why it is left alone.
func (g *guard[T]) begin() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errors.New("the monitor is closed")
	case g.out:
		return errors.New("an earlier read of it still hangs")
	case time.Now().Before(g.again):
		return g.problem
	}
	g.out = true
	return nil
}

// isNew reports whether the device was never opened, and nobody tries to.
func (g *guard[T]) isNew() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handle == nil && !g.out && g.failures == 0
}

// attempt opens the device if need be, reads it and gives it back.
func (g *guard[T]) attempt(ctx context.Context) (value T, err error) {
	handle := g.handle // begin made it ours
	if handle == nil {
		handle, err = g.open(ctx)
	}
	if err == nil {
		value, err = handle.read(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.out = false
	cutShort := errors.Is(ctx.Err(), context.Canceled)
	switch {
	case err == nil:
		g.failures, g.again, g.problem = 0, time.Time{}, nil
	case cutShort:
	default:
		g.again, g.problem = time.Now().Add(backOff(g.failures)), err
		g.failures++
	}
	broken := err != nil && !cutShort && !errors.Is(err, ErrHangs)
	if handle != nil && (broken || g.closed) {
		handle.close()
		handle = nil
	}
	g.handle = handle
	return value, err
}

// backOff is how long to leave a device alone after so many failures before
// this one: not at all at first, for a passing trouble, then from half a
// second to a minute.
func backOff(before int) time.Duration {
	if before == 0 {
		return 0
	}
	return min(time.Minute, 500*time.Millisecond<<min(before-1, 10))
}

// close gives the device back, when a read that hangs returns.
func (g *guard[T]) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if !g.out && g.handle != nil {
		g.handle.close()
		g.handle = nil
	}
}
