// Package spec is a pipeline as plain data: what the language decodes a file
// to and what the engine runs. It imports nothing of ours, so that the engine
// can be used from Go with no HCL, and the language with no Redis.
//
// Every reference is resolved, every default filled in, every duration and
// size a number. A Pipeline is read-only once built.
package spec

import "time"

// Pipeline is one whole pipeline.
type Pipeline struct {
	Name    string
	Version string
	// DrainTimeout is how long running handlers may take to finish once the
	// pipeline is asked to stop.
	DrainTimeout time.Duration
	// Trace is what holds for subscriptions that do not say it themselves.
	Trace  Trace
	Broker Broker
	// Streams, Handlers, Groups and Subscriptions are in file order. Disabled
	// subscriptions are not among them; groups may be left with none.
	Streams  []*Stream
	Handlers []*Handler
	Groups   []*Group
}

// Subscriptions are the enabled subscriptions of all groups, in file order.
func (p *Pipeline) Subscriptions() []*Subscription {
	var subs []*Subscription
	for _, g := range p.Groups {
		subs = append(subs, g.Subscriptions...)
	}
	return subs
}

// Stream returns the stream with the label, or nil.
func (p *Pipeline) Stream(label string) *Stream {
	for _, s := range p.Streams {
		if s.Label == label {
			return s
		}
	}
	return nil
}

// BrokerKind is where the streams live.
type BrokerKind string

// The kinds of brokers.
const (
	BrokerRedis  BrokerKind = "redis"
	BrokerMemory BrokerKind = "memory"
)

// Broker is where the streams live and how it is reached.
type Broker struct {
	Kind BrokerKind
	// URL may hold a password: it is never printed.
	URL                string
	Username, Password string
	TLS                *TLS
	Cluster            bool
	Sentinel           *Sentinel
}

// TLS names PEM files; ServerName overrides the name that is verified.
type TLS struct{ CA, Cert, Key, ServerName string }

// Sentinel finds the master through Redis Sentinel.
type Sentinel struct {
	Master             string
	Addresses          []string
	Username, Password string
	TLS                *TLS
}

// Codec is how a body is written on the wire.
type Codec string

// The codecs.
const (
	CodecJSON   Codec = "json"
	CodecFields Codec = "fields"
	CodecText   Codec = "text"
	CodecBytes  Codec = "bytes"
)

// DefaultBody is the field that carries a body unless the stream names another.
const DefaultBody = "_payload"

// Stream is one Redis stream.
type Stream struct {
	Label string
	// Name is the key on the server.
	Name  string
	Codec Codec
	// Entry is the declared type of a body; nil accepts any.
	Entry *Type
	// Body is the field that carries the body.
	Body string
	// Key computes the partition key when publishing; nil when not declared.
	Key Expr
	// Sensitive are body fields masked wherever a body is shown.
	Sensitive []string
	// MaxEntrySize is in bytes of body; larger entries become dead letters.
	MaxEntrySize int64
	// MaxBacklog is in entries; 0 is unbounded.
	MaxBacklog int64
	Retention  *Retention
	// Pos is where the block stands in the file.
	Pos Pos
}

// Retention bounds a stream. Zero fields do not bound.
type Retention struct {
	MaxLength int64
	MaxAge    time.Duration
	// ProtectUnacknowledged trims only what every group has acknowledged.
	ProtectUnacknowledged bool
}

// Handler is one handler function and what it may do.
type Handler struct {
	Label string
	// Source is the script's path as the file gives it, relative to the
	// pipeline file; Path is where to read it.
	Source, Path string
	Function     string
	Modules      []Module
	RawInput     bool
	Limits       Limits
	Grants       []Grant
	Pos          Pos
}

// Module is a script loaded before a handler's own: the path as given and
// where to read it.
type Module struct{ Source, Path string }

// Limits bound one call of a handler. Zero fields take the sandbox's defaults.
type Limits struct {
	Timeout time.Duration
	// Memory is in bytes.
	Memory       int64
	Instructions int64
}

// Grant is one capability given to a handler. Settings are JSON by argument.
type Grant struct {
	Kind     string
	Settings map[string]string
	Pos      Pos
}

// Retry is how failed attempts are spaced and when they end.
type Retry struct {
	Label string
	// MaxAttempts includes the first.
	MaxAttempts int
	// Delay before the second attempt; each later one is Multiplier times
	// longer, up to MaxDelay, spread by ±Jitter (a fraction).
	Delay      time.Duration
	Multiplier float64
	MaxDelay   time.Duration
	Jitter     float64
	// MaxAge is how old an entry may become, by its id, before a failed
	// attempt is its last; 0 is unbounded.
	MaxAge time.Duration
}

// DefaultRetry is the policy of a subscription without a retry argument.
func DefaultRetry() Retry {
	return Retry{MaxAttempts: 5, Delay: time.Second, Multiplier: 4, MaxDelay: 5 * time.Minute, Jitter: 0.2}
}

// Group is one consumer group of a stream.
type Group struct {
	Label string
	// Name is the group's name on the server.
	Name   string
	Stream *Stream
	// Start is where a group that does not exist yet is created: "$" (new),
	// "0" (beginning) or an entry id.
	Start string
	// DeadLetter receives dead letters. It is never nil: without a dead_letter
	// block it is a default stream beside the source.
	DeadLetter    *Stream
	Subscriptions []*Subscription
	Pos           Pos
}

// Subscription is one reader of a group with its handler.
type Subscription struct {
	Label   string
	Group   *Group
	Handler *Handler
	// Consumer is the first part of consumer names; default the label.
	Consumer string
	Retry    Retry
	// Batch is the largest read, in entries. Block is how long a read waits.
	Batch int
	Block time.Duration
	// Claim is nil for a subscription that never claims.
	Claim   *Claim
	Workers Workers
	// Reply or Routes say where values go; at most one of the two is set.
	Reply       *Route
	Routes      []*Route
	OnInvalid   Policy
	OnFailure   Policy
	Idempotency *Idempotency
	// Trace is how spans are tied to producers'; empty is TraceLink.
	Trace Trace
	Pos   Pos
}

// Trace is how the span of an entry is tied to that of its producer, where traces
// are made.
type Trace string

// The ways to tie them.
const (
	// TraceLink: the span begins a trace of its own, with a link to the producer's.
	TraceLink Trace = "link"
	// TraceProducer: the producer's span is its parent, and its trace goes on.
	TraceProducer Trace = "producer"
)

// Using is how pending entries are claimed.
type Using string

// The ways to claim.
const (
	// UsingAuto: claiming reads where the server has them, else XAUTOCLAIM.
	UsingAuto Using = "auto"
	// UsingRead: claiming reads, or refuse to start.
	UsingRead Using = "read"
	// UsingAutoclaim: XAUTOCLAIM always.
	UsingAutoclaim Using = "autoclaim"
)

// Claim says when entries of others are taken over.
type Claim struct {
	// MinIdle: an entry idle this long belongs to no live worker.
	MinIdle time.Duration
	Using   Using
	// Only: take over pending entries, never new ones; always by XAUTOCLAIM.
	Only bool
}

// Workers is how entries are spread over lanes.
type Workers struct {
	Count int
	// Key computes the lane's key; nil is the entry's partition-key header.
	Key Expr
	// Hold keeps later entries of a key back while one of it is retried.
	Hold      bool
	HoldLimit int
}

// Route is where replies go. The reply block is a Route with an empty Label.
type Route struct {
	Label string
	To    *Stream
	// When decides whether a value takes this route; nil always.
	When Expr
	Key  Expr
	// Headers are set on the reply, in the order of their names.
	Headers []RouteHeader
	Pos     Pos
}

// RouteHeader is a header whose value is computed for each reply.
type RouteHeader struct {
	Name  string
	Value Expr
}

// Policy is what happens to invalid entries or failed attempts.
type Policy string

// The policies.
const (
	PolicyDead  Policy = "dead"
	PolicyRetry Policy = "retry"
	PolicyDrop  Policy = "drop"
	PolicyStop  Policy = "stop"
)

// Idempotency acknowledges an entry whose key was settled within Window
// without running it.
type Idempotency struct {
	// Key tells an entry from all others. One that lacks it, or a part of a
	// template, is invalid.
	Key Expr
	// Window is how long a key is remembered; the same in all subscriptions of a
	// group that have the same key.
	Window time.Duration
}

// Pos is a place in a pipeline file, for messages that come later than loading.
type Pos struct {
	File string
	Line int
}
