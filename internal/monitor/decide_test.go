package monitor

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecide(t *testing.T) {
	at := func(id string, utilization float64) Load { return Load{ID: id, Utilization: &utilization} }
	unread := func(id, why string) Load { return Load{ID: id, Problem: errors.New(why)} }
	cases := []struct {
		name        string
		rnics, gpus []Load
		state       IdleState
		reasons     []string
	}{
		{"nothing moves", []Load{at("rnic0", 0), at("rnic1", 0.049)}, []Load{at("gpu0", 0)}, Idle, []string{}},
		{"no GPU is no obstacle", []Load{at("rnic0", 0)}, nil, Idle, []string{}},
		{"the threshold itself is busy", []Load{at("rnic0", 0.05)}, nil, Busy,
			[]string{"rnic0: busy for 5.0 % of line rate; idle is below 5.0 %"}},
		{"one busy GPU", []Load{at("rnic0", 0)}, []Load{at("gpu0", 0), at("gpu1", 0.87)}, Busy,
			[]string{"gpu1: busy for 87.0 % of its time; idle is below 5.0 %"}},
		{"unknown is not idle", []Load{at("rnic0", 0), unread("rnic1", "no counters")}, nil, Unknown,
			[]string{"rnic1: no counters (source rnic_port)"}},
		{"busy outweighs unknown, both are told", []Load{unread("rnic0", "no counters"), at("rnic1", 0.5)}, []Load{unread("gpu0", "no library")}, Busy,
			[]string{"rnic0: no counters (source rnic_port)", "rnic1: busy for 50.0 % of line rate; idle is below 5.0 %", "gpu0: no library (source gpu)"}},
		{"a load without figure or problem", []Load{{ID: "rnic0"}}, nil, Unknown, []string{"rnic0: its load is not known (source rnic_port)"}},
		{"no RNIC to look at", nil, []Load{at("gpu0", 0)}, Unknown, []string{"no usable RNIC whose traffic could be read"}},
		{"not a number is not idle", []Load{at("rnic0", math.NaN())}, nil, Busy, []string{"rnic0: busy for NaN % of line rate; idle is below 5.0 %"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Decide(c.rnics, c.gpus, DefaultThresholds())
			assert.Equal(t, c.state, got.State)
			assert.Equal(t, c.reasons, got.Reasons)
			require.Len(t, got.RNICs, len(c.rnics))
			require.Len(t, got.GPUs, len(c.gpus))
			assert.NotNil(t, got.RNICs, "lists are [] in JSON")
			assert.NotNil(t, got.GPUs, "lists are [] in JSON")
			for i, load := range c.rnics {
				assert.Equal(t, load.ID, got.RNICs[i].ID)
				assert.Equal(t, load.Utilization == nil, got.RNICs[i].Busy == nil, "busy is unknown exactly when the load is")
			}
		})
	}
}
