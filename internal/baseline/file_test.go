package baseline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/document"
	"github.com/yuuki/hostping/internal/topology"
)

// host is two RNICs, each with its own memory, remote memory and a GPU on its switch.
func host(change ...func(*baseline.Hardware)) baseline.Hardware {
	h := baseline.Hardware{Backend: "live", Platform: "GenuineIntel-6-143"}
	t := &h.Topology
	t.Schema = topology.SchemaID
	link := func(id string, kind topology.HopKind, speedGTs float64) {
		t.Hops = append(t.Hops, topology.Hop{ID: id, Kind: kind, ExpectedSpeedGTs: new(speedGTs), ExpectedWidth: new(16),
			CapacityGbps: new(topology.PCIeCapacityGbps(speedGTs, 16))})
	}
	for i := range 2 {
		rnic, gpu := fmt.Sprintf("mlx5_%d", i), fmt.Sprintf("gpu%d", i)
		t.RNICs = append(t.RNICs, topology.RNIC{ID: rnic, Name: rnic, Port: 1, Driver: "mlx5_core", Model: "15b3:1021",
			Role: topology.RoleRNIC, RateGbps: new(200.0), MTU: new(4096), Usable: true})
		t.GPUs = append(t.GPUs, topology.GPU{ID: gpu, Vendor: "nvidia", Model: "NVIDIA H100", Usable: true})
		t.MemoryNodes = append(t.MemoryNodes, topology.MemoryNode{ID: fmt.Sprintf("mem%d", i), NUMANode: i})
		link("rnic_pcie:"+rnic, topology.HopRNICPCIe, 32)
		link("gpu_pcie:"+gpu, topology.HopGPUPCIe, 16)
		t.Hops = append(t.Hops, topology.Hop{ID: fmt.Sprintf("memory:mem%d", i), Kind: topology.HopMemory})
	}
	for i := range 2 {
		for j := range 2 {
			class := topology.ClassMemLocal
			if i != j {
				class = topology.ClassMemRemote
			}
			t.Paths = append(t.Paths, topology.Path{RNIC: t.RNICs[i].ID, Endpoint: t.MemoryNodes[j].ID, Class: class,
				Hops: []string{"rnic_pcie:" + t.RNICs[i].ID, "memory:" + t.MemoryNodes[j].ID}})
		}
		t.Paths = append(t.Paths, topology.Path{RNIC: t.RNICs[i].ID, Endpoint: t.GPUs[i].ID, Class: topology.ClassPIX,
			Hops: []string{"rnic_pcie:" + t.RNICs[i].ID, "gpu_pcie:" + t.GPUs[i].ID}})
	}
	for _, c := range change {
		c(&h)
	}
	return h
}

// samples are the reads of a healthy host, scaled: n of each path.
func samples(h baseline.Hardware, scale float64, n int) map[topology.PathKey]baseline.Samples {
	all := map[topology.PathKey]baseline.Samples{}
	for _, p := range h.Topology.Paths {
		gbps, us := 190.0, 1.5
		switch p.Class {
		case topology.ClassMemRemote:
			gbps, us = 180, 1.75
		case topology.ClassPIX:
			gbps, us = 185, 2
		}
		var s baseline.Samples
		for i := range n {
			wobble := 1 + 0.01*float64(i-n/2)
			s.BandwidthGbps = append(s.BandwidthGbps, gbps*scale*wobble)
			s.LatencyUs = append(s.LatencyUs, us/scale*wobble)
		}
		all[p.Key()] = s
	}
	return all
}

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func calibration(name string) baseline.Calibration {
	return baseline.Calibration{
		Host: name, Tool: baseline.Tool{Version: "1.2.3", Revision: "abc"},
		StartedAt: day, FinishedAt: day.Add(time.Minute), Rounds: 5,
	}
}

func calibrated(t testing.TB, name string, h baseline.Hardware, scale float64) baseline.File {
	t.Helper()
	f, err := baseline.FromSamples(h, calibration(name), samples(h, scale, 5))
	require.NoError(t, err)
	return f
}

func encode(t testing.TB, f baseline.File) []byte {
	t.Helper()
	text, err := json.MarshalIndent(f, "", "  ")
	require.NoError(t, err)
	return bytes.ReplaceAll(text, []byte(`"accepted_asymmetry": null`), []byte(`"accepted_asymmetry": []`))
}

func TestFileHoldsWhatWasMeasured(t *testing.T) {
	f := calibrated(t, "node1", host(), 1)
	require.Len(t, f.Calibrations, 1)
	require.Equal(t, baseline.Fingerprint(host()), f.Calibrations[0].Fingerprint)
	var kinds []string
	for _, e := range f.Entries {
		kinds = append(kinds, e.Key.String())
		require.Len(t, e.Measured, 1)
		require.Equal(t, 2, e.Measured[0].Paths)
		require.Equal(t, 10, e.Measured[0].Bandwidth.Samples)
	}
	require.Equal(t, []string{
		"class=mem_local endpoint=memory role=rnic driver=mlx5_core rnic_model=15b3:1021 rate_gbps=200 mtu_bytes=4096 pcie_speed_gts=32 pcie_width=16 platform=GenuineIntel-6-143",
		"class=mem_remote endpoint=memory role=rnic driver=mlx5_core rnic_model=15b3:1021 rate_gbps=200 mtu_bytes=4096 pcie_speed_gts=32 pcie_width=16 platform=GenuineIntel-6-143",
		`class=pix endpoint=gpu gpu_vendor=nvidia gpu_model="NVIDIA H100" role=rnic driver=mlx5_core rnic_model=15b3:1021 rate_gbps=200 mtu_bytes=4096 pcie_speed_gts=16 pcie_width=16 platform=GenuineIntel-6-143`,
	}, kinds)
	local := f.Entries[0].Measured[0].Bandwidth
	require.InDelta(t, 190, local.Median, 1e-9)
	require.InDelta(t, 190*0.98, local.Min, 1e-9)
	require.InDelta(t, 190*1.02, local.Max, 1e-9)
	require.InDelta(t, 1.4826*0.01, *local.SpreadShare, 1e-9)
}

func TestFileReadsBackAsItWasAndMatchesItsSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("../../docs/baseline.schema.json")
	require.NoError(t, err)
	lag := func(h *baseline.Hardware) { h.Topology.RNICs[0].LAGPorts = new(2) }
	software := func(h *baseline.Hardware) {
		h.Topology.RNICs[1].Role, h.Topology.RNICs[1].Driver, h.Topology.RNICs[1].RateGbps = topology.RoleSoftware, "rdma_rxe", new(2.5)
	}
	merged, err := baseline.Merge(baseline.Tool{Version: "1"}, []baseline.NamedFile{
		{Name: "a", File: calibrated(t, "node1", host(), 1)}, {Name: "b", File: calibrated(t, "node2", host(lag, software), 1.1)},
	})
	require.NoError(t, err)
	few, err := baseline.FromSamples(host(), calibration("node3"), samples(host(), 1, 1))
	require.NoError(t, err)
	require.Nil(t, few.Entries[0].Measured[0].Latency.SpreadShare, "two samples have no spread to speak of")
	for name, f := range map[string]baseline.File{"one host": calibrated(t, "node 1", host(), 1), "merged": merged, "few samples": few} {
		t.Run(name, func(t *testing.T) {
			text := encode(t, f)
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(value))
			again, err := baseline.Parse(text)
			require.NoError(t, err)
			require.Equal(t, string(text), string(encode(t, again)))
		})
	}
}

// A path without samples, as one whose reads the tool itself limited, adds nothing.
func TestPathsWithoutSamples(t *testing.T) {
	h := host()
	s := samples(h, 1, 5)
	delete(s, topology.PathKey{RNIC: "mlx5_0", Endpoint: "gpu0"})
	delete(s, topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem1"})
	delete(s, topology.PathKey{RNIC: "mlx5_1", Endpoint: "mem0"})
	f, err := baseline.FromSamples(h, calibration("node1"), s)
	require.NoError(t, err)
	paths := map[topology.Class]int{}
	for _, e := range f.Entries {
		paths[e.Key.Class] = e.Measured[0].Paths
	}
	require.Equal(t, map[topology.Class]int{topology.ClassMemLocal: 2, topology.ClassPIX: 1}, paths)

	_, err = baseline.FromSamples(h, calibration("node1"), nil)
	require.ErrorContains(t, err, "entries: is empty")
}

func TestKeyHoldsWhatDecides(t *testing.T) {
	rnic := func(change func(*topology.RNIC)) func(*baseline.Hardware) {
		return func(h *baseline.Hardware) {
			for i := range h.Topology.RNICs {
				change(&h.Topology.RNICs[i])
			}
		}
	}
	same := baseline.Fingerprint(host())
	for name, c := range map[string]struct {
		change func(*baseline.Hardware)
		same   bool
	}{
		"nothing":               {func(*baseline.Hardware) {}, true},
		"names":                 {rnic(func(r *topology.RNIC) { r.Name, r.PCI = "roce0", "0000:01:00.0" }), true},
		"firmware":              {rnic(func(r *topology.RNIC) { r.FWVersion = "28.41" }), true},
		"read request size":     {rnic(func(r *topology.RNIC) { r.MaxReadRequest = new(512) }), true},
		"a link trained down":   {func(h *baseline.Hardware) { h.Topology.Hops[0].SpeedGTs, h.Topology.Hops[0].Width = new(2.5), new(1) }, true},
		"a wide link is wider":  {func(h *baseline.Hardware) { h.Topology.Hops[0].ExpectedSpeedGTs = new(64.0) }, false},
		"rate":                  {rnic(func(r *topology.RNIC) { r.RateGbps = new(400.0) }), false},
		"rate unknown":          {rnic(func(r *topology.RNIC) { r.RateGbps = nil }), false},
		"MTU":                   {rnic(func(r *topology.RNIC) { r.MTU = new(1024) }), false},
		"LAG":                   {rnic(func(r *topology.RNIC) { r.LAGPorts = new(2) }), false},
		"model":                 {rnic(func(r *topology.RNIC) { r.Model = "15b3:101b" }), false},
		"driver":                {rnic(func(r *topology.RNIC) { r.Driver = "bnxt_re" }), false},
		"GPU":                   {func(h *baseline.Hardware) { h.Topology.GPUs[0].Model = "NVIDIA A100" }, false},
		"memory alone":          {func(h *baseline.Hardware) { h.Topology.MemoryNodes[1].Kind = topology.MemoryOnly }, false},
		"memory of known kind":  {func(h *baseline.Hardware) { h.Topology.MemoryNodes[1].Kind = topology.MemoryWithCPUs }, true},
		"platform":              {func(h *baseline.Hardware) { h.Platform = "AuthenticAMD-25-17" }, false},
		"class":                 {func(h *baseline.Hardware) { h.Topology.Paths[0].Class = topology.ClassMemSocket }, false},
		"simulated":             {func(h *baseline.Hardware) { h.Backend = "sim" }, false},
		"another path":          {func(h *baseline.Hardware) { h.Topology.Paths = h.Topology.Paths[1:] }, false},
		"the GPU's narrow link": {func(h *baseline.Hardware) { h.Topology.Hops[1].ExpectedWidth = new(8) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.same, same == baseline.Fingerprint(host(c.change)))
		})
	}
}

func TestApply(t *testing.T) {
	file := calibrated(t, "node1", host(), 1)
	t.Run("a like host", func(t *testing.T) {
		h := host(func(h *baseline.Hardware) { // the names do not matter
			for i := range h.Topology.RNICs {
				h.Topology.RNICs[i].ID = fmt.Sprintf("roce%d", i)
				h.Topology.Hops[3*i].ID = fmt.Sprintf("rnic_pcie:roce%d", i)
			}
			for i := range h.Topology.Paths {
				p := &h.Topology.Paths[i]
				p.RNIC = strings.Replace(p.RNIC, "mlx5_", "roce", 1)
				p.Hops[0] = "rnic_pcie:" + p.RNIC
			}
		})
		set, findings, err := file.Apply("fleet.json", h)
		require.NoError(t, err)
		require.Empty(t, findings)
		require.Len(t, set, 6)
		e := set[topology.PathKey{RNIC: "roce0", Endpoint: "mem1"}]
		require.Equal(t, baseline.SourceCalibration, e.Source)
		require.InDelta(t, 180, *e.BandwidthGbps, 1e-9)
		require.InDelta(t, 1.75, *e.LatencyUs, 1e-9, "a calibrated latency is absolute")
		require.InDelta(t, 0.2, *e.LatencyAboveCloseUs, 1e-9)
		require.InDelta(t, 0.0148, *e.SpreadShare, 1e-3)
		require.Equal(t, "fleet.json: calibrated on node1, 10 reads, 2026-03-04", e.Rule)

		baseline.MarkClose(&h.Topology, set)
		for _, p := range h.Topology.Paths {
			require.True(t, p.Close, "%v reaches 0.9 of line rate", p.Key())
		}
	})
	t.Run("one RNIC is unlike", func(t *testing.T) {
		h := host(func(h *baseline.Hardware) { h.Topology.RNICs[1].MTU = new(1024) })
		set, findings, err := file.Apply("fleet.json", h)
		require.NoError(t, err)
		require.Len(t, findings, 1)
		require.Equal(t, "baseline_incomplete", string(findings[0].Code))
		require.Equal(t, "mlx5_1", findings[0].Component)
		require.Equal(t, "3 paths of mlx5_1 have no entry in fleet.json and are judged by the defaults: mtu_bytes is 1024 here and 4096 in the file", findings[0].Summary)
		require.Equal(t, []string{"mlx5_1→mem0,mem1,gpu1: mtu_bytes is 1024 here and 4096 in the file"}, findings[0].Evidence, "one line for what they share")
		e := set[topology.PathKey{RNIC: "mlx5_1", Endpoint: "mem1"}]
		require.Equal(t, baseline.SourceDefault, e.Source)
		require.Contains(t, e.Rule, "fleet.json has no entry")
		require.Equal(t, baseline.SourceCalibration, set[topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem0"}].Source)
	})
	t.Run("one that cannot be probed is nothing to tell", func(t *testing.T) {
		_, findings, err := file.Apply("fleet.json", host(func(h *baseline.Hardware) {
			h.Topology.RNICs[1].MTU, h.Topology.RNICs[1].Usable = new(1024), false
		}))
		require.NoError(t, err)
		require.Empty(t, findings)
	})
	for name, c := range map[string]struct {
		change func(*baseline.Hardware)
		want   string
	}{
		"another rate and MTU": {func(h *baseline.Hardware) {
			for i := range h.Topology.RNICs {
				h.Topology.RNICs[i].RateGbps, h.Topology.RNICs[i].MTU = new(400.0), nil
			}
		}, "the file does not fit this hardware: rate_gbps is 400 here and 200 in the file, mtu_bytes is unknown here and 4096 in the file; calibrate on a host of this kind"},
		"another platform": {func(h *baseline.Hardware) { h.Platform = "AuthenticAMD-25-17" },
			"platform is AuthenticAMD-25-17 here and GenuineIntel-6-143 in the file"},
		"a LAG": {func(h *baseline.Hardware) {
			h.Topology.RNICs[0].LAGPorts, h.Topology.RNICs[1].LAGPorts = new(2), new(2)
		}, "lag_ports is 2 here and none in the file"},
		"simulated": {func(h *baseline.Hardware) { h.Backend = "sim" }, "the file holds live hosts and this one is sim"},
		"no path":   {func(h *baseline.Hardware) { h.Topology.Paths = nil }, "this host has no path"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := file.Apply("fleet.json", host(c.change))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestAsymmetries(t *testing.T) {
	h := host()
	slow := topology.PathKey{RNIC: "mlx5_1", Endpoint: "mem1"}
	for name, c := range map[string]struct {
		share float64
		want  []string
	}{
		"healthy":      {1, nil},
		"a bit slower": {0.85, nil},
		"sick":         {0.6, []string{"mlx5_1→mem1 carries 114 Gb/s, its like mlx5_0→mem0 190"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := samples(h, 1, 5)
			for i := range s[slow].BandwidthGbps {
				s[slow].BandwidthGbps[i] *= c.share
			}
			require.Equal(t, c.want, baseline.Asymmetries(h, s, 0.2))
		})
	}
	t.Run("one wild read is no asymmetry", func(t *testing.T) {
		s := samples(h, 1, 5)
		s[slow].BandwidthGbps[0] = 10
		require.Empty(t, baseline.Asymmetries(h, s, 0.2))
	})
	t.Run("paths to GPUs that all detour", func(t *testing.T) {
		s := samples(h, 1, 5)
		for _, p := range h.Topology.Paths {
			if p.Class == topology.ClassPIX {
				for i := range s[p.Key()].BandwidthGbps {
					s[p.Key()].BandwidthGbps[i] *= 0.65
				}
			}
		}
		require.Equal(t, []string{"class pix carries 120 Gb/s, 62 % of the default expectation, and class mem_local 97 %"}, baseline.Asymmetries(h, s, 0.2))
	})
	t.Run("a slow slot explains a slow class", func(t *testing.T) {
		slow := host(func(h *baseline.Hardware) {
			for i := range h.Topology.GPUs {
				h.Topology.Hops[3*i+1].ExpectedSpeedGTs, h.Topology.Hops[3*i+1].CapacityGbps = new(8.0), new(126.0)
			}
		})
		s := samples(slow, 1, 5)
		for _, p := range slow.Topology.Paths {
			if p.Class == topology.ClassPIX {
				for i := range s[p.Key()].BandwidthGbps {
					s[p.Key()].BandwidthGbps[i] *= 0.57 // some 106 Gb/s of payload
				}
			}
		}
		require.Empty(t, baseline.Asymmetries(slow, s, 0.2))
	})
	t.Run("what all share shows against the defaults alone", func(t *testing.T) {
		s := samples(h, 0.5, 5)
		require.Empty(t, baseline.Asymmetries(h, s, 0.2))
		require.Equal(t, []string{
			"class mem_local (2 paths) carries 95 Gb/s, 49 % of the default expectation",
			"class mem_remote (2 paths) carries 90 Gb/s, 46 % of the default expectation",
			"class pix (2 paths) carries 92.5 Gb/s, 47 % of the default expectation",
		}, baseline.BelowDefault(h, s, 0.2))
		require.Empty(t, baseline.BelowDefault(h, samples(h, 1, 5), 0.2))
	})
}

// one merges into a set for the path of a host.
func bandwidth(t testing.TB, f baseline.File) float64 {
	t.Helper()
	set, _, err := f.Apply("x", host())
	require.NoError(t, err)
	return *set[topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem0"}].BandwidthGbps
}

func merge(t testing.TB, files ...baseline.File) baseline.File {
	t.Helper()
	var named []baseline.NamedFile
	for i, f := range files {
		named = append(named, baseline.NamedFile{Name: fmt.Sprintf("%d.json", i), File: f})
	}
	merged, err := baseline.Merge(baseline.Tool{Version: "1"}, named)
	require.NoError(t, err)
	return merged
}

func TestOneSickHostInTenDoesNotMoveTheBaseline(t *testing.T) {
	for _, sick := range []float64{0.05, 0.5, 1.8} {
		var files []baseline.File
		for i := range 10 {
			scale := 0.985 + 0.003*float64(i)
			if i == 4 {
				scale = sick
			}
			files = append(files, calibrated(t, fmt.Sprintf("node%d", i), host(), scale))
		}
		healthy := bandwidth(t, merge(t, slices.Delete(slices.Clone(files), 4, 5)...))
		merged := merge(t, files...)
		require.InEpsilon(t, healthy, bandwidth(t, merged), 0.005, "scale %v", sick)
		set, _, err := merged.Apply("fleet.json", host())
		require.NoError(t, err)
		e := set[topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem0"}]
		require.Equal(t, "fleet.json: the median of 10 hosts, 100 reads, 2026-03-04", e.Rule)
		require.Less(t, *e.SpreadShare, 0.04, "the spread does not follow the sick one either")
		if sick < 1 {
			outliers := merged.Outliers(0.2)
			require.Len(t, outliers, 1)
			require.Contains(t, outliers[0], "node4 at 2026-03-04T05:06:07Z: mem_local")
		}
	}
}

func TestMergeCountsHostsOnce(t *testing.T) {
	again := func(i int, scale float64) baseline.File {
		c := calibration("sick")
		c.StartedAt, c.FinishedAt = day.Add(time.Duration(i)*time.Hour), day.Add(time.Duration(i+1)*time.Hour)
		f, err := baseline.FromSamples(host(), c, samples(host(), scale, 5))
		require.NoError(t, err)
		return f
	}
	files := []baseline.File{again(0, 0.3), again(1, 0.3), again(2, 0.3), calibrated(t, "a", host(), 1), calibrated(t, "b", host(), 1)}
	require.InDelta(t, 190, bandwidth(t, merge(t, files...)), 1e-9, "three calibrations of one host are one voice")
}

func TestMergeOfUnlikeHostsServesBoth(t *testing.T) {
	fast := host(func(h *baseline.Hardware) {
		for i := range h.Topology.RNICs {
			h.Topology.RNICs[i].RateGbps = new(400.0)
		}
	})
	both := merge(t, calibrated(t, "slow", host(), 1), calibrated(t, "fast", fast, 2))
	require.Len(t, both.Entries, 6)
	require.InDelta(t, 190, bandwidth(t, both), 1e-9)
	set, findings, err := both.Apply("x", fast)
	require.NoError(t, err)
	require.Empty(t, findings)
	require.InDelta(t, 380, *set[topology.PathKey{RNIC: "mlx5_0", Endpoint: "mem0"}].BandwidthGbps, 1e-9)
	require.Empty(t, both.Outliers(0.2), "unlike hosts are not compared")
}

func TestMergeRefuses(t *testing.T) {
	one := calibrated(t, "node1", host(), 1)
	simulated := calibrated(t, "node2", host(func(h *baseline.Hardware) { h.Backend = "sim" }), 1)
	edited := calibrated(t, "node1", host(), 0.9)
	for name, c := range map[string]struct {
		files []baseline.NamedFile
		want  string
	}{
		"nothing":                         {nil, "no baseline file"},
		"live and simulated":              {[]baseline.NamedFile{{"a", one}, {"b", simulated}}, "a holds live hosts and b sim ones"},
		"two tales about one calibration": {[]baseline.NamedFile{{"a", one}, {"b", edited}}, "a and b tell different things about the calibration of node1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := baseline.Merge(baseline.Tool{}, c.files)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Whatever the files: merging is a union. Neither order nor grouping nor
// repetition changes it, and the figure lies among those of the healthy as
// long as these are the majority.
func TestMergeIsAUnion(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		hosts := 1 + random.IntN(12)
		sick := random.IntN((hosts + 1) / 2)
		var files []baseline.File
		for i := range hosts {
			scale := 0.95 + 0.1*random.Float64()
			if i < sick {
				scale = []float64{0.01, 0.5, 3}[random.IntN(3)]
			}
			files = append(files, calibrated(t, fmt.Sprintf("node%d", i), host(), scale))
		}
		whole := merge(t, files...)
		require.NoError(t, whole.Validate())
		require.GreaterOrEqual(t, bandwidth(t, whole), 190*0.95-1e-9, "round %d, %d of %d sick", round, sick, hosts)
		require.LessOrEqual(t, bandwidth(t, whole), 190*1.05+1e-9)

		shuffled := slices.Clone(files)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.Equal(t, whole, merge(t, shuffled...), "order")
		cut := random.IntN(hosts) + 1
		left := merge(t, files[:cut]...)
		require.Equal(t, whole, merge(t, append([]baseline.File{left}, files[cut:]...)...), "grouping")
		require.Equal(t, whole, merge(t, whole, files[0], whole), "repetition")
	}
}

// valid is a document to break.
func valid(t testing.TB) string { return string(encode(t, calibrated(t, "node1", host(), 1))) }

func TestParseRefuses(t *testing.T) {
	doc := valid(t)
	entry := `    {
      "key": {
        "class": "mem_local",`
	require.Contains(t, doc, entry)
	for name, c := range map[string]struct{ old, new, want string }{
		"cut off":                {doc[len(doc)-300:], "", "entries[2].measured[0]"},
		"future version":         {"hostping.baseline/v1", "hostping.baseline/v2", `schema: "hostping.baseline/v2" is not "hostping.baseline/v1": this version of hostping cannot read it`},
		"another document":       {"hostping.baseline/v1", "hostping.report/v1", `schema: "hostping.report/v1" is not "hostping.baseline/v1"; "hostpingctl calibrate"`},
		"no schema":              {`"schema": "hostping.baseline/v1",`, ``, `schema: is missing`},
		"a field too much":       {`"backend": "live",`, `"backend": "live", "note": 1,`, `note: is no field of`},
		"backend":                {`"backend": "live"`, `"backend": "dream"`, `backend: "dream" is none of live, sim`},
		"NaN":                    {`"median": 190`, `"median": NaN`, `entries[0].measured[0].bandwidth_gbps.median: is NaN, which is no number`},
		"infinity":               {`"median": 190`, `"median": 1e999`, `entries[0].measured[0].bandwidth_gbps.median: 1e999 is beyond any number`},
		"negative":               {`"median": 190`, `"median": -190`, `entries[0].measured[0].bandwidth_gbps.median: -190 is not above 0`},
		"zero":                   {`"median": 190`, `"median": 0`, `entries[0].measured[0].bandwidth_gbps.median: 0 is not above 0`},
		"absurd bandwidth":       {`"median": 190`, `"median": 19000`, `entries[0].measured[0].bandwidth_gbps.median: 19000 is not above 0 and at most 2000 Gb/s`},
		"absurd latency":         {`"median": 1.5,`, `"median": 2e9,`, `entries[0].measured[0].latency_us.median: 2e+09 is not above 0`},
		"a string for a number":  {`"median": 190`, `"median": "190"`, `entries[0].measured[0].bandwidth_gbps.median: is a text, not a number`},
		"null for a number":      {`"median": 190`, `"median": null`, `entries[0].measured[0].bandwidth_gbps.median: is null, not a number`},
		"median below min":       {`"median": 190`, `"median": 100`, `entries[0].measured[0].bandwidth_gbps.min: 186.2 is above the median`},
		"absurd spread":          {`"spread_share": `, `"spread_share": 7`, `entries[0].measured[0].bandwidth_gbps.spread_share`},
		"no samples":             {`"samples": 10`, `"samples": 0`, `entries[0].measured[0].bandwidth_gbps.samples: 0 is not between 1`},
		"a name twice":           {`"samples": 10`, `"samples": 10, "samples": 11`, `entries[0].measured[0].bandwidth_gbps.samples: is given twice`},
		"unknown class":          {`"class": "mem_local"`, `"class": "mem_loco"`, `entries[0].key.class: "mem_loco" is none of`},
		"two entries of one key": {`"class": "mem_remote"`, `"class": "mem_local"`, `entries[1].key: is the same as entries[0].key: class=mem_local`},
		"a memory path to a GPU": {`"endpoint": "memory"`, `"endpoint": "gpu"`, `entries[0].key.endpoint: "gpu" is not what class "mem_local" leads to`},
		"negative rate":          {`"rate_gbps": 200`, `"rate_gbps": -200`, `entries[0].key.rate_gbps: -200 is not above 0`},
		"absurd lanes":           {`"pcie_width": 16`, `"pcie_width": 1600`, `entries[0].key.pcie_width: 1600 is not between 1 and 32`},
		"no such calibration":    {`"calibration": 0`, `"calibration": 1`, `entries[0].measured[0].calibration: 1 is none of the 1 calibrations`},
		"a negative calibration": {`"calibration": 0`, `"calibration": -1`, `entries[0].measured[0].calibration: -1 is none`},
		"no rounds":              {`"rounds": 5`, `"rounds": 0`, `calibrations[0].rounds: 0 is not between 1`},
		"half a round":           {`"rounds": 5`, `"rounds": 2.5`, `calibrations[0].rounds: 2.5 is no whole number`},
		"no time":                {`"started_at": "2026-03-04T05:06:07Z"`, `"started_at": "yesterday"`, `calibrations[0]`},
		"time runs backwards":    {`"finished_at": "2026-03-04T05:07:07Z"`, `"finished_at": "2025-03-04T05:07:07Z"`, `calibrations[0].finished_at: lies before`},
		"no host":                {`"host": "node1"`, `"host": ""`, `calibrations[0].host: is empty`},
		"an escape sequence":     {`"host": "node1"`, `"host": "\u001b[31m"`, `calibrations[0].host: "\x1b[31m" holds a control character`},
		"fingerprint":            {`"fingerprint": "`, `"fingerprint": "x`, `calibrations[0].fingerprint`},
		"no calibrations":        {doc[strings.Index(doc, `"calibrations": [`):strings.Index(doc, `"entries"`)], `"calibrations": [], `, `calibrations: is empty`},
		"entries are an object":  {doc[strings.Index(doc, `"entries"`):], `"entries": {}}`, `entries: is an object, not a list`},
		"an unknown fact":        {`"class": "mem_local"`, `"class": "mem_local", "colour": "red"`, `entries[0].key.colour: is no field`},
		"an unknown measure":     {`"paths": 2`, `"paths": 2, "jitter": 1`, `entries[0].measured[0].jitter: is no field`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, doc, c.old, "the edit must apply")
			_, err := baseline.Parse([]byte(strings.Replace(doc, c.old, c.new, 1)))
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), c.want), "got %q\nwant %q", err, c.want)
			assert.NotContains(t, err.Error(), "\n")
			_, named := err.(*document.FieldError)
			assert.True(t, named, "%T", err)
		})
	}
	t.Run("a calibration twice", func(t *testing.T) {
		f := calibrated(t, "node1", host(), 1)
		f.Calibrations = append(f.Calibrations, f.Calibrations[0])
		_, err := baseline.Parse(encode(t, f))
		require.ErrorContains(t, err, "calibrations[1]: is the same as calibrations[0]: node1 at 2026-03-04T05:06:07Z")
	})
	t.Run("100 MB", func(t *testing.T) {
		_, err := baseline.Parse(make([]byte, 100<<20))
		require.ErrorContains(t, err, "the document is longer than 32 MiB")
	})
}

// Cut anywhere, a document is refused.
func TestParseRefusesEveryTruncation(t *testing.T) {
	doc := valid(t)
	for end := range len(doc) - 1 {
		_, err := baseline.Parse([]byte(doc[:end]))
		require.Error(t, err, "%d of %d bytes", end, len(doc))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(valid(f)))
	merged := merge(f, calibrated(f, "a", host(), 1), calibrated(f, "b", host(), 1.1))
	f.Add(encode(f, merged))
	f.Fuzz(func(t *testing.T, doc []byte) {
		file, err := baseline.Parse(doc)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := baseline.Parse(encode(t, file))
		require.NoError(t, err)
		require.Equal(t, string(encode(t, file)), string(encode(t, again)))
		set, _, err := file.Apply("x", host())
		if err == nil {
			for _, e := range maps.All(set) {
				require.True(t, e.BandwidthGbps == nil || *e.BandwidthGbps > 0)
			}
		}
		_ = file.Outliers(0.2)
	})
}
