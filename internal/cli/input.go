package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var errInterrupted = errors.New("interrupted while it was read")

// parseInput reads and parses a file that the user named, or standard input for "-".
// A pipe that is slow may be interrupted; one to which nobody writes is no input.
// What is larger than the limit is read one byte further, for the parser to refuse.
func parseInput[T any](ctx context.Context, stdin io.Reader, path string, limitBytes int64, parse func([]byte) (T, error)) (T, error) {
	type answer struct {
		text []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		var a answer
		a.text, a.err = readWhole(stdin, path, limitBytes)
		read <- a
	}()
	a := answer{err: errInterrupted}
	select {
	case a = <-read:
	case <-ctx.Done():
	}
	if a.err != nil {
		var none T
		return none, a.err
	}
	return parse(a.text)
}

func readWhole(stdin io.Reader, path string, limitBytes int64) ([]byte, error) {
	from, pipe := stdin, false
	if path != "-" {
		// Without O_NONBLOCK the opening of a pipe waits for somebody who writes.
		opened, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, fmt.Errorf("cannot be read: %w", withoutPath(err))
		}
		defer opened.Close()
		info, err := opened.Stat()
		switch {
		case err != nil:
			return nil, fmt.Errorf("cannot be read: %w", withoutPath(err))
		case info.IsDir():
			return nil, errors.New("cannot be read: it is a folder")
		case info.Mode()&fs.ModeNamedPipe != 0:
			pipe = true
		case !info.Mode().IsRegular():
			return nil, errors.New("cannot be read: it is neither a file nor a pipe")
		}
		from = opened
	}
	if from == nil { // a program without a standard input
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(from, limitBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", withoutPath(err))
	case pipe && len(text) == 0:
		return nil, errors.New("cannot be read: it is a pipe to which nobody writes")
	}
	return text, nil
}
