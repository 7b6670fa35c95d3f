//go:build race

package lang_test

// slower is how many times longer everything takes under the race detector.
const slower = 8
