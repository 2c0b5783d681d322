// Package monitor tells whether the host is idle, and what it could not read.
// It never decides what is wrong with a path.
package monitor
