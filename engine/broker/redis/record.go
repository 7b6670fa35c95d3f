package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pipeline/engine/broker"
)

// parseRecord reads a record as the scripts write it: "starts asked due at
// length-of-who who error". Who and the error may hold any bytes. An empty text
// is the record of an entry without one.
func parseRecord(text string) (broker.Record, error) {
	var r broker.Record
	if text == "" {
		return r, nil
	}
	var numbers [5]int64
	rest := text
	for i := range numbers {
		word, after, found := strings.Cut(rest, " ")
		n, ok := number(word)
		if !found || !ok || n < 0 {
			return r, fmt.Errorf("%w: a record that is not ours", errProtocol)
		}
		numbers[i], rest = n, after
	}
	length := numbers[4]
	if length >= int64(len(rest)) || rest[length] != ' ' {
		return r, fmt.Errorf("%w: a record that is cut off", errProtocol)
	}
	r = broker.Record{Starts: numbers[0], Asked: numbers[1], Due: instant(numbers[2]), At: instant(numbers[3]), Error: rest[length+1:]}
	parseWho(&r, rest[:length])
	return r, nil
}

// parseWho reads "consumer\x1fe3 1700000000000": what is on record last, s for a
// start and e for an end, with its delivery, and the time of the first delivery.
// A record of an earlier version has the consumer alone.
func parseWho(r *broker.Record, who string) {
	r.By = who
	at := strings.LastIndexByte(who, '\x1f')
	if at < 0 || at+1 == len(who) {
		return
	}
	state := who[at+1]
	delivery, first, _ := strings.Cut(who[at+2:], " ")
	n, ok := number(delivery)
	ms, known := number(first)
	if !ok || !known || state != 's' && state != 'e' {
		return
	}
	r.By, r.Delivery, r.Ended, r.First = who[:at], n, state == 'e', instant(ms)
}

// instant is a time of the server's clock; 0 is none.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Records implements broker.Broker.
func (b *Broker) Records(ctx context.Context, stream, group string, ids []broker.ID) ([]broker.Record, error) {
	op := operation{name: "read records", stream: stream, group: group}
	a := newArgs()
	defer a.release()
	var p batch
	for chunk := range slices.Chunk(ids, maxAcks) {
		mark := a.mark()
		a.add("HMGET", b.keys.of(stream, group).records)
		for _, id := range chunk {
			a.id(id)
		}
		p.add(ctx, nil, a.since(mark))
	}
	if err := b.send(ctx, &p); err != nil {
		return nil, b.fail(op, err)
	}
	out := make([]broker.Record, 0, len(ids))
	for i := range p.cmds {
		for _, text := range texts(p.reply(i)) {
			r, err := parseRecord(text)
			if err != nil {
				return nil, b.fail(op, err)
			}
			out = append(out, r)
		}
	}
	if len(out) != len(ids) {
		return nil, b.fail(op, errProtocol)
	}
	return out, nil
}
