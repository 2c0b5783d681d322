//go:build cgo && linux

package native

// #include <stdlib.h>
// #include "hostping.h"
import "C"

import (
	"fmt"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// loopbackCall is one call's memory on the C side; it outlives the Go caller if the call hangs.
type loopbackCall struct {
	memory  *loopbackMemory
	samples []C.uint64_t
	hops    int

	mu    sync.Mutex // the token: cancelled by one goroutine, destroyed by another
	token *C.hp_cancel
}

type loopbackMemory struct {
	config C.hp_loopback_config
	result C.hp_loopback_result
}

func newLoopbackCall(config LoopbackConfig) (*loopbackCall, error) {
	var c C.hp_loopback_config
	c.struct_size = C.sizeof_hp_loopback_config
	if err := putString(c.device[:], config.Device, "device name"); err != nil {
		return nil, fmt.Errorf("loopback probe: %w", err)
	}
	for i, dir := range config.HopDirs {
		if err := putString(c.hops[i][:], dir, "hop"); err != nil {
			return nil, fmt.Errorf("loopback probe: %w", err)
		}
	}
	c.hop_count = C.uint32_t(len(config.HopDirs))
	c.port = clip32(config.Port)
	c.memory_node = indexOrNone(config.MemoryNode)
	c.rnic_node = indexOrNone(config.RNICNode)
	c.gid_index = indexOrNone(config.GIDIndex)
	if config.BasePages {
		c.flags |= C.HP_FLAG_BASE_PAGES
	}
	c.connections = clip32(config.Connections)
	c.window = clip32(config.Window)
	c.message_bytes = clip32(config.MessageBytes)
	c.small_samples = clip32(config.SmallSamples)
	c.large_samples = clip32(config.LargeSamples)
	c.warmup_writes = clip32(config.WarmupWrites)
	c.region_bytes = C.uint64_t(max(config.RegionBytes, 0))
	c.latency_budget_ns = nanoseconds(config.LatencyBudget)
	c.bandwidth_budget_ns = nanoseconds(config.BandwidthBudget)
	c.bandwidth_bytes_max = C.uint64_t(config.BandwidthBytesMax)
	c.tool_check_below_bytes_per_second = C.uint64_t(config.ToolCheckBelowBytesPerSecond)
	c.completion_timeout_ns = nanoseconds(config.CompletionTimeout)
	c.settle_ns = nanoseconds(config.Settle)
	c.deadline_ns = nanoseconds(config.Deadline)

	call := &loopbackCall{
		memory: (*loopbackMemory)(C.calloc(1, C.size_t(unsafe.Sizeof(loopbackMemory{})))),
		token:  C.hp_cancel_create(),
		hops:   len(config.HopDirs),
	}
	if samples := min(config.SmallSamples, LatencySamplesMax); config.KeepSamples && samples > 0 {
		pointer := (*C.uint64_t)(C.calloc(C.size_t(samples), C.sizeof_uint64_t))
		call.samples = unsafe.Slice(pointer, samples)
	}
	if call.token == nil { // Go's C.calloc never returns nil
		call.free()
		return nil, fmt.Errorf("loopback probe of %s: no memory for a cancel token", config.Device)
	}
	call.memory.config = c
	call.memory.result.struct_size = C.sizeof_hp_loopback_result
	return call, nil
}

func (c *loopbackCall) run() (LoopbackResult, error) {
	status := C.hp_loopback_run(&c.memory.config, c.token, unsafe.SliceData(c.samples), C.uint64_t(len(c.samples)), &c.memory.result)
	result := c.result()
	if status == C.HP_STATUS_OK {
		return result, nil
	}
	return result, failureOf(status, &c.memory.result.failure)
}

func failureOf(status C.hp_status, failure *C.hp_failure) *Error {
	return &Error{
		Status:           Status(status),
		Op:               goString(failure.operation[:]),
		Errno:            syscall.Errno(failure.errno_value),
		Object:           goString(failure.object[:]),
		CompletionStatus: uint32(failure.completion_status),
		LibraryCode:      int(failure.library_code),
		Text:             goString(failure.text[:]),
	}
}

func (c *loopbackCall) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != nil {
		C.hp_cancel_trigger(c.token)
	}
}

func (c *loopbackCall) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	C.hp_cancel_destroy(c.token)
	c.token = nil
	C.free(unsafe.Pointer(unsafe.SliceData(c.samples)))
	C.free(unsafe.Pointer(c.memory))
}

func (c *loopbackCall) result() LoopbackResult {
	r := &c.memory.result
	result := LoopbackResult{
		Small:               latencySummary(&r.small),
		Large:               latencySummary(&r.large),
		PaperBytesPerSecond: optional(r.paper_bytes_per_second),
		Sustained:           throughput(&r.sustained),
		ToolCheck:           ToolCheck(r.tool_check),
		GIDIndex:            optional(r.gid_index),
		GIDAttempts:         int(r.gid_attempts),
		SelfNoiseP50:        duration(r.self_noise_p50_ns),
		SelfNoiseP99:        duration(r.self_noise_p99_ns),
		MTUBytes:            int(r.mtu_bytes),
		PageKind:            PageKind(r.page_kind),
		PlacementVerified:   r.placement_verified != 0,
		ThreadOnRNICNode:    r.thread_on_rnic_node != 0,
		PortStateBefore:     optional(r.port_state_before),
		PortStateAfter:      optional(r.port_state_after),
		PortBytesBefore:     PortBytes{Sent: optional(r.port_sent_bytes_before), Received: optional(r.port_received_bytes_before)},
		PortBytesAfter:      PortBytes{Sent: optional(r.port_sent_bytes_after), Received: optional(r.port_received_bytes_after)},
		Duration:            duration(r.duration_ns),
	}
	if r.repeat.duration_ns != 0 {
		repeat := throughput(&r.repeat)
		result.Repeat = &repeat
	}
	for _, sample := range c.samples[:min(int(r.samples_stored), len(c.samples))] {
		result.SmallSamples = append(result.SmallSamples, duration(sample))
	}
	for i := range r.hops[:c.hops] {
		hop := &r.hops[i]
		result.Hops = append(result.Hops, HopReading{Before: linkReading(hop.before), During: linkReading(hop.during)})
	}
	return result
}

func latencySummary(s *C.hp_latency_summary) LatencySummary {
	return LatencySummary{
		Count: int(s.count),
		Min:   duration(s.min_ns),
		P50:   duration(s.p50_ns),
		P99:   duration(s.p99_ns),
		Max:   duration(s.max_ns),
	}
}

func throughput(t *C.hp_throughput) Throughput {
	return Throughput{
		Bytes:       uint64(t.bytes),
		Duration:    duration(t.duration_ns),
		Connections: int(t.connections),
		Window:      int(t.window),
	}
}

func linkReading(l C.hp_link_reading) LinkReading {
	return LinkReading{SpeedMTs: optional(l.speed_mts), WidthLanes: optional(l.width_lanes)}
}

func optional(o C.hp_optional_u64) *uint64 {
	if o.present == 0 {
		return nil
	}
	value := uint64(o.value)
	return &value
}

func duration(ns C.uint64_t) time.Duration { return time.Duration(ns) }

func nanoseconds(d time.Duration) C.uint64_t { return C.uint64_t(max(d, 0)) }

// clip32 keeps nonsense out of range instead of wrapping it into it; the library then says what is wrong.
func clip32(n int) C.uint32_t { return C.uint32_t(min(max(n, 0), 1<<31)) }

func indexOrNone(index *int) C.int32_t {
	if index == nil {
		return -1
	}
	// Below -1 the library refuses; a negative index is not "none".
	if *index < 0 {
		return -2
	}
	return C.int32_t(min(*index, 1<<30))
}

func putString(field []C.char, text, what string) error {
	if len(text) == 0 || len(text) >= len(field) {
		return fmt.Errorf("%s %q must have 1 to %d bytes", what, text, len(field)-1)
	}
	for i := range len(text) {
		field[i] = C.char(text[i])
	}
	return nil
}

func goString(field []C.char) string {
	text := make([]byte, 0, len(field))
	for _, char := range field {
		if char == 0 {
			break
		}
		text = append(text, byte(char))
	}
	return string(text)
}
