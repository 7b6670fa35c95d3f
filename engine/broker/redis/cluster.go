package redis

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
)

// The library's cluster client follows MOVED and ASK by sending a command
// again, which is right, because it was not run. It does the same when a
// connection fails, which is not: an XADD would be added twice. Commands that
// say they may not be retried get the first and not the second.
type (
	onceCmd struct{ *redis.Cmd }
	onceRaw struct{ *redis.RawCmd }
)

// NoRetry implements redis.Cmder.
func (onceCmd) NoRetry() bool { return true }

// NoRetry implements redis.Cmder.
func (onceRaw) NoRetry() bool { return true }

// once is the command in the form that is sent at most once; its answer is found
// in the command itself.
func (b *Broker) once(cmd redis.Cmder) redis.Cmder {
	if !b.clustered {
		return cmd
	}
	switch cmd := cmd.(type) {
	case *redis.Cmd:
		return onceCmd{cmd}
	case *redis.RawCmd:
		return onceRaw{cmd}
	}
	return cmd
}

// rawReplies makes error replies of raw commands errors, so that a cluster
// client sees MOVED and ASK.
type rawReplies struct{}

func (rawReplies) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (rawReplies) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil {
			err = rawError(cmd)
		}
		return err
	}
}

func (rawReplies) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if failed := rawError(cmd); err == nil {
				err = failed
			}
		}
		return err
	}
}

// rawError sets and returns the error of a raw command whose reply is one. A
// command that is sent again after a redirection has none at first.
func rawError(cmd redis.Cmder) error {
	raw, ok := cmd.(interface{ Val() []byte })
	if !ok || len(raw.Val()) == 0 || raw.Val()[0] != '-' {
		return nil
	}
	c := cursor{text: immutable(raw.Val())}
	_, _, err := c.head()
	cmd.SetErr(err)
	return err
}
