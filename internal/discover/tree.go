package discover

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Bounds on what is read, far above what the kernel writes.
const (
	maxFileBytes = 4096
	maxEntries   = 1 << 16 // of one directory
)

// tree is a directory that stands for /sys or /proc. Nothing outside it is
// ever opened, whatever its links say.
type tree struct {
	root   *os.Root
	onRead func(name string) // for tests; nil otherwise
}

func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root}, nil
}

func (t *tree) close() { _ = t.root.Close() }

// bytes is up to maxFileBytes of a regular file. A pipe or a device in the
// tree is refused without waiting for it.
func (t *tree) bytes(name string) ([]byte, error) {
	if t.onRead != nil {
		t.onRead(name)
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no regular file", name)
	}
	data := make([]byte, maxFileBytes)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return data[:n], nil
}

// text is a file's content without surrounding white space.
func (t *tree) text(name string) (string, error) {
	data, err := t.bytes(name)
	return strings.TrimSpace(string(data)), err
}

// list is the names in a directory, in no order.
func (t *tree) list(name string) ([]string, error) {
	d, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxEntries)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// target is where a link leads, as a path in the tree. What is no link leads
// to itself. The kernel's links lead to real directories, so one step is enough.
func (t *tree) target(name string) (string, error) {
	link, err := t.root.Readlink(name)
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
func (t *tree) exists(name string) bool {
	_, err := t.root.Stat(name)
	return err == nil
}
