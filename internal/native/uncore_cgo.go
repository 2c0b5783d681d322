//go:build cgo && linux

package native

// #include <stdlib.h>
// #include "hostping.h"
import "C"

import (
	"context"
	"fmt"
	"sync"
	"unsafe"
)

// Uncore is a group of uncore PMUs that count. Its methods may be called from any goroutine.
type Uncore struct {
	mu       sync.Mutex
	worker   *worker
	read     func()
	counters []UncoreCounter
	memory   *uncoreMemory
	sockets  int
}

// uncoreMemory is what the calls of one group work on, on the C side.
type uncoreMemory struct {
	handle  *C.hp_uncore
	config  C.hp_uncore_config
	outcome C.hp_outcome
	sockets [C.HP_SOCKETS_MAX]C.hp_uncore_socket
}

func newUncore(config UncoreConfig) (*Uncore, error) {
	memory := (*uncoreMemory)(C.calloc(1, C.size_t(unsafe.Sizeof(uncoreMemory{}))))
	memory.config.struct_size = C.sizeof_hp_uncore_config
	memory.config.kind = C.hp_uncore_kind(config.Kind)
	if config.CPU != nil {
		memory.config.cpu_family = clip32(config.CPU.Family)
		memory.config.cpu_model = clip32(config.CPU.Model)
	}
	if err := putString(memory.config.sysfs_root[:], config.SysfsRoot, "sysfs folder"); err != nil || config.Kind > UncoreInterSocket {
		C.free(unsafe.Pointer(memory))
		return nil, fmt.Errorf("uncore PMUs of kind %d in %q: no such kind, or no such path", config.Kind, config.SysfsRoot)
	}
	u := &Uncore{memory: memory}
	u.read = func() { C.hp_uncore_read(memory.handle, &memory.sockets[0], C.HP_SOCKETS_MAX) }
	u.worker = newWorker("uncore PMUs", "perf_event_open", func() {
		C.hp_uncore_close(memory.handle)
		C.free(unsafe.Pointer(memory))
	})
	return u, nil
}

// run makes a call that leaves its outcome in the memory.
func (u *Uncore) run(ctx context.Context, call func()) error {
	memory := u.memory
	if err := u.worker.do(ctx, func() {
		memory.outcome.struct_size = C.sizeof_hp_outcome
		call()
	}); err != nil {
		return err
	}
	if memory.outcome.status != C.HP_STATUS_OK {
		return failureOf(memory.outcome.status, &memory.outcome.failure)
	}
	return nil
}

// DiscoverUncore lists what OpenUncore would open, by reading sysfs alone. StatusPMUMissing: there is no PMU of that kind.
// StatusPMUUnknown: neither sysfs nor the table of CPU models knows the event; the text names the CPU.
func DiscoverUncore(ctx context.Context, config UncoreConfig) ([]UncoreCounter, error) {
	u, err := discoverUncore(ctx, config)
	if err != nil {
		return nil, err
	}
	u.Close()
	return u.counters, nil
}

func discoverUncore(ctx context.Context, config UncoreConfig) (*Uncore, error) {
	u, err := newUncore(config)
	if err != nil {
		return nil, err
	}
	memory := u.memory
	if err := u.run(ctx, func() { memory.handle = C.hp_uncore_discover(&memory.config, &memory.outcome) }); err != nil {
		u.Close()
		return nil, err
	}
	found := make([]C.hp_uncore_counter, C.hp_uncore_counters(memory.handle, nil, 0))
	C.hp_uncore_counters(memory.handle, unsafe.SliceData(found), C.uint64_t(len(found)))
	for i := range found {
		u.counters = append(u.counters, uncoreCounter(&found[i]))
	}
	u.sockets = int(C.hp_uncore_read(memory.handle, nil, 0))
	return u, nil
}

func uncoreCounter(c *C.hp_uncore_counter) UncoreCounter {
	return UncoreCounter{
		PMU:           goString(c.pmu[:]),
		Event:         goString(c.event[:]),
		Source:        goString(c.source[:]),
		CPU:           int(c.cpu),
		Socket:        int(c.socket),
		Type:          uint32(c.pmu_type),
		Config:        uint64(c.config),
		Config1:       uint64(c.config1),
		Config2:       uint64(c.config2),
		BytesPerCount: float64(c.bytes_numerator) / float64(c.bytes_denominator),
	}
}

// OpenUncore discovers and opens the PMUs; they count from then on. StatusPermissionDenied: needs CAP_PERFMON, or
// kernel.perf_event_paranoid at 0 or below. StatusPMURefused: the kernel refuses an event.
func OpenUncore(ctx context.Context, config UncoreConfig) (*Uncore, error) {
	u, err := discoverUncore(ctx, config)
	if err != nil {
		return nil, err
	}
	memory := u.memory
	if err := u.run(ctx, func() { C.hp_uncore_open(memory.handle, &memory.outcome) }); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// Counters that are open.
func (u *Uncore) Counters() []UncoreCounter { return u.counters }

// Sockets is how many sockets a Read fills.
func (u *Uncore) Sockets() int { return u.sockets }

// Read fills out, one per socket, by ascending socket; out must have room for Sockets.
func (u *Uncore) Read(ctx context.Context, out []UncoreBytes) error {
	if len(out) != u.sockets {
		return fmt.Errorf("uncore PMUs: room for %d sockets of %d", len(out), u.sockets)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.worker.do(ctx, u.read); err != nil {
		return err
	}
	for i := range out {
		socket := &u.memory.sockets[i]
		out[i] = UncoreBytes{
			Socket:  int(socket.socket),
			Read:    optionalCount(socket.read_bytes),
			Written: optionalCount(socket.written_bytes),
			Sent:    optionalCount(socket.sent_bytes),
		}
	}
	return nil
}

func optionalCount(o C.hp_optional_u64) OptionalCount {
	if o.present == 0 {
		return OptionalCount{}
	}
	return OptionalCount{Value: uint64(o.value), Known: true}
}

// Close ends the counting.
func (u *Uncore) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.worker.close()
}
