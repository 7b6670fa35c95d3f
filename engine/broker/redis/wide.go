package redis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// settleWide does one step whose message has more fields than a script can pass
// on. Its fence is the lease instead of the script: the entry is renewed, which
// fails unless it is pending under the owner, and published and acknowledged in
// a transaction right after, while no claim can be due. A repetition after a
// lost answer finds it no longer pending, as in a script. An entry whose body is
// gone leaves the pending list with the renewal, and nobody can claim it any
// more: what came of it is published all the same.
//
// The types of the destinations are checked before; a key that changes its type
// between check and transaction makes the step Torn.
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

func (b *Broker) publishWide(ctx context.Context, p *settling, s *broker.Step) (broker.StepResult, error) {
	tx := b.settle.TxPipeline()
	var published []*redis.Cmd
	for i := range s.Publish {
		mark := p.args.mark()
		p.args.add("XADD", s.Publish[i].Stream)
		xadd(p.args, &s.Publish[i])
		cmd := redis.NewCmd(ctx, p.args.since(mark)...)
		published = append(published, cmd)
		_ = tx.Process(ctx, b.once(cmd))
	}
	tx.XAck(ctx, p.Stream, p.Group, s.ID.String())
	if p.forget[s.ID] {
		tx.HDel(ctx, p.keys.records, s.ID.String())
	}
	_, err := tx.Exec(ctx)
	for i, cmd := range published {
		if redis.IsExecAbortError(err) && cmd.Err() != nil && !redis.IsExecAbortError(cmd.Err()) {
			refused := b.fail(operation{name: "publish", stream: s.Publish[i].Stream}, cmd.Err())
			return broker.StepResult{Status: broker.Refused, Err: refused}, nil
		}
	}
	if redis.IsOOMError(err) {
		refused := b.fail(operation{name: "publish", stream: s.Publish[0].Stream}, err)
		return broker.StepResult{Status: broker.Refused, Err: refused}, nil
	}
	for i, cmd := range published {
		if serverSaid(cmd.Err()) {
			torn := b.fail(operation{name: "publish", stream: s.Publish[i].Stream}, cmd.Err())
			return broker.StepResult{Status: broker.Torn, Err: torn}, nil
		}
	}
	return broker.StepResult{Status: broker.Done}, err
}

// serverSaid reports whether err is an error reply.
func serverSaid(err error) bool {
	_, ok := err.(redis.Error) //nolint:errorlint // replies come unwrapped
	return ok
}
