package bench

import (
	"context"
	"sync"
)

// gate is open at first. It is safe for concurrent use.
type gate struct {
	mu sync.Mutex
	// shut is closed when the gate opens again; nil while it is open.
	shut chan struct{}
}

// close shuts an open gate.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

// open lets everybody pass.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// pass waits until the gate is open or ctx is done.
func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return
	}
	select {
	case <-shut:
	case <-ctx.Done():
	}
}
