package report

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/document"
	"github.com/yuuki/hostping/internal/topology"
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
		t.Fatalf("the reader has to learn %v", v.Type())
	}
}

// Whatever a document comes to hold, our reader reads as encoding/json does.
func TestEveryFieldIsRead(t *testing.T) {
	t.Run("report", everyFieldIsRead[Report])
	t.Run("topology", everyFieldIsRead[topology.Topology])
	t.Run("baseline", everyFieldIsRead[baseline.File])
}

func everyFieldIsRead[T any](t *testing.T) {
	var want, lenient T
	next := 0
	fill(t, reflect.ValueOf(&want).Elem(), &next)
	schema := reflect.ValueOf(want).FieldByName("Schema").String()
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &lenient))
	require.Equal(t, want, lenient, "a field that JSON loses")
	got, err := document.Read[T](document.Format{Schema: schema, MaxBytes: len(text)}, text)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
