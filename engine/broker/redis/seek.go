package redis

import (
	"context"
	_ "embed"
	"fmt"

	"pipeline/engine/broker"
)

//go:embed scripts/seek.lua
var seekText string

var seekScript = newScript(seekText)

// seekGroup is the right to move groups, which nothing else needs.
const seekGroup = "xgroup|setid"

// The answers of the seek script that are no broker.SeekStatus.
const (
	seekRefused = -2
	seekMany    = 4
)

// freedPerSeek is how many entries one call of the script takes out of the pending
// list: see scripts/seek.lua.
const freedPerSeek = 1000

// Seek implements broker.Broker.
func (b *Broker) Seek(ctx context.Context, r broker.SeekRequest) (broker.Sought, error) {
	op := operation{name: "seek", stream: r.Stream, group: r.Group}
	sought, many, err := b.seekStep(ctx, &r, false)
	if err == nil && many {
		sought, err = b.seekInSteps(ctx, r)
	}
	return sought, b.fail(op, err)
}

// seekInSteps moves a group back over many pending entries: to before the last
// thousand of them, before the thousand before, and so on. So whatever interrupts it,
// nothing lies before the group that was taken out of the pending list.
func (b *Broker) seekInSteps(ctx context.Context, r broker.SeekRequest) (broker.Sought, error) {
	var stops []broker.ID
	for after := r.To; ; after = stops[len(stops)-1] {
		page, err := b.pendingRange(ctx, r.Stream, r.Group, "", after, broker.MaxID, freedPerSeek)
		if err != nil {
			return broker.Sought{}, err
		}
		if len(page) < freedPerSeek {
			break
		}
		stops = append(stops, page[len(page)-1].ID)
	}
	all, to := broker.Sought{}, r.To
	for i := len(stops); i >= 0; i-- {
		r.To = to
		if i > 0 {
			r.To = stops[i-1]
		}
		step, many, err := b.seekStep(ctx, &r, i > 0)
		if many {
			err = &broker.Error{Kind: broker.ErrUnavailable, Detail: "entries are delivered meanwhile"}
		}
		if i == len(stops) {
			all.From = step.From
		}
		all.Status, all.At, all.Alive, all.Until = step.Status, step.At, step.Alive, step.Until
		all.Freed += step.Freed
		if err != nil || step.Status != broker.SeekDone {
			return all, err
		}
		r.Seen = step.At
	}
	return all, nil
}

// seekStep is one call of the script; many is true where it did nothing because more
// is pending than one call takes out.
func (b *Broker) seekStep(ctx context.Context, r *broker.SeekRequest, back bool) (sought broker.Sought, many bool, err error) {
	keys := b.keys.of(r.Stream, r.Group)
	seen := ""
	if r.Seen != broker.MaxID {
		seen = r.Seen.String()
	}
	a := newArgs()
	defer a.release()
	seekScript.call(a, 4)
	a.add(r.Stream, keys.floor, keys.records, keys.alive, r.Group, r.To.String(), seen)
	a.flag(back)
	v, err := b.run(ctx, seekScript, a.since(0))
	if err != nil {
		return sought, false, err
	}
	list, _ := v.([]any)
	if len(list) < 2 {
		return sought, false, fmt.Errorf("%w of the seek script", errProtocol)
	}
	number := func(i int) int64 {
		if i >= len(list) {
			return 0
		}
		n, _ := list[i].(int64)
		return n
	}
	id := func(i int) broker.ID {
		text, _ := list[min(i, len(list)-1)].(string)
		id, _ := parseID(text)
		return id
	}
	status := number(0)
	if status == seekRefused {
		return sought, false, seekRefusal(texts(v)[1])
	}
	sought.From, sought.At = id(1), id(1)
	switch {
	case status == seekMany:
		return sought, true, nil
	case status == int64(broker.SeekDone):
		sought.Freed, sought.At = number(2), id(3)
	case status == int64(broker.SeekInUse):
		sought.Alive, sought.Until = int(number(2)), instant(number(3))
	}
	sought.Status = broker.SeekStatus(status)
	return sought, false, nil
}

// seekRefusal is the error of a server that does not move the group. What a login
// lacks that may do everything else is known, whatever the server says: before 7.2
// it does not name the command.
func seekRefusal(reply string) error {
	if kindOf(clean(reply)) == broker.ErrNoPermission { //nolint:errorlint // kinds are not wrapped
		return &broker.Error{
			Kind:   broker.ErrNoPermission,
			Detail: "the user may not move groups (it needs the rule +" + seekGroup + ", which a worker needs for nothing else)",
		}
	}
	return serverError(reply)
}
