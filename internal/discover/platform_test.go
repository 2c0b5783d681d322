package discover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlatform(t *testing.T) {
	for name, c := range map[string]struct{ cpuinfo, want string }{
		"Intel":                {"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Platinum 8480+\n\nprocessor\t: 1\nmodel\t\t: 7\n", "GenuineIntel-6-143"},
		"AMD":                  {"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654\n", "AuthenticAMD-25-17"},
		"Grace":                {"processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n", "arm-0x41-0xd4f"},
		"cut off in the flags": {"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nflags\t\t: fpu vme " + strings.Repeat("x", 5000), "GenuineIntel-6-143"},
		"blank lines in front": {"\n\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n", "GenuineIntel-6-143"},
		"another architecture": {"processor       : 0\nmachine         : IBM 9040\n", ""},
		"half of it":           {"vendor_id\t: GenuineIntel\n", ""},
		"nothing":              {"", ""},
		"what does not print":  {"vendor_id\t: Genuine\x1bIntel\ncpu family\t: 6\nmodel\t: 1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "cpuinfo"), []byte(c.cpuinfo), 0o644))
			require.Equal(t, c.want, Platform(Options{Sysfs: dir, Procfs: dir}))
		})
	}
	require.Empty(t, Platform(Options{Sysfs: t.TempDir(), Procfs: "/nowhere"}), "no procfs")
}
