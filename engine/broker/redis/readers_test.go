package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/tests/redistest"
)

// However many reads block, what does not block has connections of its own.
func TestReadsThatBlockKeepNothingFromBeingSettled(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, version)
			b := open(t, s)
			ids := fill(t, b, 10)
			read(t, b, "c", 10)
			const readers = 150 // more than there are connections for what does not block
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for i := range readers {
				all.Go(func() {
					o := owner(fmt.Sprint("reader", i))
					if d, err := b.Read(ctx, broker.ReadRequest{Owner: o, Count: 1, Block: time.Hour}); len(d) > 0 || err != nil {
						t.Errorf("read %v, %v", d, err)
					}
				})
			}
			defer all.Wait()
			defer cancel()
			waitBlocked(t, s, readers)
			for i, id := range ids {
				set := &broker.Settlement{Owner: owner("c"), Acks: []broker.ID{id}}
				if i%2 > 0 {
					set = &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{reply(id)}}
				}
				settle(t, b, set)
				if held, err := b.Renew(t.Context(), owner("c"), ids); err != nil || held[i] != broker.HeldByOther {
					t.Errorf("renewed %v, %v", held, err)
				}
			}
			if left := pendingOf(t, b); len(left) != 0 {
				t.Errorf("pending: %v", left)
			}
			waitBlocked(t, s, readers) // all the time
		})
	}
}
