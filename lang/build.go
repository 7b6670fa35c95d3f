package lang

import (
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// built is the pipeline beside the blocks it was made from.
type built struct {
	streams  map[*node]*spec.Stream
	handlers map[*node]*spec.Handler
	retries  map[*node]*spec.Retry
	groups   []*builtGroup
	subs     map[*node]*spec.Subscription
	// told are the problems of scripts that were reported, for another handler
	// of the same script.
	told map[string]bool
}

// builtGroup is a group with all its subscriptions, disabled ones too.
type builtGroup struct {
	node *node
	spec *spec.Group
	subs []*builtSub
}

// enabled reports whether a subscription of the group runs.
func (g *builtGroup) enabled() bool {
	return slices.ContainsFunc(g.subs, func(s *builtSub) bool { return s.enabled })
}

// builtSub is a subscription and whether it runs.
type builtSub struct {
	node    *node
	spec    *spec.Subscription
	group   *builtGroup
	enabled bool
}

// build makes the pipeline out of the evaluated blocks. With problems on the
// way it is made as far as possible, for checks to go on.
func (l *loader) build() *spec.Pipeline {
	l.built = built{streams: map[*node]*spec.Stream{}, handlers: map[*node]*spec.Handler{}, retries: map[*node]*spec.Retry{}, subs: map[*node]*spec.Subscription{}, told: map[string]bool{}}
	p := &spec.Pipeline{DrainTimeout: 0, Trace: spec.TraceLink}
	if n := l.root.one("pipeline"); n != nil {
		p.Name, p.Version, p.DrainTimeout = n.label, n.val("version").text, n.val("drain_timeout").dur
		p.Trace = buildTrace(n, p.Trace)
	}
	l.buildBroker(p)
	for _, n := range l.root.all("stream") {
		p.Streams = append(p.Streams, l.buildStream(n))
	}
	for _, n := range l.root.all("handler") {
		p.Handlers = append(p.Handlers, l.buildHandler(n))
	}
	for _, n := range l.root.all("retry") {
		l.buildRetry(n)
	}
	for _, n := range l.root.all("group") {
		l.buildGroup(p, n)
	}
	l.spreadReads(p)
	return p
}

// buildBroker fills in the broker. A pipeline without a broker block has one in
// memory, which run refuses.
func (l *loader) buildBroker(p *spec.Pipeline) {
	n := l.root.one("broker")
	p.Broker.Kind = spec.BrokerMemory
	if n == nil || n.label == "memory" {
		return
	}
	l.checkURL(n)
	p.Broker = spec.Broker{
		Kind: spec.BrokerRedis, URL: n.val("url").text, Username: n.val("username").text, Password: n.val("password").text,
		Cluster: n.val("cluster").flag, TLS: buildTLS(n.one("tls")),
	}
	if s := n.one("sentinel"); s != nil {
		p.Broker.Sentinel = &spec.Sentinel{
			Master: s.val("master").text, Addresses: s.val("addresses").list,
			Username: s.val("username").text, Password: s.val("password").text, TLS: buildTLS(s.one("tls")),
		}
	}
}

func buildTLS(n *node) *spec.TLS {
	if n == nil {
		return nil
	}
	return &spec.TLS{CA: n.val("ca").text, Cert: n.val("cert").text, Key: n.val("key").text, ServerName: n.val("server_name").text}
}

// buildStream makes a stream; its key is compiled once its type is known.
func (l *loader) buildStream(n *node) *spec.Stream {
	s := &spec.Stream{
		Label: n.label, Name: n.label, Codec: spec.Codec(n.val("codec").text), Body: n.val("body").text,
		Sensitive: n.val("sensitive").list, MaxEntrySize: n.val("max_entry_size").integer, MaxBacklog: n.val("max_backlog").integer,
		Pos: l.pos(n),
	}
	if v := n.val("name"); v.set && v.ok {
		s.Name = v.text
		l.checkName(v, "stream")
	}
	l.built.streams[n] = s
	l.streamType(n, s)
	if r := n.one("retention"); r != nil {
		s.Retention = &spec.Retention{
			MaxLength: r.val("max_length").integer, MaxAge: r.val("max_age").dur, ProtectUnacknowledged: r.val("protect").text != "",
		}
	}
	if v := n.val("key"); v.set && v.ok {
		s.Key = l.compile(n, "key", l.bodies(n), eval.WantScalar)
	}
	return s
}

// streamType reads the declared type and checks that its codec can carry it.
func (l *loader) streamType(n *node, s *spec.Stream) {
	v := n.val("entry")
	if !v.set || !v.ok {
		return
	}
	t, ok := l.scope.ParseType(v.expr)
	if !ok {
		n.bad = true
		return
	}
	if t.Kind != spec.TypeAny {
		s.Entry = t
	}
	l.checkCodec(n, s, v.rng)
	l.checkSensitive(n, s)
}

// bodies is what an expression over the entries of a stream may read.
func (l *loader) bodies(stream *node) eval.Bodies {
	if stream == nil {
		return eval.Bodies{}
	}
	s := l.built.streams[stream]
	b := eval.Bodies{Entry: s.Entry, EntryOf: stream.label, EntryAt: l.header(stream), Opaque: opaque(s)}
	if v := stream.val("entry"); v.set {
		b.EntryAt = v.rng
	}
	if stream.bad || !stream.val("codec").ok {
		b.Entry, b.Opaque = nil, false
	}
	return b
}

// withReply adds the body of a reply to a stream.
func (l *loader) withReply(b eval.Bodies, target *node) eval.Bodies {
	b.HasReply = true
	if target == nil {
		return b
	}
	t := l.bodies(target)
	b.ReplyType, b.ReplyOf, b.ReplyAt, b.ReplyOpaque = t.Entry, t.EntryOf, t.EntryAt, t.Opaque
	return b
}

// opaque reports whether bodies are text or bytes, which have no fields.
func opaque(s *spec.Stream) bool { return s.Codec == spec.CodecText || s.Codec == spec.CodecBytes }

func (l *loader) buildHandler(n *node) *spec.Handler {
	dir := path.Dir(n.file.name)
	h := &spec.Handler{
		Label: n.label, Source: n.val("source").text, Function: n.val("function").text,
		RawInput: n.val("input").text == "raw", Pos: l.pos(n),
	}
	h.Path = join(dir, h.Source)
	for _, m := range n.val("modules").list {
		h.Modules = append(h.Modules, spec.Module{Source: m, Path: join(dir, m)})
	}
	if lim := n.one("limits"); lim != nil {
		h.Limits = spec.Limits{Timeout: lim.val("timeout").dur, Memory: lim.val("memory").integer, Instructions: lim.val("instructions").integer}
	} else {
		h.Limits = l.defaultLimits()
	}
	for _, g := range n.all("grant") {
		h.Grants = append(h.Grants, spec.Grant{Kind: g.label, Settings: map[string]string{}, Pos: l.pos(g)})
	}
	l.built.handlers[n] = h
	return h
}

// join is a path relative to a directory; absolute ones stay as they are.
func join(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// pos is where a block stands, for messages after loading.
func (l *loader) pos(n *node) spec.Pos {
	return spec.Pos{File: n.file.name, Line: n.block.TypeRange.Start.Line}
}

func (l *loader) buildRetry(n *node) {
	r := &spec.Retry{
		Label: n.label, MaxAttempts: int(n.val("max_attempts").integer), Delay: n.val("delay").dur, Multiplier: n.val("multiplier").number,
		MaxDelay: n.val("max_delay").dur, Jitter: n.val("jitter").number, MaxAge: n.val("max_age").dur,
	}
	l.built.retries[n] = r
	delay, limit := n.val("delay"), n.val("max_delay")
	if delay.ok && limit.ok && delay.set && limit.set && r.Delay > r.MaxDelay {
		l.fail(diag.OutOfRange, limit.rng, "max_delay is shorter than delay", "The first wait would already be cut. Make max_delay at least as long.").
			Relate(delay.rng, "delay is set here")
	}
}

// bodyOf returns the expression of an argument when it is an object.
func bodyOf(e hclsyntax.Expression) *hclsyntax.ObjectConsExpr {
	o, _ := e.(*hclsyntax.ObjectConsExpr)
	return o
}
