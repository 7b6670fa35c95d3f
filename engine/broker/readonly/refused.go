package readonly

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// The operations that write. Reading for a consumer is one of them: it makes
// the consumer, and what it brings is pending from then on.

// CreateGroup is refused.
func (b *Broker) CreateGroup(_ context.Context, stream, group, _ string) (bool, error) {
	return false, b.refuse("create group", stream, group)
}

// SaveFloor is refused.
func (b *Broker) SaveFloor(_ context.Context, stream, group string) error {
	return b.refuse("save floor of", stream, group)
}

// RestoreGroup is refused.
func (b *Broker) RestoreGroup(_ context.Context, stream, group string) (broker.ID, bool, error) {
	return broker.ID{}, false, b.refuse("restore group", stream, group)
}

// Seek is refused.
func (b *Broker) Seek(_ context.Context, r broker.SeekRequest) (broker.Sought, error) {
	return broker.Sought{}, b.refuse("seek", r.Stream, r.Group)
}

// Read is refused; Range brings entries without a consumer.
func (b *Broker) Read(_ context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	return nil, b.refuse("read", r.Stream, r.Group)
}

// AutoClaim is refused.
func (b *Broker) AutoClaim(_ context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	return broker.AutoClaimed{}, b.refuse("claim", r.Stream, r.Group)
}

// TakeOver is refused.
func (b *Broker) TakeOver(_ context.Context, o broker.Owner, _ string, _ []broker.ID) (broker.TakenOver, error) {
	return broker.TakenOver{}, b.refuse("take over", o.Stream, o.Group)
}

// Admit is refused: it puts entries back and records starts.
func (b *Broker) Admit(_ context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	return nil, b.refuse("admit", r.Stream, r.Group)
}

// Begin is refused.
func (b *Broker) Begin(_ context.Context, o broker.Owner, _ []broker.ID) ([]broker.Holding, error) {
	return nil, b.refuse("begin", o.Stream, o.Group)
}

// Renew is refused.
func (b *Broker) Renew(_ context.Context, o broker.Owner, _ []broker.ID) ([]broker.Holding, error) {
	return nil, b.refuse("renew", o.Stream, o.Group)
}

// Release is refused.
func (b *Broker) Release(_ context.Context, o broker.Owner, _ []broker.ID, _ time.Duration) error {
	return b.refuse("release", o.Stream, o.Group)
}

// Settle is refused.
func (b *Broker) Settle(_ context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	return broker.SettleResult{}, b.refuse("settle", s.Stream, s.Group)
}

// AcquireSlot is refused.
func (b *Broker) AcquireSlot(_ context.Context, r broker.SlotRequest) (int, error) {
	return 0, b.refuse("acquire slot", r.Stream, r.Group)
}

// RenewSlot is refused.
func (b *Broker) RenewSlot(_ context.Context, r broker.SlotRequest, _ int) (broker.SlotLease, error) {
	return broker.SlotLease{}, b.refuse("renew slot", r.Stream, r.Group)
}

// ReleaseSlot is refused.
func (b *Broker) ReleaseSlot(_ context.Context, r broker.SlotRequest, _ int) error {
	return b.refuse("release slot", r.Stream, r.Group)
}

// RemoveConsumer is refused.
func (b *Broker) RemoveConsumer(_ context.Context, o broker.Owner) (bool, error) {
	return false, b.refuse("remove consumer", o.Stream, o.Group)
}

// Add is refused as a whole; its error names the first stream.
func (b *Broker) Add(_ context.Context, adds []broker.Add) ([]broker.ID, error) {
	stream := ""
	if len(adds) > 0 {
		stream = adds[0].Stream
	}
	return nil, b.refuse("add to", stream, "")
}

// Move is refused.
func (b *Broker) Move(_ context.Context, r broker.MoveRequest) ([]broker.Moved, error) {
	return nil, b.refuse("move from", r.From, "")
}

// Remove is refused.
func (b *Broker) Remove(_ context.Context, stream string, _ []broker.ID) (int64, error) {
	return 0, b.refuse("remove from", stream, "")
}

// Trim is refused.
func (b *Broker) Trim(_ context.Context, r broker.TrimRequest) (int64, error) {
	return 0, b.refuse("trim", r.Stream, "")
}
