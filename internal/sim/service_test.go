package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/monitor"
	"github.com/yuuki/hostping/internal/topology"
)

func TestServiceTrafficTakesItsShare(t *testing.T) {
	for _, c := range []struct {
		name           string
		busy           []Busy
		faults         []string
		rnic, endpoint string
		want           float64 // Gb/s that a probe gets
	}{
		// 195 of the RNIC less 60 of its own traffic.
		{"the RNIC itself, close GPU", []Busy{{"rnic0", 0.3}}, nil, "rnic0", "gpu0", 135},
		{"the RNIC itself, remote memory", []Busy{{"rnic0", 0.3}}, nil, "rnic0", "mem1", 135},
		{"more of it", []Busy{{"rnic0", 0.6}}, nil, "rnic0", "gpu0", 75},
		{"all of it leaves the tenth of a starved queue", []Busy{{"rnic0", 1}}, nil, "rnic0", "gpu0", 19.5},
		{"none of it", []Busy{{"rnic0", 0}}, nil, "rnic0", "gpu0", 195},
		{"another RNIC, nothing shared", []Busy{{"rnic0", 0.6}}, nil, "rnic1", "gpu2", 195},
		{"another RNIC, memory is wide", []Busy{{"rnic0", 0.6}}, nil, "rnic1", "mem0", 195},
		// mem0 carries 120; rnic0 puts a quarter of its 60 there.
		{"another RNIC, a sick memory is shared", []Busy{{"rnic0", 0.3}}, []string{"memory:mem0"}, "rnic1", "mem0", 105},
		{"a sick link of its own GPU is shared", []Busy{{"rnic2", 0.6}}, []string{"gpu_pcie:gpu4=0.6"}, "rnic2", "gpu4", 50},
		{"that RNIC's other paths", []Busy{{"rnic2", 0.6}}, []string{"gpu_pcie:gpu4=0.6"}, "rnic2", "gpu5", 75},
		// Four RNICs want 30 each of a memory that carries 80.
		{"a memory used up by all RNICs", []Busy{{"rnic0", 0.6}, {"rnic1", 0.6}, {"rnic2", 0.6}, {"rnic3", 0.6}},
			[]string{"memory:mem0=0.6"}, "rnic0", "mem0", 8},
		// Of 277.6 kbit outstanding the traffic holds 15 x (1 + 1.2 + 2.2 + 2.2).
		{"the window of reads is shared", []Busy{{"rnic0", 0.3}}, []string{"acs:all"}, "rnic0", "gpu0", (277.6 - 99) / 2.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			topo := Fig2()
			h := quiet(t, topo, Options{Busy: c.busy, Faults: faults(t, topo, c.faults...)})
			require.InDelta(t, c.want, read(t, h, c.rnic, c.endpoint).BandwidthGbps, 1e-6)
		})
	}
}

// The matrix of Fig. 10a: an idle RNIC is judged by the baseline, a busy one
// by its own fastest path.
func TestMatrixOfFig10a(t *testing.T) {
	topo, set := marked(Fig2())
	h := quiet(t, topo, Options{Busy: []Busy{{"rnic2", 0.6}}, Faults: faults(t, topo, "gpu_pcie:gpu4=0.6")})
	rows := map[string]string{}
	for _, p := range topo.Paths {
		cell := "."
		switch got := read(t, h, p.RNIC, p.Endpoint).BandwidthGbps; {
		case !p.Close:
		case p.RNIC == "rnic2":
			if got < 0.8*read(t, h, "rnic2", "mem1").BandwidthGbps {
				cell = "A"
			}
		case got < 0.8**set[p.Key()].BandwidthGbps:
			cell = "A"
		default:
			cell = "N"
		}
		rows[p.RNIC] += cell
	}
	require.Equal(t, "NNNN...... NN..NN.... ......A... NN......NN",
		strings.Join([]string{rows["rnic0"], rows["rnic1"], rows["rnic2"], rows["rnic3"]}, " "))
}

func TestShareOutIsMaxMinFair(t *testing.T) {
	p := &physics{
		capacityGbps: map[string]float64{"narrow": 30, "wide": 100},
		nics:         map[string]nic{"a": {sendGbps: 100}, "b": {sendGbps: 100}, "c": {sendGbps: 15}},
	}
	flowOf := func(rnic string, demandGbps float64, hops ...string) *flow {
		return &flow{rnic: rnic, hops: hops, stages: append([]string{sender(rnic)}, hops...), demandGbps: demandGbps}
	}
	flows := []*flow{
		flowOf("a", 5, "narrow", "wide"),   // has its demand
		flowOf("a", 50, "narrow", "wide"),  // shares what is left of narrow
		flowOf("b", 50, "narrow", "wide"),  // as much
		flowOf("b", 200, "wide"),           // the rest of wide, not of its RNIC
		flowOf("c", 40, "elsewhere"),       // what its RNIC sends
		flowOf("a", 7, "unknown capacity"), // does not limit
	}
	p.shareOut(flows)
	var got []float64
	for _, f := range flows {
		got = append(got, f.gbps)
	}
	require.InDeltaSlice(t, []float64{5, 12.5, 12.5, 70, 15, 7}, got, 1e-6)
}

func TestParseBusy(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Busy
		wantErr    string
	}{
		{"share by default", "rnic0", Busy{"rnic0", 0.3}, ""},
		{"share given", "rnic3=0.6", Busy{"rnic3", 0.6}, ""},
		{"all of it", "rnic1=1", Busy{"rnic1", 1}, ""},
		{"empty", "", Busy{}, `no RNIC "" that can be probed; it is one of rnic0, rnic1, rnic2, rnic3`},
		{"unknown", "rnci1", Busy{}, `no RNIC "rnci1" that can be probed; did you mean rnic1?`},
		{"too much", "rnic0=1.1", Busy{}, `share "1.1" is not a number from 0 to 1`},
		{"less than nothing", "rnic0=-1", Busy{}, `share "-1" is not a number from 0 to 1`},
		{"no number", "rnic0=half", Busy{}, `share "half" is not a number from 0 to 1`},
		{"not a number", "rnic0=nan", Busy{}, `share "nan" is not a number from 0 to 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseBusy(c.text, Fig2())
			if c.wantErr != "" {
				require.EqualError(t, err, c.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestIdleSeesServiceTraffic(t *testing.T) {
	for _, c := range []struct {
		name   string
		busy   []Busy
		faults []string
		limits monitor.Thresholds
		want   monitor.IdleState
		rnic0  float64 // utilisation
	}{
		{"idle", nil, nil, monitor.DefaultThresholds(), monitor.Idle, 0},
		{"a fault is no traffic", nil, []string{"rnic_pcie:rnic0"}, monitor.DefaultThresholds(), monitor.Idle, 0},
		{"busy", []Busy{{"rnic0", 0.3}}, nil, monitor.DefaultThresholds(), monitor.Busy, 0.3},
		{"a little traffic is idle", []Busy{{"rnic0", 0.04}}, nil, monitor.DefaultThresholds(), monitor.Idle, 0.04},
		{"the threshold decides", []Busy{{"rnic0", 0.04}}, nil, monitor.Thresholds{RNIC: 0.03, GPU: 1}, monitor.Busy, 0.04},
		{"only what gets through counts", []Busy{{"rnic0", 0.6}}, []string{"rnic_pcie:rnic0=0.6"}, monitor.DefaultThresholds(), monitor.Busy, 0.4},
	} {
		t.Run(c.name, func(t *testing.T) {
			topo := Fig2()
			h := quiet(t, topo, Options{Busy: c.busy, Faults: faults(t, topo, c.faults...)})
			got := h.Idle(c.limits)
			require.Equal(t, c.want, got.State, "%v", got.Reasons)
			require.Len(t, got.RNICs, 4)
			require.Len(t, got.GPUs, 8)
			require.InDelta(t, c.rnic0, *got.RNICs[0].Utilization, 1e-9)
			require.InDelta(t, 0, *got.RNICs[1].Utilization, 1e-9)
		})
	}
}

func TestSettingsFollowTheFaults(t *testing.T) {
	topo := Fig2()
	h := quiet(t, topo, Options{Faults: faults(t, topo, "acs:low1", "ats:rnic2", "slow_start:rnic0", "tx_window:rnic3")})
	require.Equal(t, map[string]bool{
		"low0": false, "low1": true, "low2": false, "low3": false,
		"up0": false, "up1": false, "up2": false, "up3": false,
	}, h.P2P().ACS)
	require.Equal(t, map[string]bool{"rnic0": true, "rnic1": true, "rnic2": false, "rnic3": true}, h.P2P().ATS)
	settings := h.RNICConfig()
	require.Len(t, settings, 4)
	for rnic, want := range map[string][2]bool{"rnic0": {true, false}, "rnic1": {false, false}, "rnic2": {false, false}, "rnic3": {false, true}} {
		require.Equal(t, want, [2]bool{*settings[rnic].SlowStart, *settings[rnic].SmallTxWindow}, rnic)
	}

	rare := quiet(t, topo, Options{Faults: faults(t, topo, "acs:all", "ats:all")})
	for id, on := range rare.P2P().ACS {
		require.True(t, on, id)
	}
	for id, on := range rare.P2P().ATS {
		require.False(t, on, id)
	}
}

func TestSourcesSayWhatIsNotSimulated(t *testing.T) {
	states := map[string]monitor.SourceState{}
	for _, s := range quiet(t, Fig2(), Options{}).Sources() {
		states[s.Name] = s.State
		require.Equal(t, s.State != monitor.SourceOK, s.Reason != "", s.Name)
	}
	require.Equal(t, map[string]monitor.SourceState{
		"rnic_port": "ok", "gpu": "ok", "pcie": "ok", "rnic_config": "ok",
		"rnic_pause": "ok", "rnic_drops": "ok", "rnic_errors": "unavailable",
		"memory_bus": "ok", "inter_socket_bus": "ok",
	}, states)
	for _, s := range quiet(t, topology.Topology{RNICs: Fig2().RNICs}, Options{}).Sources() {
		missing := slices.Contains([]string{"gpu", "memory_bus", "inter_socket_bus"}, s.Name)
		require.Equal(t, missing, s.State == monitor.SourceUnavailable && states[s.Name] == monitor.SourceOK, s.Name)
	}
}
