// Command campaign measures how well the analyzer blames. It simulates many
// runs whose fault is known, healthy hosts among them, lets the very planner,
// re-reads and analyzer of the product judge each, and counts what came of it:
// exact blame, blame among the alternatives, faults missed, parts wrongly
// blamed, false alarms. Beside it stands the paper's algorithm as published,
// fed with the same reads.
//
// What would have been right is not listed anywhere. It is computed for each
// case from the simulator's physics without noise: the smallest sets of faults
// that look the same as the true one.
//
// Every run follows from the campaign's seed, its row and its number alone, so
// a campaign can be interrupted and resumed, and each failure comes with
// the hostpingctl command that repeats it.
package main
