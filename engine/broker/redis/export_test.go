package redis

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// dials counts the connections that are asked for.
type dials struct{ n *atomic.Int64 }

func (d dials) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d.n.Add(1)
		return next(ctx, network, addr)
	}
}
func (dials) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (dials) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// CountDials counts the connections that the settling client asks for from now on.
func CountDials(b *Broker) *atomic.Int64 {
	n := new(atomic.Int64)
	b.settle.AddHook(dials{n})
	return n
}

// Trial is the command with which a need is checked, nil for the transaction's
// own.
func Trial(n Need) []any {
	list, err := n.trial()
	if err != nil {
		panic(err)
	}
	return list
}
