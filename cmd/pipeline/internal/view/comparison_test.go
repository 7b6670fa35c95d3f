package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// replied is an outcome with one reply to payments.screened.
func replied(body string) observe.Outcome {
	return observe.Outcome{Result: observe.ResultReply, Replies: []observe.Reply{{Stream: "payments.screened", Body: body}}}
}

// comparedPairs are entries of each kind: what the versions come to.
func comparedPairs() [][2]observe.Outcome {
	ack := observe.Outcome{Result: observe.ResultAck}
	failed := observe.Outcome{Result: observe.ResultFailed, Error: "p.lua:7: boom", After: time.Second, HasAfter: true}
	later, other, buried := failed, failed, failed
	later.After, other.Error, buried.Dead, buried.HasAfter, buried.After = 4*time.Second, "p.lua:9: bang", true, false, 0
	keyed, headed, long := replied(`{"a":1}`), replied(`{"a":1}`), replied(`{"card":{"number":"4242424242"},"list":[1,2,3],"text":"x"}`)
	keyed.Replies[0].Key = "k"
	headed.Replies[0].Headers = []outcome.Header{{Name: "trace", Value: "t"}}
	two := replied(`{"a":1}`)
	two.Replies = append(two.Replies, observe.Reply{Stream: "texts", Body: "a\x1b[31m", Codec: spec.CodecText})
	return [][2]observe.Outcome{
		{ack, ack},
		{ack, {Result: observe.ResultDead, Dead: true, Reason: "too \"large\""}},
		{ack, {Result: observe.ResultDead, Dead: true, Reason: "too large"}},
		{replied(`{"suspicious":false}`), replied(`{"suspicious":true}`)},
		{long, replied(`{"card":{"number":"5454545454"},"list":[1,9],"text":"x","new":{"a":null}}`)},
		{replied(`{"a":1}`), keyed},
		{replied(`{"a":1}`), headed},
		{replied(`{"a":1}`), two},
		{failed, later},
		{failed, other},
		{failed, buried},
		{{Result: observe.ResultDrop, Reason: "a"}, {Result: observe.ResultDrop, Reason: "b"}},
		{{Result: observe.ResultAck, Key: "a"}, {Result: observe.ResultAck, Key: "b"}},
		{replied(`[[1,2],[3]]`), replied(`[[1,2],[4]]`)},
	}
}

// comparison feeds all pairs to a view.
func comparison(t *testing.T, c *captured, examples int) *view.Comparison {
	t.Helper()
	p := pipeline()
	sub := p.Subscriptions()[1]
	out := c.Comparison(p, p, examples)
	for i, pair := range comparedPairs() {
		for side := range pair {
			pair[side].ID = broker.ID{Ms: uint64(i + 1)}
		}
		x := &engine.Compared{
			Old:    engine.DryOutcome{Subscription: sub, Outcome: &pair[0]},
			New:    engine.DryOutcome{Subscription: sub, Outcome: &pair[1]},
			Stream: sub.Group.Stream, Same: i == 0,
		}
		if err := out.Entry(x); err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			x.Same, x.NewVaries = false, true
			if err := out.Entry(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func TestComparison(t *testing.T) {
	t.Parallel()
	for mode, o := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := capture(o)
			out := comparison(t, c, 100)
			p, fewer := pipeline(), pipeline()
			fewer.Streams = fewer.Streams[:2]
			out.Changes([]engine.SubscriptionChange{
				{Change: engine.Added, New: p.Subscriptions()[0]}, {Change: engine.Removed, Old: p.Subscriptions()[1]},
				{Change: engine.Moved, Old: p.Subscriptions()[0], New: p.Subscriptions()[0], Detail: "from a to b"},
			}, fewer, p)
			out.NotRun("recover", "takes over pending entries only")
			out.Summary(view.DrySummary{Entries: 14, Elapsed: 2 * time.Second, Live: []view.LiveStream{
				{Stream: "payments", Read: 1400, Tried: 14, Last: "14-0", Next: "14-1"}, {Stream: "empty", Done: true},
			}})
			if !out.Differs() || out.Changed() != 13 {
				t.Errorf("differs %v, %d changed", out.Differs(), out.Changed())
			}
			golden(t, "comparison."+mode, c.text(t))
		})
	}
}

func TestComparisonJSONIsJSON(t *testing.T) {
	t.Parallel()
	c := capture(view.Options{JSON: true})
	comparison(t, c, -1).Summary(view.DrySummary{Entries: 14})
	text := c.text(t)
	text = text[:strings.Index(text, "--- stderr")]
	differences := 0
	for line := range strings.Lines(text) {
		var event struct {
			Event    string
			Old, New map[string]any
			Changes  []struct {
				Path     string
				Old, New any
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if event.Event == "difference" {
			differences++
			if len(event.Changes) == 0 || event.Old["outcome"] == "" || event.New["outcome"] == "" {
				t.Errorf("no change is told: %s", line)
			}
		}
	}
	if differences != len(comparedPairs())-1 {
		t.Errorf("%d differences", differences)
	}
}

func TestExamplesAreBounded(t *testing.T) {
	t.Parallel()
	for examples, want := range map[int]int{0: 0, 1: 1, 3: 3, -1: 13} {
		c := capture(view.Options{JSON: true})
		comparison(t, c, examples)
		if got := strings.Count(c.text(t), `"event":"difference"`); got != want {
			t.Errorf("%d examples: %d printed, want %d", examples, got, want)
		}
	}
	c := capture(view.Options{})
	comparison(t, c, 2).Summary(view.DrySummary{Entries: 14})
	if text := c.text(t); !strings.Contains(text, "… 11 more\n") || strings.Contains(text, "\x1b") {
		t.Errorf("got %s", text)
	}
}

func TestNothingDiffers(t *testing.T) {
	t.Parallel()
	c := capture(view.Options{})
	p := pipeline()
	out := c.Comparison(p, p, 3)
	out.Changes(nil, p, p)
	out.Summary(view.DrySummary{Entries: 5})
	want := "none of 5 entries changes, each run through both versions and nothing written\n--- stderr\n"
	if got := c.text(t); got != want || out.Differs() {
		t.Errorf("got %q", got)
	}
}

// secret is what no output may hold.
const secret = "4111-1111"

// guarded is a pipeline whose source and target have sensitive fields.
func guarded() *spec.Pipeline {
	p := pipeline()
	p.Streams[0].Sensitive = []string{"card", "people.name", "pin"}
	return p
}

// leaky is an outcome that shows a secret in every place there is.
func leaky() observe.Outcome {
	return observe.Outcome{
		ID: broker.ID{Ms: 1}, Result: observe.ResultReply, Key: "k " + secret, Reason: "r " + secret, Error: "e " + secret,
		Logs: []sandbox.LogLine{{Message: "m " + secret, Attrs: []outcome.Header{{Name: "a", Value: secret}, {Name: "b", Value: "90210"}}}},
		Replies: []observe.Reply{
			{Stream: "payments.screened", Key: secret, Headers: []outcome.Header{{Name: "h", Value: secret}},
				Body: `{"card":{"number":"` + secret + `"},"copy":"is ` + secret + `","pin":90210,"n":1,"list":["Ann Lee",{"x":"` + secret + `"}]}`},
			{Stream: "texts", Codec: spec.CodecText, Body: "text " + secret},
			{Stream: "blobs", Codec: spec.CodecBytes, Body: secret},
		},
	}
}

func parse(t *testing.T, text string) *value.Value {
	t.Helper()
	v, err := value.ParseJSON(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

const leakyBody = `{"card":{"number":"` + secret + `"},"people":[{"name":"Ann Lee"},{"name":"Bo"}],"pin":90210}`

func TestSensitiveFieldsAreMaskedEverywhere(t *testing.T) {
	t.Parallel()
	for mode, o := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c, p := capture(o), guarded()
			d, out := c.DryRun(p), leaky()
			if err := d.Outcome(p.Subscriptions()[1], parse(t, leakyBody), &out); err != nil {
				t.Fatal(err)
			}
			cmp, changed := c.Comparison(pipeline(), p, 5), leaky()
			changed.Error, changed.Result = "another "+secret, observe.ResultFailed
			changed.Replies[0].Body = strings.ReplaceAll(changed.Replies[0].Body, secret, secret+"9")
			changed.Replies[1].Body += "0"
			err := cmp.Entry(&engine.Compared{
				Old:    engine.DryOutcome{Subscription: p.Subscriptions()[1], Body: parse(t, leakyBody), Outcome: &out},
				New:    engine.DryOutcome{Subscription: p.Subscriptions()[1], Body: parse(t, leakyBody), Outcome: &changed},
				Stream: p.Streams[0],
			})
			if err != nil {
				t.Fatal(err)
			}
			cmp.Summary(view.DrySummary{Entries: 1})
			text := c.text(t)
			for _, hidden := range []string{secret, "NDExMS0x", "90210", "Ann Lee"} {
				if strings.Contains(text, hidden) {
					t.Errorf("%s stands in:\n%s", hidden, text)
				}
			}
			if !strings.Contains(text, "(masked)") || mode == "json" && !strings.Contains(text, `"n":1`) {
				t.Errorf("nothing or too much is masked:\n%s", text)
			}
		})
	}
}

// Where no stream declares anything, nothing is looked for.
func TestNothingIsMaskedWithoutADeclaration(t *testing.T) {
	t.Parallel()
	p := pipeline()
	p.Streams[2].Sensitive = nil
	c, out := capture(view.Options{JSON: true}), leaky()
	if err := c.DryRun(p).Outcome(p.Subscriptions()[1], parse(t, leakyBody), &out); err != nil {
		t.Fatal(err)
	}
	if text := c.text(t); strings.Contains(text, "masked") || strings.Count(text, secret) < 6 {
		t.Errorf("got %s", text)
	}
}

// Whatever two bodies are, what differs is told, what does not is not, and the
// places lead to the values.
func TestDifferencesOfAnyBodies(t *testing.T) {
	t.Parallel()
	p := pipeline()
	p.Streams[2].Sensitive = nil
	rapid.Check(t, func(rt *rapid.T) {
		gen := rapid.Custom(func(rt *rapid.T) any { return body(rt, 3) })
		was, is := gen.Draw(rt, "old"), gen.Draw(rt, "new")
		pair := [2]observe.Outcome{replied(encode(rt, was)), replied(encode(rt, is))}
		c := capture(view.Options{JSON: true})
		err := c.Comparison(p, p, -1).Entry(&engine.Compared{
			Old:    engine.DryOutcome{Subscription: p.Subscriptions()[1], Outcome: &pair[0]},
			New:    engine.DryOutcome{Subscription: p.Subscriptions()[1], Outcome: &pair[1]},
			Stream: p.Streams[0],
		})
		if err != nil {
			rt.Fatal(err)
		}
		var event struct{ Changes []map[string]json.RawMessage }
		if err := c.Close(); err != nil {
			rt.Fatal(err)
		}
		if err := json.Unmarshal(c.out.Bytes(), &event); err != nil {
			rt.Fatalf("%v: %s", err, c.out.String())
		}
		if same := encode(rt, was) == encode(rt, is); same != (len(event.Changes) == 0) {
			rt.Fatalf("same %v, told %s", same, c.out.String())
		}
		for _, ch := range event.Changes {
			if string(ch["old"]) == string(ch["new"]) {
				rt.Fatalf("no difference at %s: %s", ch["path"], ch["old"])
			}
		}
	})
}

// body draws a JSON body.
func body(rt *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 4+min(depth, 1)*2).Draw(rt, "kind"); kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2:
		return rapid.IntRange(0, 3).Draw(rt, "number")
	case 3, 4:
		return rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "text")
	case 5:
		list := make([]any, rapid.IntRange(0, 3).Draw(rt, "elements"))
		for i := range list {
			list[i] = body(rt, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for i := range rapid.IntRange(0, 3).Draw(rt, "members") {
			object[fmt.Sprint("m", i)] = body(rt, depth-1)
		}
		return object
	}
}

func encode(rt *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return string(text)
}
