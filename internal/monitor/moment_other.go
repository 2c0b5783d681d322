//go:build !linux

package monitor

// readAwakeClock knows no sleep: live hosts run Linux.
func readAwakeClock() awakeClock { return awakeClock{} }
