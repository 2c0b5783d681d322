package analyzer_test

// Goal: verdicts of single paths, the re-reads they ask for, and the reasons they give.

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

func TestVerdictOfOnePath(t *testing.T) {
	const (
		normal, abnormal      = analyzer.Normal, analyzer.Abnormal
		uncertain, unmeasured = analyzer.Uncertain, analyzer.Unmeasured
	)
	cases := []struct {
		name     string
		path     string // class and baseline
		reads    string
		verdict  analyzer.Verdict
		settled  bool
		lowReads int
		reason   string // part of it
	}{
		{"one good read", "mem_local* 195", "190", normal, true, 0, ""},
		{"just above the limit: noise may have lifted it", "mem_local* 195", "156", normal, false, 0, ""},
		{"three reads just above the limit", "mem_local* 195", "156 157 158", normal, true, 0, ""},
		{"above the limit by more than noise", "mem_local* 195", "174", normal, true, 0, ""},
		{"one low read is only a suspect", "mem_local* 195", "155.9", uncertain, false, 1, "no 3 reads agree"},
		{"two low reads", "mem_local* 195", "100 100", uncertain, false, 2, "no 3 reads agree"},
		{"three low reads", "mem_local* 195", "100 100 100", abnormal, true, 3, "49 % below 195 (default baseline)"},
		{"three of four low, the other far above", "mem_local* 195", "100 190 100 100", uncertain, false, 3, "something comes and goes"},
		{"three of four low, the other close by", "mem_local* 195", "154 157 154 154", abnormal, true, 3, "21 % below"},
		{"three of five good", "mem_local* 195", "100 190 100 190 190", normal, true, 2, ""},
		{"three of five low, the others far above", "mem_local* 195", "100 190 100 190 100", uncertain, true, 3, "something comes and goes"},
		{"four of five low", "mem_local* 195", "100 190 100 100 100", abnormal, true, 4, "49 % below"},
		{"two and two", "mem_local* 195", "100 190 100 190", uncertain, false, 2, "2 of 4 reads are low"},
		{"far and good proves nothing", "sys 116.4", "116", uncertain, true, 0, "proves nothing"},
		{"far and low", "sys 116.4", "60 60 60", abnormal, true, 3, "48 % below 116"},
		{"no baseline", "mem_local* -", "30", uncertain, true, 0, "nothing to compare it with"},
		{"failed", "mem_local* 195", "!lost_completion", unmeasured, true, 0, "lost_completion: as told"},
		{"not reached", "mem_local* 195", "", unmeasured, true, 0, "not reached"},
		{"failed while suspect", "mem_local* 195", "100 !device_removed", uncertain, true, 1, "then device_removed"},
		{"failed after it was settled", "mem_local* 195", "100 100 100 !device_removed", abnormal, true, 3, "49 % below"},
		{"low because of the tool", "mem_local* 195", "100? 100? 100? 100? 100?", uncertain, true, 5, "the tool may be the limit"},
		{"late once", "mem_local* 195", "190@9", normal, true, 0, ""}, // alone, it is its own latency reference
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := describe(t, "rnic0 mem0 "+c.path+" rnic_pcie:rnic0,memory:mem0 : "+c.reads)
			v := analyzer.Analyze(in).Paths[0]
			assert.Equal(t, c.verdict, v.Verdict)
			assert.Equal(t, c.lowReads, v.LowReads)
			assert.Contains(t, v.Reason, c.reason)
			assert.Equal(t, v.Verdict == normal, v.Reason == "", v.Reason)
			assert.Equal(t, len(in.Outcomes[0].Reads), v.Reads)
			assert.Equal(t, v.Reads > 0, v.BandwidthGbps != nil)
			assert.Equal(t, c.settled, len(analyzer.Unsettled(in)) == 0)
		})
	}
}

func TestNoiseDecidesWhatIsSignificant(t *testing.T) {
	const (
		normal, abnormal, uncertain = analyzer.Normal, analyzer.Abnormal, analyzer.Uncertain
	)
	cases := []struct {
		name    string
		reads   string
		spread  *float64 // calibrated
		plain   bool
		verdict analyzer.Verdict
		settled bool
	}{
		{"a fifth below, little noise", "154 154 154", new(0.02), false, abnormal, true},
		{"a fifth below, much noise: more reads", "154 150 155", new(0.12), false, uncertain, false},
		{"five reads of much noise", "155 152 150 155 154", new(0.12), false, abnormal, true},
		{"clearly below, much noise", "100 104 98", new(0.12), false, abnormal, true},
		{"low reads that do not agree: more reads", "100 150 130", new(0.03), false, uncertain, false},
		{"four low reads need not agree", "100 150 130 120", new(0.03), false, abnormal, true},
		{"an absurd spread is not believed", "155 152 150 155 154", new(0.9), false, abnormal, true},
		{"switched off", "154 150 155", new(0.12), true, abnormal, true},
		{"switched off: three of five", "100 190 100 190 100", nil, true, abnormal, true},
		{"good reads", "180 182 190", new(0.12), false, normal, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := describe(t, "rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : "+c.reads)
			key := in.Outcomes[0].Path.Key()
			e := in.Baselines[key]
			e.SpreadShare = c.spread
			in.Baselines[key] = e
			in.Plain.Noise = c.plain
			assert.Equal(t, c.verdict, analyzer.Analyze(in).Paths[0].Verdict)
			assert.Equal(t, c.settled, len(analyzer.Unsettled(in)) == 0)
		})
	}
}

func TestLatencyVerdicts(t *testing.T) {
	const healthy = `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 195@2
		rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 195@2
		rnic0 mem2 mem_local* 195 rnic_pcie:rnic0,memory:mem2 : 195@2`
	cases := []struct {
		name      string
		path      string
		change    func(*analyzer.Input)
		verdict   analyzer.Verdict
		reference *float64
	}{
		{"on time", "rnic0 gpu0 pix* 195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 195@2.3", nil, analyzer.Normal, new(2.0)},
		{"late in three reads", "rnic0 gpu0 pix* 195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 195@3 195@3 195@3", nil, analyzer.Abnormal, new(2.0)},
		{"late in one read so far", "rnic0 gpu0 pix* 195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 195@3", nil, analyzer.Uncertain, new(2.0)},
		{"the class may be slower", "rnic0 gpu0 sys 116.4 rnic_pcie:rnic0,gpu_pcie:gpu0 : 116@3.4", func(in *analyzer.Input) {
			key := topology.PathKey{RNIC: "rnic0", Endpoint: "gpu0"}
			e := in.Baselines[key]
			e.LatencyAboveCloseUs = new(1.4)
			in.Baselines[key] = e
		}, analyzer.Normal, new(3.4)},
		{"a calibrated latency is absolute", "rnic0 gpu0 pix* 195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 195@2.3 195@2.3 195@2.3", func(in *analyzer.Input) {
			key := topology.PathKey{RNIC: "rnic0", Endpoint: "gpu0"}
			e := in.Baselines[key]
			e.LatencyUs = new(1.5)
			in.Baselines[key] = e
		}, analyzer.Abnormal, new(1.5)},
		{"under load latency says nothing", "rnic0 gpu0 pix* 195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 195@9", func(in *analyzer.Input) {
			in.Busy = true
		}, analyzer.Uncertain, nil},
		{"without a reference", "rnic0 gpu0 pix* - rnic_pcie:rnic0,gpu_pcie:gpu0 : 195@9", nil, analyzer.Uncertain, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := describe(t, healthy+"\n"+c.path)
			if c.change != nil {
				c.change(&in)
			}
			v := analyzer.Analyze(in).Paths[3]
			assert.Equal(t, c.verdict, v.LatencyVerdict)
			if c.reference == nil {
				assert.Nil(t, v.ReferenceUs)
			} else {
				require.NotNil(t, v.ReferenceUs)
				assert.InDelta(t, *c.reference, *v.ReferenceUs, 0.001)
			}
		})
	}
}

func TestLatePathIsReadAgain(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 195@2
		rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 195@2
		rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 195@3`)
	assert.Equal(t, []topology.PathKey{{RNIC: "rnic0", Endpoint: "gpu0"}}, analyzer.Unsettled(in))
}

func TestMisconfiguredHalfIsNoLatencyReference(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,memory:mem0   : 195@2
		rnic0 gpu0 pix*        195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 125@3.2 125@3.2 125@3.2
		rnic0 gpu1 pix*        195 rnic_pcie:rnic0,gpu_pcie:gpu1 : 125@3.2 125@3.2 125@3.2`)
	assert.Equal(t, []string{"p2p_misconfiguration gpu_pcie:gpu0", "p2p_misconfiguration gpu_pcie:gpu1"},
		blames(analyzer.Analyze(in)))
}

func TestLikePaths(t *testing.T) {
	const four = `
		rnic0 mem0 mem_local* 150 rnic_pcie:rnic0,memory:mem0 : 194
		rnic1 mem0 mem_local* 150 rnic_pcie:rnic1,memory:mem0 : 195
		rnic2 mem0 mem_local* 150 rnic_pcie:rnic2,memory:mem0 : 196
		rnic3 mem0 mem_local* 150 rnic_pcie:rnic3,memory:mem0 : 140 140 140`
	cases := []struct {
		name    string
		change  func(*analyzer.Input)
		verdict analyzer.Verdict
		rule    analyzer.Rule
	}{
		{"slow among its like though above the baseline", func(*analyzer.Input) {}, analyzer.Abnormal, analyzer.RuleLikePaths},
		{"another model is not alike", func(in *analyzer.Input) { in.Topology.RNICs[3].Driver = "bnxt_re" },
			analyzer.Normal, analyzer.RuleBaseline},
		{"another rate is not alike", func(in *analyzer.Input) { in.Topology.RNICs[3].RateGbps = new(100.0) },
			analyzer.Normal, analyzer.RuleBaseline},
		{"an unknown rate is like nothing", func(in *analyzer.Input) {
			for i := range in.Topology.RNICs {
				in.Topology.RNICs[i].RateGbps = nil
			}
		}, analyzer.Normal, analyzer.RuleBaseline},
		{"a narrower slot is measured by what it can do", func(in *analyzer.Input) {
			key := in.Outcomes[3].Path.Key()
			e := in.Baselines[key]
			e.BandwidthGbps = new(110.0)
			in.Baselines[key] = e
		}, analyzer.Normal, analyzer.RuleBaseline},
		{"two like paths are too few", func(in *analyzer.Input) { in.Outcomes = in.Outcomes[2:] },
			analyzer.Normal, analyzer.RuleBaseline},
		{"software RNICs of one driver are alike whatever their rate", func(in *analyzer.Input) {
			*in = software(*in)
			in.Topology.RNICs[3].RateGbps = nil
		}, analyzer.Abnormal, analyzer.RuleLikePaths},
		{"not under service traffic", func(in *analyzer.Input) {
			in.Busy = true
			for _, x := range in.Topology.RNICs {
				in.Idle.RNICs = append(in.Idle.RNICs, monitor.Utilization{ID: x.ID, Busy: new(false)})
			}
		}, analyzer.Normal, analyzer.RuleBaseline},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := describe(t, four)
			c.change(&in)
			paths := analyzer.Analyze(in).Paths
			v := paths[len(paths)-1]
			assert.Equal(t, c.verdict, v.Verdict)
			assert.Equal(t, c.rule, v.Rule)
		})
	}
}

func TestRNICInServiceIsItsOwnReference(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 120
		rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 110
		rnic0 mem2 mem_local* 195 rnic_pcie:rnic0,memory:mem2 : 90 90 90
		rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 120`)
	in.Busy = true // and nothing says that an RNIC is idle
	var got []analyzer.Verdict
	for _, v := range analyzer.Analyze(in).Paths {
		got = append(got, v.Verdict)
	}
	assert.Equal(t, []analyzer.Verdict{analyzer.Uncertain, analyzer.Uncertain, analyzer.Abnormal, analyzer.Uncertain}, got)
}

func TestHopVerdicts(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local*  195   rnic_pcie:rnic0,memory:mem0                    : 100 100 100
		rnic1 mem0 mem_local*  195   rnic_pcie:rnic1,memory:mem0                    : 110 110 110
		rnic1 gpu0 pix*        195   rnic_pcie:rnic1,gpu_pcie:gpu0                  : 190
		rnic0 gpu0 sys         116.4 rnic_pcie:rnic0,inter_socket:0-1,gpu_pcie:gpu0 : 100
		rnic2 gpu1 pix*        195   rnic_pcie:rnic2,gpu_pcie:gpu1                  : !deadline`)
	want := map[string]struct {
		verdict  analyzer.Verdict
		count    int
		capacity *float64
	}{
		"rnic_pcie:rnic0":  {analyzer.Abnormal, 1, new(100.0)},
		"rnic_pcie:rnic1":  {analyzer.Normal, 0, new(190.0)},
		"rnic_pcie:rnic2":  {analyzer.Uncertain, 0, nil},
		"memory:mem0":      {analyzer.Abnormal, 2, new(110.0)},
		"gpu_pcie:gpu0":    {analyzer.Normal, 0, new(190.0)},
		"gpu_pcie:gpu1":    {analyzer.Uncertain, 0, nil},
		"inter_socket:0-1": {analyzer.Uncertain, 0, new(100.0)},
	}
	hops := analyzer.Analyze(in).Hops
	require.Len(t, hops, len(want))
	for _, h := range hops {
		w := want[h.Hop]
		assert.Equal(t, w.verdict, h.Verdict, h.Hop)
		assert.Equal(t, w.count, h.AbnormalCount, h.Hop)
		assert.Equal(t, w.capacity, h.EstimatedCapacityGbps, h.Hop)
	}
}

func TestHopsClearedByOthersTurnGray(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 100
		rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 195
		rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`)
	got := map[string]analyzer.Verdict{}
	for _, h := range analyzer.Analyze(in).Hops {
		got[h.Hop] = h.Verdict
	}
	assert.Equal(t, map[string]analyzer.Verdict{
		"rnic_pcie:rnic0": analyzer.Gray, "memory:mem0": analyzer.Gray,
		"memory:mem1": analyzer.Normal, "rnic_pcie:rnic1": analyzer.Normal,
	}, got)
}

func TestResultListsAreNeverNil(t *testing.T) {
	result := analyzer.Analyze(analyzer.Input{})
	assert.NotNil(t, result.Paths)
	assert.NotNil(t, result.Hops)
	assert.NotNil(t, result.Diagnoses)
	assert.NotNil(t, result.Findings)
}
