//go:build cgo && linux

package native

// #cgo CFLAGS: -I${SRCDIR}/../../zig/include
// #include <stdlib.h>
// #include "hostping.h"
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"
)

// abandonAfter is how long a call may outlive its deadline or its cancellation before it is left behind: verbs can hang in
// the kernel, where no flag reaches them.
const abandonAfter = time.Second

// Check compares this package's view of the ABI with the library's; programs call it once, before anything else.
func Check() error {
	if got := uint32(C.hp_abi_version()); got != C.HP_ABI_VERSION {
		return fmt.Errorf("data plane has ABI version %d, this program needs %d: rebuild both together", got, C.HP_ABI_VERSION)
	}
	description, err := describe()
	if err != nil {
		return err
	}
	for _, size := range []struct {
		name      string
		got, want uintptr
	}{
		{"hp_failure", uintptr(description.failure_size), unsafe.Sizeof(C.hp_failure{})},
		{"hp_loopback_config", uintptr(description.loopback_config_size), unsafe.Sizeof(C.hp_loopback_config{})},
		{"hp_loopback_result", uintptr(description.loopback_result_size), unsafe.Sizeof(C.hp_loopback_result{})},
		{"hp_counter_value", uintptr(description.counter_value_size), unsafe.Sizeof(C.hp_counter_value{})},
		{"hp_ethtool_reading", uintptr(description.ethtool_reading_size), unsafe.Sizeof(C.hp_ethtool_reading{})},
		{"hp_nvml_reading", uintptr(description.nvml_reading_size), unsafe.Sizeof(C.hp_nvml_reading{})},
		{"hp_uncore_config", uintptr(description.uncore_config_size), unsafe.Sizeof(C.hp_uncore_config{})},
		{"hp_uncore_counter", uintptr(description.uncore_counter_size), unsafe.Sizeof(C.hp_uncore_counter{})},
		{"hp_uncore_socket", uintptr(description.uncore_socket_size), unsafe.Sizeof(C.hp_uncore_socket{})},
		// This one is not copied field by field.
		{"hp_counter_value in Go", unsafe.Sizeof(C.hp_counter_value{}), unsafe.Sizeof(CounterValue{})},
		{"hp_status (count of values)", uintptr(description.status_count), uintptr(len(statusNames))},
	} {
		if size.got != size.want {
			return fmt.Errorf("data plane has %s of size %d, this program needs %d: rebuild both together", size.name, size.got, size.want)
		}
	}
	return nil
}

// ZigVersion is the version of the compiler that built the data plane.
func ZigVersion() string {
	description, err := describe()
	if err != nil {
		return ""
	}
	return goString(description.zig_version[:])
}

func describe() (C.hp_description, error) {
	description := C.hp_description{struct_size: C.sizeof_hp_description}
	if status := C.hp_abi_describe(&description); status != C.HP_STATUS_OK {
		return description, fmt.Errorf("data plane refuses a description of %d bytes (status %d): rebuild both together", C.sizeof_hp_description, status)
	}
	return description, nil
}

// Loopback runs one probe and blocks for it, at most until its deadline plus a second. Cancelling ctx ends it early. A
// failure is an *Error; with it the result holds what was reached before, its figures do not count.
func Loopback(ctx context.Context, config LoopbackConfig) (LoopbackResult, error) {
	if err := config.check(); err != nil {
		return LoopbackResult{}, err
	}
	call, err := newLoopbackCall(config)
	if err != nil {
		return LoopbackResult{}, err
	}
	// The call owns its memory: whoever sees it end frees it, also when nobody waits for it any more.
	done := make(chan struct{})
	outcome := LoopbackResult{}
	var failure error
	go func() {
		defer close(done)
		defer call.free()
		outcome, failure = call.run()
	}()

	deadline := time.NewTimer(config.Deadline + abandonAfter)
	defer deadline.Stop()
	var abandon <-chan time.Time = deadline.C
	cancelled := ctx.Done()
	for {
		select {
		case <-done:
			return outcome, failure
		case <-cancelled:
			call.cancel()
			cancelled = nil
			grace := time.NewTimer(abandonAfter)
			defer grace.Stop()
			abandon = grace.C
		case <-abandon:
			object := fmt.Sprintf("%s port %d", config.Device, config.Port)
			return LoopbackResult{}, &Error{
				Status: StatusAbandoned,
				Op:     "hp_loopback_run",
				Object: object,
				Text:   object + ": hp_loopback_run: still in the kernel after its deadline, left behind",
			}
		}
	}
}
