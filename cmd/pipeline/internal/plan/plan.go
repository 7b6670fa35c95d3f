// Package plan finds out what run would meet on a server: what exists, what
// would be created and where, what the login may do, and everything that would
// be refused. It only looks; Apply creates the groups that a plan found absent.
//
// A plan is data: nothing here prints, and nothing here holds an address.
package plan

import (
	"context"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// Server is a broker with what only a plan asks of it. *redis.Broker is one.
type Server interface {
	broker.Broker
	// KeyType is what a key holds in the server's word, "none" if it is absent.
	KeyType(ctx context.Context, key string) (string, error)
	Settings(ctx context.Context) (redis.Settings, error)
	Denied(ctx context.Context, needs []redis.Need) ([]redis.Denied, error)
}

// Plan is what was found.
type Plan struct {
	// Reached is false when the server did not answer: then there are only
	// Problems. Complete is false when it stopped answering on the way.
	Reached, Complete bool
	Server            broker.Server
	Settings          redis.Settings
	Rights            Rights
	// Streams are those that the pipeline declares or uses, in file order,
	// default dead-letter streams last.
	Streams []*Stream
	// Groups are the declared ones in file order, then those that nobody
	// declares.
	Groups        []*Group
	Subscriptions []*Subscription
	// Problems are all that were found, the gravest first.
	Problems []Problem
}

// Problem is one finding. Apply tells that it stands in the way of apply too,
// and not only of run.
type Problem struct {
	diag.Diagnostic
	Apply bool
	// Rules are those that the login's user lacks, words of ACL SETUSER, where that is
	// the problem.
	Rules []string
}

// State is what a key was found to be.
type State string

// The states of a key.
const (
	Absent  State = "absent"
	Exists  State = "exists"
	Wrong   State = "wrong_type"
	Unknown State = "unknown"
)

// Stream is a stream of the pipeline and its state on the server.
type Stream struct {
	Spec  *spec.Stream
	State State
	// Type is what the key holds where that is no stream.
	Type string
	Info broker.StreamInfo
	// Uses say who reads and writes it: "read by ledger".
	Uses []string
	// Creates says what brings it into being while it is absent.
	Creates string
	Trim    Trim
	uses    map[redis.Use]bool
	infos   []broker.GroupInfo
}

// Trim is what retention would remove now, as far as that is cheap to know.
type Trim struct {
	// Over is how many entries max_length would remove. With protect it is the
	// most: what is not acknowledged stays.
	Over      int64
	Protected bool
	// Expired: the oldest entry, of Age, is older than max_age.
	Expired bool
	Age     time.Duration
	// Unread are the groups that have not read some of what would go; none where
	// it is protected.
	Unread []string
}

// Action is what run or apply would do about a group.
type Action string

// The actions.
const (
	// Create: it is absent and would be created at its start.
	Create Action = "create"
	// Restore: it is absent and was there before: it would be created again at
	// the position that was written down.
	Restore Action = "restore"
	// Keep: it exists and stays as it is.
	Keep Action = "exists"
	// Refuse: it is absent and cannot be created, or its key holds no stream.
	Refuse Action = "refused"
	// Idle: it is declared, and all its subscriptions are disabled.
	Idle Action = "disabled"
	// Foreign: it stands on a stream of the pipeline and nobody declares it.
	Foreign Action = "foreign"
	// Unseen: the login may not look.
	Unseen Action = "unknown"
)

// Group is a group on a stream of the pipeline.
type Group struct {
	// Name is its name on the server; Stream the stream that it is on.
	Name   string
	Stream *Stream
	// Spec is nil for a group that nobody declares.
	Spec   *spec.Group
	Action Action
	// Exists and Info are its state, before anything is done.
	Exists bool
	Info   broker.GroupInfo
	// At is where it stands, or where it would be created.
	At broker.ID
	// Before and After are the entries in the stream before and after At: those
	// that a group created there never reads, and those that it reads. They are
	// known where Counted is set.
	Before, After int64
	Counted       bool
	Consumers     Consumers
}

// Consumers are the consumers of a group that exists.
type Consumers struct {
	Count int64
	// Idle have neither read nor claimed for StaleAfter; Stale are those of them
	// that hold entries.
	Idle, Stale int64
	// Seen is how long ago the last of them read or claimed; it is known where
	// there is one.
	Seen time.Duration
}

// StaleAfter is how long a consumer that lives is never idle: a read waits for
// seconds at most.
const StaleAfter = 10 * time.Minute

// Claiming is how a subscription takes over pending entries.
type Claiming string

// The ways to claim.
const (
	ClaimsRead  Claiming = "read"
	ClaimsAuto  Claiming = "autoclaim"
	ClaimsOnly  Claiming = "autoclaim_only"
	ClaimsNever Claiming = "never"
)

// Subscription is an enabled subscription on this server.
type Subscription struct {
	Spec   *spec.Subscription
	Claims Claiming
	// Refused: run would not start it.
	Refused bool
}

// Rights are what the login may do.
type Rights struct {
	// Known is false where the login may not begin a transaction, without which
	// nothing can be found out.
	Known bool
	// Denied are needs that are missing, Lacking optional commands.
	Denied  []redis.Denied
	Lacking []string
	// Rule is what ACL SETUSER takes after the user's name for a worker of this
	// pipeline, but for the password, once its groups exist. Optional are commands
	// that it can do without.
	Rule, Optional []string
}

// Runs reports whether run could run on this server as it is.
func (p *Plan) Runs() bool { return !p.has(func(q Problem) bool { return true }) }

// Applies reports whether apply could create the groups.
func (p *Plan) Applies() bool { return !p.has(func(q Problem) bool { return q.Apply }) }

func (p *Plan) has(match func(Problem) bool) bool {
	for _, q := range p.Problems {
		if q.Severity == diag.Error && match(q) {
			return true
		}
	}
	return false
}

// Count is how many problems have a severity.
func (p *Plan) Count(s diag.Severity) int {
	n := 0
	for _, q := range p.Problems {
		if q.Severity == s {
			n++
		}
	}
	return n
}

// Actions is how many groups have an action.
func (p *Plan) Actions(a Action) int {
	n := 0
	for _, g := range p.Groups {
		if g.Action == a {
			n++
		}
	}
	return n
}
