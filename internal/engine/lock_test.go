package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLockIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hostping", "probe.lock")

	release, err := Lock(path)
	require.NoError(t, err, "the folder and the file are created")

	_, err = Lock(path)
	assert.ErrorIs(t, err, ErrLocked)
	assert.ErrorContains(t, err, fmt.Sprintf("%s is held by process %d", path, os.Getpid()))

	release()
	again, err := Lock(path)
	require.NoError(t, err, "free again")
	again()
}

func TestLockHolderIsNamedOnlyWhenKnown(t *testing.T) {
	cases := []struct {
		name, content string
		known         bool
	}{
		{"a living process", fmt.Sprintf("%d\n", os.Getpid()), true},
		{"nothing", "", false},
		{"not a pid", "hostping\n", false},
		{"no process", "0\n", false},
		{"a group of processes", "-1\n", false},
		{"a process long gone", "2147483646\n", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "probe.lock")
			release, err := Lock(path)
			require.NoError(t, err)
			defer release()
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o644))

			_, err = Lock(path)
			require.ErrorIs(t, err, ErrLocked)
			if c.known {
				assert.ErrorContains(t, err, "by process")
			} else {
				assert.NotContains(t, err.Error(), "by process")
			}
		})
	}
}

func TestLockLeavesNoFileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "probe.lock")
	open := func() int {
		entries, err := os.ReadDir("/dev/fd")
		require.NoError(t, err)
		return len(entries)
	}
	before := open()
	for range 100 {
		release, err := Lock(path)
		require.NoError(t, err)
		_, err = Lock(path)
		require.Error(t, err)
		release()
	}
	assert.Equal(t, before, open())
}

func TestLockThatCannotBeUsed(t *testing.T) {
	cases := []struct {
		name  string
		path  func(dir string) string
		wants string
	}{
		{"the folder's parent is missing", func(dir string) string { return filepath.Join(dir, "run", "hostping", "probe.lock") }, "create "},
		{"the folder is a file", func(dir string) string {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "hostping"), nil, 0o644))
			return filepath.Join(dir, "hostping", "probe.lock")
		}, "open "},
		{"the lock is a folder", func(dir string) string {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "probe.lock"), 0o755))
			return filepath.Join(dir, "probe.lock")
		}, "open "},
		{"the lock is a symbolic link", func(dir string) string {
			require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "probe.lock")))
			return filepath.Join(dir, "probe.lock")
		}, "open "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Lock(c.path(t.TempDir()))
			require.ErrorIs(t, err, ErrLockUnavailable)
			assert.ErrorContains(t, err, c.wants)
			assert.ErrorContains(t, err, "run as root")
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestInhibited(t *testing.T) {
	cases := []struct {
		name      string
		make      func(path string) error
		inhibited bool
		reason    string // after the path
	}{
		{"no file", func(string) error { return nil }, false, ""},
		{"empty file", func(path string) error { return os.WriteFile(path, nil, 0o644) }, true, " exists; remove it to allow probing"},
		{"a reason", func(path string) error { return os.WriteFile(path, []byte("slurm job 4711\nsecond line\n"), 0o644) }, true, " exists: slurm job 4711"},
		{"control characters", func(path string) error { return os.WriteFile(path, []byte("a\x1b[31mb\xff\n"), 0o644) }, true, " exists: a[31mb"},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o755) }, true, " exists; remove it to allow probing"},
		{"a dangling link", func(path string) error { return os.Symlink("nowhere", path) }, true, " exists; remove it to allow probing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "inhibit")
			require.NoError(t, c.make(path))
			inhibited, reason := Inhibited(path)
			assert.Equal(t, c.inhibited, inhibited)
			if c.inhibited {
				assert.Equal(t, path+c.reason, reason)
			} else {
				assert.Empty(t, reason)
			}
		})
	}

	t.Run("a file that cannot be looked for", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "hostping")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		inhibited, reason := Inhibited(filepath.Join(file, "inhibit"))
		assert.True(t, inhibited, "fails closed")
		assert.Contains(t, reason, "cannot tell whether probing is inhibited")
	})
}
