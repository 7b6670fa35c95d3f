package testspec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/value"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/testspec"
)

const shop = `
pipeline "shop" {
}
variable "limit" {
  default = 2
}
variable "secret" {
  default   = "hunter2hunter2"
  sensitive = true
}
broker "redis" {
  url = "redis://:${var.secret}@localhost"
}
stream "orders" {
  entry = object({ id = number, note = optional(string) })
  retention {
    max_age = "1d"
    protect = "unacknowledged"
  }
}
stream "receipts" {
}
handler "bill" {
  source = "h.lua"
}
group "billing" {
  stream = stream.orders
  subscription "bill_order" {
    handler = handler.bill
    claim {
      min_idle = "30s"
    }
    workers {
      count = var.limit
    }
    reply {
      to = stream.receipts
    }
  }
  subscription "idle" {
    handler = handler.bill
    enabled = false
  }
}
`

// suite loads tests beside the shop; every assert stands in the test "t".
func suite(t testing.TB, text string) (*testspec.Suite, *diag.Report) {
	t.Helper()
	return lang.LoadTests(fstest.MapFS{
		"shop.hcl": {Data: []byte(shop)}, "shop_test.hcl": {Data: []byte(text)}, "h.lua": {Data: []byte("x")},
	}, "shop.hcl", lang.Options{})
}

// assert is an assert of one condition.
func assert(t testing.TB, condition string) *testspec.Assert {
	t.Helper()
	s, r := suite(t, fmt.Sprintf("locals {\n  want = [0, 1]\n}\ntest \"t\" {\n  step \"s\" {\n    assert {\n      condition = %s\n      message = \"told: ${join(\",\", local.want)}\"\n    }\n  }\n}\n", condition))
	if s == nil {
		var b strings.Builder
		if err := r.WriteText(&b, diag.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("%s", b.String())
	}
	return s.Tests[0].Steps[0].Asserts[0]
}

func parsed(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON(text, new(value.Arena))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// seen is a state in which something of everything has happened.
func seen(t testing.TB) *testspec.State {
	t.Helper()
	order := parsed(t, `{"id":18446744073709551615,"note":"a\u0000b"}`)
	return &testspec.State{
		Subscriptions: map[string]testspec.Subscription{"bill_order": {Calls: []testspec.Call{
			{
				ID: "1-0", Consumer: "w1", Attempt: 1, Entry: order, Decoded: true, Headers: []testspec.Field{{Name: "trace", Value: "t"}, {Name: "trace", Value: "u"}},
				Outcome: "retry", After: 90 * time.Second, HasAfter: true, Logs: []testspec.LogLine{{Level: "info", Message: "m", Fields: []testspec.Field{{Name: "n", Value: "1"}}}},
			},
			{
				ID: "1-0", Consumer: "w2", Deliveries: 2, Attempt: 1, Entry: order, Decoded: true, Outcome: "reply",
				Replies: []testspec.Reply{{Stream: "receipts", Body: parsed(t, `{"ok":true,"list":[1,2.50]}`), Key: "k"}}, At: 30 * time.Second,
			},
		}}},
		Streams: map[string]testspec.Stream{"receipts": {Entries: []testspec.Entry{
			{ID: "2-0", Value: parsed(t, `{"ok":true,"list":[1,2.50]}`), Decoded: true, Key: "k"},
			{ID: "2-1", Letter: &testspec.Letter{Reason: "failed", Error: "no ledger", Attempts: 5}},
		}}},
		Groups: map[string]testspec.Group{"billing": {
			Pending: []testspec.Pending{{ID: "1-1", Consumer: "w2", Deliveries: 1, Idle: 30 * time.Second}}, DeadLetters: []testspec.Entry{{ID: "3-0"}},
		}},
	}
}

func TestHolds(t *testing.T) {
	for _, condition := range []string{
		`subscription.bill_order.outcomes == ["retry", "reply"]`,
		`subscription.bill_order.calls[*].deliveries == [0, 2]`,
		`subscription.bill_order.calls[0].entry.id == 18446744073709551615`,
		`subscription.bill_order.calls[0].entry == { id = 18446744073709551615, note = "a\u0000b" }`,
		`subscription.bill_order.calls[0].headers.trace == "t"`,
		`subscription.bill_order.calls[0].after == "1m30s" && subscription.bill_order.calls[1].after == null`,
		`subscription.bill_order.calls[0].reply == null && subscription.bill_order.calls[1].reply.ok == true`,
		`subscription.bill_order.calls[1].replies[0].body.list == [1, 2.5]`,
		`subscription.bill_order.calls[0].logs == [{ level = "info", message = "m", fields = { n = "1" } }]`,
		`subscription.bill_order.calls[0].id == subscription.bill_order.calls[1].id`,
		`subscription.idle.calls == [] && subscription["idle"].outcomes == []`,
		`stream.orders.entries == [] && stream.orders.values == []`,
		`stream.receipts.values == [{ ok = true, list = [1, 2.5] }, null]`,
		`stream.receipts.entries[1].dead_letter.reason == "failed" && stream.receipts.entries[0].dead_letter == null`,
		`group.billing.pending == [{ id = "1-1", consumer = "w2", deliveries = 1, idle = "30s" }]`,
		`length(group.billing.dead_letters) == 1`,
		`[for c in subscription.bill_order.calls : c.id if c.outcome == "retry"] == ["1-0"]`,
		`distinct(subscription.bill_order.calls[*].id) == ["1-0"]`,
		`sort(subscription.bill_order.outcomes) == ["reply", "retry"]`,
		`!contains(subscription.bill_order.outcomes, "failed")`,
		`length(subscription.bill_order.calls) > 0 ? subscription.bill_order.calls[0].attempt == 1 : false`,
		`stream.orders.values == [] || stream.orders.values[0].id == 1`,
		`length(subscription.bill_order.calls) == var.limit`,
		`try(stream.orders.values[0].id, 7) == 7 && !can(stream.orders.values[0].id)`,
		`try(stream.orders.values[0].extra, null) == null`,
		`(subscription.bill_order.calls[1].deliveries >= 2)`,
		`"${subscription.bill_order.calls[0].id == "1-0"}"`,
	} {
		if r := assert(t, condition).Check(seen(t)); !r.Passed || r.Lines() != nil {
			t.Errorf("%s:\n  %s", condition, strings.Join(r.Lines(), "\n  "))
		}
	}
}

func TestFails(t *testing.T) {
	for name, c := range map[string]struct {
		condition string
		want      []string
	}{
		"a list differs": {`subscription.bill_order.calls[*].deliveries == [0, 1]`, []string{
			"subscription.bill_order.calls[*].deliveries is [0, 2]", "it should be [0, 1]", "they differ at [1]: 2, not 1",
		}},
		"a list is longer": {`subscription.bill_order.outcomes == ["retry"]`, []string{
			`subscription.bill_order.outcomes is ["retry", "reply"]`, `it should be ["retry"]`, `they differ at [1]: "reply", not nothing`,
		}},
		"a list is shorter": {`stream.receipts.values[*].ok == local.want`, nil},
		"a member differs": {`stream.receipts.values[0] == { ok = true, list = [1, 3] }`, []string{
			`stream.receipts.values[0] is { list = [1, 2.5], ok = true }`, `it should be { list = [1, 3], ok = true }`, "they differ at list[1]: 2.5, not 3",
		}},
		"a member is missing": {`stream.receipts.values[0] == { ok = true }`, []string{
			`stream.receipts.values[0] is { list = [1, 2.5], ok = true }`, `it should be { ok = true }`, "they differ at list: [1, 2.5], not nothing",
		}},
		"a local": {`subscription.bill_order.calls[*].deliveries == local.want`, []string{
			"subscription.bill_order.calls[*].deliveries is [0, 2]", "local.want is [0, 1]", "they differ at [1]: 2, not 1",
		}},
		"a length": {`length(stream.receipts.entries[0].headers) == 1`, []string{
			"length(stream.receipts.entries[0].headers) is 0", "it should be 1", "stream.receipts.entries[0].headers is {}",
		}},
		"a size": {`length(group.billing.pending[0].id) >= 9`, []string{
			"length(group.billing.pending[0].id) is 3", "length(group.billing.pending[0].id) >= 9 does not hold", `group.billing.pending[0].id is "1-1"`,
		}},
		"unequal": {`subscription.bill_order.calls[0].id != subscription.bill_order.calls[1].id`, []string{
			`subscription.bill_order.calls[0].id is "1-0"`, `subscription.bill_order.calls[1].id is "1-0"`,
			`subscription.bill_order.calls[0].id != subscription.bill_order.calls[1].id does not hold`,
		}},
		"and": {`subscription.bill_order.calls[0].attempt == 1 && subscription.bill_order.calls[0].deliveries == 1`, []string{
			"subscription.bill_order.calls[0].deliveries is 0", "it should be 1",
		}},
		"or": {`subscription.bill_order.calls[0].attempt == 2 || subscription.bill_order.calls[0].deliveries == 1`, []string{
			"subscription.bill_order.calls[0].attempt is 1", "it should be 2", "subscription.bill_order.calls[0].deliveries is 0", "it should be 1",
		}},
		"not": {`!(subscription.bill_order.calls[0].attempt == 1)`, []string{
			"subscription.bill_order.calls[0].attempt is 1", "subscription.bill_order.calls[0].attempt == 1 is true",
		}},
		"a function": {`contains(subscription.bill_order.outcomes, "ack")`, []string{
			`contains(subscription.bill_order.outcomes, "ack") is false`, `subscription.bill_order.outcomes is ["retry", "reply"]`,
		}},
		"a prefix": {`startswith(subscription.bill_order.calls[0].consumer, lower("W2"))`, []string{
			`startswith(subscription.bill_order.calls[0].consumer, lower("W2")) is false`, `subscription.bill_order.calls[0].consumer is "w1"`, `lower("W2") is "w2"`,
		}},
		"a bool": {`subscription.bill_order.calls[0].dead`, []string{"subscription.bill_order.calls[0].dead is false"}},
		"a condition of its own": {`subscription.bill_order.calls[0].dead ? true : stream.orders.values != []`, []string{
			"subscription.bill_order.calls[0].dead is false", "stream.orders.values is []", "stream.orders.values != [] does not hold",
		}},
		"a number and its text": {`subscription.bill_order.calls[0].deliveries == jsondecode("\"0\"")`, nil},
		"nothing there": {`stream.orders.values[0].id == 1`, []string{
			"stream.orders.values is empty: it has no element 0", "stream.orders.values is []",
		}},
		"not so many": {`subscription.bill_order.calls[5].id == "1-0"`, nil},
		"no such member": {`stream.receipts.values[0].sum == 1`, []string{
			"stream.receipts.values[0] has no member \"sum\"; it has list, ok", "stream.receipts.values[0] is { list = [1, 2.5], ok = true }",
		}},
		"null": {`subscription.bill_order.calls[0].reply.ok == true`, []string{
			`subscription.bill_order.calls[0].reply is null: it has no member "ok"`, "subscription.bill_order.calls[0].reply is null",
		}},
		"no condition": {`stream.receipts.values[0].list`, nil},
		"no number":    {`stream.receipts.values[0].ok > 1`, []string{"> compares numbers, and stream.receipts.values[0].ok, which is true, is not one", "stream.receipts.values[0].ok is true"}},
		"a function that fails": {`tonumber(subscription.bill_order.calls[0].consumer) == 1`, []string{
			`tonumber() cannot be called like this: "w1" is not a number`, `subscription.bill_order.calls[0].consumer is "w1"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := assert(t, c.condition).Check(seen(t))
			lines := r.Lines()
			if r.Passed || len(lines) < 2 || lines[0] != "told: 0,1" || r.Condition != c.condition {
				t.Fatalf("%+v", r)
			}
			if got := strings.Join(lines[1:], "\n"); c.want != nil && got != strings.Join(c.want, "\n") {
				t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(c.want, "\n"))
			}
			if r.Problem == "" && len(r.Reasons) == 0 {
				t.Error("no reason is given")
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSecretsStayHidden: a sensitive variable is compared and not shown.
func TestSecretsStayHidden(t *testing.T) {
	for _, condition := range []string{
		`subscription.bill_order.calls[0].consumer == var.secret`, `startswith(subscription.bill_order.calls[0].consumer, var.secret)`,
		`subscription.bill_order.outcomes == [var.secret]`, `subscription.bill_order.calls[0].consumer > var.secret`,
	} {
		s, _ := suite(t, "test \"t\" {\n step \"s\" {\n assert {\n condition = "+condition+"\n }\n }\n}\n")
		if s == nil {
			continue // refused before it runs
		}
		r := s.Tests[0].Steps[0].Asserts[0].Check(seen(t))
		text, err := json.Marshal(r)
		if err != nil || r.Passed || strings.Contains(string(text)+strings.Join(r.Lines(), ""), "hunter2") {
			t.Errorf("%s: %v\n%s", condition, err, text)
		}
	}
}

// TestEndlessConditions: a condition that would not end does not hold.
func TestEndlessConditions(t *testing.T) {
	for name, condition := range map[string]string{
		"loops":     `length([for a in range(1024) : [for b in range(1024) : a + b + length(subscription.bill_order.calls)]]) == 1`,
		"functions": `length(distinct([for a in range(1024) : [a, distinct(concat(range(1024), range(1024), subscription.bill_order.outcomes))]])) == 1`,
	} {
		begin := processTime()
		r := assert(t, condition).Check(seen(t))
		if took := processTime() - begin; r.Passed || !strings.Contains(r.Problem, "takes too long") || took > 20*time.Second {
			t.Errorf("%s: %q after %s of processor time", name, r.Problem, took)
		}
	}
}

// TestNothingSeen: without any state every block is empty.
func TestNothingSeen(t *testing.T) {
	for _, s := range []*testspec.State{nil, {}} {
		if r := assert(t, `subscription.bill_order.calls == [] && stream.receipts.entries == [] && group.billing.pending == []`).Check(s); !r.Passed {
			t.Errorf("%+v", r)
		}
	}
}

// TestChecksAtOnce: asserts are shared by tests that run at the same time.
func TestChecksAtOnce(t *testing.T) {
	a := assert(t, `[for c in subscription.bill_order.calls : c.deliveries] == subscription.bill_order.calls[*].deliveries`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if r := a.Check(seen(t)); !r.Passed {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	all.Wait()
}

// TestBodiesThereAndBack: a body comes back from an expression as it went in, and is
// equal to itself.
func TestBodiesThereAndBack(t *testing.T) {
	a := assert(t, `stream.receipts.values[0] == stream.receipts.values[1]`)
	rapid.Check(t, func(t *rapid.T) {
		v := bodies(3).Draw(t, "body")
		back := testspec.ToBody(testspec.FromBody(&v))
		if !value.Equal(&v, &back) {
			t.Fatalf("%s came back as %s", encoded(&v), encoded(&back))
		}
		other := bodies(1).Draw(t, "other")
		r := a.Check(&testspec.State{Streams: map[string]testspec.Stream{"receipts": {Entries: []testspec.Entry{{Value: v, Decoded: true}, {Value: other, Decoded: true}}}}})
		if r.Passed != value.Equal(&v, &other) {
			t.Fatalf("%s == %s is %v", encoded(&v), encoded(&other), r.Passed)
		}
	})
}

func encoded(v *value.Value) string { return fmt.Sprintf("%s %q %d", v.Kind(), v.Text(), v.Len()) }

// bodies makes bodies of some depth.
func bodies(depth int) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		switch kind := rapid.IntRange(0, 3+2*min(depth, 1)).Draw(t, "kind"); kind {
		case 0:
			return value.Value{}
		case 1:
			return value.NewBool(rapid.Bool().Draw(t, "bool"))
		case 2:
			return value.NewNumber(rapid.SampledFrom([]string{"0", "1", "-7", "0.1", "2.5", "18446744073709551615", "123456789012345678901234567890", "1e10", "1e-10"}).Draw(t, "number"))
		case 3:
			return value.NewString(rapid.SampledFrom([]string{"", "a", "ä", "\x00", "long text"}).Draw(t, "text"))
		case 4:
			return value.NewArray(rapid.SliceOfN(bodies(depth-1), 0, 3).Draw(t, "items"))
		default:
			names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c d", ""}), 0, 3, rapid.ID[string]).Draw(t, "names")
			var members []value.Value
			for _, name := range names {
				members = append(members, bodies(depth-1).Draw(t, "member").Named(name))
			}
			return value.NewObject(members)
		}
	})
}
