package analyzer_test

// Goal: on hosts where the data leave several explanations, the blame, its
// alternatives and its confidence are what the data allow.

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

func alternativesOf(d diagnosis.Diagnosis) []string {
	list := []string{}
	for _, a := range d.Alternatives {
		text := string(a.Code)
		for _, c := range a.Components {
			text += " " + c
		}
		list = append(list, text)
	}
	return list
}

// known says of RNICs that neither of the settings that look like a slow link is on.
func known(in analyzer.Input) analyzer.Input {
	in.RNICConfig = map[string]analyzer.RNICConfig{}
	for _, x := range in.Topology.RNICs {
		in.RNICConfig[x.ID] = analyzer.RNICConfig{SlowStart: new(false), SmallTxWindow: new(false)}
	}
	return in
}

func setting(rnic string, c analyzer.RNICConfig) func(analyzer.Input) analyzer.Input {
	return func(in analyzer.Input) analyzer.Input {
		in.RNICConfig[rnic] = c
		return in
	}
}

// loaded makes every read across the hop see its link at this speed, of 32 GT/s and 16 lanes expected.
func loaded(hop string, speedGTs float64, trust topology.Trust) func(analyzer.Input) analyzer.Input {
	return func(in analyzer.Input) analyzer.Input {
		for i := range in.Topology.Hops {
			if h := &in.Topology.Hops[i]; h.ID == hop {
				h.ExpectedSpeedGTs, h.ExpectedWidth, h.Trust = new(32.0), new(16), trust
			}
		}
		for _, o := range in.Outcomes {
			for i := range o.Reads {
				o.Reads[i].Links = []probe.LinkSample{{Hop: hop, SpeedGTs: &speedGTs, Width: new(16)}}
			}
		}
		return in
	}
}

func TestCauses(t *testing.T) {
	const oneRNIC = `
		rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,switch:s,root_port:r,memory:mem0                  : 120 120 120
		rnic0 mem1 mem_remote* 195 rnic_pcie:rnic0,switch:s,root_port:r,inter_socket:0-1,memory:mem1 : 120 120 120`
	const lab = `
		rnic0 mem0 mem_local*  - rnic_pcie:rnic0,switch:a,root_port:a,memory:mem0                  : 0.31
		rnic0 mem1 mem_remote* - rnic_pcie:rnic0,switch:a,root_port:a,inter_socket:0-1,memory:mem1 : 0.33
		rnic1 mem0 mem_local*  - rnic_pcie:rnic1,switch:a,root_port:a,memory:mem0                  : 0.16 0.15 0.14
		rnic1 mem1 mem_remote* - rnic_pcie:rnic1,switch:a,root_port:a,inter_socket:0-1,memory:mem1 : 0.15 0.30 0.14 0.16
		rnic2 mem0 mem_remote* - rnic_pcie:rnic2,switch:b,root_port:b,inter_socket:0-1,memory:mem0 : 0.30
		rnic2 mem1 mem_local*  - rnic_pcie:rnic2,switch:b,root_port:b,memory:mem1                  : 0.28
		rnic3 mem0 mem_remote* - rnic_pcie:rnic3,switch:b,root_port:b,inter_socket:0-1,memory:mem0 : 0.33
		rnic3 mem1 mem_local*  - rnic_pcie:rnic3,switch:b,root_port:b,memory:mem1                  : 0.20 0.32 0.31 0.31`
	const twoPorts = `
		rnic0   mem0 mem_local*  195 rnic_pcie:rnic0,root_port:r,memory:mem0                  : 100 100 100
		rnic0   mem1 mem_remote* 195 rnic_pcie:rnic0,root_port:r,inter_socket:0-1,memory:mem1 : 100 100 100
		rnic0:2 mem0 mem_local*  195 rnic_pcie:rnic0,root_port:r,memory:mem0                  : 195
		rnic0:2 mem1 mem_remote* 195 rnic_pcie:rnic0,root_port:r,inter_socket:0-1,memory:mem1 : 195`
	cases := []struct {
		name         string
		run          string
		change       []func(analyzer.Input) analyzer.Input
		blames       []string
		alternatives []string // of the first diagnosis
		confidence   float64  // of the first diagnosis
	}{{
		name: "one RNIC under a switch: its link, or one above it",
		run:  oneRNIC, change: []func(analyzer.Input) analyzer.Input{known},
		blames:       []string{"rnic_pcie_failure rnic_pcie:rnic0"},
		alternatives: []string{"switch_link_failure switch:s", "root_port_failure root_port:r"},
		confidence:   0.32,
	}, {
		name:         "one RNIC whose settings are unknown",
		run:          oneRNIC,
		blames:       []string{"rnic_pcie_failure rnic_pcie:rnic0"},
		alternatives: []string{"rnic_slow_start rnic_pcie:rnic0", "rnic_tx_window rnic_pcie:rnic0", "switch_link_failure switch:s", "root_port_failure root_port:r"},
		confidence:   0.24,
	}, {
		name: "a link that was seen degraded decides between equals",
		run:  oneRNIC, change: []func(analyzer.Input) analyzer.Input{known, loaded("root_port:r", 8, topology.TrustStatic)},
		blames:       []string{"root_port_failure root_port:r"},
		alternatives: []string{"rnic_pcie_failure rnic_pcie:rnic0", "switch_link_failure switch:s"},
		confidence:   0.57, // a degraded link weighs three times as much
	}, {
		name: "an emulated port's speed decides nothing",
		run:  oneRNIC, change: []func(analyzer.Input) analyzer.Input{known, loaded("root_port:r", 2.5, topology.TrustNonsense)},
		blames:       []string{"rnic_pcie_failure rnic_pcie:rnic0"},
		alternatives: []string{"switch_link_failure switch:s", "root_port_failure root_port:r"},
		confidence:   0.32,
	}, {
		name: "two RNICs without switches and one memory: both slow is the memory",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 100
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 101 101 101`,
		change: []func(analyzer.Input) analyzer.Input{known},
		blames: []string{"memory_channel_failure memory:mem0"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name: "two RNICs without switches: one slow is its link",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 100
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`,
		change: []func(analyzer.Input) analyzer.Input{known},
		blames: []string{"rnic_pcie_failure rnic_pcie:rnic0"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name: "figures decide between equals: a hop that carried more is not the cause",
		run: `
			rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,root_port:r,memory:mem0                  : 80 80 80
			rnic0 mem1 mem_remote  150 rnic_pcie:rnic0,root_port:r,inter_socket:0-1,memory:mem1 : 150`,
		change:       []func(analyzer.Input) analyzer.Input{known},
		blames:       []string{"memory_channel_failure memory:mem0"},
		alternatives: []string{},
		confidence:   0.95,
	}, {
		name: "remote memory alone is slow: the bus, the memory, or the platform",
		run: `
			rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,root_port:r,memory:mem0                  : 195
			rnic0 mem1 mem_remote* 195 rnic_pcie:rnic0,root_port:r,inter_socket:0-1,memory:mem1 : 130 130 130`,
		blames:       []string{"inter_socket_failure inter_socket:0-1"},
		alternatives: []string{"platform_limit inter_socket:0-1", "memory_channel_failure memory:mem1"},
		confidence:   0.32,
	}, {
		name: "software RNICs: judged by like paths, one at half speed",
		run:  lab, change: []func(analyzer.Input) analyzer.Input{software, known},
		blames: []string{"rnic_pcie_failure rnic_pcie:rnic1"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name: "two RNICs share a switch with a GPU, ATS off on one of them",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 195
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : 125@3.2 125@3.2 125@3.2
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,root_port:r,memory:mem0 : 195
			rnic1 gpu0 pix*       195 rnic_pcie:rnic1,gpu_pcie:gpu0           : 195`,
		blames: []string{"p2p_misconfiguration gpu_pcie:gpu0"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name: "GPU without peer RNICs is slow from afar",
		run: `
			rnic0 mem0 mem_local* 195   rnic_pcie:rnic0,root_port:r,memory:mem0               : 195
			rnic0 gpu0 phb        125.5 rnic_pcie:rnic0,root_port:r,root_port:g,gpu_pcie:gpu0 : 60 60 60
			rnic0 gpu1 phb        125.5 rnic_pcie:rnic0,root_port:r,root_port:h,gpu_pcie:gpu1 : 125`,
		blames: []string{"gpu_pcie_failure gpu_pcie:gpu0"}, alternatives: []string{"root_port_failure root_port:g"}, confidence: 0.48,
	}, {
		name: "one of two ports of a link is slow, its slow start is on",
		run:  twoPorts,
		change: []func(analyzer.Input) analyzer.Input{known, setting("rnic0", analyzer.RNICConfig{
			SlowStart: new(true), SmallTxWindow: new(false)})},
		blames: []string{"rnic_slow_start rnic_pcie:rnic0"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name:         "one of two ports of a link is slow, its settings are unknown",
		run:          twoPorts,
		blames:       []string{"path_unexplained rnic_pcie:rnic0"},
		alternatives: []string{"rnic_slow_start rnic_pcie:rnic0", "rnic_tx_window rnic_pcie:rnic0"},
		confidence:   0.48,
	}, {
		name: "a Tx window that is known to be small",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 100
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`,
		change: []func(analyzer.Input) analyzer.Input{known, setting("rnic0", analyzer.RNICConfig{
			SlowStart: new(false), SmallTxWindow: new(true)})},
		blames: []string{"rnic_tx_window rnic_pcie:rnic0"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name: "a degraded link outweighs a setting",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 100
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`,
		change: []func(analyzer.Input) analyzer.Input{known,
			setting("rnic0", analyzer.RNICConfig{SlowStart: new(true), SmallTxWindow: new(false)}),
			loaded("rnic_pcie:rnic0", 8, topology.TrustMeasured)},
		blames: []string{"rnic_pcie_failure rnic_pcie:rnic0"}, alternatives: []string{"rnic_slow_start rnic_pcie:rnic0"}, confidence: 0.81,
	}, {
		name: "a degraded link without effect",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 195`,
		change: []func(analyzer.Input) analyzer.Input{loaded("rnic_pcie:rnic0", 16, topology.TrustStatic)},
		blames: []string{"pcie_link_downgraded rnic_pcie:rnic0"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name: "a slow path whose hops other paths clear",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 100
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : 195
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`,
		blames:       []string{"path_unexplained rnic0→mem0"},
		alternatives: []string{"link_flapping memory:mem0", "link_flapping rnic_pcie:rnic0"},
		confidence:   0.48,
	}, {
		name: "slow paths whose hops other paths clear, and which share one",
		run: `
			rnic0 mem0 mem_local*  195   rnic_pcie:rnic0,memory:mem0                  : 195
			rnic0 mem1 mem_remote* 195   rnic_pcie:rnic0,inter_socket:0-1,memory:mem1 : 195
			rnic1 mem1 mem_local*  195   rnic_pcie:rnic1,memory:mem1                  : 195
			rnic1 mem0 mem_remote* 195   rnic_pcie:rnic1,inter_socket:0-1,memory:mem0 : 100 100 100
			rnic0 gpu1 sys         116.4 rnic_pcie:rnic0,inter_socket:0-1,gpu_pcie:g1 : 60 60 60
			rnic1 gpu1 pix*        195   rnic_pcie:rnic1,gpu_pcie:g1                  : 195`,
		blames:       []string{"path_unexplained inter_socket:0-1"},
		alternatives: []string{"link_flapping inter_socket:0-1"},
		confidence:   0.48,
	}, {
		name: "a slow link does not hide a detour",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 100@2 100@2 100@2
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem1 : 100@2 100@2 100@2
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : 90@3.2 90@3.2 90@3.2
			rnic0 gpu1 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu1           : 100@2 100@2 100@2
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0             : 195@2
			rnic1 mem1 mem_local* 195 rnic_pcie:rnic1,memory:mem1             : 195@2`,
		change:       []func(analyzer.Input) analyzer.Input{known},
		blames:       []string{"rnic_pcie_failure rnic_pcie:rnic0", "p2p_misconfiguration gpu_pcie:gpu0"},
		alternatives: []string{}, confidence: 0.95,
	}, {
		name: "an RNIC that is late to memory as well takes no detour",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0   : 100@4 100@4 100@4
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 100@4 100@4 100@4
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0   : 195@2
			rnic2 mem0 mem_local* 195 rnic_pcie:rnic2,memory:mem0   : 195@2
			rnic3 mem0 mem_local* 195 rnic_pcie:rnic3,memory:mem0   : 195@2`,
		change:       []func(analyzer.Input) analyzer.Input{known},
		blames:       []string{"rnic_pcie_failure rnic_pcie:rnic0"},
		alternatives: []string{}, confidence: 0.95,
	}, {
		name: "one sick RNIC: its GPUs, slower to answer than memory, are no detour",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,root_port:r,memory:mem0 : 100@2 100@2 100@2
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0           : 100@3 100@3 100@3`,
		change:       []func(analyzer.Input) analyzer.Input{known},
		blames:       []string{"rnic_pcie_failure rnic_pcie:rnic0"},
		alternatives: []string{}, confidence: 0.95,
	}, {
		name: "slower RNICs do not clear a hop for faster ones",
		run: `
			rnic0 mem0 mem_local* 390 rnic_pcie:rnic0,memory:mem0 : 200 200 200
			rnic0 mem1 mem_local* 390 rnic_pcie:rnic0,memory:mem1 : 390
			rnic1 mem0 mem_local* 390 rnic_pcie:rnic1,memory:mem0 : 200 200 200
			rnic1 mem1 mem_local* 390 rnic_pcie:rnic1,memory:mem1 : 390
			rnic2 mem0 mem_local* 97  rnic_pcie:rnic2,memory:mem0 : 97`,
		blames: []string{"memory_channel_failure memory:mem0"}, alternatives: []string{}, confidence: 0.95,
	}, {
		name: "one fast RNIC among slow ones: its link, or what slow ones cannot clear",
		run: `
			rnic0 mem0 mem_local* 390 rnic_pcie:rnic0,memory:mem0 : 200 200 200
			rnic2 mem0 mem_local* 97  rnic_pcie:rnic2,memory:mem0 : 97`,
		change: []func(analyzer.Input) analyzer.Input{known},
		blames: []string{"rnic_pcie_failure rnic_pcie:rnic0"}, alternatives: []string{"memory_channel_failure memory:mem0"}, confidence: 0.48,
	}, {
		name: "every path of an RNIC unmeasured blames no hop",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : !device_removed
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`,
		blames: []string{},
	}, {
		name: "an interrupted re-read promotes nothing",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 !cancelled
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`,
		blames: []string{},
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := describe(t, c.run)
			for _, change := range c.change {
				in = change(in)
			}
			result := analyzer.Analyze(in)
			assert.Equal(t, c.blames, blames(result))
			if len(result.Diagnoses) > 0 {
				assert.Equal(t, c.alternatives, alternativesOf(result.Diagnoses[0]))
				assert.InDelta(t, c.confidence, result.Diagnoses[0].Confidence, 0.006)
			}
			for _, d := range result.Diagnoses {
				checkDiagnosis(t, d)
			}
		})
	}
}

// checkDiagnosis checks what every diagnosis must have.
func checkDiagnosis(t *testing.T, d diagnosis.Diagnosis) {
	t.Helper()
	entry, ok := diagnosis.Lookup(d.Code)
	assert.True(t, ok && !entry.Finding, d.Code)
	for _, a := range d.Alternatives {
		_, ok := diagnosis.Lookup(a.Code)
		assert.True(t, ok, a.Code)
		assert.NotEmpty(t, a.Components)
		assert.NotEmpty(t, a.Reason)
	}
	assert.Equal(t, d.Component, d.Components[0])
	assert.Positive(t, d.Confidence)
	assert.LessOrEqual(t, d.Confidence, 1.0)
	assert.NotEmpty(t, d.Summary)
	assert.NotEmpty(t, d.Evidence)
	assert.Contains(t, d.Runbook, string(d.Code))
}

func TestSummaryHasFiguresAndEvidenceNamesWhatIsRuledOut(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local*  195 rnic_pcie:rnic0,memory:mem0                  : 120 120 119
		rnic0 mem1 mem_remote* 195 rnic_pcie:rnic0,inter_socket:0-1,memory:mem1 : 118 118 117
		rnic1 mem0 mem_remote* 195 rnic_pcie:rnic1,inter_socket:0-1,memory:mem0 : 194
		rnic1 mem1 mem_local*  195 rnic_pcie:rnic1,memory:mem1                  : 195`)
	d := analyzer.Analyze(in).Diagnoses[0]
	assert.Equal(t, "rnic_pcie:rnic0 carries 120 Gb/s of an expected 195: all 2 close paths of rnic0 are slow", d.Summary)
	assert.Equal(t, diagnosis.Critical, d.Severity)
	assert.Equal(t, []string{
		"rnic0→mem0 carries 120 Gb/s, 38 % below 195 (default baseline); 3 of 3 reads are low",
		"rnic0→mem1 carries 118 Gb/s, 39 % below 195 (default baseline); 3 of 3 reads are low",
		"memory:mem0 is healthy: rnic1→mem0 carries 194 Gb/s",
		"inter_socket:0-1 is healthy: rnic1→mem0 carries 194 Gb/s",
		"memory:mem1 is healthy: rnic1→mem1 carries 195 Gb/s",
	}, d.Evidence)
}

func TestFarPathsAloneAreAWarning(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 195   rnic_pcie:rnic0,memory:mem0   : 195
		rnic0 gpu0 sys        116.4 rnic_pcie:rnic0,gpu_pcie:gpu0 : 60 60 60
		rnic0 gpu1 sys        116.4 rnic_pcie:rnic0,gpu_pcie:gpu1 : 116`)
	d := analyzer.Analyze(in).Diagnoses[0]
	assert.Equal(t, "gpu_pcie:gpu0", d.Component)
	assert.Equal(t, diagnosis.Warning, d.Severity)
}

func TestFindings(t *testing.T) {
	type finding struct {
		code      diagnosis.Code
		component string
	}
	cases := []struct {
		name string
		run  string
		want []finding
	}{{
		name: "a far class below its default is a limit of the platform",
		run: `
			rnic0 mem0 mem_local* 195   rnic_pcie:rnic0,memory:mem0   : 195
			rnic0 gpu0 sys        116.4 rnic_pcie:rnic0,gpu_pcie:gpu0 : 60 60 60
			rnic0 gpu1 sys        116.4 rnic_pcie:rnic0,gpu_pcie:gpu1 : 61 61 61
			rnic0 gpu2 phb        125.5 rnic_pcie:rnic0,gpu_pcie:gpu2 : 125`,
		want: []finding{{diagnosis.PlatformLimit, "sys"}},
	}, {
		name: "late with a normal bandwidth",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0   : 195
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1   : 195
			rnic0 mem2 mem_local* 195 rnic_pcie:rnic0,memory:mem2   : 195@4 195@4 195@4`,
		want: []finding{{diagnosis.LatencyAbnormal, "rnic0"}},
	}, {
		name: "nothing to compare with",
		run:  `rnic0 mem0 mem_local* - rnic_pcie:rnic0,memory:mem0 : 30`,
		want: []finding{{diagnosis.NoReference, "rnic0"}},
	}, {
		name: "a baseline that asks far too little",
		run: `
			rnic0 mem0 mem_local 20 rnic_pcie:rnic0,memory:mem0 : 195
			rnic0 mem1 mem_local 20 rnic_pcie:rnic0,memory:mem1 : 31`,
		want: []finding{{diagnosis.BaselineStale, "rnic0"}},
	}, {
		name: "one path above its baseline is luck",
		run: `
			rnic0 mem0 mem_local 20 rnic_pcie:rnic0,memory:mem0 : 195
			rnic0 mem1 mem_local 20 rnic_pcie:rnic0,memory:mem1 : 29`,
		want: []finding{},
	}, {
		name: "the tool was the limit",
		run:  `rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100? 100? 100? 100? 100?`,
		want: []finding{{diagnosis.ToolLimited, "rnic0"}},
	}, {
		name: "an RNIC that could not be measured",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : !device_removed
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : !device_removed`,
		want: []finding{{diagnosis.RNICUnmeasured, "rnic0"}},
	}, {
		name: "a run that ended first is no fact about the RNIC",
		run: `
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : !cancelled
			rnic0 mem1 mem_local* 195 rnic_pcie:rnic0,memory:mem1 : `,
		want: []finding{},
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result := analyzer.Analyze(describe(t, c.run))
			assert.Empty(t, blames(result))
			got := []finding{}
			for _, f := range result.Findings {
				entry, ok := diagnosis.Lookup(f.Code)
				assert.True(t, ok && entry.Finding, f.Code)
				assert.NotEmpty(t, f.Summary)
				assert.NotEmpty(t, f.Evidence)
				assert.NotEmpty(t, f.Hint)
				got = append(got, finding{f.Code, f.Component})
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestCalibratedClassIsNotForgiven(t *testing.T) {
	in := describe(t, `
		rnic0 mem0 mem_local* 195   rnic_pcie:rnic0,memory:mem0   : 195
		rnic0 gpu0 sys        116.4 rnic_pcie:rnic0,gpu_pcie:gpu0 : 60 60 60
		rnic0 gpu1 sys        116.4 rnic_pcie:rnic0,gpu_pcie:gpu1 : 61 61 61`)
	for key, e := range in.Baselines {
		e.Source = baseline.SourceCalibration
		in.Baselines[key] = e
	}
	assert.Len(t, analyzer.Analyze(in).Diagnoses, 2)
}

func TestSummarySaysHowSureItIs(t *testing.T) {
	for name, c := range map[string]struct{ run, says string }{
		"one hop explains it": {`
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0   : 195
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,gpu_pcie:gpu0 : 100 100 100`, "it is the likeliest hop to explain it"},
		"two hops explain it": {`
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0               : 195
			rnic0 gpu0 pix*       195 rnic_pcie:rnic0,switch:s0,gpu_pcie:gpu0 : 100 100 100`, "it is one of 2 explanations that fit equally well"},
		"an only close path": {`
			rnic0 mem0 mem_local* 195 rnic_pcie:rnic0,memory:mem0 : 100 100 100
			rnic1 mem0 mem_local* 195 rnic_pcie:rnic1,memory:mem0 : 195`, "the only close path of rnic0 is slow"},
	} {
		t.Run(name, func(t *testing.T) {
			diagnoses := analyzer.Analyze(describe(t, c.run)).Diagnoses
			if assert.Len(t, diagnoses, 1) {
				assert.Contains(t, diagnoses[0].Summary, c.says)
			}
		})
	}
}
