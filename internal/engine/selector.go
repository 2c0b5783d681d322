package engine

import (
	"fmt"
	"path"
	"strings"
)

// Selector chooses devices by name or PCI address. The zero Selector chooses
// every device.
type Selector struct {
	include, exclude []string
}

// ParseSelector reads a comma-separated list of globs; one that begins with
// "!" excludes ("mlx5_*,!mlx5_4"). Without a glob that includes, everything
// that is not excluded is chosen. It fails on an empty or malformed glob.
func ParseSelector(list string) (Selector, error) {
	var s Selector
	if strings.TrimSpace(list) == "" {
		return s, nil
	}
	for item := range strings.SplitSeq(list, ",") {
		glob, excluded := strings.CutPrefix(strings.TrimSpace(item), "!")
		if glob == "" {
			return Selector{}, fmt.Errorf("selection %q has an empty glob; write names or globs such as mlx5_*,!mlx5_4", list)
		}
		if _, err := path.Match(glob, ""); err != nil {
			return Selector{}, fmt.Errorf("selection %q: glob %q is malformed (a [ without its ], or a trailing backslash)", list, glob)
		}
		if excluded {
			s.exclude = append(s.exclude, glob)
		} else {
			s.include = append(s.include, glob)
		}
	}
	return s, nil
}

// Match reports whether a device that goes by any of these names is chosen.
// Empty names are ignored.
func (s Selector) Match(names ...string) bool {
	return !matchAny(s.exclude, names) && (len(s.include) == 0 || matchAny(s.include, names))
}

func matchAny(globs, names []string) bool {
	for _, glob := range globs {
		for _, name := range names {
			if matched, _ := path.Match(glob, name); matched && name != "" {
				return true
			}
		}
	}
	return false
}
