package native

// UncoreKind is what a group of uncore PMUs counts.
type UncoreKind uint32

const (
	// UncoreMemory: bytes read from and written to a socket's memory channels (uncore_imc*).
	UncoreMemory UncoreKind = 0
	// UncoreInterSocket: bytes that a socket sends to the others (uncore_upi*, uncore_qpi*).
	UncoreInterSocket UncoreKind = 1
)

// CPUModel as CPUID counts it; events that sysfs does not describe are looked up by it.
type CPUModel struct{ Family, Model int }

// UncoreConfig says what to count.
type UncoreConfig struct {
	Kind UncoreKind
	// SysfsRoot is the tree to discover in, normally "/sys".
	SysfsRoot string
	// CPU overrides the model of the CPU that this runs on; nil asks CPUID.
	CPU *CPUModel
}

// UncoreCounter is one event on one PMU and socket, as discovery found it.
type UncoreCounter struct {
	// PMU ("uncore_imc_0") and Event ("cas_count_read").
	PMU, Event string
	// Source of the event's encoding: its file in sysfs, or the table's reference.
	Source string
	// CPU of the PMU's cpumask on which the event is opened, and that CPU's socket (physical package).
	CPU, Socket int
	// Type, Config, Config1 and Config2 are what perf_event_open gets.
	Type                     uint32
	Config, Config1, Config2 uint64
	// BytesPerCount times the count is bytes.
	BytesPerCount float64
}

// OptionalCount is a number that may be unknown.
type OptionalCount struct {
	Value uint64
	Known bool
}

// UncoreBytes are the cumulative bytes of one socket since the PMUs were opened. A PMU that was not scheduled since the last Read
// (another user had its counters) makes the sum unknown in that Read.
type UncoreBytes struct {
	Socket int
	// Read and Written by UncoreMemory, Sent by UncoreInterSocket; the others are unknown.
	Read, Written, Sent OptionalCount
}
