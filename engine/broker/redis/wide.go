package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

//go:embed scripts/ackwide.lua
var ackWideText string

var ackWideScript = newScript(ackWideText)

// settleWide does one step whose message has more fields than a script can pass
// on. Its fence is the lease instead of the script: the entry is renewed, which
// fails unless it is pending under the owner, and published and acknowledged in
// a transaction right after, while no claim can be due. A repetition after a
// lost answer finds it no longer pending, as in a script. An entry whose body is
// gone leaves the pending list with the renewal, and nobody can claim it any
// more: what came of it is published all the same.
//
// The types of the destinations are checked before. A message that is refused in the
// transaction, because its key has changed its type since or for a reason of its own,
// makes the step Torn where another one was added, and Refused where none was.
func (b *Broker) settleWide(ctx context.Context, p *settling, s *broker.Step) (broker.StepResult, error) {
	for i := range s.Publish {
		kind, err := b.settle.Type(ctx, s.Publish[i].Stream).Result()
		if err != nil {
			return broker.StepResult{}, err
		}
		if kind != "stream" && kind != "none" {
			return broker.StepResult{Status: broker.Refused, Err: &broker.Error{
				Op: "publish", Stream: s.Publish[i].Stream, Kind: broker.ErrWrongType, Detail: "it holds a " + kind,
			}}, nil
		}
	}
	held, err := b.Renew(ctx, p.Owner, []broker.ID{s.ID})
	if err != nil {
		return broker.StepResult{}, err
	}
	if held[0] == broker.HeldByOther {
		return broker.StepResult{Status: broker.NotOwned}, nil
	}
	return b.publishWide(ctx, p, s)
}

// publishWide adds the messages and acknowledges the entry in one transaction. Its
// XADDs may fail where they are run, which keeps nothing behind them from being done:
// so what acknowledges is a script that sees whether anything was added.
func (b *Broker) publishWide(ctx context.Context, p *settling, s *broker.Step) (broker.StepResult, error) {
	tx := b.settle.TxPipeline()
	published := make([]*redis.Cmd, len(s.Publish))
	for i := range s.Publish {
		mark := p.args.mark()
		p.args.add("XADD", s.Publish[i].Stream)
		xadd(p.args, &s.Publish[i])
		published[i] = redis.NewCmd(ctx, p.args.since(mark)...)
		_ = tx.Process(ctx, b.once(published[i]))
	}
	acked := redis.NewCmd(ctx, p.ackWide(s)...)
	_ = tx.Process(ctx, b.once(acked))
	_, err := tx.Exec(ctx)
	refusal := b.refusalOf(s, published, err)
	switch {
	case refusal == nil && acked.Err() != nil:
		return broker.StepResult{}, cmp.Or(err, acked.Err())
	case refusal == nil && acked.Val() != int64(1):
		return broker.StepResult{}, fmt.Errorf("%w of the script that acknowledges what was added", errProtocol)
	case refusal == nil:
		return broker.StepResult{Status: broker.Done}, nil
	case acked.Err() == nil && acked.Val() == int64(1):
		return broker.StepResult{Status: broker.Torn, Err: refusal}, nil
	}
	return broker.StepResult{Status: broker.Refused, Err: refusal}, nil
}

// ackWide is the call of the script that acknowledges. It is sent as text: a server
// that did not know it would publish and not acknowledge.
func (p *settling) ackWide(s *broker.Step) []any {
	to := destinations([]broker.Step{*s})
	mark := ackWideScript.call(p.args, 2+len(to))
	p.args.add(p.Stream, p.keys.records)
	p.args.add(to...)
	p.args.add(p.Group)
	p.args.id(s.ID)
	p.args.flag(p.forgets(s.ID))
	return ackWideScript.withText(p.args.since(mark))
}

// refusalOf is the error of the first message that the server refused, when it was
// queued or when it was run; nil when it refused none, or did not answer. A full
// server refuses the transaction as a whole.
func (b *Broker) refusalOf(s *broker.Step, published []*redis.Cmd, err error) error {
	aborted := redis.IsExecAbortError(err)
	for i, cmd := range published {
		refused := serverSaid(cmd.Err())
		if aborted {
			refused = cmd.Err() != nil && !redis.IsExecAbortError(cmd.Err())
		}
		if refused {
			return b.fail(operation{name: "publish", stream: s.Publish[i].Stream}, cmd.Err())
		}
	}
	if failed := b.fail(operation{name: "publish", stream: s.Publish[0].Stream}, err); errors.Is(failed, broker.ErrOutOfMemory) {
		return failed
	}
	return nil
}

// serverSaid reports whether err is an error reply.
func serverSaid(err error) bool {
	_, ok := err.(redis.Error) //nolint:errorlint // replies come unwrapped
	return ok
}
