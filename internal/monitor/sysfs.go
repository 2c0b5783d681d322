package monitor

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sysfs reads small files under one root. A file of a sick device can hang in
// the kernel: each device's reads run apart from the caller, who waits for a
// bounded time, and a device with a hanging read is left alone until it returns.
type sysfs struct {
	root string

	mu      sync.Mutex
	reading map[string]bool // devices with a read that has not returned
}

// readDeadline bounds the reads of one device. Drivers that ask their
// firmware for a counter take up to some milliseconds.
const readDeadline = 2 * time.Second

func newSysfs(root string) *sysfs { return &sysfs{root: root, reading: map[string]bool{}} }

// attempt runs f, which reads files of one device, and fails when it hangs.
func attempt[T any](ctx context.Context, fs *sysfs, device string, f func() (T, error)) (T, error) {
	var none T
	if !fs.begin(device) {
		return none, fmt.Errorf("an earlier read of its files under %s still hangs", fs.root)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		fs.end(device) // before the caller learns of it, who may read again at once
		done <- result{value, err}
	}()
	patience := time.NewTimer(readDeadline)
	defer patience.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-patience.C:
		return none, fmt.Errorf("reading its files under %s hangs for more than %v", fs.root, readDeadline)
	case <-ctx.Done():
		return none, errEnded
	}
}

func (s *sysfs) begin(device string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading[device] {
		return false
	}
	s.reading[device] = true
	return true
}

func (s *sysfs) end(device string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reading, device)
}

// path is the full name of a file below the root.
func (s *sysfs) path(elements ...string) string {
	return filepath.Join(append([]string{s.root}, elements...)...)
}

// readUint reads a file that holds one decimal number and nothing else. The
// error names the file and, where it holds anything else, what that is.
func readUint(file string) (uint64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const enough = 64 // a 64-bit number has 20 digits
	content, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(content))
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q, not a number", file, text)
	}
	return value, nil
}
