package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// Broker is a Redis server. It is safe for concurrent use.
type Broker struct {
	clock clock.Clock
	// timeout bounds what does not block.
	timeout time.Duration
	// settle runs everything but blocking reads, which readers run.
	settle, readers redis.UniversalClient
	sockets         *sockets
	pinned          pinned
	keys            keyNames
	closed          atomic.Bool
	// clustered: keys of one step must share a slot.
	clustered bool
	// certificates are those that it shows.
	certificates *certificates
	// master is its name at the sentinels; empty without.
	master string
	// mayAck holds the groups that this login was seen to be allowed to
	// acknowledge in, by stream and group.
	mayAck sync.Map
	// mayDelete holds the streams that this login was seen to be allowed to
	// delete from.
	mayDelete sync.Map
	// mayMark holds those in which it was seen to be allowed to mark keys.
	mayMark sync.Map
	// room is how many bytes the next read is expected to bring: see roomAfter.
	room atomic.Int64
	// background is for what nobody waits for.
	background together
	// sweeps holds how far SaveFloor has looked through records, by stream and
	// group.
	sweeps sync.Map
}

var _ broker.Broker = (*Broker)(nil)

// quiet turns the client library's own log off, once: it writes a line for
// every failed connection, and what happened is in the errors.
var quiet = sync.OnceFunc(logging.Disable)

// Open checks the options, reads the certificates, and returns a broker that
// connects when it is used. Errors name the option that is wrong and never
// show the URL.
func Open(o Options) (*Broker, error) {
	quiet()
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Name == "" {
		o.Name = "pipeline"
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	o.certificates = &certificates{warn: o.Warn}
	b := &Broker{clock: o.Clock, timeout: o.Timeout, sockets: &sockets{clock: o.Clock}, clustered: o.Cluster, certificates: o.certificates}
	b.background.b = b
	if o.Sentinel != nil {
		b.master = o.Sentinel.Master
	}
	var err error
	if b.settle, err = o.client(pool{size: settlers}, b.sockets); err != nil {
		return nil, fmt.Errorf("open redis: %w", err)
	}
	if b.readers, err = o.client(pool{size: maxReaders, blocking: true}, b.sockets); err != nil {
		return nil, errors.Join(fmt.Errorf("open redis: %w", err), b.settle.Close())
	}
	return b, nil
}

// Close ends all connections at once; blocked reads end with ErrClosed.
func (b *Broker) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.pinned.close()
	err := errors.Join(closed(b.settle.Close()), closed(b.readers.Close()))
	b.sockets.drop()
	if err != nil {
		return &broker.Error{Op: "close", Detail: err.Error()}
	}
	return nil
}

// closed is the error of a close, but for a connection that was dropped already.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// do runs one command on the settling client.
func (b *Broker) do(ctx context.Context, list []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, list...)
	_ = b.settle.Process(ctx, b.once(cmd))
	return cmd
}

// raw runs one command on the settling client and returns its reply unread.
func (b *Broker) raw(ctx context.Context, list []any) (string, error) {
	cmd := redis.NewRawCmd(ctx, list...)
	if err := b.settle.Process(ctx, b.once(cmd)); err != nil {
		return "", err
	}
	return immutable(cmd.Val()), nil
}
