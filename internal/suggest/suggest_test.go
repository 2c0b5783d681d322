package suggest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFor(t *testing.T) {
	rnics := []string{"rnic0", "rnic1", "rnic2", "rnic3"}
	many := []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0", "b1", "b2", "b3"}
	for _, c := range []struct {
		name, given string
		known       []string
		want        string
	}{
		{"one letter wrong", "rnic9", rnics, "did you mean rnic0?"},
		{"a letter missing", "rnc2", rnics, "did you mean rnic2?"},
		{"two letters swapped", "rnci3", rnics, "did you mean rnic3?"},
		{"case", "RNIC1", rnics, "did you mean rnic1?"},
		{"nothing near", "gpu0", rnics, "it is one of rnic0, rnic1, rnic2, rnic3"},
		{"empty", "", rnics, "it is one of rnic0, rnic1, rnic2, rnic3"},
		{"nothing known", "rnic0", nil, "there is none here"},
		{"many known", "memory", many, "it is one of a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1 and 2 more"},
		{"short names are not near each other", "x", []string{"0", "1"}, "it is one of 0, 1"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, For(c.given, c.known)) })
	}
}
