package monitor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// someFiles reads those of many files that were there when they were opened,
// so that the names of other drivers cost nothing. When one of them goes, the
// device may have been replaced: the error makes the guard open all anew.
type someFiles struct {
	files  Files
	there  []int // the places of the files among all
	all    int
	buffer []FileValue
}

// existing is the places of the paths that exist.
func existing(paths []string) []int {
	there := []int{}
	for i, path := range paths {
		if _, err := os.Stat(path); err == nil {
			there = append(there, i)
		}
	}
	return there
}

func pick(paths []string, there []int) []string {
	picked := make([]string, len(there))
	for i, at := range there {
		picked[i] = paths[at]
	}
	return picked
}

func (s *someFiles) read(ctx context.Context) ([]FileValue, error) {
	if s.buffer == nil {
		s.buffer = make([]FileValue, len(s.there))
	}
	if err := s.files.Read(ctx, s.buffer); err != nil {
		return nil, err
	}
	values := make([]FileValue, s.all)
	for i := range values {
		values[i].Err = fs.ErrNotExist
	}
	for i, at := range s.there {
		if err := s.buffer[i].Err; errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
			return nil, err
		}
		values[at] = s.buffer[i]
	}
	return values, nil
}

func (s *someFiles) close() { s.files.Close() }
