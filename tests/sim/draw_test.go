package sim

import (
	"math/bits"

	"pgregory.net/rapid"
)

// among draws an index below n, all of them as often: rapid prefers the first ones,
// and would seldom come to the last of many.
func among(t *rapid.T, n int, label string) int {
	width := bits.Len(uint(n-1)) + 3
	drawn := 0
	for range width {
		drawn <<= 1
		if rapid.Bool().Draw(t, label) {
			drawn |= 1
		}
	}
	return drawn * n >> width
}

// one draws one of several, all of them as often.
func one[T any](t *rapid.T, of []T, label string) T { return of[among(t, len(of), label)] }

// between draws a number, all of them as often.
func between(t *rapid.T, least, most int, label string) int {
	return least + among(t, most-least+1, label)
}

// several draws some, up to about most. Left to rapid, they would be few.
func several[T any](t *rapid.T, most int, label string, draw func(*rapid.T) T) []T {
	least := between(t, 1, most, "at least")
	return rapid.SliceOfN(rapid.Custom(draw), least, most+most/4).Draw(t, label)
}
