package document_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/document"
)

// sample is a document that holds a value of every kind.
type sample struct {
	Schema   string         `json:"schema"`
	Number   float64        `json:"number" document:"optional"`
	Unknown  *float64       `json:"unknown"`
	Count    int            `json:"count,omitempty"`
	Bytes    *int64         `json:"bytes"`
	On       bool           `json:"on" document:"optional"`
	At       time.Time      `json:"at" document:"optional"`
	Names    []string       `json:"names" document:"optional"`
	ByNumber map[int]int    `json:"by_number" document:"optional"`
	ByName   map[string]int `json:"by_name" document:"optional"`
	Parts    []part         `json:"parts" document:"optional"`
	Sparse   []part         `json:"sparse,omitempty" document:"sparse"`
}

type part struct {
	ID    string  `json:"id"`
	Of    *part   `json:"of"`
	Loads []*bool `json:"loads" document:"optional"`
}

var strict = document.Format{Schema: "test/v1", MaxBytes: 1 << 20, Origin: "maketest"}

var lenient = document.Format{Schema: "test/v1", MaxBytes: 1 << 20, Origin: "maketest", IgnoreUnknown: true}

// with is a document of these fields.
func with(fields string) string { return `{"schema": "test/v1", ` + fields + `}` }

func TestReadGivesWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		want   sample
	}{
		"numbers":        {`"number": -1.5e3, "unknown": 0.25, "count": -7, "bytes": 9007199254740993`, sample{Number: -1500, Unknown: new(0.25), Count: -7, Bytes: new(int64(9007199254740993))}},
		"unknown":        {`"unknown": null`, sample{}},
		"zero":           {`"number": 0, "count": -0`, sample{}},
		"words":          {`"on": true`, sample{On: true}},
		"time":           {`"at": "2026-03-04T05:06:07Z"`, sample{At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}},
		"texts":          {`"names": ["", "a→b", "\u0061\"\\\/\n\t", "\ud83d\ude00"]`, sample{Names: []string{"", "a→b", "a\"\\/\n\t", "😀"}}},
		"an empty list":  {`"names": [ ]`, sample{Names: []string{}}},
		"maps":           {`"by_number": {"1": 2, "-3": 4}, "by_name": {"a": 1}`, sample{ByNumber: map[int]int{1: 2, -3: 4}, ByName: map[string]int{"a": 1}}},
		"parts":          {`"parts": [{"id": "a", "of": {"id": "b"}, "loads": [true, null]}]`, sample{Parts: []part{{ID: "a", Of: &part{ID: "b"}, Loads: []*bool{new(true), nil}}}}},
		"sparse parts":   {`"sparse": [{}, {"of": {}}]`, sample{Sparse: []part{{}, {Of: &part{}}}}},
		"another order":  {`"on": true, "names": ["a"], "number": 2`, sample{On: true, Names: []string{"a"}, Number: 2}},
		"an escaped key": {`"n\u0075mber": 2`, sample{Number: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Schema = "test/v1"
			got, err := document.Read[sample](strict, []byte(" "+with(c.fields)+"\n"))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestReadNamesTheField(t *testing.T) {
	deep := strings.Repeat(`{"id": "a", "of": `, 40) + "null" + strings.Repeat("}", 40)
	for name, c := range map[string]struct{ doc, want string }{
		"nothing":                  {``, "the document is empty"},
		"white space":              {" \n", "the document is empty"},
		"a list":                   {`[]`, "the document is a list, not an object"},
		"null itself":              {`null`, "the document is null, not an object"},
		"a number":                 {`7`, "the document is 7, not an object"},
		"not JSON":                 {`hello`, `the document is no JSON at byte 0: "h" where a value belongs`},
		"binary":                   {"\x00\x01", "the document is no JSON at byte 0"},
		"no UTF-8":                 {"{\"schema\": \"\xff\"}", "byte 12 is no UTF-8"},
		"a byte order mark":        {"\ufeff{}", "the document is no JSON at byte 0"},
		"two documents":            {with(`"on": true`) + ` {}`, "something follows the document at byte 34"},
		"another version":          {`{"schema": "test/v2", "x": 1}`, `schema: "test/v2" is not "test/v1": this version of hostping cannot read it`},
		"another document":         {`{"x": [{"schema": 1}], "schema": "other/v1"}`, `schema: "other/v1" is not "test/v1"; "maketest" writes such`},
		"another one, cut":         {`{"schema": "other/v1", "x`, `schema: "other/v1" is not`},
		"no schema":                {`{"on": true}`, "schema: is missing"},
		"a schema that is no text": {`{"schema": 1}`, "schema: is 1, not a text"},
		"two schemas":              {with(`"schema": "test/v2"`), "schema: is given twice"},

		"ends in an object":      {`{"parts": [{"id": "a"`, "parts[0]: ends here, at byte 21"},
		"ends in a list":         {`{"names": ["a",`, "names[1]: ends here"},
		"ends before a value":    {`{"on":`, "on: ends here"},
		"ends before a colon":    {`{"on"`, "on: ends here"},
		"ends in a name":         {`{"on`, "the document ends here"},
		"ends in a text":         {`{"names": ["x`, "names[0]: ends here"},
		"ends in an escape":      {`{"names": ["\`, "names[0]: ends here"},
		"ends in a code":         {`{"names": ["\u12`, "names[0]: ends here"},
		"ends in a number":       {`{"number": -`, "number: ends here"},
		"ends in a word":         {`{"on": tru`, "on: ends here"},
		"NaN":                    {with(`"parts": [{"id": NaN}]`), "parts[0].id: is NaN, which is no number of JSON; unknown is null"},
		"nan":                    {with(`"unknown": nan`), "unknown: is nan, which"},
		"infinity":               {with(`"number": -Infinity`), "number: is -Infinity, which"},
		"plus":                   {with(`"number": +5`), "number: is +5, which"},
		"a leading zero":         {with(`"number": 05`), "number: is no JSON at byte"},
		"no digit before a dot":  {with(`"number": .5`), "number: is no JSON at byte"},
		"no digit behind a dot":  {with(`"number": 5.}`), "number: is no JSON at byte"},
		"no digit in a power":    {with(`"number": 5e+`), "number: is no JSON at byte"},
		"hex":                    {with(`"count": 0x10`), "the document is no JSON at byte"},
		"a word in capitals":     {with(`"on": True`), "on: is no JSON at byte"},
		"a comma too much":       {with(`"names": ["a",]`), "names[1]: is no JSON at byte"},
		"a last comma":           {with(`"on": true,`), `the document is no JSON at byte 33: "}" where a name`},
		"a missing comma":        {with(`"names": ["a" "b"]`), `names: is no JSON at byte 36: "\"" where a comma`},
		"a missing colon":        {with(`"on" true`), `on: is no JSON at byte 27: "t" where a colon`},
		"an unquoted name":       {with(`on: true`), `the document is no JSON at byte 22: "o" where a name`},
		"single quotes":          {with(`"names": ['a']`), "names[0]: is no JSON at byte"},
		"a comment":              {with(`"on": /* ? */ true`), "on: is no JSON at byte"},
		"a raw line feed":        {with("\"names\": [\"a\nb\"]"), "names[0]: is no JSON at byte 34: a control character"},
		"a raw one after escape": {with("\"names\": [\"\\t\nb\"]"), "names[0]: is no JSON at byte 35: a control character"},
		"no such escape":         {with(`"names": ["\x41"]`), "names[0]: is no JSON at byte"},
		"no hex":                 {with(`"names": ["\u00g0"]`), "names[0]: is no JSON at byte"},
		"half a character":       {with(`"names": ["\ud83d"]`), "names[0]: holds half a character"},
		"two first halves":       {with(`"names": ["\ud83d\ud83d"]`), "names[0]: holds half a character"},

		"a name twice":              {with(`"parts": [{"id": "a", "of": {"id": "b", "id": "c"}}]`), "parts[0].of.id: is given twice"},
		"a name twice, in two ways": {with(`"names": [], "n\u0061mes": []`), "names: is given twice"},
		"a name in two cases":       {with(`"on": true, "On": false`), "On: is no field of test/v1"},
		"a field too much":          {with(`"parts": [{"id": "a", "surprise": 1}]`), "parts[0].surprise: is no field of test/v1"},
		"missing":                   {with(`"parts": [{"of": null}]`), "parts[0].id: is missing"},
		"null":                      {with(`"parts": [{"id": null}]`), "parts[0].id: is null, not a text"},
		"null for a list":           {with(`"names": null`), "names: is null, not a list"},
		"null in a sparse part":     {with(`"sparse": [{"id": null}]`), "sparse[0].id: is null, not a text"},
		"no object":                 {with(`"parts": [[1]]`), "parts[0]: is a list, not an object"},
		"no list":                   {with(`"names": "a"`), "names: is a text, not a list"},
		"no text":                   {with(`"names": [1]`), "names[0]: is 1, not a text"},
		"no number":                 {with(`"unknown": {}`), "unknown: is an object, not a number"},
		"no bool":                   {with(`"on": 1`), "on: is 1, not true or false"},
		"no time":                   {with(`"at": "yesterday"`), `at: "yesterday" is not a time`},
		"a number for a time":       {with(`"at": 17`), "at: is 17, not a time"},
		"too large":                 {with(`"number": 1e999`), "number: 1e999 is beyond any number"},
		"too large and whole":       {with(`"bytes": 9223372036854775808`), "bytes: 9223372036854775808 is no whole number"},
		"not whole":                 {with(`"count": 1.5`), "count: 1.5 is no whole number"},
		"an escape sequence":        {with(`"names": ["\u001b[31m"]`), `names[0]: "\x1b[31m" holds a control character`},
		"a C1 control character":    {with(`"names": ["` + "\u009b31m" + `"]`), `names[0]: "\u009b31m" holds a control character`},
		"an endless text":           {with(`"names": ["` + strings.Repeat("x", 100_000) + `"]`), "names[0]: is 100000 bytes long"},
		"an endless list":           {with(`"sparse": [` + strings.Repeat("{},", 1<<16) + `{}]`), "sparse: has more than 65536 elements"},
		"too deep":                  {with(`"parts": [` + deep + `]`), "parts[0]" + strings.Repeat(".of", 14) + ": lies deeper than 16 levels"},
		"a key twice":               {with(`"by_number": {"1": 2, "01": 4}`), "by_number.01: is given twice"},
		"a key that is no number":   {with(`"by_number": {"one": 2}`), "by_number.one: one is no whole number"},
		"an odd key":                {with(`"by_name": {"\u001b": 2}`), `by_name."\x1b": "\x1b" holds a control character`},
		"a value of another kind":   {with(`"by_number": {"1": "2"}`), "by_number.1: is a text, not a whole number"},
		"a list for a map":          {with(`"by_number": []`), "by_number: is a list, not an object"},
		"ends in a map":             {`{"by_number": {"1": 2,`, "by_number: ends here"},
		"a line feed in a name":     {`{"\n"`, `"\n": ends here`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := document.Read[sample](strict, []byte(c.doc))
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), c.want), "got %q\nwant %q", err, c.want)
			assert.NotContains(t, err.Error(), "\n")
			assert.IsType(t, &document.FieldError{}, err)
		})
	}
}

func TestReadSkipsStrangersWhereItMay(t *testing.T) {
	for name, c := range map[string]struct{ fields, wrong string }{
		"a stranger":              {`"weather": {"rain": [1, {"a": null}, "x", true, -1.5e3]}, "on": true`, ""},
		"a stranger in a part":    {`"on": true, "parts": [{"id": "a", "colour": "red"}]`, ""},
		"a stranger twice":        {`"on": true, "x": 1, "x": 2`, "x: is given twice"},
		"a name twice in one":     {`"on": true, "x": {"a": 1, "a": 2}`, "x.a: is given twice"},
		"no JSON in one":          {`"on": true, "x": [1, tru]`, "x[1]: is no JSON"},
		"one that is deep":        {`"on": true, "x": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40), "x" + strings.Repeat("[0]", 15) + ": lies deeper"},
		"one with a long list":    {`"on": true, "x": [` + strings.Repeat("1,", 1<<16) + `1]`, "x: has more than"},
		"one with an endless key": {`"` + strings.Repeat("x", 1<<16) + `": nonsense`, "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := document.Read[sample](lenient, []byte(with(c.fields)))
			if c.wrong == "" {
				require.NoError(t, err)
				require.True(t, got.On)
				return
			}
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), c.wrong), "got %q\nwant %q", err, c.wrong)
			require.Less(t, len(err.Error()), 1000, "a long name must not fill the screen")
		})
	}
}

func TestReadBoundsWhatItReads(t *testing.T) {
	_, err := document.Read[sample](document.Format{Schema: "test/v1", MaxBytes: 10}, make([]byte, 11))
	require.ErrorContains(t, err, "the document is longer than 10 bytes")
	// An error of many long names is still a line that fits a screen.
	doc := strings.Repeat(`{"`+strings.Repeat("x", 5000)+`": `, 10) + "nonsense"
	_, err = document.Read[sample](lenient, []byte(doc))
	require.Error(t, err)
	require.Less(t, len(err.Error()), 1500)
}

func TestChecks(t *testing.T) {
	type list []string
	for name, c := range map[string]struct {
		err  error
		want string // "" is right
	}{
		"within":                {document.Within("x", 5, 1, 5), ""},
		"above":                 {document.Within("x", 6, 1, 5), "x: 6 is not between 1 and 5"},
		"below":                 {document.Within("x", 0, 1, 5), "x: 0 is not between 1 and 5"},
		"negative":              {document.Within("x", -1.5, 0, 5), "x: -1.5 is negative"},
		"within, NaN":           {document.Within("x", math.NaN(), 0, 5), "x: NaN is not between 0 and 5"},
		"maybe, unknown":        {document.Maybe[int]("x", nil, 1, 5), ""},
		"maybe, known":          {document.Maybe("x", new(7), 1, 5), "x: 7 is not between 1 and 5"},
		"positive":              {document.Positive("x", new(0.1), 5), ""},
		"positive, unknown":     {document.Positive("x", nil, 5), ""},
		"positive, zero":        {document.Positive("x", new(0.0), 5), "x: 0 is not above 0 and at most 5"},
		"positive, NaN":         {document.Positive("x", new(math.NaN()), 5), "x: NaN is not above 0 and at most 5"},
		"positive, infinite":    {document.Positive("x", new(math.Inf(1)), 5), "x: +Inf is not above 0 and at most 5"},
		"one of":                {document.OneOf("x", "a", "a", "b"), ""},
		"none of":               {document.OneOf("x", "c", "a", "b"), `x: "c" is none of a, b`},
		"a text":                {document.Text("x", "héllo wörld"), ""},
		"a text with an escape": {document.Text("x", "\x1b"), `x: "\x1b" holds a character that does not print`},
		"a long text":           {document.Text("x", strings.Repeat("x", 257)), "x: is 257 bytes long, more than 256"},
		"an identifier":         {document.Identifier("x", "mlx5_0:2"), ""},
		"no identifier":         {document.Identifier("x", ""), "x: is empty"},
		"one with a space":      {document.Identifier("x", "a b"), `x: "a b" holds a space`},
		"once":                  {document.Once("x", "a", map[string]bool{"b": true}), ""},
		"twice":                 {document.Once("x", "a", map[string]bool{"a": true}), `x: "a" is given twice`},
		"first":                 {document.First(nil, document.Bad("b", "1"), document.Bad("c", "2")), "b: 1"},
		"none":                  {document.First(nil, nil), ""},
		"at a name":             {document.At("a", document.Bad("b", "1")), "a.b: 1"},
		"at an index":           {document.At("a", document.Bad("[2].b", "1")), "a[2].b: 1"},
		"at the thing itself":   {document.At("a", document.Bad("", "1")), "a: 1"},
		"at, no error":          {document.At("a", nil), ""},
		"at, of another kind":   {document.At("a", fmt.Errorf("other")), "other"},
		"each": {document.Each("l", list{"a", ""}, func(s *string) error { return document.Identifier("", *s) }),
			"l[1]: is empty"},
		"each, inside": {document.Each("l", list{"a", ""}, func(s *string) error { return document.Identifier("id", *s) }),
			"l[1].id: is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				require.NoError(t, c.err)
				return
			}
			require.EqualError(t, c.err, c.want)
		})
	}
}

// What the reader passes, encoding/json reads alike.
func FuzzRead(f *testing.F) {
	f.Add([]byte(with(`"number": 1.5, "unknown": null, "count": 2, "bytes": 3, "on": true, "at": "2026-03-04T05:06:07Z"`)))
	f.Add([]byte(with(`"names": ["\ud83d\ude00", "→"], "by_number": {"1": 2}, "by_name": {"a": 1}, "x": [{"y": null}]`)))
	f.Add([]byte(with(`"parts": [{"id": "a", "of": {"id": "b"}, "loads": [true, null]}], "sparse": [{}]`)))
	f.Add([]byte(with(`"number": NaN`)))
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, err := document.Read[sample](lenient, doc)
		got, errStrict := document.Read[sample](strict, doc)
		for _, err := range []error{err, errStrict} {
			if err != nil {
				require.NotContains(t, err.Error(), "\n")
				require.Less(t, len(err.Error()), 2000)
			}
		}
		require.True(t, err != nil || json.Valid(doc), "what passes is JSON")
		if errStrict == nil {
			require.NoError(t, err)
			var want sample
			require.NoError(t, json.Unmarshal(doc, &want))
			require.Equal(t, want, got)
		}
	})
}
