// Package work is what is done with one entry, wherever that is: it decodes
// it, finds its key, runs its handler and turns what the handler said into what
// is written. The engine's lanes and dry-runs share it.
package work

import (
	"errors"
	"fmt"
	"time"

	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/spec"
)

// Plan is a subscription compiled once. It is read-only and safe for
// concurrent use.
type Plan struct {
	sub     *spec.Subscription
	version string
	decoder *codec.Decoder
	key     *codec.Key
	// mark computes what is marked; nil marks nothing. fenced: somebody in the
	// group marks, so that every acknowledgement is fenced.
	mark    *codec.Identity
	fenced  bool
	targets []*target
	// named are the targets by their route's label.
	named map[string]*target
}

// target is one place for replies.
type target struct {
	label   string
	stream  *spec.Stream
	encoder *codec.Encoder
	when    *codec.Bool
	key     *codec.Key
	headers []header
	maxLen  int64
}

type header struct {
	name  string
	value *codec.Text
}

// Compile compiles a subscription. version is the pipeline's own and goes into
// dead letters.
func Compile(s *spec.Subscription, version string) (*Plan, error) {
	p := &Plan{sub: s, version: version, named: make(map[string]*target)}
	var err error
	if p.decoder, err = codec.NewDecoder(s.Group.Stream); err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.Group.Stream.Label, err)
	}
	if p.key, err = compileKey(s.Workers.Key); err != nil {
		return nil, fmt.Errorf("workers: key: %w", err)
	}
	if err := p.compileMark(); err != nil {
		return nil, fmt.Errorf("idempotency: %w", err)
	}
	routes := s.Routes
	if s.Reply != nil {
		routes = []*spec.Route{s.Reply}
	}
	for _, r := range routes {
		t, err := compileTarget(r)
		if err != nil {
			return nil, err
		}
		p.targets = append(p.targets, t)
		p.named[t.label] = t
	}
	return p, nil
}

func compileTarget(r *spec.Route) (*target, error) {
	t := &target{label: r.Label, stream: r.To}
	if ret := r.To.Retention; ret != nil && !ret.ProtectUnacknowledged {
		t.maxLen = ret.MaxLength
	}
	var errs [3]error
	t.encoder, errs[0] = codec.NewEncoder(r.To)
	t.key, errs[1] = compileKey(r.Key)
	if r.When != nil {
		t.when, errs[2] = codec.CompileBool(r.When)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("reply to %s: %w", r.To.Label, err)
	}
	for _, h := range r.Headers {
		v, err := codec.CompileText(h.Value)
		if err != nil {
			return nil, fmt.Errorf("reply to %s: header %s: %w", r.To.Label, h.Name, err)
		}
		t.headers = append(t.headers, header{h.Name, v})
	}
	return t, nil
}

// compileKey compiles an expression that may be absent.
func compileKey(e spec.Expr) (*codec.Key, error) {
	if e == nil {
		return nil, nil
	}
	return codec.CompileKey(e)
}

// Prepare decodes the items of a batch and finds their keys. What is wrong with
// an entry is kept with it: it ends in an outcome, not in an error.
func (p *Plan) Prepare(b *batch.Batch) {
	var env codec.Env
	for i := range b.Items {
		it := &b.Items[i]
		it.Body.Headers = b.Headers()
		it.Invalid = p.decoder.Decode(it.Delivery.Fields, &b.Arena, &it.Body)
		it.Body.Headers = b.Took(it.Body.Headers, len(b.Items)-1-i)
		p.prepare(it, &env)
	}
}

// prepare finds the keys of an item that was decoded.
func (p *Plan) prepare(it *batch.Item, env *codec.Env) {
	if len(it.Body.Headers) > 0 {
		p.retryCopy(it)
		it.Key, _ = it.Body.Header(codec.HeaderPartitionKey)
	}
	if p.key == nil && p.mark == nil || it.Foreign {
		return
	}
	if it.Invalid != nil {
		if p.key != nil && p.sub.Workers.Hold {
			it.Key = "" // it is not known, and the one in the header is another
		}
		return
	}
	*env = codec.Env{Entry: &it.Body.Value, Headers: it.Body.Headers}
	var err error
	if p.key != nil {
		if it.Key, err = p.key.Eval(env); err != nil {
			it.Invalid = fmt.Errorf("workers: key: %w", err)
			return
		}
	}
	if p.mark != nil {
		if it.Mark, err = p.mark.Eval(env); err != nil {
			it.Invalid = fmt.Errorf("idempotency: key: %w", err)
		}
	}
}

// retryCopy looks whether the entry is a copy that a retry made, and for which
// group. Copies count as attempts, but never so many that a producer could
// have an entry dead-lettered unrun.
func (p *Plan) retryCopy(it *batch.Item) {
	count, foreign := codec.Retries(it.Body.Headers, p.sub.Group.Name)
	it.Foreign = foreign
	it.Used += min(count, p.sub.Retry.MaxAttempts-1)
}

// groupMinIdle is the smallest min_idle with which anyone claims in the group,
// or 0.
func groupMinIdle(g *spec.Group) time.Duration {
	var least time.Duration
	for _, s := range g.Subscriptions {
		if s.Claim != nil && (least == 0 || s.Claim.MinIdle < least) {
			least = s.Claim.MinIdle
		}
	}
	return least
}
