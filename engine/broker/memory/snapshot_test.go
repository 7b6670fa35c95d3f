package memory_test

import (
	"errors"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
)

func TestRestoreTakesEverythingBack(t *testing.T) {
	c := clock.NewVirtual(time.UnixMilli(1000))
	b := memory.New(c, memory.Options{})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	me := broker.Owner{Stream: "in", Group: "g", Consumer: "c"}
	_, err := b.CreateGroup(ctx, "in", "g", "0")
	must(err)
	ids, err := b.Add(ctx, []broker.Add{{Stream: "in", Fields: field("a", "1")}, {Stream: "in", Fields: field("a", "2")}})
	must(err)
	_, err = b.Read(ctx, broker.ReadRequest{Owner: me, Count: 1})
	must(err)
	_, err = b.Settle(ctx, &broker.Settlement{Owner: me, Waits: []broker.Wait{{ID: ids[0], Timed: true, After: time.Second, Error: "boom"}}})
	must(err)
	slot := broker.SlotRequest{Stream: "in", Group: "g", Base: "base", Token: "t", TTL: time.Minute}
	_, err = b.AcquireSlot(ctx, slot)
	must(err)
	then := b.Snapshot()

	for range 2 { // a snapshot is not used up, nor changed by what comes after it
		_, err = b.Read(ctx, broker.ReadRequest{Owner: broker.Owner{Stream: "in", Group: "g", Consumer: "other"}, Count: 10})
		must(err)
		_, err = b.Settle(ctx, &broker.Settlement{Owner: me, Acks: ids, Forget: ids})
		must(err)
		_, err = b.Add(ctx, []broker.Add{{Stream: "out", Fields: field("a", "3")}})
		must(err)
		must(b.ReleaseSlot(ctx, slot, 0))
		b.Restore(then)

		pending, err := b.Pending(ctx, "in", "g", "", broker.ID{}, 10)
		must(err)
		if len(pending) != 1 || pending[0].ID != ids[0] || pending[0].Consumer != "c" || pending[0].Deliveries != 1 {
			t.Errorf("pending %+v", pending)
		}
		records, err := b.Records(ctx, "in", "g", ids[:1])
		must(err)
		out, err := b.StreamInfo(ctx, "out")
		must(err)
		held, err := b.RenewSlot(ctx, slot, 0)
		must(err)
		if records[0].Error != "boom" || out.Length != 0 || !held.Held {
			t.Errorf("record %+v, %d in out, slot held %v", records[0], out.Length, held.Held)
		}
	}
}

// What was published before the snapshot comes back with it, and so does the mark
// that keeps it from being published again; one that was set afterwards is lost.
func TestRestoreTakesMarksBack(t *testing.T) {
	b := memory.New(clock.NewVirtual(time.UnixMilli(1000)), memory.Options{})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	me := broker.Owner{Stream: "in", Group: "g", Consumer: "c"}
	marks := broker.Marks{Set: "orders", Window: time.Minute}
	_, err := b.CreateGroup(ctx, "in", "g", "0")
	must(err)
	ids, err := b.Add(ctx, []broker.Add{{Stream: "in", Fields: field("a", "1")}, {Stream: "in", Fields: field("a", "2")}})
	must(err)
	_, err = b.Read(ctx, broker.ReadRequest{Owner: me, Count: 2})
	must(err)
	settle := func(n int, key string) {
		t.Helper()
		_, err := b.Settle(ctx, &broker.Settlement{Owner: me, Marks: marks, Steps: []broker.Step{{ID: ids[n], Mark: key}}})
		must(err)
	}
	settle(0, "before")
	then := b.Snapshot()
	for range 2 {
		settle(1, "after")
		b.Restore(then)
		found, err := b.Marked(ctx, broker.MarkedRequest{Stream: "in", Group: "g", Marks: marks, Keys: []string{"before", "after"}})
		must(err)
		if found[0].By != ids[0] || found[1].Found() {
			t.Errorf("marked %+v", found)
		}
	}
}

func TestRestoreEndsBlockedReads(t *testing.T) {
	b := memory.New(clock.NewVirtual(time.UnixMilli(1000)), memory.Options{})
	if _, err := b.CreateGroup(t.Context(), "in", "g", "0"); err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	go func() {
		_, err := b.Read(t.Context(), broker.ReadRequest{Owner: broker.Owner{Stream: "in", Group: "g", Consumer: "c"}, Count: 1, Block: time.Hour})
		over <- err
	}()
	for b.Blocked() == 0 {
	}
	b.Restore(b.Snapshot())
	if err := <-over; !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("the read ended with %v", err)
	}
}

func TestAFullServerRefusesWhatNeedsMemory(t *testing.T) {
	b := memory.New(clock.NewVirtual(time.UnixMilli(1000)), memory.Options{})
	ctx := t.Context()
	if _, err := b.CreateGroup(ctx, "in", "g", "0"); err != nil {
		t.Fatal(err)
	}
	ids, err := b.Add(ctx, []broker.Add{{Stream: "in", Fields: field("a", "1")}, {Stream: "in", Fields: field("a", "2")}, {Stream: "in", Fields: field("a", "3")}})
	if err != nil {
		t.Fatal(err)
	}
	me := broker.Owner{Stream: "in", Group: "g", Consumer: "c"}
	b.SetFull(true)
	if ds, err := b.Read(ctx, broker.ReadRequest{Owner: me, Count: 10}); err != nil || len(ds) != 3 {
		t.Fatalf("read %v, %v", ds, err)
	}
	res, err := b.Settle(ctx, &broker.Settlement{
		Owner: me, Acks: ids[:1], Steps: []broker.Step{{ID: ids[1], Publish: []broker.Add{{Stream: "out", Fields: field("a", "1")}}}},
		Waits: []broker.Wait{{ID: ids[2], Timed: true, After: time.Second, Error: "boom"}},
	})
	if err != nil || res.Steps[0].Status != broker.Refused || !errors.Is(res.Steps[0].Err, broker.ErrOutOfMemory) || res.Waits[0] != broker.Done {
		t.Errorf("settled %+v, %v", res, err)
	}
	slot := broker.SlotRequest{Stream: "in", Group: "g", Base: "base", Token: "t", TTL: time.Minute}
	for name, refused := range map[string]func() error{
		"add":         func() error { _, err := b.Add(ctx, []broker.Add{{Stream: "in", Fields: field("a", "1")}}); return err },
		"slot":        func() error { _, err := b.AcquireSlot(ctx, slot); return err },
		"other group": func() error { _, err := b.CreateGroup(ctx, "in", "other", "0"); return err },
	} {
		if err := refused(); !errors.Is(err, broker.ErrOutOfMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if created, err := b.CreateGroup(ctx, "in", "g", "0"); created || err != nil {
		t.Errorf("a group that exists: %v, %v", created, err)
	}
	b.SetFull(false)
	if _, err := b.AcquireSlot(ctx, slot); err != nil {
		t.Error(err)
	}
	b.SetFull(true)
	if _, err := b.AcquireSlot(ctx, slot); err != nil {
		t.Errorf("a slot that is held already: %v", err)
	}
}

func field(name, value string) []broker.Field { return []broker.Field{{Name: name, Value: value}} }
