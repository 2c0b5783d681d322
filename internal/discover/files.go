package discover

import (
	"errors"
	"io"
	"os"
	"path"
	"syscall"
)

// Files is a directory that stands for /sys or /proc: that of this host (Dir),
// a captured one, or one that a test makes up. Names are paths below it, with slashes and
// without a leading one; links on the way are followed, and nothing outside is
// ever reached. Errors wrap those of package fs and syscall.
type Files interface {
	// Read fills the buffer with the beginning of a regular file. A pipe or a
	// device is refused without waiting for it.
	Read(name string, buffer []byte) (int, error)
	// List returns the names in a directory, in no order.
	List(name string) ([]string, error)
	// Readlink returns what a link says. What is no link gives syscall.EINVAL.
	Readlink(name string) (string, error)
	// Exists reports whether the name is there, a link's target included.
	Exists(name string) bool
}

// Dir is the files below a directory.
type Dir struct {
	root *os.Root
	// The folder that the last file was in: a device's files are read in a row,
	// and the way down to them is long.
	folder     string
	folderRoot *os.Root
}

// OpenDir opens a directory. Its owner closes it.
func OpenDir(name string) (*Dir, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root}, nil
}

// Close lets go of the directory.
func (d *Dir) Close() error {
	if d.folderRoot != nil {
		_ = d.folderRoot.Close()
	}
	return d.root.Close()
}

// Read is that of Files.
func (d *Dir) Read(name string, buffer []byte) (int, error) {
	if err := d.enter(path.Dir(name)); err != nil {
		return 0, err
	}
	f, err := d.folderRoot.OpenFile(path.Base(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return 0, err
	} else if !info.Mode().IsRegular() {
		return 0, errors.New("is no regular file")
	}
	// The kernel gives a file of this kind whole, to one call.
	n, err := f.Read(buffer)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (d *Dir) enter(folder string) error {
	if d.folderRoot != nil && d.folder == folder {
		return nil
	}
	root, err := d.root.OpenRoot(folder)
	if err != nil {
		return err
	}
	if d.folderRoot != nil {
		_ = d.folderRoot.Close()
	}
	d.folder, d.folderRoot = folder, root
	return nil
}

// List is that of Files.
func (d *Dir) List(name string) ([]string, error) {
	dir, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxEntries)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// Readlink is that of Files.
func (d *Dir) Readlink(name string) (string, error) { return d.root.Readlink(name) }

// Exists is that of Files.
func (d *Dir) Exists(name string) bool {
	_, err := d.root.Stat(name)
	return err == nil
}
