package brokertest

import (
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// Factory makes what one case needs. It is called in the case's own subtest,
// which runs beside others, and registers with t what has to be cleaned up.
type Factory func(t *testing.T) *Env

// Env is a broker under test, and what a case does to its server behind its
// back. All fields but Prefix and Now are required.
type Env struct {
	Broker broker.Broker
	// Server names the server in messages: "Redis 7.0.15".
	Server string
	// Prefix begins every key of the case. Keys with the prefix must not exist;
	// it may be empty where the case has the server, or a database, to itself.
	Prefix string

	// Advance lets that much time pass for the server: it moves the clock of
	// one in memory, and waits for another.
	Advance func(d time.Duration)
	// Blocked is how many reads of the case are blocked right now.
	Blocked func() int
	// SetIdle makes pending entries look idle for that long, under their own
	// consumers and without counting a delivery: XCLAIM … IDLE n JUSTID.
	SetIdle func(stream, group string, idle time.Duration, ids ...broker.ID)
	// Delete deletes a stream with its groups, but no other key: DEL.
	Delete func(stream string)
	// DestroyGroup deletes a group with its pending list: XGROUP DESTROY.
	DestroyGroup func(stream, group string)
	// DeleteEntries deletes entries and leaves them pending: XDEL.
	DeleteEntries func(stream string, ids ...broker.ID)
	// SetString makes the key hold a string: SET.
	SetString func(key string)
	// AddAs adds an entry under this id and reports whether the stream took it:
	// XADD with an id.
	AddAs func(stream string, id broker.ID, fields []broker.Field) bool
	// Flush deletes every key: FLUSHDB.
	Flush func()
	// Now is the server's clock; that of this machine where it is nil.
	Now func() time.Time
}

// feature is one that a case needs.
type feature struct {
	name string
	has  func(broker.Features) bool
}

var (
	claimingRead = feature{"claiming reads", func(f broker.Features) bool { return f.ClaimingRead }}
	autoClaim    = feature{"XAUTOCLAIM", func(f broker.Features) bool { return f.AutoClaim }}
	deletedIDs   = feature{"XAUTOCLAIM that drops deleted entries", func(f broker.Features) bool { return f.DeletedIDs }}
	lag          = feature{"lag", func(f broker.Features) bool { return f.Lag }}
)

// testCase is one case: what it shows, what it needs, and how.
type testCase struct {
	name  string
	needs []feature
	run   func(*kit)
}

func needs(f ...feature) []feature { return f }

// cases are all cases, by the operation that they are about.
var cases = []struct {
	operation string
	cases     []testCase
}{
	{"Probe", probeCases},
	{"CreateGroup", createCases},
	{"Floors", floorCases},
	{"Seek", seekCases},
	{"Read", readCases},
	{"ClaimingRead", claimingCases},
	{"BlockingRead", blockingCases},
	{"AutoClaim", autoClaimCases},
	{"TakeOver", takeOverCases},
	{"Admit", admitCases},
	{"Begin", beginCases},
	{"Renew", renewCases},
	{"Release", releaseCases},
	{"Acks", ackCases},
	{"Steps", stepCases},
	{"Marks", markCases},
	{"MarkTimes", markTimeCases},
	{"GoneSteps", goneCases},
	{"Waits", waitCases},
	{"Slots", slotCases},
	{"RemoveConsumer", removeCases},
	{"Add", addCases},
	{"Range", rangeCases},
	{"RangeBack", rangeBackCases},
	{"Move", moveCases},
	{"Remove", removeEntryCases},
	{"Trim", trimCases},
	{"Infos", infoCases},
	{"Survey", surveyCases},
	{"Pending", pendingCases},
	{"Errors", errorCases},
	{"Twice", twiceCases},
	{"Edges", edgeCases},
	{"Close", closeCases},
}

// Run runs every case as a subtest, operation by operation, beside each other.
func Run(t *testing.T, factory Factory) {
	for _, operation := range cases {
		t.Run(operation.operation, func(t *testing.T) {
			t.Parallel()
			for _, c := range operation.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					began := clock.Real().Now()
					c.start(t, factory(t), began)
				})
			}
		})
	}
}

func (c *testCase) start(t *testing.T, env *Env, began time.Time) {
	k := &kit{T: t, Env: env, began: began, stream: env.Prefix + "payments", group: "ledger"}
	server, err := env.Broker.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k.features = server.Features
	for _, f := range c.needs {
		if !f.has(k.features) {
			t.Skipf("%s has no %s", env.Server, f.name)
		}
	}
	c.run(k)
	if t.Failed() {
		t.Logf("on %s", env.Server)
	}
}
