package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yuuki/hostping/internal/analyzer"
)

// schema names the form of the state file.
const schema = "hostping.campaign/v1"

// saved is a campaign's state on disk. Runs of two builds, of two seeds or
// with other rules are not to be added up, so it says which they are of.
type saved struct {
	Schema string               `json:"schema"`
	Build  string               `json:"build"` // SHA-256 of the program
	Seed   uint64               `json:"seed"`
	Plain  analyzer.Plain       `json:"plain"`
	Rows   map[string]*rowState `json:"rows"`
}

// build identifies the running program by its content.
func build() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// resume reads a state file; one that does not exist is an empty state.
func resume(name, build string, seed uint64, plain analyzer.Plain) (map[string]*rowState, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]*rowState{}, nil
	}
	if err != nil {
		return nil, err
	}
	var s saved
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s is no state of a campaign: %w", name, err)
	}
	switch {
	case s.Schema != schema:
		return nil, fmt.Errorf("%s: schema %q is not %q", name, s.Schema, schema)
	case s.Build != build:
		return nil, fmt.Errorf("%s is the state of another build, whose runs do not count for this one; remove it or name another file with -state", name)
	case s.Seed != seed:
		return nil, fmt.Errorf("%s is the state of seed %d, not %d; remove it or name another file with -state", name, s.Seed, seed)
	case s.Plain != plain:
		return nil, fmt.Errorf("%s is the state of a campaign with other rules left out; remove it or name another file with -state", name)
	case s.Rows == nil:
		s.Rows = map[string]*rowState{}
	}
	return s.Rows, nil
}

// save replaces the state file: whoever reads it sees the old one or the new one.
func save(name string, s saved) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
