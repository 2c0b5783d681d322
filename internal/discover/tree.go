package discover

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Bounds on what is read, far above what the kernel writes.
const (
	maxFileBytes = 4096 // the whole of a PCI Express function's configuration space
	maxEntries   = 1 << 16
)

// tree reads whole values from Files, and says in its errors which file it was.
type tree struct {
	files  Files
	buffer [maxFileBytes]byte
}

// bytes is up to maxFileBytes of a file, valid until the next call.
func (t *tree) bytes(name string) ([]byte, error) {
	n, err := t.files.Read(name, t.buffer[:])
	if err != nil {
		var inFolder *fs.PathError
		if errors.As(err, &inFolder) {
			err = inFolder.Err
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t.buffer[:n], nil
}

// text is a file's content without surrounding white space.
func (t *tree) text(name string) (string, error) {
	data, err := t.bytes(name)
	return strings.TrimSpace(string(data)), err
}

// list is the names in a directory, in no order. What cannot be a device's name is left out.
func (t *tree) list(name string) ([]string, error) {
	names, err := t.files.List(name)
	return slices.DeleteFunc(names, func(name string) bool { _, err := identifier(name); return err != nil }), err
}

// target is where a link leads, as a path in the tree. What is no link leads
// to itself. The kernel's links lead to real directories, so one step is enough.
func (t *tree) target(name string) (string, error) {
	link, err := t.files.Readlink(name)
	switch {
	case errors.Is(err, syscall.EINVAL):
		return name, nil
	case err != nil:
		return "", err
	case path.IsAbs(link):
		return "", fmt.Errorf("%s: link to %s leads out of the tree", name, link)
	}
	to := path.Join(path.Dir(name), link)
	if !fs.ValidPath(to) {
		return "", fmt.Errorf("%s: link to %s leads out of the tree", name, link)
	}
	return to, nil
}

// exists reports whether the name is there, a link's target included.
func (t *tree) exists(name string) bool { return t.files.Exists(name) }
