package redis

import (
	"context"
	_ "embed"
	"fmt"

	"pipeline/engine/broker"
)

//go:embed scripts/readto.lua
var readToText string

//go:embed scripts/beginreplay.lua
var beginReplayText string

//go:embed scripts/endreplay.lua
var endReplayText string

var (
	readToScript      = newScript(readToText)
	beginReplayScript = newScript(beginReplayText)
	endReplayScript   = newScript(endReplayText)
)

// Replay is a range of a stream that a group of its own runs once more. The name of
// the group is noted together with the range, so that what was begun can go on and
// what has ended is not begun again. The note stays.
type Replay struct {
	Stream, Group string
	// First and Last are the ends of the range, both in it.
	First, Last broker.ID
	// How tells apart what may not go on as each other: the subscription, and whether
	// its replies are published.
	How string
}

// note is what the key beside the stream says.
func (r *Replay) note() string { return r.First.String() + " " + r.Last.String() + " " + r.How }

// ReplayState is what has become of a replay.
type ReplayState uint8

// The states.
const (
	// ReplayNew: its name is free.
	ReplayNew ReplayState = iota
	// ReplayBegun: it was begun and goes on.
	ReplayBegun
	// ReplayEnded: it has run all of its range.
	ReplayEnded
	// ReplayOther: another replay has the name.
	ReplayOther
	// ReplayTaken: a group of that name exists, or existed, that is no replay.
	ReplayTaken
)

// LookAtReplay says what has become of a replay. It changes nothing. Of ReplayOther,
// other is what has the name.
func (b *Broker) LookAtReplay(ctx context.Context, r Replay) (state ReplayState, other string, err error) {
	state, other, err = b.takeName(ctx, &r, true)
	return state, other, b.fail(operation{name: "look at the replay", stream: r.Stream, group: r.Group}, err)
}

// BeginReplay takes the name of the group and creates it before First; where it was
// begun, it finds it again. It may be repeated.
func (b *Broker) BeginReplay(ctx context.Context, r Replay) (state ReplayState, other string, err error) {
	state, other, err = b.takeName(ctx, &r, false)
	if err != nil {
		return state, other, b.fail(operation{name: "begin the replay", stream: r.Stream, group: r.Group}, err)
	}
	if state == ReplayNew || state == ReplayBegun {
		_, err = b.CreateGroup(ctx, r.Stream, r.Group, r.First.Prev().String())
	}
	return state, other, err
}

func (b *Broker) takeName(ctx context.Context, r *Replay, look bool) (state ReplayState, other string, err error) {
	keys := b.keys.of(r.Stream, r.Group)
	a := newArgs()
	defer a.release()
	beginReplayScript.call(a, 3)
	a.add(r.Stream, keys.floor, keys.replay, r.Group, r.note())
	a.flag(look)
	v, err := b.run(ctx, beginReplayScript, a.since(0))
	if err != nil {
		return 0, "", err
	}
	n, text, err := numberAndText(v)
	return ReplayState(n), text, err
}

// EndReplay removes the group of a replay, with the keys beside it, if nothing is
// pending in it and nothing of the range is left to be read; the note stays. ended is
// false otherwise, with nothing done. It may be repeated.
func (b *Broker) EndReplay(ctx context.Context, r Replay) (ended bool, err error) {
	op := operation{name: "end the replay", stream: r.Stream, group: r.Group}
	keys := b.keys.of(r.Stream, r.Group)
	a := newArgs()
	defer a.release()
	endReplayScript.call(a, 5)
	a.add(r.Stream, keys.replay, keys.floor, keys.records, keys.alive, r.Group, r.note())
	a.id(r.Last)
	v, err := b.run(ctx, endReplayScript, a.since(0))
	if err != nil {
		return false, b.fail(op, err)
	}
	n, text, err := numberAndText(v)
	switch {
	case err != nil:
	case n < 0 && kindOf(clean(text)) == broker.ErrNoPermission: //nolint:errorlint // kinds are not wrapped
		err = &broker.Error{Kind: broker.ErrNoPermission, Detail: "the user may not remove groups (it needs the rule +xgroup|destroy)"}
	case n < 0:
		err = serverError(text)
	case n == 2:
		err = &broker.Error{Detail: "the group is no longer that of this replay"}
	}
	return err == nil && n == 0, b.fail(op, err)
}

// ReadReplay reads new entries of a replay's range for a consumer of its group, at most
// count, without waiting; none where the replay has ended. What it brings, the server
// has delivered, as with Read.
func (b *Broker) ReadReplay(ctx context.Context, r Replay, consumer string, count int) ([]broker.Delivery, error) {
	op := operation{name: "read", stream: r.Stream, group: r.Group}
	a := newArgs()
	defer a.release()
	mark := readToScript.call(a, 2)
	a.add(r.Stream, b.keys.of(r.Stream, r.Group).replay, r.Group, consumer)
	a.id(r.Last)
	a.int(int64(count))
	a.word(r.note())
	reply, err := b.runRaw(ctx, readToScript, a.since(mark))
	if err != nil {
		return nil, b.fail(op, err)
	}
	deliveries, err := readGroupReply(reply)
	return deliveries, b.fail(op, err)
}

// numberAndText reads [number, text].
func numberAndText(v any) (n int64, text string, err error) {
	list, _ := v.([]any)
	if len(list) != 2 {
		return 0, "", fmt.Errorf("%w of the replay script", errProtocol)
	}
	n, _ = list[0].(int64)
	text, _ = list[1].(string)
	return n, text, nil
}
