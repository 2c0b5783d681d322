package monitortest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/monitor"
)

// Files is what every reader of files must do: read them in place, each
// apart, and see what was replaced.
func Files(t *testing.T, open func([]string) (monitor.Files, error)) {
	root := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o644))
	}
	write("number", "12\n")
	write("text", "4: ACTIVE\n")
	write("words", "N/A (no PMA)\n")
	write("empty", "")
	write("big", strings.Repeat("9", 200))
	write("signed", "-1\n")
	names := []string{"number", "text", "words", "empty", "big", "signed", "none", "."}
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(root, name))
	}
	files, err := open(paths)
	require.NoError(t, err)
	defer files.Close()
	values := make([]monitor.FileValue, len(paths))
	for range 2 {
		require.NoError(t, files.Read(t.Context(), values))
		assert.Equal(t, monitor.FileValue{Number: 12, IsNumber: true}, values[0])
		assert.Equal(t, monitor.FileValue{Text: "4: ACTIVE"}, values[1])
		assert.Equal(t, monitor.FileValue{Text: "N/A (no PMA)"}, values[2])
		assert.Equal(t, monitor.FileValue{}, values[3])
		assert.False(t, values[4].IsNumber, "it does not fit 64 bits")
		assert.LessOrEqual(t, len(values[4].Text), 64)
		assert.Equal(t, monitor.FileValue{Text: "-1"}, values[5])
		assert.ErrorIs(t, values[6].Err, fs.ErrNotExist)
		assert.ErrorContains(t, values[6].Err, "none: no such file")
		assert.Error(t, values[7].Err, "a folder")
	}
	write("number", "13\n")
	write("none", "1\n")
	require.NoError(t, files.Read(t.Context(), values))
	assert.Equal(t, monitor.FileValue{Number: 13, IsNumber: true}, values[0])
	assert.Equal(t, monitor.FileValue{Number: 1, IsNumber: true}, values[6], "it is there now")
}
