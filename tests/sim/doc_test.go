// Package sim plays random histories on the whole engine: entries of every kind
// come, workers crash, stall, jump in time and are replaced by other versions,
// answers are lost, the server goes away, comes back without its last writes or
// without anything, loses a group, runs full. Then everything recovers, and a
// trivial model says what must have become of each entry.
//
// A history is drawn from a seed and is the same in every run. A failure prints
// the seed and the command that plays it again, and is cut down to few acts.
//
//	go test ./tests/sim                                  # some thousand histories
//	go test ./tests/sim -sim.runs 20000                  # so many for each server version
//	go test ./tests/sim -sim.time 10m -timeout 0         # for so long
//	go test ./tests/sim -run 'TestHistories/8.6.3' -sim.seed 42 -sim.runs 1
package sim
