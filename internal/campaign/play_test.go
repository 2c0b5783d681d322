package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/cli"
	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/report"
)

// topologies is where the hosts are.
var topologies = filepath.Join("..", "..", "testdata", "topologies")

// hostsOf loads hosts by name.
func hostsOf(t testing.TB, names ...string) (hosts []*host) {
	t.Helper()
	for _, name := range names {
		h, err := loadHost(topologies, name)
		require.NoError(t, err)
		hosts = append(hosts, h)
	}
	return hosts
}

// scenes draws the first n scenes of each of the rows.
func scenes(t *testing.T, n uint64, rows ...row) (list []scene) {
	t.Helper()
	for _, r := range rows {
		c, err := newCases(r)
		require.NoError(t, err)
		for i := range n {
			list = append(list, c.scene(1, i))
		}
	}
	return list
}

// rowsOf is every row over the hosts.
func rowsOf(hosts []*host) []row { return newCampaign(hosts, 1, budget{}).rows }

// TestPlayReadsAsTheEngineDoes plays scenes of every row, and lets engine.Run
// do the same work: the outcomes are equal, read for read.
func TestPlayReadsAsTheEngineDoes(t *testing.T) {
	again := 0
	for _, s := range scenes(t, 2, rowsOf(hostsOf(t, "fig2", "hgx-h100"))...) {
		in, _, err := s.play()
		require.NoError(t, err)
		simulated, err := s.simulate()
		require.NoError(t, err)
		measured := engine.Run(t.Context(), s.host.plans[s.mode], simulated, analyzer.NewJudge(s.facts(simulated)), engine.Options{})
		require.Equal(t, engine.EndCompleted, measured.EndReason)
		require.Equal(t, measured.Outcomes, in.Outcomes, "%v", s)
		for _, o := range in.Outcomes {
			if len(o.Reads) > 1 {
				again++
			}
		}
	}
	require.Positive(t, again, "no path was read again: the test shows too little")
}

// TestCommandRepeatsARun runs the command that a scene names, and finds the
// diagnoses that the campaign counted.
func TestCommandRepeatsARun(t *testing.T) {
	hosts := hostsOf(t, "fig2", "hgx-h100", "rome-nps4")
	blamed := 0
	for _, s := range scenes(t, 1, rowsOf(hosts)...) {
		_, result, err := s.play()
		require.NoError(t, err)
		require.Equal(t, answerOf(result).blamed, blamedByCommand(t, s), "%v", s)
		blamed += len(result.Diagnoses)
	}
	require.Positive(t, blamed)
}

func blamedByCommand(t *testing.T, s scene) explanation {
	t.Helper()
	words := strings.Fields(s.String())
	require.Equal(t, "hostpingctl", words[0])
	var stdout, stderr bytes.Buffer
	env := cli.Env{Stdout: &stdout, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
	code := cli.Hostpingctl(context.Background(), env, append(words[1:], "--format", "json"))
	require.Contains(t, []int{cli.ExitHealthy, cli.ExitDiagnosed, cli.ExitInconclusive}, code, "%v: %s", s, stderr.String())
	var r report.Report
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &r), fmt.Sprint(s))
	return answerOf(analyzer.Result{Diagnoses: r.Diagnoses}).blamed
}
