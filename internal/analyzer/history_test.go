package analyzer_test

// Goal: what several runs say together: gray and flapping hops, the blame of
// flapping ones, and a history that is a value of bounded size.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
)

// runsOf analyses runs of one host in which memory mem0 is good (N), slow (A)
// or at times both (G), each in the light of those before.
func runsOf(t *testing.T, states string, change func(*analyzer.Input)) []analyzer.Result {
	t.Helper()
	reads := map[rune]string{'N': "195", 'A': "100 100 100", 'G': "100 195 195 195"}
	var results []analyzer.Result
	var past analyzer.History
	for _, state := range states {
		in := describe(t, strings.ReplaceAll(`
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : MEM0
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 195
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : MEM0
			rnic1 mem1 mem_local* 195 rnic_pcie:rnic1,memory:mem1 : 195`, "MEM0", reads[state]))
		in.History = past
		if change != nil {
			change(&in)
		}
		result := analyzer.Analyze(in)
		past = result.History
		results = append(results, result)
	}
	return results
}

func TestHopsOverRuns(t *testing.T) {
	const (
		failure  = "memory_channel_failure memory:mem0"
		flapping = "link_flapping memory:mem0"
		nothing  = ""
	)
	cases := []struct {
		name    string
		states  string
		verdict analyzer.Verdict // of memory:mem0 after the last run
		blame   string
	}{
		{"one bad run", "A", analyzer.Abnormal, failure},
		{"one run of both", "G", analyzer.Gray, nothing},
		{"a fault begins", "NNA", analyzer.Gray, failure},
		{"and stays", "NNAAA", analyzer.Abnormal, failure},
		{"it is repaired", "AAAN", analyzer.Gray, nothing},
		{"long ago", "AAANNN", analyzer.Normal, nothing},
		{"twice gray is not flapping", "GG", analyzer.Gray, nothing},
		{"three times gray", "GGG", analyzer.Flapping, flapping},
		{"slow between two good runs", "NAN", analyzer.Flapping, flapping},
		{"good between two slow runs", "ANA", analyzer.Flapping, flapping},
		{"gray, good, slow", "GNA", analyzer.Flapping, flapping},
		{"a fault that begins in the midst of a run", "NGA", analyzer.Gray, failure},
		{"one gray run between good ones", "NGN", analyzer.Normal, nothing},
		{"two gray runs and a good one", "GGN", analyzer.Flapping, flapping},
		{"slowly back and forth", "NNAAN", analyzer.Flapping, flapping},
		{"flapping is over", "NANNNN", analyzer.Normal, nothing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			results := runsOf(t, c.states, nil)
			last := results[len(results)-1]
			for _, h := range last.Hops {
				if h.Hop == "memory:mem0" {
					assert.Equal(t, c.verdict, h.Verdict)
				}
			}
			assert.Equal(t, c.blame, strings.Join(blames(last), "; "))
			for _, d := range last.Diagnoses {
				checkDiagnosis(t, d)
			}
		})
	}
}

func TestFlapRunsIsAThreshold(t *testing.T) {
	more := func(in *analyzer.Input) { in.Thresholds.FlapRuns = 5 }
	results := runsOf(t, "GGGGG", more)
	assert.Empty(t, blames(results[3]))
	assert.Equal(t, []string{"link_flapping memory:mem0"}, blames(results[4]))
}

func TestHistoryIsBounded(t *testing.T) {
	results := runsOf(t, "NANANANANANA", nil)
	last := results[len(results)-1].History
	assert.Equal(t, 5, last.Runs(), "three gray runs look back over five")
	for _, s := range last.Hops {
		assert.Len(t, s.Verdicts, 5)
	}
	require.Len(t, last.Paths, 2, "only paths that were slow are kept")
	for _, s := range last.Paths {
		assert.Equal(t, "mem0", s.Path.Endpoint)
		assert.Equal(t, []analyzer.Verdict{"abnormal", "normal", "abnormal", "normal", "abnormal"}, s.Verdicts)
	}
	before := last.BeforeLast()
	assert.Equal(t, 4, before.Runs())
	assert.Equal(t, last.Hops[0].Verdicts[:4], before.Hops[0].Verdicts)
	assert.Zero(t, analyzer.History{}.BeforeLast().Runs())
}

// Analysing the last run again from the history before it gives the same result.
func TestHistoryCarriesAllThatTheNextRunNeeds(t *testing.T) {
	var inputs []analyzer.Input
	results := runsOf(t, "NAGNA", func(in *analyzer.Input) { inputs = append(inputs, *in) })
	for i, in := range inputs {
		in.History = results[i].History.BeforeLast()
		again := analyzer.Analyze(in)
		assert.Equal(t, results[i], again, "run %d", i+1)
	}
}

// After a slow run one good read does not settle the close paths of its hops.
func TestSlowHopsAreWatched(t *testing.T) {
	results := runsOf(t, "NA", nil)
	in := describe(t, `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 195 195 195 195
		rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 195
		rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195 195 195 195 195`)
	assert.Empty(t, analyzer.Unsettled(in))
	in.History = results[1].History
	keys := analyzer.Unsettled(in)
	require.Len(t, keys, 1)
	assert.Equal(t, "rnic0→mem0", keys[0].String(), "five reads are enough")
}

// A path that comes and goes leaves the hops of its RNIC gray too; the one
// that most of the slow paths share, and few others cross, is blamed.
func TestFlappingBlamesTheSmallestCover(t *testing.T) {
	var past analyzer.History
	var last analyzer.Result
	for _, reads := range []string{"195", "100 100 100", "195"} {
		in := describe(t, strings.ReplaceAll(`
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 195
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem1 : 195
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : GPU0
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,root_port:r,memory:mem0 : 195`, "GPU0", reads))
		in.History = past
		last = analyzer.Analyze(in)
		past = last.History
	}
	require.Equal(t, []string{"link_flapping gpu_pcie:gpu0"}, blames(last))
	d := last.Diagnoses[0]
	assert.Equal(t, diagnosis.Critical, d.Severity)
	assert.Contains(t, d.Evidence, "rnic0→gpu0 was normal, then was slow, then was normal")
}
