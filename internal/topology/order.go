package topology

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// CompareNatural orders names as people count: runs of digits compare by
// value, so that gpu2 comes before gpu10. PCI addresses order by their
// hexadecimal value, after all other names. It is a total order: names that differ only in leading
// zeros still differ.
func CompareNatural(a, b string) int {
	switch isA, isB := isAddress(a), isAddress(b); {
	case isA && isB:
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	case isA:
		return 1
	case isB:
		return -1
	}
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := leadingDigits(x), leadingDigits(y)
		if nx > 0 && ny > 0 {
			if c := compareDigits(x[:nx], y[:ny]); c != 0 {
				return c
			}
			x, y = x[nx:], y[ny:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if c := len(x) - len(y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// SortedKeys are the keys of a map in their natural order.
func SortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), CompareNatural)
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := len(a) - len(b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// isAddress reports whether s is a PCI address in the kernel's form: lower
// case, a domain of four digits or more.
func isAddress(s string) bool {
	const tail = ":bb:dd.f"
	domain := len(s) - len(tail)
	if domain < 4 || s[domain] != ':' || s[domain+3] != ':' || s[domain+6] != '.' {
		return false
	}
	for i := range len(s) {
		switch i - domain {
		case 0, 3, 6:
		default:
			if !strings.Contains("0123456789abcdef", s[i:i+1]) {
				return false
			}
		}
	}
	return true
}
