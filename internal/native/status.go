package native

// Status names the outcome of a call into the data plane. It is an error, so that callers can ask
// errors.Is(err, native.StatusDeviceRemoved). The values are those of hp_status.
type Status uint32

const (
	StatusOK                     Status = 0
	StatusInvalidArgument        Status = 1
	StatusStructSizeMismatch     Status = 2
	StatusCancelled              Status = 3
	StatusDeadlineExceeded       Status = 4
	StatusDeviceNotFound         Status = 5
	StatusUverbsMissing          Status = 6
	StatusPermissionDenied       Status = 7
	StatusDeviceUnusable         Status = 8
	StatusDeviceRemoved          Status = 9
	StatusDeviceUnsupported      Status = 10
	StatusPortNotActive          Status = 11
	StatusPortChanged            Status = 12
	StatusNoUsableGID            Status = 13
	StatusMemlockLimit           Status = 14
	StatusMemoryRefused          Status = 15
	StatusPlacementFailed        Status = 16
	StatusRegistrationRefused    Status = 17
	StatusCompletionQueueRefused Status = 18
	StatusQueuePairRefused       Status = 19
	StatusPostRefused            Status = 20
	StatusCompletionLost         Status = 21
	StatusCompletionFailed       Status = 22
	StatusWrongData              Status = 23
	// StatusAbandoned: the call outlived its deadline and was left behind.
	StatusAbandoned Status = 24
	// StatusLibraryMissing: a library that is loaded at run time is not installed.
	StatusLibraryMissing Status = 25
	// StatusLibraryIncomplete: it lacks a symbol; the text names it.
	StatusLibraryIncomplete Status = 26
	// StatusLibraryRefused: a call of it failed; LibraryCode is its own code.
	StatusLibraryRefused Status = 27
	// StatusUnsupported: the driver or kernel does not offer what was asked for.
	StatusUnsupported Status = 28
	// StatusPMUMissing: the kernel shows no PMU of that kind.
	StatusPMUMissing Status = 29
	// StatusPMUUnknown: nobody knows how the PMU's events are coded.
	StatusPMUUnknown Status = 30
	// StatusPMURefused: the kernel refused an event.
	StatusPMURefused Status = 31
)

var statusNames = [...]string{
	StatusOK:                     "ok",
	StatusInvalidArgument:        "invalid_argument",
	StatusStructSizeMismatch:     "struct_size_mismatch",
	StatusCancelled:              "cancelled",
	StatusDeadlineExceeded:       "deadline_exceeded",
	StatusDeviceNotFound:         "device_not_found",
	StatusUverbsMissing:          "uverbs_missing",
	StatusPermissionDenied:       "permission_denied",
	StatusDeviceUnusable:         "device_unusable",
	StatusDeviceRemoved:          "device_removed",
	StatusDeviceUnsupported:      "device_unsupported",
	StatusPortNotActive:          "port_not_active",
	StatusPortChanged:            "port_changed",
	StatusNoUsableGID:            "no_usable_gid",
	StatusMemlockLimit:           "memlock_limit",
	StatusMemoryRefused:          "memory_refused",
	StatusPlacementFailed:        "placement_failed",
	StatusRegistrationRefused:    "registration_refused",
	StatusCompletionQueueRefused: "completion_queue_refused",
	StatusQueuePairRefused:       "queue_pair_refused",
	StatusPostRefused:            "post_refused",
	StatusCompletionLost:         "completion_lost",
	StatusCompletionFailed:       "completion_failed",
	StatusWrongData:              "wrong_data",
	StatusAbandoned:              "abandoned",
	StatusLibraryMissing:         "library_missing",
	StatusLibraryIncomplete:      "library_incomplete",
	StatusLibraryRefused:         "library_refused",
	StatusUnsupported:            "unsupported",
	StatusPMUMissing:             "pmu_missing",
	StatusPMUUnknown:             "pmu_unknown",
	StatusPMURefused:             "pmu_refused",
}

// String is the status as reports spell it. A number without a name is a programming error: Check has compared both sides.
func (s Status) String() string { return statusNames[s] }

// Error makes a Status usable as a sentinel.
func (s Status) Error() string { return s.String() }
