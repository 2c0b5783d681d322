package monitor

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// fileTextBytes is how much of a file is read: a number has 20 digits, and a
// word that stands in for one is short.
const fileTextBytes = 64

// openFiles reads files in plain Go. They stay open: sysfs makes a new text for
// each read from the start, and says ENODEV once the device is gone.
type openFiles struct {
	paths []string
	files []*os.File
}

// OpenFiles is the way to files that Readers without one take.
func OpenFiles(paths []string) (Files, error) {
	return &openFiles{paths: paths, files: make([]*os.File, len(paths))}, nil
}

// Read implements Files. A file that fails is opened anew at once, since its
// device may have been replaced.
func (o *openFiles) Read(_ context.Context, out []FileValue) error {
	for i := range o.paths {
		wasOpen := o.files[i] != nil
		text, err := o.text(i)
		if err != nil && wasOpen {
			text, err = o.text(i)
		}
		out[i] = FileValue{Err: err}
		if err != nil {
			continue
		}
		if number, err := strconv.ParseUint(text, 10, 64); err == nil {
			out[i].Number, out[i].IsNumber = number, true
		} else {
			out[i].Text = text
		}
	}
	return nil
}

func (o *openFiles) text(i int) (string, error) {
	if o.files[i] == nil {
		file, err := os.Open(o.paths[i])
		if err != nil {
			return "", err
		}
		o.files[i] = file
	}
	var buffer [fileTextBytes]byte
	n, err := o.files[i].ReadAt(buffer[:], 0)
	if err != nil && err != io.EOF {
		_ = o.files[i].Close()
		o.files[i] = nil
		return "", err
	}
	return strings.TrimSpace(string(buffer[:n])), nil
}

// Close implements Files.
func (o *openFiles) Close() {
	for i, file := range o.files {
		if file != nil {
			_ = file.Close()
			o.files[i] = nil
		}
	}
}

// counter is a file that counts.
type counter struct {
	path   string
	unit   uint64 // what one step stands for
	narrow bool   // it stops at 32 bits on old devices
}

// value is the count in units of one. The error names the file and what it holds.
func (c counter) value(v FileValue) (uint64, error) {
	switch {
	case v.Err != nil:
		return 0, v.Err
	case !v.IsNumber:
		return 0, fmt.Errorf("%s holds %q, not a number", c.path, v.Text)
	// A 32-bit port counter does not wrap but stays at its largest value: it
	// would look idle for ever.
	case c.narrow && v.Number == math.MaxUint32:
		return 0, fmt.Errorf("%s is at the largest value of 32 bits and counts no more; reset it with perfquery -R", c.path)
	case v.Number > math.MaxUint64/c.unit:
		return 0, fmt.Errorf("%s holds %d, more than can be counted in steps of %d", c.path, v.Number, c.unit)
	}
	return v.Number * c.unit, nil
}
