package work

import (
	"fmt"
	"slices"
	"strings"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// reply publishes what the handler returned and acknowledges the entry, all in
// one step. A message that has nowhere to go, or does not fit its stream, makes
// the whole attempt a failed one: half of an answer is none.
func (r *Runner) reply(it *batch.Item, said *outcome.Outcome) {
	r.adds, r.replies = r.adds[:0], r.replies[:0]
	for i := range said.Replies {
		if f := r.message(it, &said.Replies[i]); f != nil {
			r.fail(it, f)
			return
		}
	}
	if f := r.tooWide(it); f != nil {
		r.fail(it, f)
		return
	}
	publish := r.addsOf.take(len(r.adds))
	copy(publish, r.adds)
	replies := r.repliesOf.take(len(r.replies))
	copy(replies, r.replies)
	it.Outcome.Result, it.Outcome.Replies = observe.ResultReply, replies
	it.Action = batch.Action{Verb: batch.Step, Publish: publish, Mark: it.Mark != ""}
}

// message adds one message for every target that it goes to.
func (r *Runner) message(it *batch.Item, m *outcome.Message) *outcome.Failure {
	r.env = codec.Env{Entry: &it.Body.Value, Headers: it.Body.Headers, Reply: &m.Body}
	if m.To != "" {
		t := r.plan.named[m.To]
		if t == nil {
			return r.plan.noSuchRoute(m.To)
		}
		return r.publish(it, m, t)
	}
	sent := false
	for _, t := range r.plan.targets {
		if t.when != nil {
			holds, err := t.when.Eval(&r.env)
			if err != nil {
				return failure("route %s: when: %v", t.label, err)
			}
			if !holds {
				continue
			}
		}
		if f := r.publish(it, m, t); f != nil {
			return f
		}
		sent = true
	}
	if sent {
		return nil
	}
	return &outcome.Failure{
		Kind: outcome.FailNoRoute,
		Message: "no route's condition holds for the value that the handler returned; " +
			"add a route without a condition, or name one: reply(value, {to = \"…\"})",
	}
}

func failure(format string, args ...any) *outcome.Failure {
	return &outcome.Failure{Kind: outcome.FailResult, Message: fmt.Sprintf(format, args...)}
}

func (p *Plan) noSuchRoute(name string) *outcome.Failure {
	var labels []string
	for label := range p.named {
		if label != "" {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	have := "this subscription has no routes"
	if len(labels) > 0 {
		have = "its routes are " + strings.Join(labels, ", ")
	}
	return &outcome.Failure{
		Kind:    outcome.FailNoRoute,
		Message: fmt.Sprintf("the handler replied to route %s, which does not exist; %s", value.Quote(name), have),
	}
}

// publish encodes a message for one target.
func (r *Runner) publish(it *batch.Item, m *outcome.Message, t *target) *outcome.Failure {
	key, err := r.partitionKey(it, m, t)
	if err == nil {
		err = r.replyHeaders(it, m, t)
	}
	if err == nil {
		err = r.encode(m, t, key)
	}
	if err != nil {
		return failure("reply to %s: %v", t.stream.Label, err)
	}
	return nil
}

// encode adds the message in the layout of the target's stream.
func (r *Runner) encode(m *outcome.Message, t *target, key string) error {
	most := len(r.headers) + 2
	if t.stream.Codec == spec.CodecFields {
		most += m.Body.Len()
	}
	fields := r.fieldsOf.take(most)[:0]
	fields, err := t.encoder.Encode(fields, &codec.Message{Body: &m.Body, Key: key, HasKey: key != "", Headers: r.headers})
	if err != nil {
		return err
	}
	r.adds = append(r.adds, broker.Add{Stream: t.stream.Name, Fields: fields, MaxLen: t.maxLen})
	reply := observe.Reply{Stream: t.stream.Name, Codec: t.stream.Codec, Key: key}
	if reply.Body, err = r.bodyText(m, t, fields); err != nil {
		return err
	}
	if len(r.headers) > 0 {
		reply.Headers = r.fieldsOf.take(len(r.headers))
		copy(reply.Headers, r.headers)
	}
	r.replies = append(r.replies, reply)
	return nil
}

// bodyText is the body as people are shown it: that of a fields stream is
// spread over the entry, so that it is written as JSON for them.
func (r *Runner) bodyText(m *outcome.Message, t *target, fields []broker.Field) (string, error) {
	if t.stream.Codec != spec.CodecFields {
		return fields[0].Value, nil
	}
	var err error
	r.json, err = value.AppendJSON(r.json[:0], &m.Body)
	return r.slab.text(r.json), err
}

// partitionKey is the first of: the handler's, the block's, the target
// stream's, the entry's own, the lane's.
func (r *Runner) partitionKey(it *batch.Item, m *outcome.Message, t *target) (string, error) {
	if m.HasKey {
		return m.Key, nil
	}
	if t.key != nil {
		key, err := t.key.Eval(&r.env)
		if err != nil {
			return "", fmt.Errorf("key: %w", err)
		}
		return key, nil
	}
	r.keyEnv = codec.Env{Entry: &m.Body, Headers: m.Headers}
	key, ok, err := t.encoder.Key(&r.keyEnv)
	if err != nil || ok {
		return key, err
	}
	if key, ok := it.Body.Header(codec.HeaderPartitionKey); ok && key != "" {
		return key, nil
	}
	return it.Key, nil
}

// replyHeaders gathers the headers of a reply: those that travel by
// themselves, the block's, the handler's. A later one replaces an earlier one
// of its name.
func (r *Runner) replyHeaders(it *batch.Item, m *outcome.Message, t *target) error {
	r.headers = r.headers[:0]
	if len(it.Body.Headers) > 0 {
		r.travel(it, codec.HeaderCorrelationID)
	}
	if len(it.Body.Headers) > 0 || it.Span != nil {
		r.carry(it, t.stream.Name)
	}
	for _, h := range t.headers {
		v, err := h.value.Eval(&r.env)
		if err != nil {
			return fmt.Errorf("header %s: %w", h.name, err)
		}
		r.set(h.name, v)
	}
	for _, h := range m.Headers {
		r.set(h.Name, h.Value)
	}
	return nil
}

func (r *Runner) set(name, text string) {
	for i := range r.headers {
		if r.headers[i].Name == name {
			r.headers[i].Value = text
			if name == codec.HeaderTraceParent {
				// The state belongs to the parent that it came with.
				r.headers = slices.DeleteFunc(r.headers, func(h outcome.Header) bool { return h.Name == codec.HeaderTraceState })
			}
			return
		}
	}
	r.headers = append(r.headers, outcome.Header{Name: name, Value: text})
}
