package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// prober is a scripted Prober: by path, else for any path "", else a reading
// after 10 ms. It records what ran, and that no two probes shared a hop.
type prober struct {
	script map[string]func(context.Context) (probe.Reading, error)

	mu       sync.Mutex
	calls    []string
	running  map[string]running
	together int // most probes seen at one time
	overlaps []string
}

type running struct {
	ctx  context.Context
	path topology.Path
}

func (p *prober) Probe(ctx context.Context, req probe.Request) (probe.Reading, error) {
	key := req.Path.Key().String()
	p.enter(ctx, key, req.Path)
	defer p.leave(key)
	for _, name := range []string{key, req.Path.RNIC, ""} {
		if act := p.script[name]; act != nil {
			return act(ctx)
		}
	}
	return reads(10 * time.Millisecond)(ctx)
}

func (p *prober) enter(ctx context.Context, key string, path topology.Path) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, key)
	for other, probe := range p.running {
		if probe.ctx.Err() != nil {
			delete(p.running, other) // abandoned
			continue
		}
		if slices.ContainsFunc(path.Hops, func(hop string) bool { return slices.Contains(probe.path.Hops, hop) }) {
			p.overlaps = append(p.overlaps, key+" with "+other)
		}
	}
	if p.running == nil {
		p.running = map[string]running{}
	}
	p.running[key] = running{ctx, path}
	p.together = max(p.together, len(p.running))
}

func (p *prober) leave(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, key)
}

func (p *prober) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running) == 0
}

type act = func(context.Context) (probe.Reading, error)

// reads takes its time, and minds its context.
func reads(after time.Duration) act {
	return func(ctx context.Context) (probe.Reading, error) {
		select {
		case <-time.After(after):
			return probe.Reading{BandwidthGbps: 195}, nil
		case <-ctx.Done():
			return probe.Reading{}, &probe.Failure{Reason: probe.ReasonCancelled, Detail: "told to end"}
		}
	}
}

func fails(err error) act {
	return func(context.Context) (probe.Reading, error) { return probe.Reading{}, err }
}

// hangs ignores its context until release is closed.
func hangs(release <-chan struct{}) act {
	return func(context.Context) (probe.Reading, error) {
		<-release
		return probe.Reading{}, errors.New("too late")
	}
}

// inTurn does each act once, and the last one for ever.
func inTurn(acts ...act) act {
	var mu sync.Mutex
	return func(ctx context.Context) (probe.Reading, error) {
		mu.Lock()
		next := acts[0]
		if len(acts) > 1 {
			acts = acts[1:]
		}
		mu.Unlock()
		return next(ctx)
	}
}

// suspects is a judge that is unsettled about some paths until they have
// enough reads.
type suspects map[string]int

func (s suspects) Unsettled(outcomes []probe.Outcome) []topology.PathKey {
	keys := []topology.PathKey{}
	for _, o := range outcomes {
		if len(o.Reads) < s[o.Path.Key().String()] {
			keys = append(keys, o.Path.Key())
		}
	}
	return keys
}

// Goal: whatever probers, judges and callers do, the run ends in time, and
// every path has its readings or the right reason.
func TestRun(t *testing.T) {
	const everywhere, mem0 = "", "mlx5_0→mem0"
	removed := &probe.Failure{Reason: probe.ReasonDeviceRemoved, Detail: "post send on mlx5_0: no such device"}
	cases := []struct {
		name        string
		script      map[string]act
		hang        string // path, RNIC or everywhere that hangs until the test is over; "-" is none
		judge       Judge
		limits      Limits
		cancelAfter time.Duration
		idleCheck   func(calls int) error

		end       EndReason
		detail    string
		took      time.Duration
		reads     map[string]int          // 1 unless named
		failures  map[string]probe.Reason // none unless named; by path or RNIC
		calls     int
		abandoned []string
	}{
		{
			name: "every path is read once", hang: "-",
			end: EndCompleted, took: 80 * time.Millisecond, calls: 8,
		}, {
			name: "disjoint paths run side by side", hang: "-", limits: Limits{Parallel: 4},
			end: EndCompleted, took: 50 * time.Millisecond, calls: 8,
		}, {
			name: "suspects are read again until settled", hang: "-", judge: suspects{mem0: 3, "mlx5_1→gpu1": 2},
			end: EndCompleted, took: 110 * time.Millisecond, calls: 11,
			reads: map[string]int{mem0: 3, "mlx5_1→gpu1": 2},
		}, {
			name: "a path that never settles is read five times", hang: "-", judge: suspects{mem0: 99},
			end: EndCompleted, took: 120 * time.Millisecond, calls: 12,
			reads: map[string]int{mem0: 5},
		}, {
			name: "the judge's names of unknown paths are ignored", hang: "-", judge: judgeOf(topology.PathKey{RNIC: "eth0", Endpoint: "mem0"}),
			end: EndCompleted, took: 80 * time.Millisecond, calls: 8,
		}, {
			name: "a repeated name means one more read a round", hang: "-", limits: Limits{MaxReads: 2},
			judge: judgeOf(topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem0"}, topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem0"}),
			end:   EndCompleted, took: 90 * time.Millisecond, calls: 9, reads: map[string]int{mem0: 2},
		}, {
			name: "a failed path is not read again, the others go on", hang: "-", judge: suspects{mem0: 3},
			script: map[string]act{mem0: fails(&probe.Failure{Reason: probe.ReasonLostCompletion})},
			end:    EndCompleted, took: 70 * time.Millisecond, calls: 8,
			failures: map[string]probe.Reason{mem0: probe.ReasonLostCompletion},
		}, {
			name: "a re-read that fails leaves the reads before it", hang: "-", judge: suspects{mem0: 4},
			script: map[string]act{mem0: inTurn(reads(0), reads(0), fails(&probe.Failure{Reason: probe.ReasonWrongData}))},
			end:    EndCompleted, took: 70 * time.Millisecond, calls: 10,
			reads: map[string]int{mem0: 2}, failures: map[string]probe.Reason{mem0: probe.ReasonWrongData},
		}, {
			name: "an error that is no Failure is internal", hang: "-",
			script: map[string]act{mem0: fails(errors.New("something broke"))},
			end:    EndCompleted, took: 70 * time.Millisecond, calls: 8,
			failures: map[string]probe.Reason{mem0: probe.ReasonInternal},
		}, {
			name: "a wrapped Failure keeps its reason", hang: "-",
			script: map[string]act{mem0: fails(fmt.Errorf("while probing: %w", &probe.Failure{Reason: probe.ReasonMemlockLimit}))},
			end:    EndCompleted, took: 70 * time.Millisecond, calls: 8,
			failures: map[string]probe.Reason{mem0: probe.ReasonMemlockLimit},
		}, {
			name: "a removed device ends its paths untried, the others go on", hang: "-",
			script: map[string]act{"mlx5_0": fails(removed)},
			end:    EndCompleted, took: 40 * time.Millisecond, calls: 5,
			failures: map[string]probe.Reason{"mlx5_0": probe.ReasonDeviceRemoved},
		}, {
			name: "a device removed in a re-read keeps what it measured", hang: "-",
			script: map[string]act{mem0: inTurn(reads(0), fails(removed))},
			judge:  suspects{mem0: 3, "mlx5_0→mem1": 3},
			end:    EndCompleted, took: 70 * time.Millisecond, calls: 9,
			reads:    map[string]int{mem0: 1},
			failures: map[string]probe.Reason{mem0: probe.ReasonDeviceRemoved},
		}, {
			name: "a probe beyond its deadline fails, its RNIC goes on", hang: "-",
			script: map[string]act{mem0: reads(time.Hour)},
			end:    EndCompleted, took: defaultProbeDeadline + 70*time.Millisecond, calls: 8,
			failures: map[string]probe.Reason{mem0: probe.ReasonDeadline},
		}, {
			name: "a probe that hangs is abandoned, its RNIC gets no other", hang: mem0,
			end: EndCompleted, took: defaultProbeDeadline + grace + 40*time.Millisecond, calls: 5,
			failures:  map[string]probe.Reason{"mlx5_0": probe.ReasonDeadline},
			abandoned: []string{"mlx5_0"},
		}, {
			name: "everything hangs, one at a time", hang: everywhere,
			end: EndCompleted, took: 2 * (defaultProbeDeadline + grace), calls: 2,
			failures:  map[string]probe.Reason{"mlx5_0": probe.ReasonDeadline, "mlx5_1": probe.ReasonDeadline},
			abandoned: []string{"mlx5_0", "mlx5_1"},
		}, {
			name: "everything hangs, side by side", hang: everywhere, limits: Limits{Parallel: 2},
			end: EndCompleted, took: defaultProbeDeadline + grace, calls: 2,
			failures:  map[string]probe.Reason{"mlx5_0": probe.ReasonDeadline, "mlx5_1": probe.ReasonDeadline},
			abandoned: []string{"mlx5_0", "mlx5_1"},
		}, {
			name: "a late reading within the grace counts", hang: "-",
			script: map[string]act{mem0: func(context.Context) (probe.Reading, error) {
				time.Sleep(defaultProbeDeadline + 500*time.Millisecond)
				return probe.Reading{BandwidthGbps: 10}, nil
			}},
			end: EndCompleted, took: defaultProbeDeadline + 570*time.Millisecond, calls: 8,
		}, {
			name: "cancelled between readings", hang: "-", cancelAfter: 25 * time.Millisecond,
			end: EndCancelled, detail: "the run was cancelled", took: 25 * time.Millisecond, calls: 3,
			failures: map[string]probe.Reason{
				"mlx5_0→mem1": probe.ReasonCancelled,
				"mlx5_0→gpu0": probe.ReasonNotReached, "mlx5_0→gpu1": probe.ReasonNotReached,
				"mlx5_1→gpu0": probe.ReasonNotReached, "mlx5_1→gpu1": probe.ReasonNotReached, "mlx5_1→mem0": probe.ReasonNotReached,
			},
		}, {
			name: "cancelled while a probe hangs: over within two seconds", hang: mem0, cancelAfter: 3 * time.Second,
			end: EndCancelled, detail: "the run was cancelled", took: 4 * time.Second, calls: 1,
			failures: map[string]probe.Reason{
				mem0: probe.ReasonCancelled, "mlx5_0→mem1": probe.ReasonNotReached, "mlx5_0→gpu0": probe.ReasonNotReached, "mlx5_0→gpu1": probe.ReasonNotReached,
				"mlx5_1": probe.ReasonNotReached,
			},
			abandoned: []string{"mlx5_0"},
		}, {
			name: "cancelled in a re-read: what was measured stands", hang: "-", cancelAfter: 85 * time.Millisecond, judge: suspects{mem0: 3},
			end: EndCancelled, detail: "the run was cancelled", took: 85 * time.Millisecond, calls: 9,
		}, {
			name: "the last probe is cancelled", hang: "-", cancelAfter: 75 * time.Millisecond,
			end: EndCancelled, detail: "the run was cancelled", took: 75 * time.Millisecond, calls: 8,
			failures: map[string]probe.Reason{"mlx5_1→mem0": probe.ReasonCancelled},
		}, {
			name: "the run's deadline ends it", hang: "-", limits: Limits{RunDeadline: 15 * time.Millisecond},
			end: EndDeadline, detail: "the run's deadline of 15ms passed", took: 15 * time.Millisecond, calls: 2,
			failures: map[string]probe.Reason{
				"mlx5_0→mem1": probe.ReasonNotReached, "mlx5_0→gpu0": probe.ReasonNotReached, "mlx5_0→gpu1": probe.ReasonNotReached,
				"mlx5_1→mem1": probe.ReasonDeadline,
				"mlx5_1→mem0": probe.ReasonNotReached, "mlx5_1→gpu0": probe.ReasonNotReached, "mlx5_1→gpu1": probe.ReasonNotReached,
			},
		}, {
			name: "a host that turns busy ends the run", hang: "-",
			idleCheck: func(calls int) error {
				if calls == 2 {
					return errors.New("host is busy: mlx5_1")
				}
				return nil
			},
			end: EndHostBusy, detail: "host is busy: mlx5_1", took: 10 * time.Millisecond, calls: 1,
			failures: map[string]probe.Reason{
				"mlx5_0→mem1": probe.ReasonHostBusy, "mlx5_0→gpu0": probe.ReasonHostBusy, "mlx5_0→gpu1": probe.ReasonHostBusy,
				"mlx5_1": probe.ReasonHostBusy,
			},
		}, {
			name: "a host that stays idle is probed in full", hang: "-", limits: Limits{Parallel: 4},
			idleCheck: func(int) error { return nil },
			end:       EndCompleted, took: 50 * time.Millisecond, calls: 8,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				p := &prober{script: map[string]act{}}
				for name, does := range c.script {
					p.script[name] = does
				}
				if c.hang != "-" {
					p.script[c.hang] = hangs(release)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancelAfter > 0 {
					time.AfterFunc(c.cancelAfter, cancel)
				}
				var opts Options
				checks := 0
				if c.idleCheck != nil {
					opts.IdleCheck = func(context.Context) error {
						checks++
						assert.True(t, p.idle(), "idleness is checked while no probe runs")
						return c.idleCheck(checks)
					}
				}
				plan := NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle, Limits: c.limits})

				got := Run(ctx, plan, p, c.judge, opts)

				assert.Equal(t, c.end, got.EndReason)
				assert.Equal(t, c.detail, got.EndDetail)
				assert.Equal(t, c.end != EndCompleted, got.Interrupted)
				assert.Equal(t, c.took, got.Finished.Sub(got.Started))
				assert.ElementsMatch(t, c.abandoned, got.Abandoned)
				p.mu.Lock() // an abandoned probe may still be there
				defer p.mu.Unlock()
				assert.Len(t, p.calls, c.calls, p.calls)
				assert.Empty(t, p.overlaps, "no two probes share a hop")
				assert.LessOrEqual(t, p.together, plan.Limits.Parallel)
				require.Len(t, got.Outcomes, len(plan.Steps))
				for i, outcome := range got.Outcomes {
					key := outcome.Path.Key()
					assert.Equal(t, plan.Steps[i].Request.Path, outcome.Path, "outcomes are in the plan's order")
					want, failed := c.failures[key.String()]
					if !failed {
						want, failed = c.failures[key.RNIC]
					}
					wantReads := 1
					if failed {
						wantReads = 0
					}
					if n, named := c.reads[key.String()]; named {
						wantReads = n
					}
					assert.Len(t, outcome.Reads, wantReads, key)
					if !failed {
						assert.Nil(t, outcome.Failure, key)
					} else if assert.NotNil(t, outcome.Failure, key) {
						assert.Equal(t, want, outcome.Failure.Reason, key)
					}
				}
			})
		})
	}
}

// endless is a judge that never settles its paths.
type endless []topology.PathKey

func (e endless) Unsettled([]probe.Outcome) []topology.PathKey { return e }

func judgeOf(keys ...topology.PathKey) Judge { return endless(keys) }

func TestRunChecksIdlenessBeforeEachProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &prober{}
		seen := []int{}
		Run(t.Context(), NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle}), p, suspects{"mlx5_0→mem0": 2}, Options{
			IdleCheck: func(context.Context) error { seen = append(seen, len(p.calls)); return nil },
		})
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, seen, "how many probes were over at each check, re-read included")
	})
}

func TestRunDoesNotWaitForAHangingIdleCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		got := Run(t.Context(), NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle}), &prober{}, nil, Options{
			IdleCheck: func(context.Context) error { <-release; return nil },
		})
		assert.Equal(t, EndHostBusy, got.EndReason, "what cannot be known is not idle")
		assert.Contains(t, got.EndDetail, "the idle check did not answer within 11s")
		assert.Equal(t, 11*time.Second, got.Finished.Sub(got.Started))
	})
}

func TestRunEndsWhenInhibited(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inhibit")
	synctest.Test(t, func(t *testing.T) {
		p := &prober{script: map[string]act{"mlx5_1→mem1": func(context.Context) (probe.Reading, error) {
			return probe.Reading{}, os.WriteFile(file, []byte("job 17\n"), 0o644)
		}}}
		got := Run(t.Context(), NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle}), p, nil, Options{InhibitPath: file})
		assert.Equal(t, EndInhibited, got.EndReason)
		assert.Equal(t, file+" exists: job 17", got.EndDetail)
		assert.Equal(t, []string{"mlx5_0→mem0", "mlx5_1→mem1"}, p.calls)
		assert.Equal(t, probe.ReasonNotReached, got.Outcomes[1].Failure.Reason)
	})
}

func TestRunTellsItsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topo := smallHost()
		topo.Paths = topo.Paths[:3]
		p := &prober{script: map[string]act{"mlx5_0→mem1": fails(&probe.Failure{Reason: probe.ReasonWrongData})}}
		got := []string{}
		Run(t.Context(), NewPlan(topo, nil, PlanOptions{Mode: ModeIdle}), p, suspects{"mlx5_0→mem0": 2}, Options{Events: func(e Event) {
			line := fmt.Sprintf("%s %d %d/%d", e.Kind, e.Round, e.Done, e.Total)
			switch e.Kind {
			case EventStarted:
				line += " " + e.Path.String()
			case EventRead:
				line += fmt.Sprintf(" %v %v", e.Path, e.Reading.BandwidthGbps)
			case EventFailed:
				line += fmt.Sprintf(" %v %v", e.Path, e.Failure.Reason)
			case EventFinished:
				line += " " + string(e.End)
			}
			got = append(got, line)
		}})
		assert.Equal(t, []string{
			"planned 0 0/3",
			"round 1 0/3",
			"started 1 0/3 mlx5_0→mem0",
			"read 1 1/3 mlx5_0→mem0 195",
			"started 1 1/3 mlx5_0→mem1",
			"failed 1 2/3 mlx5_0→mem1 wrong_data",
			"started 1 2/3 mlx5_0→gpu0",
			"read 1 3/3 mlx5_0→gpu0 195",
			"round 2 0/1",
			"started 2 0/1 mlx5_0→mem0",
			"read 2 1/1 mlx5_0→mem0 195",
			"finished 2 2/3 completed",
		}, got)
	})
}

func TestRunOfNothing(t *testing.T) {
	for name, plan := range map[string]Plan{
		"an empty plan":           NewPlan(topology.Topology{}, nil, PlanOptions{Mode: ModeIdle}),
		"a plan that is all zero": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := Run(t.Context(), plan, &prober{}, nil, Options{})
			assert.Equal(t, EndCompleted, got.EndReason)
			assert.NotNil(t, got.Outcomes)
			assert.Empty(t, got.Outcomes)
		})
	}
}

func TestRunOfAPlanWithoutLimitsTakesTheDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := NewPlan(smallHost(), nil, PlanOptions{Mode: ModeIdle})
		plan.Limits = Limits{}
		assert.Equal(t, EndCompleted, Run(t.Context(), plan, &prober{}, nil, Options{}).EndReason)
	})
}

func TestRunStampsWithTheGivenClock(t *testing.T) {
	moment := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	got := Run(t.Context(), NewPlan(topology.Topology{}, nil, PlanOptions{}), &prober{}, nil, Options{Now: func() time.Time { return moment }})
	assert.Equal(t, moment, got.Started)
	assert.Equal(t, moment, got.Finished)
}

// Goal: the rule about shared hops holds for what really runs, not only in the
// plan. Method: random hosts, probes of random length, overlaps recorded by the prober.
func TestRunNeverProbesAHopTwiceAtATime(t *testing.T) {
	together := 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			topo := randomHost(random)
			p := &prober{script: map[string]act{}}
			again := suspects{}
			for _, path := range topo.Paths {
				p.script[path.Key().String()] = reads(time.Duration(1+random.IntN(50)) * time.Millisecond)
				again[path.Key().String()] = 1 + random.IntN(5)
			}
			got := Run(t.Context(), NewPlan(topo, nil, PlanOptions{Limits: Limits{Parallel: 1 + random.IntN(6)}}), p, again, Options{})
			require.Equal(t, EndCompleted, got.EndReason, "seed %d", seed)
			require.Empty(t, p.overlaps, "seed %d", seed)
			for _, outcome := range got.Outcomes {
				require.Len(t, outcome.Reads, again[outcome.Path.Key().String()], "seed %d", seed)
			}
			together = max(together, p.together)
		})
	}
	assert.Greater(t, together, 1, "some probes did run side by side")
}
