//go:build !(cgo && linux)

package native

import "context"

// Check reports ErrUnavailable.
func Check() error { return ErrUnavailable }

// ZigVersion is empty: no data plane is built in.
func ZigVersion() string { return "" }

// Loopback reports ErrUnavailable.
func Loopback(context.Context, LoopbackConfig) (LoopbackResult, error) {
	return LoopbackResult{}, ErrUnavailable
}

// Counters cannot be opened in this build; nor can any reader below.
type Counters struct{}

// OpenCounters reports ErrUnavailable.
func OpenCounters([]string) (*Counters, error) { return nil, ErrUnavailable }

// Read reports ErrUnavailable.
func (*Counters) Read(context.Context, []CounterValue) error { return ErrUnavailable }

// Close does nothing.
func (*Counters) Close() {}

// Ethtool cannot be opened in this build.
type Ethtool struct{}

// OpenEthtool reports ErrUnavailable.
func OpenEthtool(string) (*Ethtool, error) { return nil, ErrUnavailable }

// Read reports ErrUnavailable.
func (*Ethtool) Read(context.Context, *EthtoolStats) error { return ErrUnavailable }

// Close does nothing.
func (*Ethtool) Close() {}

// NVML cannot be opened in this build.
type NVML struct{}

// OpenNVML reports ErrUnavailable.
func OpenNVML(context.Context, string, []string) (*NVML, error) { return nil, ErrUnavailable }

// Missing is empty.
func (*NVML) Missing() []string { return nil }

// Read reports ErrUnavailable.
func (*NVML) Read(context.Context, []NVMLDevice) error { return ErrUnavailable }

// Reinit reports ErrUnavailable.
func (*NVML) Reinit(context.Context) error { return ErrUnavailable }

// Close does nothing.
func (*NVML) Close() {}

// Uncore cannot be opened in this build.
type Uncore struct{}

// DiscoverUncore reports ErrUnavailable.
func DiscoverUncore(context.Context, UncoreConfig) ([]UncoreCounter, error) {
	return nil, ErrUnavailable
}

// OpenUncore reports ErrUnavailable.
func OpenUncore(context.Context, UncoreConfig) (*Uncore, error) { return nil, ErrUnavailable }

// Counters is empty.
func (*Uncore) Counters() []UncoreCounter { return nil }

// Sockets is 0.
func (*Uncore) Sockets() int { return 0 }

// Read reports ErrUnavailable.
func (*Uncore) Read(context.Context, []UncoreBytes) error { return ErrUnavailable }

// Close does nothing.
func (*Uncore) Close() {}
