package aging

import (
	"context"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
)

// wait is a read that waits for something to read.
type wait struct {
	owner broker.Owner
	order int
	timer clock.Timer
	// claims: the timer is for an entry that is idle for long enough then.
	claims bool
	// over is closed when the wait is; err is why the read fails. Without an error
	// the read looks again.
	over  chan struct{}
	ended bool
	err   error
}

// Read implements broker.Broker: see the package's text.
func (k *Keyspace) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	deadline := k.clock.Now().Add(r.Block)
	for {
		ds, w, err := k.read(ctx, &r, deadline)
		if w == nil {
			return ds, err
		}
		canceled := clock.Wait(ctx, w.over) != nil
		k.mu.Lock()
		k.end(w, nil)
		k.mu.Unlock()
		over := !k.clock.Now().Before(deadline)
		if canceled || w.err != nil || over && !w.claims {
			return nil, w.err
		}
		if over {
			r.Block = 0 // what is idle for long enough just now is still read
		}
	}
}

// read reads what there is, or begins to wait if there is nothing.
func (k *Keyspace) read(ctx context.Context, r *broker.ReadRequest, deadline time.Time) (ds []broker.Delivery, w *wait, err error) {
	g := groupName{r.Stream, r.Group}
	ds, err = owned(ctx, k, "read", r.Owner, func(b *redis.Broker, o broker.Owner) ([]broker.Delivery, error) {
		var before []touched
		if r.MinIdle > 0 {
			if before, err = k.look(ctx, g); err != nil {
				return nil, err
			}
		}
		there := *r
		there.Owner, there.Block = o, 0
		ds, err := b.Read(ctx, there)
		k.delivered(g, ds, before)
		if len(ds) == 0 && err == nil && r.Block > 0 {
			w = k.block(r.Owner, before, r.MinIdle, deadline)
		}
		return ds, err
	})
	return ds, w, err
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

// block begins to wait until the deadline, or until a pending entry is idle for
// long enough.
func (k *Keyspace) block(o broker.Owner, pending []touched, minIdle time.Duration, deadline time.Time) *wait {
	k.count++
	w := &wait{owner: o, order: k.count, over: make(chan struct{})}
	for _, p := range pending {
		if at := k.frame.at.Add(minIdle - p.idle); p.idle < minIdle && !at.After(deadline) {
			deadline, w.claims = at, true
		}
	}
	k.blocked[w] = true
	w.timer = k.clock.AfterFunc(max(1, deadline.Sub(k.clock.Now())), func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.end(w, nil)
	})
	return w
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
		if match(w.owner) {
			those = append(those, w)
		}
	}
	slices.SortFunc(those, func(a, b *wait) int { return a.order - b.order })
	return those
}

// stir has the reads of a stream that was added to look again.
func (k *Keyspace) stir(stream string) {
	for _, w := range k.waiting(func(o broker.Owner) bool { return o.Stream == stream }) {
		k.end(w, nil)
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
			Op: "read", Stream: w.owner.Stream, Group: w.owner.Group, Kind: broker.ErrUnavailable, Detail: "the connection was closed",
		})
	}
}

// Wake has all blocked reads ask the server again, after another client did
// something to the keys.
func (k *Keyspace) Wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.empty)
	for _, w := range k.waiting(everybody) {
		k.end(w, nil)
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
