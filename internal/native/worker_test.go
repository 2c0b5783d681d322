package native

import (
	"context"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWorkerLeavesACallThatHangsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := false
		w := newWorker("mlx5_0", "read", func() { released = true })
		require.NoError(t, w.do(t.Context(), func() {}))

		var calls atomic.Int32
		hang := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		started := time.Now()
		err := w.do(ctx, func() { calls.Add(1); <-hang })
		require.ErrorIs(t, err, StatusAbandoned)
		assert.EqualError(t, err, "mlx5_0: read: no answer in time, left behind")
		assert.Equal(t, time.Second, time.Since(started))

		for range 3 {
			err = w.do(t.Context(), func() { calls.Add(1) })
			require.ErrorIs(t, err, StatusAbandoned)
			assert.ErrorContains(t, err, "has not returned")
		}
		assert.Equal(t, time.Second, time.Since(started), "nobody waits for it again")
		assert.EqualValues(t, 1, calls.Load(), "no second call into what hangs")
		assert.True(t, w.hangs())

		close(hang)
		synctest.Wait()
		assert.False(t, w.hangs())
		require.NoError(t, w.do(t.Context(), func() { calls.Add(1) }))
		assert.EqualValues(t, 2, calls.Load())

		w.close()
		w.close()
		synctest.Wait()
		assert.True(t, released)
		assert.ErrorIs(t, w.do(t.Context(), func() {}), fs.ErrClosed)
	})
}

func TestWorkerHasALimitOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorker("eth0", "ioctl", func() {})
		hang := make(chan struct{})
		started := time.Now()
		require.ErrorIs(t, w.do(context.Background(), func() { <-hang }), StatusAbandoned)
		assert.Equal(t, callLimit, time.Since(started))
		close(hang)
		synctest.Wait()
		// An old limit must not end a later call.
		for range 3 {
			require.NoError(t, w.do(context.Background(), func() { time.Sleep(callLimit - time.Nanosecond) }))
		}
		w.close()
	})
}

func TestWorkerReleasesOnlyAfterTheLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released, hang := false, make(chan struct{})
		w := newWorker("gpu", "NVML", func() { released = true })
		require.NoError(t, w.start(func() { <-hang }))
		w.close()
		synctest.Wait()
		assert.False(t, released)
		close(hang)
		synctest.Wait()
		assert.True(t, released)
	})
}

func TestWorkerAnswersEvenWhenItsContextIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorker("gpu", "NVML", func() {})
		defer w.close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.start(func() {}))
		synctest.Wait()
		assert.NoError(t, w.wait(ctx), "what has returned counts")
	})
}

func TestWorkerDoesNotAllocate(t *testing.T) {
	w := newWorker("gpu", "NVML", func() {})
	defer w.close()
	call := func() {}
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _ = w.do(context.Background(), call) }))
}
