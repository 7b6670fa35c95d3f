package memory

import (
	"context"

	"pipeline/engine/broker"
)

// Move implements broker.Broker. All moves are one step.
func (b *Broker) Move(ctx context.Context, r broker.MoveRequest) ([]broker.Moved, error) {
	op := operation{name: "move from", stream: r.From}
	done := make([]broker.Moved, 0, len(r.Moves))
	var refused error
	err := b.do(ctx, op, func(now int64) error {
		for i := range r.Moves {
			m := &r.Moves[i]
			from, err := b.stream(r.From)
			if err != nil {
				return err
			}
			moved, err := b.move(from, m, now)
			if err != nil {
				refused = publishing(&m.Publish, err)
				return nil
			}
			done = append(done, moved)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return done, refused
}

func (b *Broker) move(from *stream, m *broker.Move, now int64) (broker.Moved, error) {
	if from == nil {
		return broker.Moved{}, nil
	}
	if _, there := from.body(m.ID); !there {
		return broker.Moved{}, nil
	}
	id, err := b.add(&m.Publish, now)
	if err != nil {
		return broker.Moved{}, err
	}
	from.delete(m.ID)
	return broker.Moved{Found: true, ID: id}, nil
}

// Remove implements broker.Broker.
func (b *Broker) Remove(ctx context.Context, stream string, ids []broker.ID) (int64, error) {
	var removed int64
	err := b.do(ctx, operation{name: "remove from", stream: stream}, func(int64) error {
		s, err := b.stream(stream)
		if s == nil {
			return err
		}
		for _, id := range ids {
			if s.delete(id) {
				removed++
				b.changed()
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
