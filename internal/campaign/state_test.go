package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/sim"
)

// TestResume interrupts a campaign after its first save and lets another one
// go on: the table is that of a campaign that was never interrupted.
func TestResume(t *testing.T) {
	hosts := hostsOf(t, "rome-nps4")
	b := budget{Healthy: 1500, Single: 1200, Pair: 700}
	rows := func(c *campaign) *campaign { // a few of them
		c.rows = slices.DeleteFunc(c.rows, func(r row) bool {
			return r.mode == engine.ModeBusy || r.noise == sim.NoiseHarsh || r.group.slight()
		})
		return c
	}
	table := func(c *campaign) string {
		var out bytes.Buffer
		require.NoError(t, c.writeTable(&out))
		return out.String()
	}
	whole := rows(newCampaign(hosts, 7, b))
	require.NoError(t, whole.run(t.Context()))

	name := filepath.Join(t.TempDir(), "folder", "state.json")
	for round := 0; ; round++ {
		require.Less(t, round, 100, "it never ends")
		c := rows(newCampaign(hosts, 7, b))
		require.NoError(t, c.keep(name))
		if c.missing() == 0 {
			require.Equal(t, table(whole), table(c))
			require.Equal(t, whole.state, c.state)
			require.GreaterOrEqual(t, round, 2)
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		saves := 0
		keep := c.after
		c.after = func(r row) error {
			if saves++; saves == 2 {
				cancel()
			}
			return keep(r)
		}
		require.NoError(t, c.run(ctx))
		cancel()
	}
	left, err := os.ReadDir(filepath.Dir(name))
	require.NoError(t, err)
	require.Len(t, left, 1, "no scratch file stays")
}

func TestStateOfAnotherCampaign(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"cut short", `{"schema":"hostping.camp`, "is no state of a campaign"},
		{"another schema", `{"schema":"hostping.campaign/v9","build":"b","seed":1}`, "is not \"hostping.campaign/v1\""},
		{"another build", `{"schema":"hostping.campaign/v1","build":"a","seed":1}`, "another build"},
		{"other rules", `{"schema":"hostping.campaign/v1","build":"b","seed":1,"plain":{"Noise":true}}`, "other rules left out"},
		{"another seed", `{"schema":"hostping.campaign/v1","build":"b","seed":2}`, "the state of seed 2, not 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "state.json")
			require.NoError(t, os.WriteFile(name, []byte(tt.text), 0o644))
			_, err := resume(name, "b", 1, analyzer.Plain{})
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	rows, err := resume(filepath.Join(t.TempDir(), "none"), "b", 1, analyzer.Plain{})
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestCommand(t *testing.T) {
	failures := filepath.Join(t.TempDir(), "failures.txt")
	var stdout, stderr bytes.Buffer
	args := []string{"-only", "^one fault.*/fig2/typical/idle", "-single", "100", "-seed", "3", "-failures", failures, "-topologies", topologies}
	require.NoError(t, command(t.Context(), args, &stdout, &stderr))
	require.Contains(t, stdout.String(), "seed 3\n")
	require.Equal(t, 2, strings.Count(stdout.String(), "| fig2 | typical | idle | 100 |"), stdout.String())
	text, err := os.ReadFile(failures)
	require.NoError(t, err)
	require.Contains(t, string(text), "hostpingctl diagnose --sim --fault ", "slight faults are not all exact")

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-only", "("}, "no regular expression"},
		{[]string{"fig2"}, `unexpected argument "fig2"`},
		{[]string{"-sed", "1"}, "-sed"},
		{[]string{"-without", "luck"}, "ambiguity, capacity, evidence, noise"},
		{[]string{"-topologies", "nowhere"}, "run this in the project's own folder"},
	} {
		require.ErrorContains(t, command(t.Context(), tt.args, &stdout, &stderr), tt.want)
	}
}
