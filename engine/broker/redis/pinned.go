package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/clock"
)

// pinned are connections with a known id, on which reads block: only by its id
// can a blocked read be woken (CLIENT UNBLOCK). They are kept for the next read.
type pinned struct {
	mu     sync.Mutex
	idle   []*reader
	closed bool
}

// reader is one connection. Its id is 0 where the login may not ask for it; its
// reads then end when their block does.
type reader struct {
	conn *redis.Conn
	id   int64
	// seen is what sockets.broken was when its last reply had come.
	seen uint64
}

func (p *pinned) take() *reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	r := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return r
}

// put keeps a reader whose connection is sound.
func (p *pinned) put(r *reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = r.conn.Close()
		return
	}
	p.idle = append(p.idle, r)
}

func (p *pinned) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.drop()
}

// drop closes the connections that are kept for the next read.
func (p *pinned) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.idle {
		_ = r.conn.Close()
	}
	p.idle = nil
}

// reader returns a connection to block on. Canceling ctx ends the attempt to
// connect; a server that accepts and then says nothing ends it after the
// timeout.
func (b *Broker) reader(ctx context.Context) (*reader, error) {
	for r := b.pinned.take(); r != nil; r = b.pinned.take() {
		if r.seen == b.sockets.broken.Load() {
			return r, nil
		}
		// Another connection was closed since: the server went away, or is being
		// restarted. This one may be closed too, and the library looks at those of its
		// pools alone. Nothing is lost by another one.
		_ = r.conn.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	r := &reader{conn: b.readers.(*redis.Client).Conn()}
	id, err := r.conn.ClientID(ctx).Result()
	if err != nil && !redis.HasErrorPrefix(err, "NOPERM") {
		_ = r.conn.Close()
		return nil, err
	}
	r.id = id
	return r, nil
}

// wakeEvery is how often a canceled read is woken again: the first time may
// come before the server has begun to block.
const wakeEvery = 10 * time.Millisecond

// wakeOn wakes the reader when ctx ends. The returned function stops that and
// waits until nothing can reach the reader any more.
func (b *Broker) wakeOn(ctx context.Context, r *reader) (stop func()) {
	if r.id == 0 || ctx.Done() == nil {
		return func() {}
	}
	answered, ended := make(chan struct{}), make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(ended)
		b.wake(context.WithoutCancel(ctx), r.id, answered)
	})
	return func() {
		if !cancel() {
			close(answered)
			<-ended
		}
	}
}

// wake unblocks a reader until it has answered, or the server refuses.
func (b *Broker) wake(ctx context.Context, id int64, answered <-chan struct{}) {
	var timer clock.Timer
	for {
		if err := b.settle.ClientUnblock(ctx, id).Err(); err != nil {
			return
		}
		if timer == nil {
			timer = b.clock.NewTimer(wakeEvery)
			defer timer.Stop()
		} else {
			timer.Reset(wakeEvery)
		}
		select {
		case <-answered:
			return
		case <-timer.C():
		}
	}
}
