// Package memory holds the files of a host's /sys or /proc in memory: of one
// that was captured, and of those that tests make up.
package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// Files is what discover.Files wants. Names are as there; the folders above a name come
// with it. One goroutine at a time.
type Files struct {
	files, links map[string]string
	folders      map[string][]string // with the names in them
	fails        map[string]error
	resolved     map[string]string // folders that were asked for
}

// New returns an empty folder.
func New() *Files {
	return &Files{
		files: map[string]string{}, links: map[string]string{}, folders: map[string][]string{".": nil},
		fails: map[string]error{}, resolved: map[string]string{},
	}
}

// AddFile adds a file, or changes what is in it.
func (m *Files) AddFile(name, content string) {
	m.enter(name)
	m.files[name] = content
}

// AddLink adds a link that says target.
func (m *Files) AddLink(name, target string) {
	m.enter(name)
	m.links[name] = target
}

// AddFailing adds a file that cannot be read.
func (m *Files) AddFailing(name string, err error) {
	m.AddFile(name, "")
	m.fails[name] = err
}

// AddFolder adds a folder.
func (m *Files) AddFolder(name string) {
	if _, ok := m.folders[name]; !ok {
		m.enter(name)
		m.folders[name] = nil
	}
}

// enter adds a name to its folder, once.
func (m *Files) enter(name string) {
	_, isFile := m.files[name]
	_, isLink := m.links[name]
	_, isFolder := m.folders[name]
	if !isFile && !isLink && !isFolder {
		parent := path.Dir(name)
		m.AddFolder(parent)
		m.folders[parent] = append(m.folders[parent], path.Base(name))
	}
}

// Read fills the buffer with the beginning of a file.
func (m *Files) Read(name string, buffer []byte) (int, error) {
	at, err := m.find(name, true)
	if err != nil {
		return 0, err
	}
	if err := m.fails[at]; err != nil {
		return 0, err
	}
	content, ok := m.files[at]
	if !ok {
		return 0, errors.New("is no regular file")
	}
	return copy(buffer, content), nil
}

// List returns the names in a folder.
func (m *Files) List(name string) ([]string, error) {
	at, err := m.find(name, true)
	if err != nil {
		return nil, err
	}
	names, ok := m.folders[at]
	if !ok {
		return nil, syscall.ENOTDIR
	}
	return append([]string(nil), names...), nil
}

// Readlink returns what a link says.
func (m *Files) Readlink(name string) (string, error) {
	at, err := m.find(name, false)
	if err != nil {
		return "", err
	}
	target, ok := m.links[at]
	if !ok {
		return "", syscall.EINVAL
	}
	return target, nil
}

// Exists reports whether the name is there.
func (m *Files) Exists(name string) bool {
	_, err := m.find(name, true)
	return err == nil
}

// maxLinks is how many links the kernel follows on the way to a file.
const maxLinks = 40

// find follows links to where a name leads; the last one on request only.
func (m *Files) find(name string, last bool) (string, error) {
	at, left := ".", strings.Split(path.Clean(name), "/")
	if folder, ok := m.resolved[path.Dir(name)]; ok {
		at, left = folder, []string{path.Base(name)}
	}
	for links := 0; len(left) > 0; {
		next := path.Join(at, left[0])
		left = left[1:]
		target, isLink := m.links[next]
		_, isFolder := m.folders[next]
		_, isFile := m.files[next]
		switch {
		case isLink && (last || len(left) > 0):
			if links++; links > maxLinks {
				return "", syscall.ELOOP
			}
			next = path.Join(at, target)
			if path.IsAbs(target) || next == ".." || strings.HasPrefix(next, "../") {
				return "", fmt.Errorf("link to %s leads out of the tree", target)
			}
			at, left = ".", append(strings.Split(next, "/"), left...)
		case isFolder:
			at = next
			if len(left) == 1 && links == 0 {
				m.resolved[path.Dir(name)] = at
			}
		case !isFile && !isLink:
			return "", fs.ErrNotExist
		case len(left) > 0:
			return "", syscall.ENOTDIR
		default:
			at = next
		}
	}
	return at, nil
}
