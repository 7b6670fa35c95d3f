package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/tests/redistest"
)

// replies are the entries of the stream out, as text.
func (w *stopped) replies() []string {
	var all []string
	for _, e := range w.Entries("out") {
		all = append(all, text(e.Fields))
	}
	return all
}

func text(fields []broker.Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name+"="+f.Value)
	}
	return strings.Join(all, " ")
}

const toOut = "reply {\n      to = stream.out\n    }"

// echo replies with the body that the handler was given.
const echo = `function handle(e) return e end`

// What a body is: the field that carries it, or the fields themselves.
func TestWhatTheBodyOfAnEntryIs(t *testing.T) {
	const typed = `entry = object({ id = number, account = string, urgent = bool, note = optional(string, "-") })`
	for _, c := range []struct {
		name, stream string
		entry        []string
		// want is the body; empty where the entry is invalid, for the error in its
		// letter.
		want, invalid string
	}{
		{"in _payload", typed, []string{"_payload", `{"id":1,"account":"a","urgent":true}`}, `{"account":"a","id":1,"note":"-","urgent":true}`, ""},
		{
			"in the field that the stream names", typed + "\n  body = \"data\"",
			[]string{"_payload", "not this", "data", `{"id":1,"account":"a","urgent":true}`}, `{"account":"a","id":1,"note":"-","urgent":true}`, "",
		},
		{
			"the entry's own fields, converted, without its headers", typed,
			[]string{"id", "18446744073709551615", "account", "7", "urgent", "false", "h:note", "no field"},
			`{"account":"7","id":18446744073709551615,"note":"-","urgent":false}`, "",
		},
		{
			"the own fields where the named one is absent", typed + "\n  body = \"data\"",
			[]string{"id", "1", "account", "a", "urgent", "true"}, `{"account":"a","id":1,"note":"-","urgent":true}`, "",
		},
		{"own fields that do not convert", typed, []string{"id", "one", "account", "a", "urgent", "true"}, "", "id"},
		{"a bool that is none", typed, []string{"id", "1", "account", "a", "urgent", "maybe"}, "", "urgent"},
		{"own fields that are too few", typed, []string{"id", "1", "account", "a"}, "", "urgent"},
		{"own fields without a declared type are text", "", []string{"id", "1", "x", "true"}, `{"id":"1","x":"true"}`, ""},
		{"members beyond the declared ones pass through", typed, []string{"_payload", `{"id":1,"account":"a","urgent":true,"more":[1]}`}, `{"account":"a","id":1,"more":[1],"note":"-","urgent":true}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				w := stop(t, s, parts{stream: c.stream, subscription: toOut, script: echo}, nil)
				w.work("a")
				w.add(c.entry...)
				if c.want != "" {
					if got := w.replies(); !slices.Equal(got, []string{"_payload=" + c.want}) {
						t.Errorf("the handler was given %q, want %s", got, c.want)
					}
					return
				}
				letters := w.Entries("dead")
				if len(w.replies()) != 0 || len(letters) != 1 || letters[0].Letter.Reason != codec.ReasonInvalid || !strings.Contains(letters[0].Letter.Error, c.invalid) {
					t.Errorf("replies %q, letters %+v", w.replies(), letters)
				}
			})
		})
	}
}

// What travels from an entry to its replies by itself, and what comes before it.
func TestWhichHeadersTravelToReplies(t *testing.T) {
	const script = `function handle(e, ctx)
  if e.say then return reply({ n = 1 }, { key = "handler", headers = { traceparent = "own" } }) end
  return { n = 1, k = "reply" }
end`
	entry := []string{"_payload", `{"k":"body"}`, "h:correlation-id", "c-1", "h:traceparent", "t-1", "h:redis-partition-key", "header", "h:other", "stays"}
	const travels = "h:correlation-id=c-1 h:traceparent=t-1"
	for _, c := range []struct {
		name, stream, reply string
		entry               []string
		want                string
	}{
		{"all three", "", "", entry, "h:redis-partition-key=header " + travels},
		{"none that is not there", "", "", entry[:2], ""},
		{"the block's key comes before the header's", "", `key = reply.k`, entry, "h:redis-partition-key=reply " + travels},
		{"the handler's comes before all", "", `key = reply.n`, append([]string{"_payload", `{"say":true}`}, entry[2:]...), "h:redis-partition-key=handler h:correlation-id=c-1 h:traceparent=own"},
		{"the lane's key comes last", "workers {\n      key = entry.k\n    }\n", "", entry[:2], "h:redis-partition-key=body"},
		{"and after the header's", "workers {\n      key = entry.k\n    }\n", "", entry, "h:redis-partition-key=header " + travels},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				w := stop(t, s, parts{subscription: c.stream + strings.Replace(toOut, "\n    }", "\n      "+c.reply+"\n    }", 1), script: script}, nil)
				w.work("a")
				w.add(c.entry...)
				out := w.Entries("out")
				if len(out) != 1 {
					t.Fatalf("replies %q; calls %q", w.replies(), w.calls())
				}
				got := slices.Clone(out[0].Fields[1:])
				want := strings.Fields(c.want)
				if len(got) != len(want) {
					t.Fatalf("headers %q, want %q", text(got), c.want)
				}
				for _, f := range got {
					if !slices.Contains(want, f.Name+"="+f.Value) {
						t.Errorf("header %s=%s, want %q", f.Name, f.Value, c.want)
					}
				}
			})
		})
	}
}

// Where the target stream declares a key, it comes after the block's and before
// the header's.
func TestTheKeyOfTheTargetStreamComesBeforeTheHeader(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		p := parts{subscription: toOut, script: `function handle() return { k = "declared" } end`}
		file := strings.Replace(p.file(), `stream "out" {}`, "stream \"out\" {\n  key = entry.k\n}", 1)
		path := write(t, [2]string{"one.hcl", file}, [2]string{"h.lua", p.script})
		v := start(t, s, load(t, path, nil), "host-a")
		v.ready()
		s.CLI("XADD", "in", "*", "n", "1", "h:redis-partition-key", "header")
		eventually(t, "there is a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() == 1 })
		if got := fields(t, s.Client(), "out"); got[0] != `_payload={"k":"declared"} h:redis-partition-key=declared` {
			t.Errorf("reply %q", got)
		}
	})
}

// Deliveries, attempts and idle times are the server's, whatever a producer writes
// into fields and headers.
func TestDeliveriesCannotBeClaimedByAProducer(t *testing.T) {
	const script = `function handle(e, ctx)
  if ctx.deliveries == 0 then return retry{ after = "20s" } end
  return { d = ctx.deliveries, a = ctx.attempt, i = ctx.idle_ms >= 20000 and ctx.idle_ms < 40000 }
end`
	claims := []string{"_payload", `{"deliveries":5}`}
	for _, name := range []string{"deliveries", "attempt", "idle_ms", "x-deliveries", "x-retry-count", "delivery-count", "dead-letter-attempts"} {
		claims = append(claims, "h:"+name, "90000", name, "90000")
	}
	onWays(t, []way{byReads}, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim + "\n" + toOut, script: script}, nil)
		w.work("a")
		w.add(claims...)
		w.advance(minIdle)
		if got, want := w.calls(), []string{"retry#1/0", "reply#1/1"}; !slices.Equal(got, want) {
			t.Fatalf("came to %q, want %q", got, want)
		}
		if got := w.replies(); got[0] != `_payload={"a":1,"d":1,"i":true}` {
			t.Errorf("the handler was shown %q", got)
		}
	})
	// Elsewhere the server tells no idle time.
	onWays(t, []way{byAutoclaim, noClaim}, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim, script: script}, nil)
		w.work("a")
		w.add(claims...)
		w.advance(minIdle)
		if calls := w.Calls("s"); len(calls) < 2 || calls[0].Attempt != 1 || calls[0].Deliveries != 0 || calls[1].Attempt != 1 || calls[1].Deliveries != 1 {
			t.Fatalf("came to %q", w.calls())
		}
	})
}

// A retry count counts only beside the group's own name, and never so much that an
// entry would be a dead letter unrun.
func TestARetryCountIsBelievedWithinBounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers []string
		want    []string
	}{
		{"alone it is nothing", []string{"h:x-retry-count", "2"}, []string{"ack#1/0"}},
		{"beside the own group it counts", []string{"h:x-retry-count", "1", "h:x-retry-group", "g"}, []string{"ack#2/0"}},
		{"it leaves one attempt", []string{"h:x-retry-count", "1000000000", "h:x-retry-group", "g"}, []string{"ack#3/0"}},
		{"beyond any number it is nothing", []string{"h:x-retry-count", "99999999999999999999999", "h:x-retry-group", "g"}, []string{"ack#1/0"}},
		{"negative it is nothing", []string{"h:x-retry-count", "-5", "h:x-retry-group", "g"}, []string{"ack#1/0"}},
		{"no number is nothing", []string{"h:x-retry-count", "two", "h:x-retry-group", "g"}, []string{"ack#1/0"}},
		{"beside another group it does not run", []string{"h:x-retry-count", "1", "h:x-retry-group", "G"}, []string{"foreign_retry#1/0"}},
		{"a group without a name is another", []string{"h:x-retry-group", ""}, []string{"foreign_retry#1/0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{retry: quick, subscription: way.claim}, nil)
				w.work("a")
				w.add(append([]string{"n", "1"}, c.headers...)...)
				w.advance(20 * time.Second) // a copy waits for its time
				if got := w.calls(); !slices.Equal(got, c.want) || len(w.Pending("g")) != 0 || len(w.Entries("dead")) != 0 {
					t.Errorf("came to %q, want %q; pending %v", got, c.want, w.Pending("g"))
				}
			})
		})
	}
}

// A copy reaches every group of the stream. The others of a pipeline acknowledge
// it unrun, counted apart.
func TestOtherGroupsPassOverACopy(t *testing.T) {
	p := parts{script: `function handle(e, ctx)
  if ctx.group == "g" and ctx.attempt == 1 then return retry() end
  return ack()
end`}
	file := strings.Replace(p.file(), "group \"g\" {", "group \"z\" {\n  stream = stream.in\n  start = \"beginning\"\n  subscription \"z\" {\n    handler = handler.h\n  }\n}\ngroup \"g\" {", 1)
	onEach(t, func(t *testing.T, s *redistest.Server) {
		path := write(t, [2]string{"one.hcl", file}, [2]string{"h.lua", p.script})
		v := start(t, s, load(t, path, nil), "host-a")
		v.ready()
		s.CLI("XADD", "in", "*", "n", "1")
		v.settled("s", "ack", 1)
		v.settled("z", "foreign_retry", 1)
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(outcomes(v, "s"), outcomes(v, "z")); got != "[retry#1 ack#2] [ack#1 foreign_retry#1]" {
			t.Errorf("came to %s", got)
		}
		for _, g := range s.Client().XInfoGroups(t.Context(), "in").Val() {
			if g.Pending != 0 || g.Lag != 0 {
				t.Errorf("group %s: %d pending, lag %d", g.Name, g.Pending, g.Lag)
			}
		}
	})
}
