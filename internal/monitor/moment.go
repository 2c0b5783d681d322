package monitor

import "time"

// moment is when something was read. at holds Go's monotonic clock, so that a
// step of the wall clock changes no rate; awake tells a suspended host.
type moment struct {
	at    time.Time
	awake awakeClock
}

func now() moment { return moment{time.Now(), readAwakeClock()} }

// since is the time between two moments; false when the host slept in
// between, or no time passed: then nothing can be said about rates.
func (m moment) since(earlier moment) (time.Duration, bool) {
	elapsed := m.at.Sub(earlier.at)
	return elapsed, elapsed > 0 && !m.awake.sleptSince(earlier.awake)
}

// awakeClock is the time since boot, with and without the time of sleep.
type awakeClock struct{ boot, monotonic time.Duration }

// A host that sleeps does so for seconds. What is below is the time between
// the reading of the two clocks.
const shortestSleep = 500 * time.Millisecond

func (c awakeClock) sleptSince(earlier awakeClock) bool {
	return (c.boot-earlier.boot)-(c.monotonic-earlier.monotonic) > shortestSleep
}
