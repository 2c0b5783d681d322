package hosttree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// Memory is a part of a tree, read in place. It is what discover.Files wants;
// to write a host to disk takes far longer than to read it. One goroutine at a time.
type Memory struct {
	files, links map[string]string
	folders      map[string][]string // with the names in them
	fails        map[string]error
	resolved     map[string]string // folders that were asked for
}

// Files returns the part of the tree below top, "sys" or "proc".
func (t *Tree) Files(top string) *Memory {
	m := &Memory{
		files: map[string]string{}, links: map[string]string{}, folders: map[string][]string{},
		fails: map[string]error{}, resolved: map[string]string{},
	}
	below := func(name string) (string, bool) {
		rest, ok := strings.CutPrefix(name, top+"/")
		return rest, ok && !t.isGone(name)
	}
	m.folder(".")
	for name := range t.folders {
		if name, ok := below(name); ok {
			m.folder(name)
		}
	}
	for name, content := range t.files {
		if name, ok := below(name); ok {
			m.enter(name)
			m.files[name] = content
		}
	}
	for name, target := range t.links {
		if name, ok := below(name); ok {
			m.enter(name)
			m.links[name] = target
		}
	}
	for name, err := range t.fails {
		if name, ok := below(name); ok {
			m.enter(name)
			m.files[name], m.fails[name] = "", err
		}
	}
	return m
}

func (m *Memory) folder(name string) {
	if _, ok := m.folders[name]; ok {
		return
	}
	m.folders[name] = nil
	if name != "." {
		m.enter(name)
	}
}

// enter adds a name to its folder, once.
func (m *Memory) enter(name string) {
	_, isFile := m.files[name]
	_, isLink := m.links[name]
	if !isFile && !isLink {
		parent := path.Dir(name)
		m.folder(parent)
		m.folders[parent] = append(m.folders[parent], path.Base(name))
	}
}

// Read fills the buffer with the beginning of a file.
func (m *Memory) Read(name string, buffer []byte) (int, error) {
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
func (m *Memory) List(name string) ([]string, error) {
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
func (m *Memory) Readlink(name string) (string, error) {
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
func (m *Memory) Exists(name string) bool {
	_, err := m.find(name, true)
	return err == nil
}

// maxLinks is how many links the kernel follows on the way to a file.
const maxLinks = 40

// find follows links to where a name leads; the last one on request only.
func (m *Memory) find(name string, last bool) (string, error) {
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
