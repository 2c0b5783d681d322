// Package enginetest holds the contract that every Prober keeps, as a test
// that the simulator and the live backend both run.
package enginetest

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// promptly is how soon a prober must return once its context has ended; the
// engine waits no longer before it abandons a probe.
const promptly = time.Second

// TestProber checks that probers on this topology, of which at least one path
// must be healthy and usable, keep the contract of engine.Prober:
//   - a usable path gives a reading whose figures make sense, as often as asked;
//   - whatever cannot be probed gives a *probe.Failure with a reason and one
//     line of detail, never a panic, never half a reading;
//   - a context that has ended, or ends, is obeyed;
//   - paths that share no hop may be probed side by side, and one prober may
//     be used again after any failure.
//
// newProber is called for each of them and returns a prober of its own.
func TestProber(t *testing.T, newProber func() engine.Prober, topo topology.Topology) {
	t.Helper()
	plan := engine.NewPlan(topo, nil, engine.PlanOptions{Mode: engine.ModeIdle, Limits: engine.Limits{Parallel: len(topo.RNICs)}})
	require.NotEmpty(t, plan.Steps, "the contract needs a topology with a usable path")
	first := plan.Steps[0].Request

	t.Run("a usable path gives a reading", func(t *testing.T) {
		checkReading(t, read(t, newProber(), first))
	})
	t.Run("an expectation changes nothing about that", func(t *testing.T) {
		request := first
		for _, expectedGbps := range []float64{0, 1e-3, 1e6} {
			request.ExpectedGbps = &expectedGbps
			checkReading(t, read(t, newProber(), request))
		}
	})
	t.Run("a path can be read again", func(t *testing.T) {
		prober := newProber()
		for range 3 {
			checkReading(t, read(t, prober, first))
		}
	})
	t.Run("what cannot be probed is a failure", func(t *testing.T) {
		testFailures(t, newProber, first)
	})
	t.Run("a context that has ended is obeyed", func(t *testing.T) {
		testEndedContext(t, newProber, first)
	})
	t.Run("a context that ends is obeyed", func(t *testing.T) {
		testEndingContext(t, newProber, first)
	})
	t.Run("disjoint paths are probed side by side", func(t *testing.T) {
		testSideBySide(t, newProber, plan)
	})
}

func testFailures(t *testing.T, newProber func() engine.Prober, usable probe.Request) {
	cases := []struct {
		name   string
		change func(*topology.Path)
	}{
		{"an unknown RNIC", func(p *topology.Path) { p.RNIC = "no_such_rnic" }},
		{"an unknown endpoint", func(p *topology.Path) { p.Endpoint = "mem4095" }},
		{"an unknown GPU", func(p *topology.Path) { p.Endpoint = "gpu4095" }},
		{"an endpoint that is none", func(p *topology.Path) { p.Endpoint = "nonsense" }},
		{"no RNIC", func(p *topology.Path) { p.RNIC = "" }},
		{"no endpoint", func(p *topology.Path) { p.Endpoint = "" }},
		{"an empty path", func(p *topology.Path) { *p = topology.Path{} }},
		{"a name that climbs out of a folder", func(p *topology.Path) { p.RNIC = "../../etc" }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			prober := newProber()
			request := usable
			c.change(&request.Path)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			reading, err := prober.Probe(ctx, request)
			checkFailure(t, reading, err)
			checkReading(t, read(t, prober, usable))
		})
	}
}

func testEndedContext(t *testing.T, newProber func() engine.Prober, request probe.Request) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for name, ctx := range map[string]context.Context{"cancelled": cancelled, "deadline passed": late} {
		t.Run(name, func(t *testing.T) {
			prober := newProber()
			start := time.Now()
			reading, err := prober.Probe(ctx, request)
			assert.Less(t, time.Since(start), promptly)
			failure := checkFailure(t, reading, err)
			assert.Contains(t, []probe.Reason{probe.ReasonCancelled, probe.ReasonDeadline}, failure.Reason)
			checkReading(t, read(t, prober, request))
		})
	}
}

func testEndingContext(t *testing.T, newProber func() engine.Prober, request probe.Request) {
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond} {
		prober := newProber()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan time.Time, 1)
		time.AfterFunc(after, func() { ended <- time.Now(); cancel() })

		reading, err := prober.Probe(ctx, request)

		returned := time.Now()
		assert.Less(t, returned.Sub(<-ended), promptly, "cancelled after %v", after)
		if err == nil { // it was faster
			checkReading(t, reading)
		} else {
			failure := checkFailure(t, reading, err)
			assert.Contains(t, []probe.Reason{probe.ReasonCancelled, probe.ReasonDeadline}, failure.Reason, "cancelled after %v", after)
		}
		checkReading(t, read(t, prober, request))
	}
}

func testSideBySide(t *testing.T, newProber func() engine.Prober, plan engine.Plan) {
	prober := newProber()
	for _, batch := range plan.Batches()[:min(3, len(plan.Batches()))] {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		readings := make([]probe.Reading, len(batch))
		errs := make([]error, len(batch))
		var all sync.WaitGroup
		for i, step := range batch {
			all.Go(func() { readings[i], errs[i] = prober.Probe(ctx, plan.Steps[step].Request) })
		}
		all.Wait()
		cancel()
		for i, step := range batch {
			if assert.NoError(t, errs[i], plan.Steps[step].Request.Path.Key()) {
				checkReading(t, readings[i])
			}
		}
	}
}

// read probes a path that must give a reading.
func read(t *testing.T, prober engine.Prober, request probe.Request) probe.Reading {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reading, err := prober.Probe(ctx, request)
	require.NoError(t, err, "probe of %v", request.Path.Key())
	return reading
}

func checkReading(t *testing.T, r probe.Reading) {
	t.Helper()
	positive := func(what string, value float64) {
		t.Helper()
		assert.True(t, value > 0 && !math.IsInf(value, 0), "%s is %v, not a positive number", what, value)
	}
	positive("bandwidth", r.BandwidthGbps)
	if r.PaperBandwidthGbps != nil {
		positive("the paper's bandwidth", *r.PaperBandwidthGbps)
	}
	positive("the least latency", r.Latency.MinUs)
	assert.LessOrEqual(t, r.Latency.MinUs, r.Latency.P50Us)
	assert.LessOrEqual(t, r.Latency.P50Us, r.Latency.P99Us)
	assert.LessOrEqual(t, r.Latency.P99Us, r.Latency.MaxUs)
	positive("the largest latency", r.Latency.MaxUs)
	assert.Positive(t, r.Latency.Samples)
	if r.SelfNoiseNs != nil {
		assert.GreaterOrEqual(t, *r.SelfNoiseNs, 0.0)
	}
	for _, link := range r.Links {
		assert.NotEmpty(t, link.Hop)
	}
}

// checkFailure returns the Failure that err must be.
func checkFailure(t *testing.T, reading probe.Reading, err error) *probe.Failure {
	t.Helper()
	require.Error(t, err)
	var failure *probe.Failure
	require.True(t, errors.As(err, &failure), "%T is no *probe.Failure: %v", err, err)
	assert.NotEmpty(t, failure.Reason)
	assert.NotEqual(t, probe.ReasonInternal, failure.Reason, "the failure has a name of its own")
	assert.NotEmpty(t, failure.Detail, "says what was tried")
	assert.False(t, strings.ContainsAny(failure.Detail, "\r\n"), "one line: %q", failure.Detail)
	assert.Zero(t, reading, "a failure has no figures")
	return failure
}
