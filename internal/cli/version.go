package cli

import (
	"cmp"
	"fmt"
	"runtime"
)

// BuildInfo says what was built from what.
type BuildInfo struct {
	Version  string
	Revision string
	Zig      string // version of the compiler of the data plane; "" when the build has none
}

// String is the text of --version, after the program's name.
func (b BuildInfo) String() string {
	return fmt.Sprintf("%s (revision %s, %s, zig %s, %s/%s)",
		cmp.Or(b.Version, "unknown"), cmp.Or(b.Revision, "unknown"), runtime.Version(),
		cmp.Or(b.Zig, "none: simulation only"), runtime.GOOS, runtime.GOARCH)
}
