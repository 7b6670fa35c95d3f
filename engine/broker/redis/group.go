package redis

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

//go:embed scripts/create.lua
var createText string

var createScript = newScript(createText)

// floorRaces bounds how often a floor that moves under the creation of its
// group is read again.
const floorRaces = 5

// CreateGroup implements broker.Broker.
func (b *Broker) CreateGroup(ctx context.Context, stream, group, start string) (bool, error) {
	op := operation{name: "create group", stream: stream, group: group}
	if start != "$" {
		id, err := broker.ParseID(start)
		if err != nil {
			return false, b.fail(op, &broker.Error{Detail: err.Error() + `, "$" or "0"`})
		}
		start = id.String()
	}
	_, created, err := b.create(ctx, stream, group, start, false)
	return created, b.fail(op, err)
}

// RestoreGroup implements broker.Broker.
func (b *Broker) RestoreGroup(ctx context.Context, stream, group string) (broker.ID, bool, error) {
	at, restored, err := b.create(ctx, stream, group, "0-0", true)
	return at, restored, b.fail(operation{name: "restore group", stream: stream, group: group}, err)
}

// create creates a group that is absent: at its floor, else where it is told.
// The script is given the floor that was read and does nothing if there is
// another by now.
func (b *Broker) create(ctx context.Context, stream, group, start string, lost bool) (broker.ID, bool, error) {
	keys := b.keys.of(stream, group)
	for range floorRaces {
		floor, err := b.settle.Get(ctx, keys.floor).Result()
		if err != nil && err != redis.Nil { //nolint:errorlint // it comes unwrapped
			return broker.ID{}, false, err
		}
		at, err := floorPosition(floor)
		if err != nil {
			return broker.ID{}, false, err
		}
		a := newArgs()
		createScript.call(a, 2)
		a.add(stream, keys.floor, group, start, at, floor)
		a.flag(lost)
		v, err := b.run(ctx, createScript, a.since(0))
		a.release()
		if err != nil {
			return broker.ID{}, false, err
		}
		switch position, answer := created(v); answer {
		case floorMoved:
		case groupRefused:
			return broker.ID{}, false, createRefusal(v)
		default:
			return position, answer == groupCreated, nil
		}
	}
	return broker.ID{}, false, &broker.Error{Kind: broker.ErrUnavailable, Detail: "the floor keeps moving"}
}

// The answers of the create script.
const (
	groupRefused = -2
	floorMoved   = -1
	groupCreated = 1
)

func created(v any) (at broker.ID, answer int64) {
	list, _ := v.([]any)
	if len(list) > 0 {
		answer, _ = list[0].(int64)
	}
	if len(list) > 1 {
		s, _ := list[1].(string)
		at, _ = parseID(s)
	}
	return at, answer
}

// createRefusal is the error of a server that does not create the group. What a
// login lacks that may do everything else is known, whatever the server says:
// before 7.2 it does not name the command.
func createRefusal(v any) error {
	reply := texts(v)
	if len(reply) < 2 {
		return fmt.Errorf("%w of the create script", errProtocol)
	}
	if kindOf(clean(reply[1])) == broker.ErrNoPermission { //nolint:errorlint // kinds are not wrapped
		return &broker.Error{
			Kind:   broker.ErrNoPermission,
			Detail: "the group is absent and the user may not create it (it needs the rule +" + createGroup + ")",
		}
	}
	return serverError(reply[1])
}

// Floor implements broker.Broker.
func (b *Broker) Floor(ctx context.Context, stream, group string) (broker.ID, bool, error) {
	op := operation{name: "read floor of", stream: stream, group: group}
	floor, err := b.settle.Get(ctx, b.keys.of(stream, group).floor).Result()
	if err == redis.Nil { //nolint:errorlint // it comes unwrapped
		return broker.ID{}, false, nil
	}
	if err != nil {
		return broker.ID{}, false, b.fail(op, err)
	}
	at, err := floorPosition(floor)
	if err != nil {
		return broker.ID{}, false, b.fail(op, &broker.Error{Detail: err.Error()})
	}
	id, _ := parseID(at)
	return id, floor != "", nil
}

// floorPosition is the position that a floor stands for: "(5-0" is just before
// 5-0. The script that writes floors cannot count ids down, its numbers are
// too short.
func floorPosition(floor string) (string, error) {
	if floor == "" {
		return "", nil
	}
	id, ok := parseID(strings.TrimPrefix(floor, "("))
	if !ok {
		return "", fmt.Errorf("the floor of the group is %q, which is no entry id", floor)
	}
	if floor[0] == '(' {
		id = id.Prev()
	}
	return id.String(), nil
}
