package monitor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func pausing(rnic string, ratio float64) RNICSample {
	return RNICSample{ID: rnic, TxPauseRatio: &ratio}
}
func dropping(rnic string, drops float64) RNICSample {
	return RNICSample{ID: rnic, TxPauseRatio: new(0.0), Drops: &drops}
}

func TestWhatTriggers(t *testing.T) {
	cases := []struct {
		name   string
		sample Sample
		want   []Cause
		reason string
	}{
		{"nothing", Sample{RNICs: []RNICSample{pausing("rnic0", 0)}}, nil, ""},
		{"3 % itself is not above 3 %", Sample{RNICs: []RNICSample{pausing("rnic0", 0.03)}}, nil, ""},
		{"a pause above 3 %", Sample{RNICs: []RNICSample{pausing("rnic0", 0.031)}}, []Cause{CausePause}, "rnic0 paused its peer for 3.1 % of the time"},
		{"a single drop", Sample{RNICs: []RNICSample{dropping("rnic1", 1)}}, []Cause{CauseDrops}, "rnic1 dropped 1 packets"},
		{"pauses of the peer are not ours", Sample{RNICs: []RNICSample{{ID: "rnic0", TxPauseRatio: new(0.0), RxPauseRatio: new(0.9)}}}, nil, ""},
		{"what is unknown", Sample{RNICs: []RNICSample{{ID: "rnic0"}}}, nil, ""},
		{"frames that may be a pause of that length", Sample{RNICs: []RNICSample{{ID: "rnic0", TxPauseRatioLimit: new(0.2)}}}, []Cause{CausePause}, "for up to 20.0 %"},
		{"our own probes", Sample{Overlapped: true, RNICs: []RNICSample{pausing("rnic0", 0.9), dropping("rnic1", 7)}}, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			triggers := NewTriggers(TriggerOptions{})
			now := time.Now()
			triggers.Feed(now, c.sample)
			request, asked := triggers.Next(now)
			require.Equal(t, c.want != nil, asked)
			if asked {
				assert.Equal(t, c.want[0], request.Cause)
				assert.Contains(t, request.Reasons[0], c.reason)
				assert.Equal(t, now, request.Since)
			}
		})
	}
}

func TestOneRunWaitsAtMost(t *testing.T) {
	triggers := NewTriggers(TriggerOptions{})
	now := time.Now()
	triggers.Feed(now, Sample{RNICs: []RNICSample{pausing("rnic0", 0.5)}})
	first, ok := triggers.Next(now)
	require.True(t, ok)
	assert.Equal(t, []string{"rnic0"}, first.RNICs)
	for range 100 {
		triggers.Feed(now, Sample{RNICs: []RNICSample{pausing("rnic0", 0.5), dropping("rnic1", 3)}})
		_, ok = triggers.Next(now)
		require.False(t, ok, "one is running")
	}
	triggers.Done(now)
	_, ok = triggers.Next(now.Add(29 * time.Second))
	require.False(t, ok, "30 s lie between two")
	second, ok := triggers.Next(now.Add(30 * time.Second))
	require.True(t, ok)
	assert.Equal(t, Request{Cause: CausePause, Since: now, RNICs: []string{"rnic0", "rnic1"}, Reasons: []string{
		"rnic0 paused its peer for 50.0 % of the time", "rnic1 dropped 3 packets that the host could not take",
	}}, second, "a hundred pains are one request")
	triggers.Done(now.Add(31 * time.Second))
	_, waits := triggers.Waiting()
	assert.False(t, waits)
}

// Pauses between half the ratio and the ratio go on a pain that has begun, and begin none.
func TestHysteresis(t *testing.T) {
	triggers := NewTriggers(TriggerOptions{})
	now := time.Now()
	asks := func(ratio float64) bool {
		before := triggers.hurt
		now = now.Add(time.Second)
		triggers.Feed(now, Sample{RNICs: []RNICSample{pausing("rnic0", ratio)}})
		return triggers.hurt != before
	}
	var got []bool
	for _, ratio := range []float64{0.02, 0.04, 0.02, 0.031, 0.016, 0.014, 0.02, 0.029, 0.04} {
		got = append(got, asks(ratio))
	}
	assert.Equal(t, []bool{false, true, true, true, true, false, false, false, true}, got)
}

// The back-off grows while the pain lasts, is bounded, and ends with the pain.
func TestBackOffOfRuns(t *testing.T) {
	triggers := NewTriggers(TriggerOptions{Interval: time.Minute, MaxInterval: 5 * time.Minute, Calm: 2 * time.Minute})
	now := time.Now()
	pain := Sample{RNICs: []RNICSample{pausing("rnic0", 0.5)}}
	calm := Sample{RNICs: []RNICSample{pausing("rnic0", 0)}}
	gaps := []time.Duration{}
	var last time.Time
	for len(gaps) < 6 {
		triggers.Feed(now, pain)
		if _, ok := triggers.Next(now); ok {
			if !last.IsZero() {
				gaps = append(gaps, now.Sub(last))
			}
			last = now
			triggers.Done(now)
		}
		now = now.Add(time.Second)
	}
	assert.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute, 5 * time.Minute}, gaps)

	for range 1000 {
		now = now.Add(time.Second)
		triggers.Feed(now, calm)
		if _, ok := triggers.Next(now); ok { // what was asked for before the calm
			triggers.Done(now)
		}
	}
	triggers.Feed(now, pain)
	_, ok := triggers.Next(now)
	require.True(t, ok, "a new pain runs at once")
	triggers.Done(now)
	triggers.Feed(now, pain)
	_, ok = triggers.Next(now.Add(time.Minute))
	assert.True(t, ok, "and begins with the shortest back-off")
}

// Goal: ten thousand events in a minute make one run at a time, few of them, and
// no memory grows. Method: a loop as the daemon's, in fake time, with runs of ten seconds.
func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		triggers := NewTriggers(TriggerOptions{})
		var storm Sample
		for i := range 17 {
			storm.RNICs = append(storm.RNICs, dropping(fmt.Sprintf("rnic%d", i), 5), pausing(fmt.Sprintf("rnic%d", i), 0.9))
		}
		events, runs, running, most := 0, 0, 0, 0
		done := make(chan struct{}, 1)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for start := time.Now(); time.Since(start) < time.Minute; {
			select {
			case <-tick.C:
				triggers.Feed(time.Now(), storm)
				events += len(storm.RNICs)
			case <-done:
				running--
				triggers.Done(time.Now())
			}
			if request, ok := triggers.Next(time.Now()); ok {
				runs++
				running++
				most = max(most, running)
				assert.LessOrEqual(t, len(request.RNICs), 17)
				go func() { time.Sleep(10 * time.Second); done <- struct{}{} }()
			}
			if triggers.waiting != nil {
				assert.LessOrEqual(t, len(triggers.waiting.RNICs), 17)
			}
			assert.LessOrEqual(t, len(triggers.paused), 17)
		}
		assert.GreaterOrEqual(t, events, 10000)
		assert.Equal(t, 1, most, "one run at a time")
		assert.Equal(t, 2, runs, "at once, and after the run and its 30 s")
	})
	allocations := testing.AllocsPerRun(100, func() {
		triggers := NewTriggers(TriggerOptions{})
		for range 1000 {
			triggers.Feed(time.Time{}, Sample{RNICs: []RNICSample{}})
		}
	})
	assert.LessOrEqual(t, allocations, 3.0)
}

// Done without a run, or twice, changes nothing.
func TestDoneWithoutARun(t *testing.T) {
	triggers := NewTriggers(TriggerOptions{})
	triggers.Done(time.Now())
	now := time.Now()
	triggers.Feed(now, Sample{RNICs: []RNICSample{dropping("rnic0", 1)}})
	_, ok := triggers.Next(now)
	assert.True(t, ok)
}
