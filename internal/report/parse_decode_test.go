package report

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fill gives every field below v a value of its own.
func fill(t *testing.T, v reflect.Value, next *int) {
	t.Helper()
	*next++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(int64(*next), 5).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", *next%7+1))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*next))
	case reflect.Float64:
		v.SetFloat(float64(*next) / 8)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), next)
		fill(t, v.Index(1), next)
	case reflect.Map:
		key, entry := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, next)
		fill(t, entry, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, entry)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), next)
		}
	default:
		t.Fatalf("the decoder has to learn %v", v.Type())
	}
}

// Whatever a report comes to hold, the strict decoder reads as the lenient one does.
func TestDecodeReadsEveryField(t *testing.T) {
	var want, lenient, got Report
	next := 0
	fill(t, reflect.ValueOf(&want).Elem(), &next)
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &lenient))
	require.Equal(t, want, lenient, "a field that JSON loses")
	require.NoError(t, decodeStrictly(text, &got))
	require.Equal(t, want, got)
}

func TestDecodeOfMaps(t *testing.T) {
	type holder struct {
		ByNumber map[int]int    `json:"by_number"`
		ByName   map[string]int `json:"by_name"`
	}
	for name, c := range map[string]struct{ doc, says string }{
		"good":           {`{"by_number": {"1": 2, "-3": 4}, "by_name": {"a": 1}}`, ""},
		"key twice":      {`{"by_number": {"1": 2, "1": 4}, "by_name": {}}`, "by_number.1: is given twice"},
		"key no number":  {`{"by_number": {"one": 2}, "by_name": {}}`, "by_number.one: one is no whole number"},
		"value no value": {`{"by_number": {"1": "2"}, "by_name": {}}`, "by_number.1: is a text; it is a whole number"},
		"a list":         {`{"by_number": [], "by_name": {}}`, "by_number: is a list; it is an object"},
		"missing":        {`{"by_name": {}}`, "by_number: is missing"},
		"cut":            {`{"by_number": {"1": 2,`, "by_number: ends here"},
	} {
		t.Run(name, func(t *testing.T) {
			var got holder
			err := decodeStrictly([]byte(c.doc), &got)
			if c.says == "" {
				require.NoError(t, err)
				require.Equal(t, holder{map[int]int{1: 2, -3: 4}, map[string]int{"a": 1}}, got)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
