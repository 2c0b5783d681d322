// Package monitor reads the load of a host's hardware: is the host idle, do
// its RNICs pause or drop, how busy are its GPUs and buses, and what could
// not be read. It never decides what is wrong with a path.
//
// A source (source.go) looks at the hardware; two looks make a Sample; from
// Samples follow the idle decision (decide.go) and the triggers (triggers.go).
// Who reads files, statistics and libraries is handed in (readers.go).
package monitor
