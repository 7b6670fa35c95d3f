package engine

import (
	"sync"

	"pipeline/sandbox"
)

// LogKeeper is a sandbox.Host that keeps what a handler logs during a call
// until the outcome of the call is observed. It is the host to compile
// handlers with where people watch: dev and dry-run.
type LogKeeper struct {
	// Next, when set, also receives every line.
	Next sandbox.Host

	mu    sync.Mutex
	lines map[*sandbox.Delivery][]sandbox.LogLine
}

// Log keeps the line for the delivery that is being run.
func (k *LogKeeper) Log(d *sandbox.Delivery, line sandbox.LogLine) {
	if k.Next != nil {
		k.Next.Log(d, line)
	}
	if d == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lines == nil {
		k.lines = make(map[*sandbox.Delivery][]sandbox.LogLine)
	}
	k.lines[d] = append(k.lines[d], line)
}

// Take returns the lines of a delivery and forgets them. It may be called on nil.
func (k *LogKeeper) Take(d *sandbox.Delivery) []sandbox.LogLine {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	lines := k.lines[d]
	delete(k.lines, d)
	return lines
}
