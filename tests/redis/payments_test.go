package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

const payments = "../../examples/payments.hcl"

// onEach runs a test on every server version.
func onEach(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, redistest.Shared(t, version))
		})
	}
}

// example loads the example as the server's version needs it.
func exampleVars(s *redistest.Server, minIdle string) map[string]string {
	vars := map[string]string{"min_idle": minIdle}
	if s.Version == "7.0" {
		vars["before_8_4"] = "true"
	}
	return vars
}

// poster is the subscription that posts new payments on this server.
func poster(s *redistest.Server) string {
	if s.Version == "7.0" {
		return "post_new_payment"
	}
	return "post_payment"
}

func TestPaymentsInBothLayoutsArePostedAndScreened(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v := start(t, s, load(t, payments, exampleVars(s, "2s")), "host-a")
		v.ready()
		s.CLI("XADD", "payments", "*", "id", "7", "account", "acct-1", "amount_cents", "1200001")
		s.CLI("XADD", "payments", "*", "_payload", `{"id":18446744073709551615,"account":"acct-2","amount_cents":5}`, "h:redis-partition-key", "p-2")
		v.settled(poster(s), observe.ResultAck, 2)
		v.settled("screen_payment", observe.ResultReply, 2)

		got := fields(t, s.Client(), "payments.screened")
		want := []string{
			`_payload={"payment_id":7,"suspicious":true}`,
			`_payload={"payment_id":18446744073709551615,"suspicious":false} h:redis-partition-key=p-2`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("replies:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if err := v.drain(); err != nil {
			t.Fatal(err)
		}
		expectNothingPending(t, s)
	})
}

func TestAMigratingPaymentWaitsUnderItsIDAndComesBack(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v := start(t, s, load(t, payments, exampleVars(s, "1s")), "host-a")
		v.ready()
		id := s.CLI("XADD", "payments", "*", "id", "1", "account", "migrating-9", "amount_cents", "5")
		if s.Version == "7.0" {
			// Nobody claims for this subscription: a copy takes its place.
			v.settled("post_new_payment", observe.ResultRetry, 2)
			return
		}
		v.settled("post_payment", observe.ResultRetry, 3)
		v.record.mu.Lock()
		var seen []string
		for _, o := range v.record.outcomes["post_payment"][:3] {
			seen = append(seen, fmt.Sprintf("%s %s deliveries=%d attempt=%d", o.ID, o.Result, o.Deliveries, o.Attempt))
		}
		v.record.mu.Unlock()
		want := []string{
			id + " retry deliveries=0 attempt=1",
			id + " retry deliveries=1 attempt=1",
			id + " retry deliveries=2 attempt=1",
		}
		if !slices.Equal(seen, want) {
			t.Errorf("deliveries:\n%s\nwant:\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
		if n := s.Client().XLen(t.Context(), "payments").Val(); n != 1 {
			t.Errorf("the stream has %d entries, want 1: a retry must not append a copy", n)
		}
	})
}

// fields are the entries of a stream as text.
func fields(t *testing.T, c *goredis.Client, stream string) []string {
	t.Helper()
	reply, err := c.Do(t.Context(), "XRANGE", stream, "-", "+").Slice()
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, e := range reply {
		pairs := e.([]any)[1].([]any)
		var parts []string
		for i := 0; i < len(pairs); i += 2 {
			parts = append(parts, fmt.Sprintf("%s=%s", pairs[i], pairs[i+1]))
		}
		entries = append(entries, strings.Join(parts, " "))
	}
	return entries
}

// expectNothingPending checks that both groups have read and acknowledged
// everything.
func expectNothingPending(t *testing.T, s *redistest.Server) {
	t.Helper()
	groups, err := s.Client().XInfoGroups(t.Context(), "payments").Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 2 {
		t.Errorf("%d groups, want 2", len(groups))
	}
	for _, g := range groups {
		if g.Pending != 0 || g.Lag != 0 {
			t.Errorf("group %s: %d pending, lag %d; want 0 and 0", g.Name, g.Pending, g.Lag)
		}
	}
}
