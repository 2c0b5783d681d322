//go:build cgo && linux

package native

// #include <stdlib.h>
// #include "hostping.h"
import "C"

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Ethtool reads the statistics of one netdev over the kernel's ethtool ioctl. Its methods may be called from any goroutine.
type Ethtool struct {
	mu      sync.Mutex
	worker  *worker
	read    func()
	handle  *C.hp_ethtool
	reading *C.hp_ethtool_reading

	driver     string
	names      []string
	generation uint64 // of names
}

// OpenEthtool prepares the reading of a netdev of this network namespace; the first Read asks for it. Needs no privilege.
func OpenEthtool(netdev string) (*Ethtool, error) {
	// IFNAMSIZ of linux/if.h, with the terminating zero.
	if len(netdev) == 0 || len(netdev) >= 16 || strings.ContainsRune(netdev, 0) {
		return nil, fmt.Errorf("ethtool: netdev name %q must have 1 to 15 bytes", netdev)
	}
	name := C.CString(netdev)
	defer C.free(unsafe.Pointer(name))
	handle := C.hp_ethtool_create(name)
	if handle == nil {
		return nil, fmt.Errorf("ethtool: no memory for the statistics of %s", netdev)
	}
	reading := (*C.hp_ethtool_reading)(C.calloc(1, C.sizeof_hp_ethtool_reading))
	e := &Ethtool{handle: handle, reading: reading}
	e.read = func() {
		reading.struct_size = C.sizeof_hp_ethtool_reading
		C.hp_ethtool_read(handle, reading)
	}
	e.worker = newWorker(netdev, "ioctl(SIOCETHTOOL)", func() {
		C.hp_ethtool_destroy(handle)
		C.free(unsafe.Pointer(reading))
	})
	return e, nil
}

// Read fills stats. StatusDeviceNotFound, or StatusDeviceRemoved when it was there before: there is no such netdev; a later Read finds it
// when it is back. StatusUnsupported: the driver has no statistics. StatusAbandoned: the driver hangs; each Read fails at once until it returns.
func (e *Ethtool) Read(ctx context.Context, stats *EthtoolStats) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.worker.do(ctx, e.read); err != nil {
		return err
	}
	if e.reading.status != C.HP_STATUS_OK {
		return failureOf(e.reading.status, &e.reading.failure)
	}
	count := int(e.reading.count)
	if generation := uint64(e.reading.generation); generation != e.generation {
		e.learn(count)
		e.generation = generation
	}
	stats.Driver, stats.Names, stats.Generation = e.driver, e.names, e.generation
	values := unsafe.Slice((*uint64)(unsafe.Pointer(C.hp_ethtool_values(e.handle))), count)
	stats.Values = append(slices.Grow(stats.Values[:0], count), values...)
	return nil
}

func (e *Ethtool) learn(count int) {
	e.driver = goString(e.reading.driver[:])
	names := unsafe.Slice((*byte)(unsafe.Pointer(C.hp_ethtool_names(e.handle))), count*C.HP_STATISTIC_NAME_BYTES)
	e.names = make([]string, count)
	for i := range e.names {
		name, _, _ := bytes.Cut(names[i*C.HP_STATISTIC_NAME_BYTES:(i+1)*C.HP_STATISTIC_NAME_BYTES], []byte{0})
		e.names[i] = string(bytes.TrimSpace(name))
	}
}

// Close gives the socket back.
func (e *Ethtool) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.worker.close()
}
