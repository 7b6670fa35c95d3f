package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"pipeline/engine/broker"
)

//go:embed scripts/add.lua
var addText string

var addScript = newScript(addText)

// Add implements broker.Broker: a script for every 250 entries or 256 KiB, which
// stops at the first entry that is refused, or a plain XADD for a single entry
// and for one with more fields than a script can pass on.
func (b *Broker) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	ids := make([]broker.ID, 0, len(adds))
	for len(adds) > 0 {
		n := b.together(adds)
		var err error
		if n == 1 {
			ids, err = b.addOne(ctx, ids, &adds[0])
		} else {
			ids, err = b.addMany(ctx, ids, adds[:n])
		}
		if err != nil {
			return ids, err
		}
		adds = adds[n:]
	}
	return ids, nil
}

// together is how many of the first entries fit into one call.
func (b *Broker) together(adds []broker.Add) int {
	size := 0
	for i := range min(len(adds), maxEntries) {
		size += addSize(&adds[i])
		wide := 2*len(adds[i].Fields) > maxUnpack
		elsewhere := b.clustered && Slot(adds[i].Stream) != Slot(adds[0].Stream)
		if i > 0 && (wide || elsewhere || size > maxBytes) {
			return i
		}
		if wide {
			return 1
		}
	}
	return min(len(adds), maxEntries)
}

func (b *Broker) addOne(ctx context.Context, ids []broker.ID, m *broker.Add) ([]broker.ID, error) {
	op := operation{name: "add", stream: m.Stream}
	if len(m.Fields) == 0 {
		return ids, b.fail(op, errNoFields)
	}
	a := newArgs()
	defer a.release()
	a.add("XADD", m.Stream)
	xadd(a, m)
	s, err := b.do(ctx, a.since(0)).Text()
	if err != nil {
		return ids, b.fail(op, err)
	}
	return b.appendIDs(op, ids, []string{s})
}

// errNoFields says what a server's "wrong number of arguments" does not.
var errNoFields = &broker.Error{Detail: "an entry needs at least one field"}

func (b *Broker) addMany(ctx context.Context, ids []broker.ID, adds []broker.Add) ([]broker.ID, error) {
	var to []string
	for i := range adds {
		if !slices.Contains(to, adds[i].Stream) {
			to = append(to, adds[i].Stream)
		}
	}
	a := newArgs()
	defer a.release()
	addScript.call(a, len(to))
	a.add(to...)
	a.int(int64(len(adds)))
	for i := range adds {
		a.int(int64(slices.Index(to, adds[i].Stream) + 1))
		a.int(int64(xaddArgs(&adds[i])))
		xadd(a, &adds[i])
	}
	v, err := b.run(ctx, addScript, a.since(0))
	if err != nil {
		return ids, b.fail(operation{name: "add", stream: adds[0].Stream}, err)
	}
	reply := texts(v)
	if len(reply) == 0 || len(reply)-1 > len(adds) || (reply[0] == "") != (len(reply)-1 == len(adds)) {
		return ids, b.fail(operation{name: "add", stream: adds[0].Stream}, fmt.Errorf("%w of the add script", errProtocol))
	}
	ids, err = b.appendIDs(operation{name: "add", stream: adds[0].Stream}, ids, reply[1:])
	if err == nil && reply[0] != "" {
		refused := &adds[len(reply)-1]
		err = error(serverError(reply[0]))
		if len(refused.Fields) == 0 {
			err = errNoFields
		}
		err = b.fail(operation{name: "add", stream: refused.Stream}, err)
	}
	return ids, err
}

func (b *Broker) appendIDs(op operation, ids []broker.ID, texts []string) ([]broker.ID, error) {
	for _, s := range texts {
		id, ok := parseID(s)
		if !ok {
			return ids, b.fail(op, errors.Join(errProtocol, errors.New("no entry id")))
		}
		ids = append(ids, id)
	}
	return ids, nil
}
