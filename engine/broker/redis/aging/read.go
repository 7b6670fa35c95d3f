package aging

import (
	"context"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
)

// wait is a blocked read. It is served by whoever brings it something: an
// operation that adds an entry, or the clock.
type wait struct {
	r        broker.ReadRequest
	order    int
	deadline time.Time
	// claims: the timer is for an entry that is idle for long enough then.
	claims bool
	timer  clock.Timer
	// over is closed when the read is; result and err are what it brings.
	over   chan struct{}
	ended  bool
	result []broker.Delivery
	err    error
}

// Read implements broker.Broker: see the package's text.
func (k *Keyspace) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	var w *wait
	ds, err := owned(ctx, k, "read", r.Owner, func(*redis.Broker, broker.Owner) ([]broker.Delivery, error) {
		ds, pending, err := k.take(ctx, &r)
		if len(ds) == 0 && err == nil && r.Block > 0 {
			w = k.block(&r, pending)
		}
		return ds, err
	})
	if w == nil {
		return ds, err
	}
	canceled := clock.Wait(ctx, w.over) != nil
	k.mu.Lock()
	defer k.mu.Unlock()
	if canceled {
		k.end(w, nil)
	}
	return w.result, k.mine(w.err)
}

// take reads what there is. Pending are the entries that were pending before, if
// it claims.
func (k *Keyspace) take(ctx context.Context, r *broker.ReadRequest) (ds []broker.Delivery, pending []touched, err error) {
	g := groupName{r.Stream, r.Group}
	if r.MinIdle > 0 {
		if pending, err = k.look(ctx, g); err != nil {
			return nil, nil, err
		}
	}
	there := *r
	there.Owner, there.Block = k.on(r.Owner), 0
	there.MinIdle = k.minIdle(r.MinIdle)
	ds, err = k.redis.inner.Read(ctx, there)
	if err != nil {
		delete(k.empty, g) // the server may have delivered what never arrived
	}
	k.delivered(g, ds, pending)
	return ds, pending, err
}

// minIdle is what the server has to be asked for, by whose own time all has been idle for
// longer than by the clock's: by what passed since the clock moved. 0 does not claim. What
// was given back since then is idle for what it was given back with, from then on.
func (k *Keyspace) minIdle(d time.Duration) time.Duration {
	if d <= 0 || k.gaveBack {
		return d
	}
	return d + k.frame.passed(k.redis.real)
}

// delivered notes in which order entries came, and gives those that were
// pending before the time for which they were idle.
func (k *Keyspace) delivered(g groupName, ds []broker.Delivery, before []touched) {
	for i := range ds {
		k.count++
		k.order[pendingID{g, ds[i].ID}] = k.count
		for _, p := range before {
			if p.id == ds[i].ID && ds[i].Deliveries > 0 {
				ds[i].Idle = p.idle
			}
		}
	}
	if len(ds) > 0 {
		delete(k.empty, g)
	}
}

// block parks a read that found nothing.
func (k *Keyspace) block(r *broker.ReadRequest, pending []touched) *wait {
	k.count++
	w := &wait{r: *r, order: k.count, deadline: k.clock.Now().Add(r.Block), over: make(chan struct{})}
	k.blocked[w] = true
	k.arm(w, pending)
	return w
}

// arm sets the timer to what comes first, the end of the block or an entry that
// is idle for long enough.
func (k *Keyspace) arm(w *wait, pending []touched) {
	next := w.deadline
	w.claims = false
	for _, p := range pending {
		if at := k.frame.at.Add(w.r.MinIdle - p.idle); p.idle < w.r.MinIdle && !at.After(next) {
			next, w.claims = at, true
		}
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = k.clock.AfterFunc(max(1, next.Sub(k.clock.Now())), func() { k.ring(w) })
}

// ring is a read's timer.
func (k *Keyspace) ring(w *wait) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if w.claims {
		if err := k.catchUp(ctx); err != nil {
			k.end(w, err)
			return
		}
		k.serve(ctx, w)
	}
	if !w.ended && !k.clock.Now().Before(w.deadline) {
		k.end(w, nil)
	}
}

// patience bounds what is asked of the server for others than who waits for it.
const patience = 10 * time.Second

// serve gives a read what there is for it; if there is nothing it waits on.
func (k *Keyspace) serve(ctx context.Context, w *wait) {
	ds, pending, err := k.take(ctx, &w.r)
	if len(ds) == 0 && err == nil {
		k.arm(w, pending)
		return
	}
	w.result = ds
	k.end(w, err)
}

func (k *Keyspace) end(w *wait, err error) {
	if w.ended {
		return
	}
	w.ended, w.err = true, err
	w.timer.Stop()
	delete(k.blocked, w)
	close(w.over)
}

func everybody(broker.Owner) bool { return true }

// waiting are the waits of the owners for which match holds, longest first.
func (k *Keyspace) waiting(match func(broker.Owner) bool) []*wait {
	var those []*wait
	for w := range k.blocked {
		if match(w.r.Owner) {
			those = append(those, w)
		}
	}
	slices.SortFunc(those, func(a, b *wait) int { return a.order - b.order })
	return those
}

// stir serves the blocked reads of a stream that was added to, longest blocked
// first, as a server does.
func (k *Keyspace) stir(stream string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, w := range k.waiting(func(o broker.Owner) bool { return o.Stream == stream }) {
		k.serve(ctx, w)
	}
}

// Disconnect ends every blocked read with broker.ErrUnavailable, as a connection
// that breaks does. Nothing was delivered to them.
func (k *Keyspace) Disconnect() { k.DisconnectIf(everybody) }

// DisconnectIf is Disconnect for the reads of the owners for which match holds.
func (k *Keyspace) DisconnectIf(match func(broker.Owner) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.waiting(match) {
		k.end(w, &broker.Error{
			Op: "read", Stream: w.r.Stream, Group: w.r.Group, Kind: broker.ErrUnavailable, Detail: "the connection was closed",
		})
	}
}

// Wake has all blocked reads look again, after another client did something to
// the keys.
func (k *Keyspace) Wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.empty)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, w := range k.waiting(everybody) {
		k.serve(ctx, w)
	}
}

// Blocked is how many reads are blocked right now.
func (k *Keyspace) Blocked() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.blocked)
}

// SetIdle makes pending entries look idle for that long, without counting a
// delivery, and returns how many were pending. As on a server, reads that are
// already blocked do not wake for it.
func (k *Keyspace) SetIdle(ctx context.Context, stream, group string, idle time.Duration, ids ...broker.ID) (n int, err error) {
	g := groupName{stream, group}
	return ask(ctx, k, operation{"age", g}, func(_ *redis.Broker, key string) (int, error) {
		pending, err := k.look(ctx, g)
		if err != nil {
			return 0, err
		}
		pipe := k.redis.client.Pipeline()
		for _, p := range pending {
			if slices.Contains(ids, p.id) {
				pipe.Do(ctx, "XCLAIM", key, group, p.consumer, 0, p.id.String(), "TIME", k.frame.server.Add(-idle).UnixMilli(), "JUSTID")
				n++
			}
		}
		if _, err := pipe.Exec(ctx); n > 0 && err != nil {
			return 0, fail("age", g, err)
		}
		return n, nil
	})
}
