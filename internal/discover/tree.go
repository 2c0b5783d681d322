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
	onRead func(name string) // may be nil
	// The folder that the last file was in: a device's files are read in a row,
	// and the way down to them is long.
	folder     string
	folderRoot *os.Root
	buffer     [maxFileBytes]byte
}

func openTree(dir string, onRead func(name string)) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root, onRead: onRead}, nil
}

func (t *tree) close() {
	if t.folderRoot != nil {
		_ = t.folderRoot.Close()
	}
	_ = t.root.Close()
}

// bytes is up to maxFileBytes of a regular file, valid until the next call. A
// pipe or a device in the tree is refused without waiting for it.
func (t *tree) bytes(name string) ([]byte, error) {
	if t.onRead != nil {
		t.onRead(name)
	}
	n, err := t.fill(name)
	if err != nil {
		var inFolder *fs.PathError
		if errors.As(err, &inFolder) {
			err = inFolder.Err
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t.buffer[:n], nil
}

func (t *tree) fill(name string) (int, error) {
	if err := t.enter(path.Dir(name)); err != nil {
		return 0, err
	}
	f, err := t.folderRoot.OpenFile(path.Base(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return 0, err
	} else if !info.Mode().IsRegular() {
		return 0, errors.New("is no regular file")
	}
	n, err := io.ReadFull(f, t.buffer[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

func (t *tree) enter(folder string) error {
	if t.folderRoot != nil && t.folder == folder {
		return nil
	}
	root, err := t.root.OpenRoot(folder)
	if err != nil {
		return err
	}
	if t.folderRoot != nil {
		_ = t.folderRoot.Close()
	}
	t.folder, t.folderRoot = folder, root
	return nil
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
