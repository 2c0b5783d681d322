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
	"sync/atomic"
	"unsafe"
)

// NVML is NVIDIA's management library, loaded and initialised, with a worker for each GPU. Its methods may be called from any
// goroutine.
type NVML struct {
	mu      sync.Mutex
	handle  *C.hp_nvml    // set by the library's worker, before the devices' ones begin
	library *worker       // makes the calls that concern no device
	outcome *C.hp_outcome // of the library's worker
	users   atomic.Int32  // workers that may call the library; the last one to end closes it
	devices []*nvmlDevice // in the order of OpenNVML
	missing []string
}

type nvmlDevice struct {
	worker  *worker
	read    func()
	reading *C.hp_nvml_reading
}

// OpenNVML loads library (NVMLLibrary, or a path) and initialises it, for the GPUs at these PCI addresses ("0000:17:00.0").
// StatusLibraryMissing: it is not installed. StatusLibraryIncomplete: it lacks a symbol that the text names. StatusLibraryRefused:
// it failed to initialise; LibraryCode says why. StatusAbandoned: it hangs.
func OpenNVML(ctx context.Context, library string, pci []string) (*NVML, error) {
	for _, text := range append([]string{library}, pci...) {
		if text == "" || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("NVML: %q is neither a library nor a PCI address", text)
		}
	}
	n := &NVML{outcome: (*C.hp_outcome)(C.calloc(1, C.sizeof_hp_outcome))}
	name := C.CString(library)
	n.users.Store(1)
	n.library = newWorker(library, "nvmlInit_v2", func() {
		C.free(unsafe.Pointer(name))
		C.free(unsafe.Pointer(n.outcome))
		n.leave()
	})
	err := n.library.do(ctx, func() {
		n.outcome.struct_size = C.sizeof_hp_outcome
		n.handle = C.hp_nvml_open(name, n.outcome)
	})
	if err == nil && n.outcome.status != C.HP_STATUS_OK {
		err = failureOf(n.outcome.status, &n.outcome.failure)
	}
	if err != nil {
		n.library.close()
		return nil, err
	}
	n.missing = strings.Fields(C.GoString(C.hp_nvml_missing(n.handle)))
	for _, address := range pci {
		n.devices = append(n.devices, n.newDevice(address))
	}
	return n, nil
}

func (n *NVML) newDevice(pci string) *nvmlDevice {
	address := C.CString(pci)
	reading := (*C.hp_nvml_reading)(C.calloc(1, C.sizeof_hp_nvml_reading))
	n.users.Add(1)
	return &nvmlDevice{
		reading: reading,
		read: func() {
			reading.struct_size = C.sizeof_hp_nvml_reading
			C.hp_nvml_read(n.handle, address, reading)
		},
		worker: newWorker(pci, "NVML", func() {
			C.free(unsafe.Pointer(address))
			C.free(unsafe.Pointer(reading))
			n.leave()
		}),
	}
}

// leave closes the library after its last user.
func (n *NVML) leave() {
	if n.users.Add(-1) == 0 {
		C.hp_nvml_close(n.handle)
	}
}

// Missing names the calls that this library does not have; their values are absent.
func (n *NVML) Missing() []string { return n.missing }

// Read asks every device, side by side, in the order of OpenNVML; out must have their number. It returns when all have answered or
// ctx ends, and says per device how that went.
func (n *NVML) Read(ctx context.Context, out []NVMLDevice) error {
	if len(out) != len(n.devices) {
		return fmt.Errorf("NVML: room for %d readings of %d devices", len(out), len(n.devices))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, device := range n.devices {
		if n.library.hangs() {
			out[i] = NVMLDevice{Err: n.library.abandoned("a call made earlier has not returned")}
			continue
		}
		out[i] = NVMLDevice{Err: device.worker.start(device.read)}
	}
	for i, device := range n.devices {
		if out[i].Err == nil {
			out[i] = device.wait(ctx)
		}
	}
	return nil
}

func (d *nvmlDevice) wait(ctx context.Context) NVMLDevice {
	if err := d.worker.wait(ctx); err != nil {
		return NVMLDevice{Err: err}
	}
	r := d.reading
	if r.status != C.HP_STATUS_OK {
		return NVMLDevice{Err: failureOf(r.status, &r.failure)}
	}
	return NVMLDevice{
		UtilizationPercent:         nvmlValue(r.utilization_percent),
		PCIeSentBytesPerSecond:     nvmlValue(r.pcie_sent_bytes_per_second),
		PCIeReceivedBytesPerSecond: nvmlValue(r.pcie_received_bytes_per_second),
		ComputeProcesses:           nvmlValue(r.compute_processes),
		GraphicsProcesses:          nvmlValue(r.graphics_processes),
		ComputeMode:                nvmlValue(r.compute_mode),
		MIGMode:                    nvmlValue(r.mig_mode),
	}
}

func nvmlValue(v C.hp_nvml_value) NVMLValue {
	return NVMLValue{Value: uint64(v.value), Code: NVMLCode(v.code)}
}

// Reinit shuts the library down and initialises it again, as NVMLUnknown asks for. StatusAbandoned while a call of an earlier Read
// hangs: the library is not shut down under it.
func (n *NVML) Reinit(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, device := range n.devices {
		if device.worker.hangs() {
			return device.worker.abandoned("a call made earlier has not returned, the library cannot be shut down")
		}
	}
	err := n.library.do(ctx, func() {
		n.outcome.struct_size = C.sizeof_hp_outcome
		C.hp_nvml_reinit(n.handle, n.outcome)
	})
	if err == nil && n.outcome.status != C.HP_STATUS_OK {
		err = failureOf(n.outcome.status, &n.outcome.failure)
	}
	return err
}

// Close shuts the library down, once the last call that hangs has returned.
func (n *NVML) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, device := range n.devices {
		device.worker.close()
	}
	n.library.close()
}
