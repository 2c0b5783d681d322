package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/document"
)

func TestCheckNamesTheField(t *testing.T) {
	for name, c := range map[string]struct{ doc, want string }{
		"good":                       {`{"a": [1, {"b": null}], "c": "x"}`, ""},
		"empty object":               {` {} `, ""},
		"nothing":                    {``, "the document is empty"},
		"white space":                {" \n", "the document is empty"},
		"a list":                     {`[]`, "the document is no JSON object"},
		"null":                       {`null`, "the document is no JSON object"},
		"not JSON":                   {`hello`, "no JSON near byte 0"},
		"binary":                     {"\x00\x01", "no JSON near byte 0"},
		"ends in an object":          {`{"a": {"b": 1`, "a: the document ends in the middle"},
		"ends in a list":             {`{"a": [1,`, "a[1]: the document ends in the middle"},
		"ends before a value":        {`{"a":`, "a: the document ends in the middle"},
		"ends in a string":           {`{"a": "x`, "a: the document ends in the middle"},
		"NaN":                        {`{"a": {"b": [1, NaN]}}`, "a.b[1]: no JSON near byte"},
		"infinity":                   {`{"a": -Infinity}`, "a: no JSON near byte"},
		"a name twice":               {`{"a": {"b": 1, "c": 2, "b": 3}}`, "a.b: is given twice"},
		"a name twice, in two cases": {`{"a": [{"b": 1, "B": 3}]}`, "a[0].B: is given twice"},
		"a name twice, escaped":      {`{"a": 1, "\u0061": 3}`, "a: is given twice"},
		"a name twice at the top":    {`{"a": 1, "a": 3}`, "a: is given twice"},
		"two documents":              {`{} {}`, "something follows the JSON object"},
		"too deep":                   {strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a: lies deeper than 16 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			err := document.Check([]byte(c.doc), 1000)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), c.want), "got %q\nwant %q", err, c.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestCheckBoundsWhatItReads(t *testing.T) {
	require.ErrorContains(t, document.Check(make([]byte, 11), 10), "11 bytes long, more than 10")
	err := document.Check([]byte(`{"`+strings.Repeat("x", 1<<16)+`": nonsense}`), 1<<20)
	require.Error(t, err)
	require.Less(t, len(err.Error()), 1000, "a long name must not fill the screen")
}

func TestDecodeNamesTheField(t *testing.T) {
	type inner struct {
		Number *float64 `json:"number"`
		Count  int      `json:"count"`
	}
	type outer struct {
		Inner inner    `json:"inner"`
		Names []string `json:"names"`
	}
	for name, c := range map[string]struct{ raw, want string }{
		"good":              {`{"inner": {"number": 1.5, "count": 2}, "names": ["a"]}`, ""},
		"unknown number":    {`{"inner": {"number": null}}`, ""},
		"missing":           {``, "at: is missing"},
		"null":              {` null `, "at: is null"},
		"no object":         {`[1]`, "at: array is no object"},
		"no number":         {`{"inner": {"number": "x"}}`, "at.inner.number: string is no number"},
		"too large":         {`{"inner": {"number": 1e999}}`, "at.inner.number: number 1e999 is no number that a double can hold"},
		"not whole":         {`{"inner": {"count": 1.5}}`, "at.inner.count: number 1.5 is no whole number"},
		"no list":           {`{"names": "a"}`, "at.names: string is no list"},
		"a field too much":  {`{"surprise": 1}`, "at.surprise: is no field of this format"},
		"no list of string": {`{"names": [1]}`, "at.names"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := document.Value[outer]("at", json.RawMessage(c.raw))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestListKnowsTheIndex(t *testing.T) {
	got, err := document.List("list", json.RawMessage(`[1, 2]`), document.Value[int])
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, got)
	_, err = document.List("list", json.RawMessage(`[1, "2"]`), document.Value[int])
	require.ErrorContains(t, err, "list[1]: string is no whole number")
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": null}], "c": "x"}`))
	f.Add([]byte(`{"a": 1, "A": NaN}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		err := document.Check(doc, 1<<16)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.True(t, json.Valid(doc), "what passes is JSON")
	})
}
