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
