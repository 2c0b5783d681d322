package native

import "fmt"

// NVMLLibrary is the name under which the driver's package installs NVML.
const NVMLLibrary = "libnvidia-ml.so.1"

// NVMLCode is a return code of NVML (nvml.h, nvmlReturn_t).
type NVMLCode int

// The codes that a caller may want to tell apart.
const (
	NVMLSuccess          NVMLCode = 0
	NVMLUninitialized    NVMLCode = 1
	NVMLNotSupported     NVMLCode = 3
	NVMLNoPermission     NVMLCode = 4
	NVMLNotFound         NVMLCode = 6
	NVMLDriverNotLoaded  NVMLCode = 9
	NVMLFunctionNotFound NVMLCode = 13
	NVMLGPUIsLost        NVMLCode = 15
	// NVMLUnknown is what the library says when it lost its access to the devices: only a new Init helps.
	NVMLUnknown NVMLCode = 999
)

var nvmlCodeNames = map[NVMLCode]string{
	0: "NVML_SUCCESS", 1: "NVML_ERROR_UNINITIALIZED", 2: "NVML_ERROR_INVALID_ARGUMENT", 3: "NVML_ERROR_NOT_SUPPORTED",
	4: "NVML_ERROR_NO_PERMISSION", 6: "NVML_ERROR_NOT_FOUND", 7: "NVML_ERROR_INSUFFICIENT_SIZE", 9: "NVML_ERROR_DRIVER_NOT_LOADED",
	10: "NVML_ERROR_TIMEOUT", 11: "NVML_ERROR_IRQ_ISSUE", 12: "NVML_ERROR_LIBRARY_NOT_FOUND", 13: "NVML_ERROR_FUNCTION_NOT_FOUND",
	15: "NVML_ERROR_GPU_IS_LOST", 16: "NVML_ERROR_RESET_REQUIRED", 17: "NVML_ERROR_OPERATING_SYSTEM",
	18: "NVML_ERROR_LIB_RM_VERSION_MISMATCH", 19: "NVML_ERROR_IN_USE", 999: "NVML_ERROR_UNKNOWN",
}

// String is the code as nvml.h spells it.
func (c NVMLCode) String() string {
	if name, ok := nvmlCodeNames[c]; ok {
		return name
	}
	return fmt.Sprintf("NVML error %d", int(c))
}

// NVMLValue is one figure of one device; absent unless Code is NVMLSuccess.
type NVMLValue struct {
	Value uint64
	// Code of the call that should have given it. NVMLFunctionNotFound: this library does not have that call.
	Code NVMLCode
}

// Get is the value, if it was read.
func (v NVMLValue) Get() (uint64, bool) { return v.Value, v.Code == NVMLSuccess }

// Compute modes (nvml.h, nvmlComputeMode_t).
const (
	ComputeModeDefault          = 0
	ComputeModeExclusiveThread  = 1
	ComputeModeProhibited       = 2
	ComputeModeExclusiveProcess = 3
)

// NVMLDevice is one reading of one GPU.
type NVMLDevice struct {
	// Err is nil when the device answered. StatusAbandoned: a call into it hangs, now or since an earlier Read, and no second one is
	// made until it returns. StatusLibraryRefused: the library does not give the device; LibraryCode of the *Error says why.
	Err error
	// UtilizationPercent is the share of the last sample period (1/6 s to 1 s) in which a kernel ran. Not supported with MIG.
	UtilizationPercent NVMLValue
	// PCIeSentBytesPerSecond and PCIeReceivedBytesPerSecond are seen from the GPU, over 20 ms; the library waits for that long.
	PCIeSentBytesPerSecond, PCIeReceivedBytesPerSecond NVMLValue
	// ComputeProcesses and GraphicsProcesses hold a context on the device now.
	ComputeProcesses, GraphicsProcesses NVMLValue
	// ComputeMode is one of ComputeMode….
	ComputeMode NVMLValue
	// MIGMode is 1 when the device is divided.
	MIGMode NVMLValue
}
