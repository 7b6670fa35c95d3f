package redis

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

//go:embed scripts/marked.lua
var markedText string

var markedScript = newScript(markedText)

// maxKey is how many bytes of a key are kept as they are. A longer one is kept as
// its digest, which no shorter key can look like: it is longer than maxKey. So
// the size of a mark is bounded, and keys never collide but where SHA-256 does.
const maxKey = 64

// markField is a key as a field of the hashes.
func markField(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// maxLooked bounds the keys of one look-up.
const maxLooked = 1000

// Marked implements broker.Broker.
func (b *Broker) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	op := operation{name: "look up marks of", stream: r.Stream, group: r.Group}
	if err := r.Check(); err != nil {
		return nil, b.fail(op, err)
	}
	sets := b.keys.of(r.Stream, r.Group).markKeys(r.Set)
	a := newArgs()
	defer a.release()
	var p batch
	for keys := range slices.Chunk(r.Keys, maxLooked) {
		mark := markedScript.call(a, 2)
		a.add(sets[0], sets[1])
		a.int(milliseconds(r.Window))
		for _, key := range keys {
			a.word(markField(key))
		}
		p.add(ctx, markedScript, a.since(mark))
	}
	if err := b.send(ctx, &p); err != nil {
		return nil, b.fail(op, err)
	}
	out := make([]broker.Mark, 0, len(r.Keys))
	for i := range p.cmds {
		for _, text := range texts(p.reply(i)) {
			m, err := parseMark(text)
			if err != nil {
				return nil, b.fail(op, err)
			}
			out = append(out, m)
		}
	}
	if len(out) != len(r.Keys) {
		return nil, b.fail(op, errProtocol)
	}
	return out, nil
}

// parseMark reads a mark as the scripts write it: "when id". One that a person
// set by hand may name no entry.
func parseMark(text string) (broker.Mark, error) {
	if text == "" {
		return broker.Mark{}, nil
	}
	when, id, _ := strings.Cut(text, " ")
	ms, ok := number(when)
	if !ok {
		return broker.Mark{}, fmt.Errorf("%w: a mark that is not ours", errProtocol)
	}
	by, err := broker.ParseID(id)
	if err != nil {
		by = broker.ID{}
	}
	return broker.Mark{By: by, At: instant(max(1, ms))}, nil
}

// marking says which of the steps have keys and where these are marked.
type marking struct {
	on     bool
	window int64
	sets   [2]string
}

func (p *settling) mark() {
	p.marks = marking{on: true, window: milliseconds(p.Marks.Window), sets: p.keys.markKeys(p.Marks.Set)}
}

// checkMark sees to it that this login may mark keys before the first message is
// published: see checkAck. What is tried changes nothing.
func (b *Broker) checkMark(ctx context.Context, o broker.Owner) error {
	id := [2]string{o.Stream, o.Group}
	if _, ok := b.mayMark.Load(id); ok {
		return nil
	}
	var cmds []redis.Cmder
	for _, need := range Marks.Needs(o.Stream, o.Group) {
		list, err := need.trial()
		if err != nil {
			return err
		}
		cmds = append(cmds, redis.NewCmd(ctx, list...))
	}
	b.exec(ctx, cmds)
	for _, cmd := range cmds {
		switch err := cmd.Err(); {
		case err == nil, errors.Is(err, redis.Nil):
		case !serverSaid(err), refusal(err.Error()):
			return err
		}
	}
	b.mayMark.Store(id, true)
	return nil
}

// readMark reads what the script says of a mark: the one that it found, or why
// it could not be set.
func (p *settling) readMark(b *Broker, r *broker.StepResult, text string) error {
	if r.Status == broker.Refused || r.Status == broker.Torn {
		r.Err = b.fail(operation{name: "mark a key of", stream: p.Stream, group: p.Group}, serverError(text))
		return nil
	}
	m, err := parseMark(text)
	r.Mark = &m
	return err
}
