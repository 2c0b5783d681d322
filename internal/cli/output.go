package cli

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is where a command's result goes: stdout, or a file that appears
// whole or not at all. It is opened before any work is done, so that a run is
// not wasted on a file that cannot be written.
type output struct {
	flag string // that named path
	path string // as the user wrote it; "" for stdout
	w    io.Writer
	file *os.File // what is being written for path
	to   string   // where file goes when it is whole; "" for one written in place
}

// openOutput prepares path, or stdout where it is "".
func openOutput(path string, stdout io.Writer) (*output, error) {
	if path == "" {
		return &output{w: stdout}, nil
	}
	return openFile("output", path)
}

// openFile prepares the file that a flag names.
func openFile(flag, path string) (*output, error) {
	o := &output{flag: flag, path: path}
	if err := o.open(); err != nil {
		return nil, wrongFlagf(flag, path, " cannot be written: %w; name a file in a folder that you may write to", withoutPath(err))
	}
	o.w = o.file
	return o, nil
}

func (o *output) open() error {
	target, mode := o.path, fs.FileMode(0o666)
	if resolved, err := filepath.EvalSymlinks(target); err == nil {
		target = resolved // replace what a link points to, not the link
	} else if _, err := os.Lstat(target); err == nil {
		return errors.New("it is a link to nowhere")
	}
	if info, err := os.Stat(target); err == nil {
		switch {
		case info.IsDir():
			return errors.New("it is a folder")
		case !info.Mode().IsRegular(): // a device or a pipe has no half-written state, and must not be replaced
			file, err := os.OpenFile(target, os.O_WRONLY, 0)
			o.file = file
			return err
		}
		mode = info.Mode().Perm()
		// Replacing needs the folder's permission alone; respect the file's too.
		probe, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		probe.Close()
	}
	var random [6]byte
	_, _ = rand.Read(random[:])
	temporary := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.%x", filepath.Base(target), random))
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	o.file, o.to = file, target
	return err
}

// write renders the result and puts it where it belongs. Nothing is written
// when rendering fails.
func (o *output) write(render func(io.Writer) error) error {
	var buffer bytes.Buffer
	if err := render(&buffer); err != nil {
		return err
	}
	if _, err := o.w.Write(buffer.Bytes()); err != nil {
		return o.failed(err)
	}
	if o.to == "" {
		return nil
	}
	if err := o.file.Sync(); err != nil {
		return o.failed(err)
	}
	if err := os.Rename(o.file.Name(), o.to); err != nil {
		return o.failed(err)
	}
	o.to = ""
	return nil
}

func (o *output) failed(err error) error {
	if o.path == "" {
		return stdoutFailed(err)
	}
	return wrongFlagf(o.flag, o.path, " cannot be written: %w", withoutPath(err))
}

// close drops whatever is not whole.
func (o *output) close() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.to != "" {
		os.Remove(o.file.Name())
	}
}

func stdoutFailed(err error) error {
	return usagef("the result cannot be written to stdout: %w", withoutPath(err))
}

// keptWriter keeps the error of what cobra writes: help, version, completion.
type keptWriter struct {
	w   io.Writer
	err error
}

func (k *keptWriter) Write(text []byte) (int, error) {
	n, err := k.w.Write(text)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

// withoutPath is an error without the path that the message already names.
func withoutPath(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	if linkError, ok := errors.AsType[*os.LinkError](err); ok {
		return linkError.Err
	}
	return err
}
