package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Well-known files that the daemon and the command-line tool share.
const (
	DefaultLockPath    = "/run/hostping/probe.lock"
	DefaultInhibitPath = "/run/hostping/inhibit"
)

// ErrLocked is a prober lock that another process holds.
var ErrLocked = errors.New("another prober is running on this host")

// ErrLockUnavailable is a prober lock that cannot be taken or created.
var ErrLockUnavailable = errors.New("the prober lock cannot be used")

// Lock takes the host-wide prober lock without waiting, and creates its file
// and folder where they are missing. The lock is the kernel's, so it ends
// with the process; release ends it earlier.
//
// It fails with ErrLocked, naming the holder's pid where that is known, or
// with ErrLockUnavailable.
func Lock(path string) (release func(), err error) {
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: lock %s: %v", ErrLockUnavailable, path, err)
		}
		if pid, known := holder(file); known {
			return nil, fmt.Errorf("%w: %s is held by process %d; wait for it or stop it", ErrLocked, path, pid)
		}
		return nil, fmt.Errorf("%w: %s is held; wait for its holder or stop it", ErrLocked, path)
	}
	// The pid is a service to whoever finds the lock taken; failing to write
	// it (a file opened for reading) costs only that.
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return func() {
		_ = file.Truncate(0)
		_ = file.Close()
	}, nil
}

// openLock opens the lock file, for reading alone where it belongs to another
// user: that is enough to lock it.
func openLock(path string) (*os.File, error) {
	// The folder is made only where it is missing: its owner may be the daemon's user.
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: create %s: %v; run as root, or start the hostping service once", ErrLockUnavailable, filepath.Dir(path), reason(err))
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if errors.Is(err, fs.ErrPermission) {
		if readable, readErr := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0); readErr == nil {
			return readable, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %v; run as root, or start the hostping service once", ErrLockUnavailable, path, reason(err))
	}
	return file, nil
}

// reason is an error without the path that the message already names.
func reason(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// holder reads the pid that the lock's holder left, if that process lives. A
// holder that could only read the file left none.
func holder(file *os.File) (int, bool) {
	content, err := io.ReadAll(io.NewSectionReader(file, 0, 32))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0, false
	}
	return pid, true
}
