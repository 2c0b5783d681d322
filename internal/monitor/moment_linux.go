package monitor

import (
	"time"

	"golang.org/x/sys/unix"
)

// readAwakeClock reads CLOCK_BOOTTIME, which goes on while the host sleeps,
// and CLOCK_MONOTONIC, which does not (clock_gettime(2)).
func readAwakeClock() awakeClock {
	return awakeClock{boot: readClock(unix.CLOCK_BOOTTIME), monotonic: readClock(unix.CLOCK_MONOTONIC)}
}

func readClock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0 // then both clocks stand still, and no sleep is seen
	}
	return time.Duration(t.Nano())
}
