package memory

import "context"

// Call is an operation that is about to run.
type Call struct {
	// Op is its name as errors show it: "read", "settle", "renew".
	Op string
	// Stream and Group are what it is about; either may be empty.
	Stream, Group string
}

// Effect is what goes wrong with a call. The zero Effect is nothing.
type Effect struct {
	// Err is what the caller is told, as the kind of a *broker.Error:
	// broker.ErrUnavailable for a server that is away or an answer that was
	// lost.
	Err error
	// Skip keeps the operation from running: the server never heard of it.
	// Otherwise it runs, and only its answer is replaced. A Read whose answer
	// is lost waits as any other and leaves what it was given pending.
	Skip bool
}

// SetFault has f asked before every operation of broker.Broker; nil lets all
// of them pass. f may use the broker and may be called by several at once. To
// play a server that goes away, use Disconnect too: blocked reads have asked
// already.
func (b *Broker) SetFault(f func(Call) Effect) {
	if f == nil {
		b.fault.Store(nil)
		return
	}
	b.fault.Store(&f)
}

// begin is what comes before an operation, outside the lock.
func (b *Broker) begin(ctx context.Context, op operation) (Effect, error) {
	if err := ctx.Err(); err != nil {
		return Effect{}, err
	}
	f := b.fault.Load()
	if f == nil {
		return Effect{}, nil
	}
	effect := (*f)(Call{Op: op.name, Stream: op.stream, Group: op.group})
	if effect.Skip && effect.Err != nil {
		return effect, effect.Err
	}
	return effect, nil
}
