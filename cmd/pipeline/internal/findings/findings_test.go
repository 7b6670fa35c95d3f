package findings_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// now is the server's clock in these tests.
var now = time.UnixMilli(1_700_000_000_000)

// group is one whose workers claim after a minute and whose reads wait for a second:
// one that lives is never silent for longer than a minute.
func group() *spec.Group {
	s := &spec.Stream{Label: "in", Name: "payments"}
	g := &spec.Group{Label: "ledger", Name: "ledger", Stream: s, DeadLetter: &spec.Stream{Name: "payments.dead"}}
	g.Subscriptions = []*spec.Subscription{{
		Label: "post", Group: g, Handler: &spec.Handler{Label: "post"}, Block: time.Second, Claim: &spec.Claim{MinIdle: time.Minute},
	}}
	return g
}

func consumer(idle time.Duration, pending int64) broker.ConsumerInfo {
	return broker.ConsumerInfo{Name: "c", Idle: idle, Pending: pending}
}

// snapshot is one of a group, and of ten dead letters of which the last came five
// seconds ago.
func snapshot(g poll.Group) *poll.Snapshot {
	return &poll.Snapshot{Asked: now, Answered: now, Server: now, Streams: []poll.Stream{
		{Spec: g.Spec.Stream, Known: true, Groups: []poll.Group{g}},
		{
			Spec: g.Spec.DeadLetter, Known: true, DeadLetters: true, Length: 10, Oldest: time.Hour,
			Last: broker.ID{Ms: uint64(now.Add(-5 * time.Second).UnixMilli())},
		},
	}}
}

func ofAll(s *poll.Snapshot) []view.Problem {
	return findings.Of(s, func(command string, words ...string) string {
		return strings.Join(append([]string{command, "p.hcl"}, words...), " ")
	})
}

func codesOf(found []view.Problem) []diag.Code {
	var codes []diag.Code
	for _, d := range found {
		if d.Code != findings.CodeLetters {
			codes = append(codes, d.Code)
		}
	}
	return codes
}

func TestWhatIsFound(t *testing.T) {
	short, unclaimed, slow := group(), group(), group()
	short.Subscriptions[0].Claim.MinIdle = time.Second
	unclaimed.Subscriptions[0].Claim = nil
	slow.Subscriptions[0].Claim, slow.Subscriptions[0].Handler.Limits.Timeout = nil, 2*time.Minute
	for _, c := range []struct {
		name string
		of   poll.Group
		want []diag.Code
	}{
		{"all is well", poll.Group{Spec: group(), LagKnown: true, Consumers: []broker.ConsumerInfo{consumer(time.Second, 0)}}, nil},
		{"nobody, and nothing waits", poll.Group{Spec: group(), LagKnown: true}, nil},
		{"nobody at all", poll.Group{Spec: group(), LagKnown: true, Lag: 1, OldestUndelivered: time.Second}, []diag.Code{findings.CodeUnattended}},
		{"just alive", poll.Group{Spec: group(), LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(59*time.Second, 1)}}, nil},
		{"silent for min_idle", poll.Group{Spec: group(), LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(time.Minute, 1)}}, []diag.Code{findings.CodeUnattended}},
		{"silent for three reads", poll.Group{Spec: short, LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(9*time.Second, 1)}}, []diag.Code{findings.CodeUnattended}},
		{"in its third read", poll.Group{Spec: short, LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(8*time.Second, 1)}}, nil},
		{"a long call where nobody claims", poll.Group{Spec: unclaimed, LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(29*time.Second, 1)}}, nil},
		{"longer than a call", poll.Group{Spec: unclaimed, LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(30*time.Second, 1)}}, []diag.Code{findings.CodeUnattended}},
		{"a longer limit", poll.Group{Spec: slow, LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(119*time.Second, 1)}}, nil},
		{"one of two is gone", poll.Group{
			Spec: group(), LagKnown: true, Pending: 1, Consumers: []broker.ConsumerInfo{consumer(time.Second, 0), consumer(time.Hour, 1)},
		}, []diag.Code{findings.CodeStale}},
		{"behind", poll.Group{
			Spec: group(), LagKnown: true, Lag: 9, OldestUndelivered: 11 * time.Second, Consumers: []broker.ConsumerInfo{consumer(0, 0)},
		}, []diag.Code{findings.CodeBehind}},
		{"not far behind", poll.Group{
			Spec: group(), LagKnown: true, Lag: 9, OldestUndelivered: 10 * time.Second, Consumers: []broker.ConsumerInfo{consumer(0, 0)},
		}, nil},
		{"trimmed", poll.Group{Spec: group(), LagKnown: true, Pending: 2, TrimGap: 2, Consumers: []broker.ConsumerInfo{consumer(0, 2)}}, []diag.Code{findings.CodeTrimGap}},
		{"stuck", poll.Group{
			Spec: group(), LagKnown: true, Pending: 1, OldestPending: 21 * time.Minute, Consumers: []broker.ConsumerInfo{consumer(0, 1)},
		}, []diag.Code{findings.CodeStuck}},
	} {
		c.of.Known = true
		if got := codesOf(ofAll(snapshot(c.of))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDeadLettersSayWhenTheLastCame(t *testing.T) {
	found := ofAll(snapshot(poll.Group{Spec: group(), Known: true, LagKnown: true}))
	if len(found) != 1 || found[0].Summary != "payments.dead holds 10 dead letters, the oldest for 1h; the last came 5s ago" {
		t.Errorf("%+v", found)
	}
	s := snapshot(poll.Group{Spec: group(), Known: true, LagKnown: true})
	s.Streams[1].Last = broker.ID{Ms: 1 << 63}
	if found := ofAll(s); !strings.HasSuffix(found[0].Summary, "the last came 0s ago") {
		t.Errorf("an id of the far future: %s", found[0].Summary)
	}
}

func TestRetries(t *testing.T) {
	once := broker.Pending{ID: broker.ID{Ms: 1, Seq: 1}, Deliveries: 1}
	thrice := broker.Pending{ID: broker.ID{Ms: 2, Seq: 1}, Deliveries: 3}
	of := func(oldest ...broker.Pending) (found []string) {
		for _, d := range ofAll(snapshot(poll.Group{Spec: group(), Known: true, LagKnown: true, Pending: int64(len(oldest)), Oldest: oldest})) {
			if d.Code == findings.CodeRetried {
				found = append(found, d.Summary)
			}
		}
		return found
	}
	if found := of(once, once); len(found) != 0 {
		t.Errorf("none was delivered again: %q", found)
	}
	if found := of(once, thrice); !slices.Equal(found, []string{"1 entry of the group ledger on payments was delivered before and is still pending, 2-1 3 times"}) {
		t.Errorf("%q", found)
	}
	if found := of(slices.Repeat([]broker.Pending{thrice}, broker.MaxOldest)...); len(found) != 1 ||
		!strings.HasPrefix(found[0], "100 of the oldest 100 pending entries of the group ledger on payments were delivered before") {
		t.Errorf("%q", found)
	}
}

// Each finding has the command that goes on with it, about its own group or stream.
func TestTheCommandOfAFinding(t *testing.T) {
	reader := []broker.ConsumerInfo{consumer(0, 1)}
	unclaimed := group()
	unclaimed.Subscriptions[0].Claim = nil
	for code, c := range map[diag.Code]struct {
		of   poll.Group
		want string
	}{
		findings.CodeGroupMissing: {poll.Group{Err: broker.ErrNoGroup}, "apply p.hcl"},
		findings.CodeUnattended:   {poll.Group{Known: true, LagKnown: true, Pending: 1}, "run p.hcl"},
		findings.CodeTrimGap:      {poll.Group{Known: true, Pending: 1, TrimGap: 1, Consumers: reader}, "pending list p.hcl --group ledger"},
		findings.CodeStuck:        {poll.Group{Known: true, Pending: 1, OldestPending: time.Hour, Consumers: reader}, "pending list p.hcl --group ledger"},
		findings.CodeNoClaim:      {poll.Group{Spec: unclaimed, Known: true, Pending: 1, OldestPending: time.Hour, Consumers: reader}, "pending list p.hcl --group ledger"},
		findings.CodeRetried:      {poll.Group{Known: true, Pending: 1, Oldest: []broker.Pending{{Deliveries: 2}}, Consumers: reader}, "pending list p.hcl --group ledger"},
		findings.CodeBehind:       {poll.Group{Known: true, OldestUndelivered: time.Hour, Consumers: reader}, "pending list p.hcl --group ledger"},
		findings.CodeStale:        {poll.Group{Known: true, Pending: 1, Consumers: append(reader, consumer(time.Hour, 1))}, "consumers list p.hcl --group ledger --stale"},
		findings.CodeUnseen:       {poll.Group{Err: broker.ErrNoPermission}, "export acl p.hcl"},
		findings.CodeLetters:      {poll.Group{Known: true, LagKnown: true}, "dlq stats p.hcl payments.dead"},
		findings.CodeLagUnknown:   {poll.Group{Known: true, Consumers: reader}, ""},
	} {
		if c.of.Spec == nil {
			c.of.Spec = group()
		}
		found := ofAll(snapshot(c.of))
		at := slices.IndexFunc(found, func(p view.Problem) bool { return p.Code == code })
		if at < 0 || found[at].Command != c.want {
			t.Errorf("%s: %+v, want the command %q", code, found, c.want)
		}
	}
}
