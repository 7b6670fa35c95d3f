// Package retry is when things are tried again: failed attempts by a policy,
// the server by a backoff.
package retry

import (
	"math"
	"time"

	"pipeline/engine/spec"
)

// longest is the longest delay that jitter may still double.
const longest = float64(math.MaxInt64 / 4)

// Delay is how long an entry waits after the given failed attempt (1 is the
// first): the policy's delay, growing by its multiplier up to its maximum and
// spread by its jitter. random is in [0, 1).
func Delay(p *spec.Retry, attempt int, random float64) time.Duration {
	d := float64(p.Delay) * math.Pow(max(p.Multiplier, 1), float64(max(attempt, 1)-1))
	if limit := float64(p.MaxDelay); p.MaxDelay > 0 && d > limit {
		d = limit
	}
	// Powers grow beyond every bound; the jitter of infinity is no number.
	d = min(d, longest)
	return time.Duration(d * (1 + p.Jitter*(2*random-1)))
}

// Backoff spaces attempts to reach a server: full jitter over a bound that
// doubles from Min to Max, so that many processes do not return at once.
// (Full jitter: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.)
// It is not safe for concurrent use.
type Backoff struct {
	Min, Max time.Duration
	bound    time.Duration
}

// NewBackoff returns the backoff for a server that is away: 100 ms to 30 s.
func NewBackoff() *Backoff { return &Backoff{Min: 100 * time.Millisecond, Max: 30 * time.Second} }

// Next is how long to wait before the next attempt; never under a tenth of
// Min, so that it cannot spin. random is in [0, 1).
func (b *Backoff) Next(random float64) time.Duration {
	b.bound = min(max(2*b.bound, b.Min), b.Max)
	return max(b.Min/10, time.Duration(random*float64(b.bound)))
}

// Reset starts again at Min, after a success.
func (b *Backoff) Reset() { b.bound = 0 }
