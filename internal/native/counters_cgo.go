//go:build cgo && linux

package native

// #include <stdlib.h>
// #include "hostping.h"
import "C"

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unsafe"
)

// Counters reads a set of small counter files, kept open, in one call. Its methods may be called from any goroutine.
type Counters struct {
	mu     sync.Mutex
	worker *worker
	read   func()
	values []CounterValue // the C side's memory
}

// OpenCounters prepares the reading of files, which are opened by the first Read. One handle for each device: files of one
// handle hang together.
func OpenCounters(files []string) (*Counters, error) {
	if len(files) == 0 || len(files) > CounterFilesMax {
		return nil, fmt.Errorf("counters: %d files, must be 1 to %d", len(files), CounterFilesMax)
	}
	var paths []byte
	for _, file := range files {
		if file == "" || strings.ContainsRune(file, 0) {
			return nil, fmt.Errorf("counters: %q is no path", file)
		}
		paths = append(append(paths, file...), 0)
	}
	handle := C.hp_counters_create((*C.char)(unsafe.Pointer(unsafe.SliceData(paths))), C.uint64_t(len(paths)), C.uint64_t(len(files)))
	if handle == nil {
		return nil, fmt.Errorf("counters: no memory for %d files", len(files))
	}
	memory := (*C.hp_counter_value)(C.calloc(C.size_t(len(files)), C.sizeof_hp_counter_value))
	counters := &Counters{values: unsafe.Slice((*CounterValue)(unsafe.Pointer(memory)), len(files))}
	counters.read = func() { C.hp_counters_read(handle, memory) }
	counters.worker = newWorker(files[0], "read", func() {
		C.hp_counters_destroy(handle)
		C.free(unsafe.Pointer(memory))
	})
	return counters, nil
}

// Read reads every file once, in the order of OpenCounters; out must have their number. A file that cannot be read is
// absent in out, that is no error; a file that went stale (its device was removed, or came back) is opened anew. The error is
// StatusAbandoned when a file hangs: out is untouched then, and each Read fails at once until the file returns.
func (c *Counters) Read(ctx context.Context, out []CounterValue) error {
	if len(out) != len(c.values) {
		return fmt.Errorf("counters: room for %d values of %d files", len(out), len(c.values))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.worker.do(ctx, c.read); err != nil {
		return err
	}
	copy(out, c.values)
	return nil
}

// Close gives the files back, those of a call that hangs once it returns.
func (c *Counters) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worker.close()
}
