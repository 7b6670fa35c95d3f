package work_test

import (
	"strings"
	"testing"
	"time"

	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// routed is a subscription with the routes big (n > 10), small (n < 5) and tiny
// (n < 2), and one without a condition where all is set.
func routed(all bool) *spec.Subscription {
	s := subscription()
	s.Reply = nil
	compare := func(op spec.Op, n string) spec.Expr {
		return &spec.Binary{Op: op, Left: path(spec.RootReply, "n"), Right: &spec.Literal{JSON: n}}
	}
	s.Routes = []*spec.Route{
		{Label: "big", To: stream("big"), When: compare(spec.OpGreater, "10")},
		{Label: "small", To: stream("small"), When: compare(spec.OpLess, "5")},
		{Label: "tiny", To: stream("tiny"), When: compare(spec.OpLess, "2")},
	}
	if all {
		s.Routes = append(s.Routes, &spec.Route{Label: "all", To: stream("all")})
	}
	return s
}

func number(n string) value.Value {
	return value.NewObject([]value.Value{value.NewNumber(n).Named("n")})
}

func TestAValueGoesToEveryRouteWhoseConditionHoldsOrToTheOneThatIsNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		all  bool
		to   string
		n    string
		want string
	}{
		{"one holds", false, "", "11", "big"},
		{"two hold, in their order", false, "", "1", "small tiny"},
		{"one without a condition always", true, "", "7", "all"},
		{"with another", true, "", "11", "big all"},
		{"a named one, whatever its condition", false, "big", "1", "big"},
	} {
		t.Run(c.name, func(t *testing.T) {
			it := run(t, routed(c.all), &handler{say: reply(outcome.Message{To: c.to, Body: number(c.n)})}, 0, field("_payload", `{}`))
			var to []string
			for _, a := range it.Action.Publish {
				to = append(to, a.Stream)
			}
			if got := strings.Join(to, " "); got != c.want || len(it.Outcome.Replies) != len(to) {
				t.Errorf("went to %q with %d told, want %q", got, len(it.Outcome.Replies), c.want)
			}
		})
	}
}

func TestAValueWithNowhereToGoIsAFailedAttempt(t *testing.T) {
	for _, c := range []struct{ name, to, n, want string }{
		{"no condition holds", "", "7", "no route's condition holds"},
		{"no such route", "huge", "7", "its routes are big, small, tiny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			say := outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: number("11")}, {To: c.to, Body: number(c.n)}}}
			it := run(t, routed(false), &handler{say: say}, 0, field("_payload", `{}`))
			if it.Told().Kind != outcome.FailNoRoute || !strings.Contains(it.Told().Error, c.want) {
				t.Errorf("failed with %s: %q", it.Told().Kind, it.Told().Error)
			}
			if it.Action.Verb != batch.Wait || len(it.Action.Publish) != 0 {
				t.Errorf("half of the answer is published: %+v", it.Action)
			}
		})
	}
}

func TestOneHandlerCallPublishesInOrderWithTheLimitOfEachStream(t *testing.T) {
	s := routed(true)
	s.Routes[3].To.Retention = &spec.Retention{MaxLength: 9}
	s.Routes[0].To.Retention = &spec.Retention{MaxLength: 9, ProtectUnacknowledged: true}
	say := outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: number("7")}, {Body: number("12")}}}
	it := run(t, s, &handler{say: say}, 0, field("_payload", `{}`))
	want := `all _payload={"n":7}; big _payload={"n":12}; all _payload={"n":12}`
	if got := published(it); got != want {
		t.Errorf("published %s, want %s", got, want)
	}
	// A protected stream is not trimmed by who adds to it.
	if p := it.Action.Publish; p[0].MaxLen != 9 || p[1].MaxLen != 0 {
		t.Errorf("trims to %d and %d, want 9 and 0", p[0].MaxLen, p[1].MaxLen)
	}
}

func TestWhatBecomesOfAFailureByAttemptAgeAndPolicy(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*spec.Subscription)
		verb   batch.Verb
		reason string
	}{
		{"it waits", func(*spec.Subscription) {}, batch.Wait, ""},
		{"at once", func(s *spec.Subscription) { s.OnFailure = spec.PolicyDead }, batch.Step, codec.ReasonFailed},
		{"the last attempt", func(s *spec.Subscription) { s.Retry.MaxAttempts = 1 }, batch.Step, codec.ReasonFailed},
		{"it stops", func(s *spec.Subscription) { s.OnFailure = spec.PolicyStop }, batch.Stop, ""},
		{"not yet too old", func(s *spec.Subscription) { s.Retry.MaxAge = time.Nanosecond }, batch.Wait, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := subscription()
			c.change(s)
			it := run(t, s, &handler{say: outcome.Fail(outcome.FailError, "boom")}, 0, field("_payload", `{}`))
			if it.Action.Verb != c.verb || it.Told().Reason != c.reason || it.Outcome.Result != observe.ResultFailed || it.Told().Error != "boom" {
				t.Errorf("came to verb %d, %+v", it.Action.Verb, it.Told())
			}
			if it.Told().Dead != (c.verb == batch.Step) {
				t.Errorf("dead: %v", it.Told().Dead)
			}
		})
	}
}

func TestWhatAHandlerSaysIsWrittenAsTheTableSays(t *testing.T) {
	for _, c := range []struct {
		say    outcome.Outcome
		verb   batch.Verb
		result observe.Result
	}{
		{outcome.Outcome{Kind: outcome.Ack}, batch.Ack, observe.ResultAck},
		{outcome.Outcome{Kind: outcome.Drop, Reason: "r"}, batch.Ack, observe.ResultDrop},
		{outcome.Outcome{Kind: outcome.Dead, Reason: "r"}, batch.Step, observe.ResultDead},
		{outcome.Outcome{Kind: outcome.Retry, Reason: "r"}, batch.Wait, observe.ResultRetry},
		{outcome.Outcome{}, batch.Wait, observe.ResultFailed}, // nothing was said: a payment must not be lost by that
	} {
		it := run(t, subscription(), &handler{say: c.say}, 0, field("_payload", `{}`))
		if it.Action.Verb != c.verb || it.Outcome.Result != c.result || it.Told().Reason != c.say.Reason {
			t.Errorf("%v: verb %d, %s %q", c.say.Kind, it.Action.Verb, it.Outcome.Result, it.Told().Reason)
		}
	}
}
