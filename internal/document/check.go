package document

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxShown is how much of a value an error quotes, in bytes.
const maxShown = 200

// maxIdentifierBytes bounds a name of a part, or a short text about one.
const maxIdentifierBytes = 256

// FieldError is one value of a document that cannot be right.
type FieldError struct {
	Field   string // as in JSON: "entries[2].bandwidth_gbps"; "" is the document itself
	Problem string // what it is, and what would be right
}

// Error is the field and its problem in one line.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}

// Bad makes a FieldError. However long the values in it, it stays a line.
func Bad(field, format string, args ...any) error {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = shorten(s, maxShown)
		}
	}
	return &FieldError{Field: shorten(field, maxShown), Problem: shorten(fmt.Sprintf(format, args...), 4*maxShown)}
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// At puts the place of an error in front of what is known of it: a name, or an
// index in brackets.
func At(place string, err error) error {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*FieldError](err)
	if !ok {
		return err
	}
	switch {
	case f.Field == "":
	case strings.HasPrefix(f.Field, "["):
		place += f.Field
	default:
		place += "." + f.Field
	}
	return &FieldError{Field: place, Problem: f.Problem}
}

// First returns the first error there is.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Each checks a list's elements. What is wrong with one stands at its place in
// the list.
func Each[T any](list string, elements []T, check func(*T) error) error {
	for i := range elements {
		if err := check(&elements[i]); err != nil {
			return At(list, At("["+strconv.Itoa(i)+"]", err))
		}
	}
	return nil
}

// OneOf checks a word of a fixed list.
func OneOf[T ~string](field string, v T, known ...T) error {
	if slices.Contains(known, v) {
		return nil
	}
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return Bad(field, "%q is none of %s", string(v), strings.Join(words, ", "))
}

// Once checks that a name was not there before, and notes that it was.
func Once(field, id string, seen map[string]bool) error {
	if seen[id] {
		return Bad(field, "%q is given twice", id)
	}
	seen[id] = true
	return nil
}

// Within checks that a number lies between two, which it may be.
func Within[N int | int64 | float64](field string, v, least, most N) error {
	switch {
	case v < 0 && least == 0:
		return Bad(field, "%v is negative", v)
	case !(v >= least && v <= most): // NaN is not
		return Bad(field, "%v is not between %v and %v", v, least, most)
	}
	return nil
}

// Maybe checks a number that may be unknown as Within does.
func Maybe[N int | int64 | float64](field string, v *N, least, most N) error {
	if v == nil {
		return nil
	}
	return Within(field, *v, least, most)
}

// Positive checks a quantity of which there is some, where it is known.
func Positive(field string, v *float64, most float64) error {
	if v != nil && !(*v > 0 && *v <= most) {
		return Bad(field, "%v is not above 0 and at most %v", *v, most)
	}
	return nil
}

// Text checks that a string fits on a line and leaves a terminal alone.
func Text(field, s string) error {
	if len(s) > maxIdentifierBytes {
		return Bad(field, "is %d bytes long, more than %d", len(s), maxIdentifierBytes)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Bad(field, "%q holds a character that does not print", s)
	}
	return nil
}

// Identifier checks a name that other fields, or people, refer to.
func Identifier(field, s string) error {
	if s == "" {
		return Bad(field, "is empty")
	}
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return Bad(field, "%q holds a space", s)
	}
	return Text(field, s)
}
