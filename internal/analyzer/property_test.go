package analyzer_test

// Goal: what must hold for any data, over random matrices on Fig. 2 and on
// the order in which things are listed.

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// randomRun measures each path of Fig. 2 as normal, slow or not at all.
func randomRun(random *rand.Rand, slowShare float64) analyzer.Input {
	in := fig2Input()
	for _, p := range in.Topology.Paths {
		o := probe.Outcome{Path: p}
		gbps := *in.Baselines[p.Key()].BandwidthGbps
		switch dice := random.Float64(); {
		case dice < slowShare:
			read := probe.Reading{BandwidthGbps: gbps * (0.3 + 0.4*random.Float64()), Latency: probe.Latency{P50Us: 2}}
			o.Reads = []probe.Reading{read, read, read}
		case dice < 0.9:
			o.Reads = []probe.Reading{{BandwidthGbps: gbps, Latency: probe.Latency{P50Us: 2}}}
		default:
			o.Failure = &probe.Failure{Reason: probe.ReasonDeadline}
		}
		in.Outcomes = append(in.Outcomes, o)
	}
	return in
}

// essence is what of a result must not depend on the order of the input.
type essence struct {
	paths  map[topology.PathKey]analyzer.Verdict
	hops   map[string]analyzer.Verdict
	counts map[string]int
	causes []cause
}

type cause struct {
	what         string
	confidence   float64
	summary      string
	alternatives []string
}

func essenceOf(r analyzer.Result) essence {
	e := essence{map[topology.PathKey]analyzer.Verdict{}, map[string]analyzer.Verdict{}, map[string]int{}, nil}
	for _, v := range r.Paths {
		e.paths[v.Path.Key()] = v.Verdict
	}
	for _, h := range r.Hops {
		e.hops[h.Hop], e.counts[h.Hop] = h.Verdict, h.AbnormalCount
	}
	for _, d := range r.Diagnoses {
		e.causes = append(e.causes, cause{string(d.Code) + " " + d.Component, d.Confidence, d.Summary, alternativesOf(d)})
	}
	return e
}

func shuffle[T any](random *rand.Rand, list []T) []T {
	list = append([]T(nil), list...)
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func TestOrderDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		in := randomRun(random, random.Float64()*0.5)
		want := analyzer.Analyze(in)
		assert.Equal(t, want, analyzer.Analyze(in), "equal input, equal result")

		mixed := in
		mixed.Outcomes = shuffle(random, in.Outcomes)
		require.Equal(t, want, analyzer.Analyze(mixed), "order of the outcomes")
		require.ElementsMatch(t, analyzer.Unsettled(in), analyzer.Unsettled(mixed))

		mixed.Topology.Paths = shuffle(random, in.Topology.Paths)
		mixed.Topology.RNICs = shuffle(random, in.Topology.RNICs)
		mixed.Topology.Hops = shuffle(random, in.Topology.Hops)
		require.Equal(t, essenceOf(want), essenceOf(analyzer.Analyze(mixed)), "order of the topology")
	}
}

func TestBlameFollowsTheHopsVerdicts(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		result := analyzer.Analyze(randomRun(random, random.Float64()*0.5))
		hops := essenceOf(result).hops
		blamed, said := map[string]bool{}, map[string]bool{}
		for _, d := range result.Diagnoses {
			checkDiagnosis(t, d)
			assert.False(t, said[string(d.Code)+d.Component], "%s of %s is said twice", d.Code, d.Component)
			said[string(d.Code)+d.Component] = true
			blamed[d.Component] = true
			if v, isHop := hops[d.Component]; isHop {
				assert.Contains(t, []analyzer.Verdict{analyzer.Abnormal, analyzer.Gray}, v, d.Component)
			}
		}
		for _, v := range result.Paths {
			if v.Verdict != analyzer.Abnormal {
				continue
			}
			explained := blamed[v.Path.Key().String()]
			for _, h := range v.Path.Hops {
				explained = explained || blamed[h]
			}
			assert.True(t, explained, "%s is slow and no diagnosis tells of it", v.Path.Key())
		}
	}
}

func TestNormalPathNeverMakesAHopAbnormal(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		in := randomRun(random, random.Float64()*0.4)
		before := essenceOf(analyzer.Analyze(in)).hops
		for i := range in.Outcomes {
			o := &in.Outcomes[i]
			if len(o.Reads) > 0 {
				continue
			}
			*o = probe.Outcome{Path: o.Path, Reads: []probe.Reading{{
				BandwidthGbps: *in.Baselines[o.Path.Key()].BandwidthGbps, Latency: probe.Latency{P50Us: 2},
			}}}
			for hop, v := range essenceOf(analyzer.Analyze(in)).hops {
				if v == analyzer.Abnormal {
					require.Equal(t, analyzer.Abnormal, before[hop], "%s after %s was read normal", hop, o.Path.Key())
				}
			}
		}
	}
}

func TestUnmeasuredPathsBlameNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 100 {
		in := randomRun(random, 0)
		assert.Empty(t, blames(analyzer.Analyze(in)))
	}
}
