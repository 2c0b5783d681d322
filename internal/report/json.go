package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// JSON writes the report as an indented hostping.report/v1 document.
func (r *Report) JSON(w io.Writer) error { return WriteJSON(w, *r) }

// WriteJSON writes any document of ours: indented, every list [] and never
// null, so that a reader may iterate without asking.
func WriteJSON[T any](w io.Writer, document T) error {
	fillLists(reflect.ValueOf(&document).Elem())
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // "→" and "<" are for people, not for a browser
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("encode %T: %w", document, err)
	}
	return nil
}

// fillLists replaces every nil slice below v by an empty one. It writes
// nothing when there is none, so that a report from Build may be encoded by
// several goroutines at once.
func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fillLists(field)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fillLists(v.Elem())
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			fillLists(v.Index(i))
		}
	}
}
