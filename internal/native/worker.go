package native

import (
	"context"
	"io/fs"
	"time"
)

// callLimit ends the wait for a call whose context has no earlier end; on a healthy host none takes a tenth of it.
const callLimit = 5 * time.Second

// worker makes calls that may hang in the kernel or in a driver's library, one at a time, on a goroutine of its own, so that
// whoever waits can go on without it. After a call that hangs none is begun until it returns. What a call works on belongs to
// the worker while it runs, and is released on the same goroutine, when the last call has returned. Not for use by several
// goroutines at once; it allocates only to report a failure.
type worker struct {
	object, operation string // what failures name
	calls             chan func()
	returned          chan struct{}
	limit             *time.Timer
	running, closed   bool
}

func newWorker(object, operation string, release func()) *worker {
	w := &worker{
		object:    object,
		operation: operation,
		calls:     make(chan func(), 1),
		returned:  make(chan struct{}, 1),
		limit:     time.NewTimer(callLimit),
	}
	w.limit.Stop()
	go func() {
		defer release()
		for call := range w.calls {
			call()
			w.returned <- struct{}{}
		}
	}()
	return w
}

// do makes the call and waits for it: nil when it has returned.
func (w *worker) do(ctx context.Context, call func()) error {
	if err := w.start(call); err != nil {
		return err
	}
	return w.wait(ctx)
}

// start begins the call, unless an earlier one hangs still.
func (w *worker) start(call func()) error {
	if w.closed {
		return fs.ErrClosed
	}
	if w.hangs() {
		return w.abandoned("a call made earlier has not returned")
	}
	w.running = true
	w.calls <- call
	w.limit.Reset(callLimit)
	return nil
}

// wait ends with the call, with ctx, or at callLimit.
func (w *worker) wait(ctx context.Context) error {
	defer w.limit.Stop()
	select {
	case <-w.returned:
		w.running = false
		return nil
	default:
	}
	select {
	case <-w.returned:
		w.running = false
		return nil
	case <-ctx.Done():
		return w.abandoned("no answer in time, left behind")
	case <-w.limit.C:
		return w.abandoned("no answer in " + callLimit.String() + ", left behind")
	}
}

// hangs reports whether a call that was left behind is running still.
func (w *worker) hangs() bool {
	if w.running {
		select {
		case <-w.returned:
			w.running = false
		default:
		}
	}
	return w.running
}

// close has everything released once the last call has returned.
func (w *worker) close() {
	if !w.closed {
		w.closed = true
		close(w.calls)
	}
}

func (w *worker) abandoned(reason string) error {
	return &Error{
		Status: StatusAbandoned,
		Op:     w.operation,
		Object: w.object,
		Text:   w.object + ": " + w.operation + ": " + reason,
	}
}
