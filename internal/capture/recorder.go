package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/yuuki/hostping/internal/discover"
)

// Recorder notes what discovery reads. Whatever discovery learns to read one
// day is in the archive from that day on.
type Recorder struct {
	entries map[string]entry
	full    bool
}

// NewRecorder returns a Recorder that has seen nothing.
func NewRecorder() *Recorder { return &Recorder{entries: map[string]entry{}} }

// Record returns files that behave as the given ones and note what is asked of
// them; top is "sys" or "proc".
func (r *Recorder) Record(top string, files discover.Files) discover.Files {
	ways := map[string]step{".": {".", true}}
	if top == "proc" {
		ways["self"] = step{"self", true} // its link leads to another name each time
	}
	return &recording{r, top, files, ways}
}

// Archive returns what was read so far, as it was: see Anonymise.
func (r *Recorder) Archive() (*Archive, error) {
	if r.full {
		return nil, fmt.Errorf("this host has more than %d files to read", maxEntries)
	}
	return &Archive{r.entries}, nil
}

// note keeps what is known of a name. That it is there is the least.
func (r *Recorder) note(name string, e entry) {
	known, ok := r.entries[name]
	switch {
	case ok && (e.kind == folder || known.kind == link):
	case !ok && len(r.entries) >= maxEntries:
		r.full = true
	default:
		r.entries[name] = e
	}
}

// recording is discover.Files with a Recorder beside it.
type recording struct {
	*Recorder
	top   string
	files discover.Files
	ways  map[string]step // by name as asked for
}

// step is where a name really is, links on the way followed; not ok when it leads nowhere.
type step struct {
	way string
	ok  bool
}

func (r *recording) Read(name string, buffer []byte) (int, error) {
	n, err := r.files.Read(name, buffer)
	at := r.find(name)
	if !at.ok {
		return n, err
	}
	var errno syscall.Errno
	switch {
	case err == nil:
		r.note(path.Join(r.top, at.way), entry{file, string(bytes.Clone(buffer[:n]))})
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &errno):
		r.note(path.Join(r.top, at.way), entry{failing, nameOf(errno)})
	case r.files.Exists(name):
		r.note(path.Join(r.top, at.way), entry{kind: folder})
	}
	return n, err
}

func (r *recording) List(name string) ([]string, error) {
	names, err := r.files.List(name)
	at := r.find(name)
	if err != nil || !at.ok {
		return names, err
	}
	r.note(path.Join(r.top, at.way), entry{kind: folder})
	for _, child := range names {
		r.note(path.Join(r.top, at.way, child), entry{kind: folder})
	}
	return names, nil
}

func (r *recording) Readlink(name string) (string, error) {
	target, err := r.files.Readlink(name)
	if parent := r.find(path.Dir(name)); parent.ok {
		at := path.Join(r.top, parent.way, path.Base(name))
		switch {
		case err == nil:
			r.note(at, entry{link, target})
		case errors.Is(err, syscall.EINVAL):
			r.note(at, entry{kind: folder})
		}
	}
	return target, err
}

func (r *recording) Exists(name string) bool {
	exists := r.files.Exists(name)
	if at := r.find(name); exists && at.ok {
		r.note(path.Join(r.top, at.way), entry{kind: folder})
	}
	return exists
}

// find follows the links on the way to a name, and notes them: through them
// the archive leads to the same place.
func (r *recording) find(name string) step { return r.follow(path.Clean(name), 0) }

// maxLinks is how many links the kernel follows on the way to a file.
const maxLinks = 40

func (r *recording) follow(name string, links int) step {
	if at, ok := r.ways[name]; ok {
		return at
	}
	at := r.followOne(name, links)
	if len(r.ways) < maxEntries {
		r.ways[name] = at
	}
	return at
}

func (r *recording) followOne(name string, links int) step {
	if !fs.ValidPath(name) || links > maxLinks {
		return step{}
	}
	parent := r.follow(path.Dir(name), links)
	if !parent.ok {
		return step{}
	}
	way := path.Join(parent.way, path.Base(name))
	target, err := r.files.Readlink(way)
	switch {
	case errors.Is(err, syscall.EINVAL):
		return step{way, true}
	case err != nil:
		return step{}
	}
	r.note(path.Join(r.top, way), entry{link, target})
	if path.IsAbs(target) {
		return step{}
	}
	to := path.Join(parent.way, target)
	if to == ".." || strings.HasPrefix(to, "../") {
		return step{}
	}
	return r.follow(to, links+1)
}
