// Package suggest ends a message about a name that is not known with what
// would be right.
package suggest

import (
	"fmt"
	"strings"
)

// shown is how many names a message lists at most.
const shown = 12

// For names the known name that was probably meant, else the known names.
func For(name string, known []string) string {
	if near, ok := Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	switch more := len(known) - shown; {
	case len(known) == 0:
		return "there is none here"
	case more > 0:
		return fmt.Sprintf("it is one of %s and %d more", strings.Join(known[:shown], ", "), more)
	}
	return "it is one of " + strings.Join(known, ", ")
}

// Nearest is the first known name with the fewest mistakes, if it is near: at
// most one letter in three, and two at least, is wrong.
func Nearest(name string, known []string) (string, bool) {
	best, fewest := "", 1+max(2, len(name)/3)
	for _, candidate := range known {
		mistakes := distance(strings.ToLower(name), strings.ToLower(candidate))
		// Two short names always differ by few letters.
		if mistakes < fewest && mistakes < len(candidate) {
			best, fewest = candidate, mistakes
		}
	}
	return best, best != ""
}

// distance counts the letters to insert, delete or replace to get from one
// name to the other (Levenshtein).
func distance(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			replace := diagonal
			if from[i] != to[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
