package redis

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"pipeline/engine/broker"
)

//go:embed scripts/admit.lua
var admitText string

//go:embed scripts/begin.lua
var beginText string

var (
	admitScript = newScript(admitText)
	beginScript = newScript(beginText)
)

var verdicts = map[byte]broker.Verdict{'r': broker.Run, 'w': broker.NotDue, 'x': broker.Exhausted, 'l': broker.Lost}

// Admit implements broker.Broker.
func (b *Broker) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	op := on(r.Owner, "admit")
	keys := b.keys.of(r.Stream, r.Group)
	a := newArgs()
	defer a.release()
	var p batch
	for entries := range slices.Chunk(r.Entries, maxEntries) {
		low, high := entries[0].ID, entries[0].ID
		for i := range entries {
			low, high = broker.Earlier(low, entries[i].ID), broker.Later(high, entries[i].ID)
		}
		mark := admitScript.call(a, 2)
		a.add(r.Stream, keys.records)
		a.pack(r.Group)
		a.pack(r.Consumer)
		a.packInt(milliseconds(r.MinIdle))
		a.packInt(int64(r.MaxAttempts))
		a.packInt(int64(len(entries)))
		a.packID(low)
		a.packID(high)
		a.packIDs(len(entries), func(i int) broker.ID { return entries[i].ID })
		for i := range entries {
			a.packInt(entries[i].Deliveries)
		}
		a.packed()
		p.add(ctx, admitScript, a.since(mark))
	}
	if err := b.send(ctx, &p); err != nil {
		return nil, b.fail(op, err)
	}
	out := make([]broker.Admission, 0, len(r.Entries))
	for i := range p.cmds {
		list, _ := p.reply(i).([]any)
		var err error
		if out, err = appendAdmissions(out, list); err != nil {
			return nil, b.fail(op, err)
		}
	}
	if len(out) != len(r.Entries) {
		return nil, b.fail(op, fmt.Errorf("%w of the admit script", errProtocol))
	}
	return out, nil
}

// Begin implements broker.Broker, with one script for every 250 ids.
func (b *Broker) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	op := on(o, "begin")
	a := newArgs()
	defer a.release()
	var p batch
	for chunk := range slices.Chunk(ids, maxEntries) {
		mark := beginScript.call(a, 2)
		a.add(o.Stream, b.keys.of(o.Stream, o.Group).records, o.Group, o.Consumer)
		for _, id := range chunk {
			a.id(id)
		}
		p.add(ctx, beginScript, a.since(mark))
	}
	if err := b.send(ctx, &p); err != nil {
		return nil, b.fail(op, err)
	}
	out := make([]broker.Holding, 0, len(ids))
	for i := range p.cmds {
		answers, _ := p.reply(i).(string)
		for j := range len(answers) {
			out = append(out, holdings[answers[j]])
		}
	}
	if len(out) != len(ids) {
		return nil, b.fail(op, fmt.Errorf("%w of the begin script", errProtocol))
	}
	return out, nil
}

// appendAdmissions reads one answer of the script.
func appendAdmissions(out []broker.Admission, reply []any) ([]broker.Admission, error) {
	wrong := func() error { return fmt.Errorf("%w of the admit script", errProtocol) }
	if len(reply)%3 != 1 {
		return nil, wrong()
	}
	letters, _ := reply[0].(string)
	first := len(out)
	for i := range len(letters) {
		out = append(out, broker.Admission{Verdict: verdicts[letters[i]]})
	}
	for with := range slices.Chunk(reply[1:], 3) {
		index, _ := with[0].(string)
		text, _ := with[1].(string)
		ms, _ := with[2].(string)
		i, known := number(index)
		remaining, timed := number(ms)
		if !known || !timed || i < 0 || i >= int64(len(letters)) {
			return nil, wrong()
		}
		a := &out[first+int(i)]
		a.Remaining = time.Duration(remaining) * time.Millisecond
		var err error
		if a.Record, err = parseRecord(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}
