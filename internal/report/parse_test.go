package report_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/report"
)

// document is the JSON form of a run.
func document(t testing.TB, in report.Input) []byte {
	t.Helper()
	r := report.Build(in)
	var out bytes.Buffer
	require.NoError(t, r.JSON(&out))
	return out.Bytes()
}

// edited is the document with one value changed. The place is that of the
// error message to come: "measurements[0].class".
func edited(t *testing.T, doc []byte, place string, change func(parent map[string]any, key string)) []byte {
	t.Helper()
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&root))
	var at any = root
	steps := strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(place), ".")
	for _, step := range steps[:len(steps)-1] {
		switch container := at.(type) {
		case map[string]any:
			at = container[step]
		case []any:
			index, err := strconv.Atoi(step)
			require.NoError(t, err)
			at = container[index]
		}
	}
	parent, ok := at.(map[string]any)
	require.True(t, ok, "%s lies in no object", place)
	change(parent, steps[len(steps)-1])
	text, err := json.Marshal(root)
	require.NoError(t, err)
	return text
}

func set(value any) func(map[string]any, string) {
	return func(parent map[string]any, key string) { parent[key] = value }
}

func remove(parent map[string]any, key string) { delete(parent, key) }

func number(text string) json.Number { return json.Number(text) }

func TestParseReadsWhatBuildWrites(t *testing.T) {
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			doc := document(t, in)
			r, err := report.Parse(doc)
			require.NoError(t, err)
			var again bytes.Buffer
			require.NoError(t, r.JSON(&again))
			require.Equal(t, string(doc), again.String())
		})
	}
}

// Every wrong value is refused with the field in front.
func TestParseNamesTheField(t *testing.T) {
	doc := document(t, cases()["faulty"])
	for name, c := range map[string]struct {
		place  string
		change func(map[string]any, string)
		says   string
	}{
		"future schema":               {"schema", set("hostping.report/v2"), `"hostping.report/v2" is not "hostping.report/v1"`},
		"another document":            {"schema", set("hostping.topology/v1"), `"hostping.topology/v1" is not`},
		"no schema":                   {"schema", remove, "is missing"},
		"missing list":                {"unmeasured", remove, "is missing"},
		"null list":                   {"hops", set(nil), "is null, not a list"},
		"list is an object":           {"hops", set(map[string]any{}), "is an object, not a list"},
		"object is a list":            {"run", set([]any{}), "is a list, not an object"},
		"object is a text":            {"host", set("node17"), "is a text, not an object"},
		"missing figure":              {"measurements[0].bandwidth_gbps", remove, "is missing"},
		"null figure":                 {"measurements[0].bandwidth_gbps", set(nil), "is null, not a number"},
		"figure is a text":            {"measurements[0].bandwidth_gbps", set("195"), "is a text, not a number"},
		"figure beyond any number":    {"measurements[0].bandwidth_gbps", set(number("1e999")), "1e999 is beyond any number"},
		"negative bandwidth":          {"measurements[2].bandwidth_gbps", set(-4), "-4 is negative"},
		"absurd bandwidth":            {"measurements[2].reads[0].bandwidth_gbps", set(1e7), "1e+07 is not between 0 and 100000"},
		"bandwidth is no read":        {"measurements[2].bandwidth_gbps", set(33), "33 is not the median of the path's reads, 120"},
		"latency is no read":          {"measurements[2].latency_us.p50", set(2.5), "2.5 is not the median"},
		"negative latency":            {"measurements[1].reads[0].latency_us.p50", set(-1), "-1 is negative"},
		"percentiles out of order":    {"measurements[1].reads[1].latency_us.p50", set(5), "is above p99"},
		"negative samples":            {"measurements[1].reads[0].latency_us.samples", set(-5), "-5 is negative"},
		"fraction of a sample":        {"measurements[1].reads[0].latency_us.samples", set(1.5), "1.5 is no whole number"},
		"bool is a number":            {"measurements[0].close", set(1), "is 1, not true or false"},
		"tool limit is a text":        {"measurements[0].reads[0].tool_limited", set("no"), "is a text, not true or false"},
		"class of another path":       {"measurements[0].class", set("sys"), `"sys" is not the class of this path`},
		"close of another path":       {"measurements[0].close", set(false), "in the topology it is true"},
		"unknown RNIC":                {"measurements[0].rnic", set("mlx5_9"), `"mlx5_9" is not listed`},
		"unknown endpoint":            {"measurements[0].endpoint", set("gpu9"), "is no path of the topology"},
		"path told of twice":          {"measurements[1].endpoint", set("mem0"), "mlx5_0→mem0 is given twice"},
		"unknown verdict":             {"measurements[0].verdict", set("fine"), `"fine" is none of normal, abnormal`},
		"unknown baseline source":     {"measurements[0].baseline.source", set("guess"), `"guess" is none of`},
		"baseline of nothing":         {"measurements[0].baseline.bandwidth_gbps", set(0), "0 is not above 0"},
		"link of an unknown hop":      {"measurements[0].reads[0].links", set([]any{map[string]any{"hop": "switch:x", "speed_gts": 16, "width": 16}}), `"switch:x" is not listed`},
		"link of absurd width":        {"measurements[0].reads[0].links", set([]any{map[string]any{"hop": "memory:mem0", "speed_gts": 16, "width": 999}}), "999 is not between"},
		"unknown hop":                 {"hops[0].id", set("memory:mem9"), `"memory:mem9" is not listed`},
		"hop of another kind":         {"hops[0].kind", set("switch"), `"switch" is not the kind`},
		"hop's verdict":               {"hops[0].verdict", set("unmeasured"), `"unmeasured" is none of`},
		"negative count":              {"hops[0].abnormal_count", set(-1), "-1 is below 0"},
		"absurd utilization":          {"hops[0].utilization", set(1e6), "is not between 0 and 100"},
		"unknown mode":                {"run.mode", set("full"), `"full" is none of idle, busy`},
		"unknown backend":             {"run.backend", set("dream"), `"dream" is none of`},
		"no run id":                   {"run.id", set(""), "is empty"},
		"time is no time":             {"run.started_at", set("yesterday"), `"yesterday" is not a time`},
		"ended before it began":       {"run.finished_at", set("2026-03-04T05:06:06Z"), "is before started_at, 2026-03-04T05:06:07Z"},
		"time is a number":            {"run.started_at", set(17), "is 17, not a time"},
		"negative duration":           {"run.duration_ms", set(-1), "-1 is negative"},
		"threshold in percent":        {"run.thresholds.path", set(20), "20 is no share"},
		"unknown idle state":          {"idle.state", set("sleepy"), `"sleepy" is none of idle, busy, unknown`},
		"load of an unknown RNIC":     {"idle.rnics[0].id", set("mlx5_9"), `"mlx5_9" is not listed`},
		"load given twice":            {"idle.rnics[1].id", set("mlx5_0"), `"mlx5_0" is given twice`},
		"negative load":               {"idle.rnics[0].utilization", set(-0.5), "-0.5 is negative"},
		"settings of an unknown RNIC": {"monitor.rnic_config[0].rnic", set("mlx5_9"), `"mlx5_9" is not listed`},
		"ATS of an unknown RNIC":      {"monitor.ats[0].id", set("mlx5_9"), `"mlx5_9" is not listed`},
		"unknown source state":        {"sources[0].state", set("so so"), `"so so" is none of`},
		"topology's own mistake":      {"topology.rnics[0].rate_gbps", set(-200), "-200 is not above 0"},
		"topology lacks a list":       {"topology.paths", remove, "is missing"},
		"RNIC without a name":         {"topology.rnics[0].id", remove, "is empty"},
		"RNIC that may be usable":     {"topology.rnics[0].reason", func(r map[string]any, _ string) { delete(r, "usable") }, "is empty"},
		"future topology":             {"topology.schema", set("hostping.topology/v9"), `"hostping.topology/v9" is not`},
		"control characters":          {"host.name", set("node\x1b[31m"), "holds a control character"},
		"endless text":                {"host.name", set(strings.Repeat("x", 100_000)), "is 100000 bytes long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := report.Parse(edited(t, doc, c.place, c.change))
			requireField(t, err, c.place, c.says)
		})
	}
}

// requireField checks that an error is one line that begins with the field,
// or with one that encloses it or lies in it.
func requireField(t *testing.T, err error, place, says string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.True(t, utf8.ValidString(err.Error()))
	require.True(t, strings.HasPrefix(err.Error(), place) || strings.HasPrefix(place, strings.SplitN(err.Error(), ":", 2)[0]),
		"%q does not name %s", err, place)
	require.Contains(t, err.Error(), says)
}

// What is wrong with the text itself is refused with the place where it is.
func TestParseRefusesWhatIsNoDocument(t *testing.T) {
	doc := string(document(t, cases()["faulty"]))
	replaced := func(old, with string) string {
		require.Contains(t, doc, old)
		return strings.Replace(doc, old, with, 1)
	}
	middle := strings.Index(doc, `"paper_bandwidth_gbps"`)
	for name, c := range map[string]struct{ doc, says string }{
		"nothing":              {"", "the document is empty"},
		"blank":                {" \n\t", "the document is empty"},
		"no JSON":              {"hello", "is no JSON at byte 0"},
		"binary":               {"\x00\x01", "is no JSON at byte 0"},
		"no UTF-8":             {"{\"schema\": \"\xff\"}", "byte 12 is no UTF-8"},
		"a list":               {"[]", "the document is a list, not an object"},
		"null":                 {"null", "the document is null"},
		"cut in a measurement": {doc[:middle], "measurements[0]: ends here, at byte"},
		"cut before the end":   {strings.TrimRight(doc, "}\n "), "idle: ends here"},
		"cut in a key":         {doc[:middle+5], "measurements[0]: ends here"},
		"cut in a number":      {doc[:strings.Index(doc, `"duration_ms": 2`)+16], "run: ends here"},
		"something behind":     {doc + "{}", "something follows the document"},
		"NaN":                  {replaced(`"duration_ms": 2345`, `"duration_ms": NaN`), "run.duration_ms: is NaN, which is no number of JSON"},
		"infinity":             {replaced(`"duration_ms": 2345`, `"duration_ms": -Infinity`), "run.duration_ms: is -Infinity"},
		"plus":                 {replaced(`"duration_ms": 2345`, `"duration_ms": +2345`), "run.duration_ms: is +2345"},
		"key given twice":      {replaced(`"mode": "idle"`, `"mode": "idle", "mode": "busy"`), "run.mode: is given twice"},
		"list given twice":     {replaced(`"hops": [`, `"hops": [], "hops": [`), "hops: is given twice"},
		"stranger given twice": {replaced(`"mode": "idle"`, `"mode": "idle", "x": 1, "x": 2`), "run.x: is given twice"},
		"newline in a key":     {"{\"\\n\"", `"\n": ends here`},
		"key in capitals":      {replaced(`"mode": "idle"`, `"Mode": "idle"`), "run.mode: is missing"},
		"comment":              {replaced(`"mode": "idle"`, `"mode": /* ? */ "idle"`), "run.mode: is no JSON at byte"},
		"single quotes":        {replaced(`"mode": "idle"`, `"mode": 'idle'`), "run.mode: is no JSON at byte"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := report.Parse([]byte(c.doc))
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// Wherever it is cut off, the document is refused.
func TestParseRefusesEveryTruncation(t *testing.T) {
	doc := bytes.TrimSpace(document(t, cases()["unusable_rnic"]))
	for n := 0; n < len(doc); n += 11 {
		_, err := report.Parse(doc[:n])
		require.Error(t, err, "the first %d of %d bytes", n, len(doc))
	}
}

func TestParseBoundsWhatItReads(t *testing.T) {
	_, err := report.Parse(make([]byte, report.MaxDocumentBytes+1))
	require.ErrorContains(t, err, "longer than 32 MiB")
}

// A newer version of hostping may say more; a path may leave out its only read.
func TestParseTakesWhatIsCompatible(t *testing.T) {
	doc := document(t, cases()["healthy"])
	want, err := report.Parse(doc)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		place  string
		change func(map[string]any, string)
	}{
		"field of a newer version":     {"weather", set(map[string]any{"rain": []any{1, 2}})},
		"one in a list":                {"measurements[0].jitter_us", set(0.1)},
		"one in the topology":          {"topology.hops[0].colour", set("red")},
		"terms not stated":             {"run.thresholds", remove},
		"buses of an older version":    {"monitor.buses", remove},
		"links of an older version":    {"measurements[0].reads[0].links", remove},
		"fact of a newer version":      {"topology.rnics[0].driver", remove},
		"the only read left out":       {"measurements[0].reads", remove},
		"unknown figure absent":        {"measurements[0].paper_bandwidth_gbps", remove},
		"unknown setup absent":         {"measurements[0].setup", remove},
		"unknown utilization absent":   {"hops[0].utilization", remove},
		"unknown reading rate absent":  {"topology.rnics[0].max_read_request", remove},
		"baseline without a rule text": {"measurements[0].baseline.rule", remove},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := report.Parse(edited(t, doc, c.place, c.change))
			require.NoError(t, err)
			require.Equal(t, len(want.Measurements), len(got.Measurements))
			require.Equal(t, want.Measurements[0].Reads[0].BandwidthGbps, got.Measurements[0].Reads[0].BandwidthGbps)
		})
	}
}

// Every path of the topology is measured or not: a report that keeps silent
// about one could hide that it was never probed.
func TestParseWantsEveryPathAccountedFor(t *testing.T) {
	doc := document(t, cases()["interrupted"])
	_, err := report.Parse(edited(t, doc, "unmeasured", set([]any{})))
	require.ErrorContains(t, err, "unmeasured: does not list topology.paths[3], mlx5_0→gpu1")
}

func FuzzParse(f *testing.F) {
	// Small documents, or the fuzzer spends its time on making them smaller.
	small := func(change func(*report.Input)) {
		in := inputOf(hostOf(1, 1, 0))
		change(&in)
		var compact bytes.Buffer
		require.NoError(f, json.Compact(&compact, document(f, in)))
		f.Add(compact.Bytes())
	}
	small(func(*report.Input) {})
	small(func(in *report.Input) { slow(in, "mlx5_0") })
	small(func(in *report.Input) { leaveOut(in, "excluded", of("*", "*")) })
	small(func(in *report.Input) {
		unread(in, of("*", "*"), probe.Failure{Reason: probe.ReasonDeadline, Detail: "10 s"})
	})
	f.Add([]byte(`{"schema": "hostping.report/v1"`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := report.Parse(doc)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 2000)
			return
		}
		// Whatever is taken can be judged, printed, and is then a report like any other.
		again, err := report.Replay(r, report.Terms{Tool: r.Tool, Thresholds: analyzer.DefaultThresholds()})
		require.NoError(t, err)
		var first, second bytes.Buffer
		require.NoError(t, again.JSON(&first))
		require.NoError(t, again.Text(&second, report.Style{}))
		require.NoError(t, again.TAP(&second))
		back, err := report.Parse(first.Bytes())
		require.NoError(t, err)
		second.Reset()
		require.NoError(t, back.JSON(&second))
		require.Equal(t, first.String(), second.String())
	})
}
