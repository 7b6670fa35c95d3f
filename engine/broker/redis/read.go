package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// grace is how much later than its block a read may answer before its
// connection is taken for dead.
const grace = 2 * time.Second

// Read implements broker.Broker. Where the login may not use CLIENT ID and
// CLIENT UNBLOCK, and in a cluster, a canceled read ends when its block does.
func (b *Broker) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	op := on(r.Owner, "read")
	if r.Count < 1 {
		return nil, b.fail(op, &broker.Error{Detail: "count must be at least 1"})
	}
	if err := ctx.Err(); err != nil {
		return nil, b.fail(op, err)
	}
	a := newArgs()
	defer a.release()
	reply, err := b.blocking(ctx, r.Block, readArgs(a, &r))
	if err != nil {
		return nil, b.fail(op, err)
	}
	deliveries, err := readGroupReply(reply)
	if err != nil && r.MinIdle > 0 {
		err = claimUnsupported(err)
	}
	return deliveries, b.fail(op, err)
}

// readArgs is the XREADGROUP of a request.
func readArgs(a *args, r *broker.ReadRequest) []any {
	a.add("XREADGROUP", "GROUP", r.Group, r.Consumer, "COUNT")
	a.int(int64(r.Count))
	if r.Block > 0 {
		a.add("BLOCK")
		a.int(milliseconds(r.Block))
	}
	if r.MinIdle > 0 {
		a.add("CLAIM")
		a.int(milliseconds(r.MinIdle))
	}
	a.add("STREAMS", r.Stream, ">")
	return a.since(0)
}

// milliseconds rounds up, because 0 means for ever, or everything.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// claimUnsupported gives the meaning to a syntax error of a claiming read: the
// server does not know CLAIM.
func claimUnsupported(err error) error {
	if reply, ok := errors.AsType[serverError](err); ok && reply == "ERR syntax error" {
		return &broker.Error{Kind: broker.ErrUnsupported,
			Detail: "XREADGROUP … CLAIM needs Redis " + broker.ClaimingReadSince}
	}
	return err
}

// blocking runs a command that may block for the given time, on a connection
// of its own, and returns the reply. The wait ends early when ctx does, but a
// reply that the server has sent is never thrown away.
func (b *Broker) blocking(ctx context.Context, block time.Duration, list []any) (string, error) {
	answer, cancel := context.WithTimeout(context.WithoutCancel(ctx), block+grace)
	defer cancel()
	if b.clustered {
		// A redirected command would have its reply behind the redirection.
		cmd := redis.NewRawCmd(answer, list...)
		err := b.readers.Process(answer, b.once(cmd))
		return immutable(cmd.Val()), err
	}
	said := reply{room: int(b.room.Load())}
	if err := b.await(ctx, answer, block, redis.NewRawWriteToCmd(answer, &said, list...)); err != nil {
		return "", err
	}
	b.room.Store(int64(roomAfter(said.room, said.text.Len())))
	return said.text.String(), nil
}

// await runs a read that a single server answers. It may last as long as answer;
// the wait for entries ends with ctx.
func (b *Broker) await(ctx, answer context.Context, block time.Duration, cmd redis.Cmder) error {
	if block <= 0 {
		return b.readers.Process(answer, cmd)
	}
	r, err := b.reader(ctx)
	if err != nil {
		return err
	}
	stop := b.wakeOn(ctx, r)
	err = r.conn.Process(answer, cmd)
	stop()
	if err != nil {
		_ = r.conn.Close()
		return err
	}
	r.seen = b.sockets.broken.Load()
	b.pinned.put(r)
	return nil
}
