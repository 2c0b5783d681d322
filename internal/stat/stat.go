// Package stat holds the statistics of figures some of which may be wild: a
// disturbed read, a sick part. Half of them may be before a result moves.
package stat

import (
	"math"
	"slices"
)

// SigmaPerMedianDistance makes a standard deviation of a median distance from
// the median, for values that are normally distributed.
const SigmaPerMedianDistance = 1.4826

// Median is the middle value, of an even number the mean of the middle two;
// NaN without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1]/2 + sorted[half]/2 // not the half of a sum that may overflow
}

// MedianDistance is the median of the distances from the median: how far half
// of the values are from the middle. NaN without values.
func MedianDistance(values []float64) float64 {
	middle := Median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	return Median(distances)
}

// SpreadShare is the standard deviation of the values as a share of their
// median, as far as wild values do not tell.
func SpreadShare(values []float64) float64 {
	return SigmaPerMedianDistance * MedianDistance(values) / Median(values)
}
