package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"
)

// Inhibited reports whether the inhibit file forbids probing, with the first
// line of the file as the reason where it has one. A file that cannot be
// looked for forbids too.
func Inhibited(path string) (inhibited bool, reason string) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, ""
	}
	if err != nil {
		return true, fmt.Sprintf("cannot tell whether probing is inhibited: %v", err)
	}
	if info.Mode().IsRegular() {
		if note := firstLine(path); note != "" {
			return true, fmt.Sprintf("%s exists: %s", path, note)
		}
	}
	return true, path + " exists; remove it to allow probing"
}

// firstLine is at most 120 bytes of a file's first line, fit for a terminal;
// "" when there is none.
func firstLine(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	content, _ := io.ReadAll(io.LimitReader(file, 120))
	line, _, _ := strings.Cut(string(content), "\n")
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, ""))
	return strings.TrimSpace(printable)
}
