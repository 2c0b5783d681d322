//go:build race

package main

// raceDetector: it makes everything some ten times slower, so tests that only count do less.
const raceDetector = true
