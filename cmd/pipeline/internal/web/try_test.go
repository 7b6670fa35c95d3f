package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/trial"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/tests/redistest"
)

// tries is a handler that shows everything that a trial can show.
const tries = `
function handle(e)
  if e.act == "dead" then return dead(e.text) end
  if e.act == "retry" then return retry{ after = "1h", reason = e.text } end
  if e.act == "fail" then error("no account of card " .. e.card) end
  if e.act == "spin" then while true do end end
  return ack()
end
function screen(e, ctx) return reply({ id = e.id, card = e.card, from = ctx.headers.who }, { key = "k7" }) end
`

// trying is a world whose handlers may be tried.
func trying(t testing.TB, s *redistest.Server) *world {
	t.Helper()
	w := newWorld(t, s)
	w.rewrite(tries)
	return w
}

// rewrite writes other code for the handlers.
func (w *world) rewrite(text string) {
	w.Helper()
	w.ok(os.WriteFile(w.pipeline.Handlers[0].Path, []byte(text), 0o600))
}

// try sends the form of a handler, and waits for its turn.
func (w *world) try(address string, form url.Values) answer {
	w.Helper()
	var a answer
	w.until("it is its turn", func() bool {
		a = w.post(address, form)
		return a.status != http.StatusTooManyRequests
	})
	return a
}

// state is all that a server knows, in a comparable form.
func state(t *testing.T, s *redistest.Server) string {
	t.Helper()
	c, text := s.Client(), ""
	keys := c.Keys(t.Context(), "*").Val()
	text += fmt.Sprintln(len(keys))
	for _, name := range []string{"payments", "screened", "dead"} {
		text += fmt.Sprintln(name, c.XRange(t.Context(), name, "-", "+").Val(), c.XInfoGroups(t.Context(), name).Val())
	}
	return text
}

// A body that is typed runs in the sandbox, and leaves nothing behind.
func TestAHandlerIsTried(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := trying(t, s)
		w.add(`{"id":1}`)
		before := state(t, s)
		w.page("/handler/post", `action="/handler/post/try#tried"`, "post_payment, which reads payments", "for at most 2s")
		for _, c := range []struct {
			handler, subscription, body, headers string
			want                                 []string
		}{
			{"post", "post_payment", `{"act":"ack"}`, "", []string{`<span class="pill good">ack</span>`, "instructions", "64 MiB", "2s", "Nothing was written"}},
			{"post", "post_payment", `{"act":"dead","text":"no such account"}`, "", []string{"no such account", "to dead"}},
			{"post", "post_payment", `{"act":"retry","text":"locked"}`, "", []string{"again in 1h", "locked"}},
			{"post", "post_payment", `{"act":"fail","card":"4111222233334444"}`, "", []string{"failed", "no account of card (masked)"}},
			{"post", "post_payment", `nonsense`, "", []string{"invalid", "(masked)", "The handler was not called"}},
			{"post", "post_payment", `{"act":"spin"}`, "", []string{"failed", "instructions"}},
			{
				"screen", "screen_payment", `{"id":7,"card":"4111222233334444"}`, "who: me\ncorrelation-id: c-9\nredis-partition-key: acc-1",
				[]string{"It would reply to <bdi>screened</bdi>", "k7", "&#34;from&#34;: &#34;me&#34;", "correlation-id", "c-9", "&#34;card&#34;: &#34;(masked)&#34;"},
			},
		} {
			a := w.try("/handler/"+c.handler+"/try", url.Values{"subscription": {c.subscription}, "body": {c.body}, "headers": {c.headers}})
			if a.status != http.StatusOK {
				t.Errorf("%s: %d\n%s", c.body, a.status, a.text)
				continue
			}
			w.holds(c.body, a.text, c.want...)
			shown, _, _ := strings.Cut(a.text, `<form class="card act try"`) // the form has what was typed
			w.holds(c.body, shown, "!4111222233334444")
		}
		if now := state(t, s); now != before {
			t.Errorf("trying changed something:\n%s\n%s", before, now)
		}
	})
}

// An entry of the server runs here as it stands, and so does the entry that a dead
// letter was.
func TestAnEntryIsRunHere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := trying(t, s)
		w.run()
		id := w.add(`{"id":5,"act":"dead","text":"card 4111222233334444 is closed","card":"4111222233334444"}`)
		w.settled(1)
		before := state(t, s)
		w.page("/entry?stream=payments&id="+id.String(), `action="/entry/try"`, `<option value="post_payment">`, "dry-run p.hcl --live --stream payments --from "+id.String())
		entry := url.Values{"stream": {"payments"}, "id": {id.String()}, "subscription": {"post_payment"}}
		w.holds("the entry", w.try("/entry/try", entry).text, "card (masked) is closed", `<span class="pill bad">dead</span>`, "!4111222233334444", "!another code")

		w.rewrite(strings.ReplaceAll(tries, `return dead(e.text)`, `return drop("mended")`))
		letter := s.Client().XRange(t.Context(), "dead", "-", "+").Val()[0].ID
		w.page("/dead-letters/letter?stream=dead&id="+letter, `action="/entry/try"`, `name="subscription" value="post_payment"`)
		form := url.Values{"stream": {"dead"}, "id": {letter}, "subscription": {"post_payment"}}
		w.holds("the letter", w.try("/entry/try", form).text, "mended", "drop", "another code", "/dead-letters/letter?")
		if now := state(t, s); now != before {
			t.Errorf("running it here changed something:\n%s\n%s", before, now)
		}

		w.rewrite("function handle(")
		if a := w.try("/entry/try", entry); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "h.lua:1") {
			t.Errorf("a script that is none: %d\n%s", a.status, a.text)
		}
		for change, want := range map[string]int{"id=1-1": 404, "id=x": 400, "id=": 400, "stream=nope": 404, "subscription=nope": 404} {
			name, value, _ := strings.Cut(change, "=")
			other := url.Values{"stream": {"payments"}, "id": {id.String()}, "subscription": {"post_payment"}}
			other.Set(name, value)
			if a := w.try("/entry/try", other); a.status != want {
				t.Errorf("%s: %d, want %d", change, a.status, want)
			}
		}
	})
}

// Trying is for a part of the time only, one entry at a time, and not for other sites.
func TestTryingIsBounded(t *testing.T) {
	t.Parallel()
	w := inMemory(t)
	w.rewrite("function handle(e) local s = 0 for i = 1, 1e12 do s = s + i end end function screen(e) end")
	w.pipeline.Handlers[0].Limits.Instructions = 1 << 60
	form := url.Values{"subscription": {"post_payment"}, "body": {"{}"}}
	began := time.Now()
	first := make(chan answer)
	go func() { first <- w.try("/handler/post/try", form) }()
	w.until("the second one is refused", func() bool {
		a := w.post("/handler/screen/try", url.Values{"subscription": {"screen_payment"}, "body": {"{}"}})
		return a.status == http.StatusTooManyRequests && strings.Contains(a.text, "another entry is being run")
	})
	a := <-first
	w.holds("a handler without an end", a.text, "timeout", "failed")
	if took := time.Since(began); took < trial.MostTime || took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	a = w.post("/handler/post/try", form)
	if w.holds("one that comes soon after", a.text, "for a part of the time only; ask again in"); a.status != http.StatusTooManyRequests {
		t.Errorf("one that comes soon after: %d", a.status)
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:9631/handler/post/try", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if a := w.send(r); a.status != http.StatusForbidden {
		t.Errorf("another site: %d", a.status)
	}
	if a := w.get("/handler/post/try"); a.status != http.StatusMethodNotAllowed && a.status != http.StatusNotFound {
		t.Errorf("by a link: %d", a.status)
	}
}

func TestWhatCannotBeTried(t *testing.T) {
	t.Parallel()
	w := inMemory(t)
	for name, c := range map[string]struct {
		address string
		form    url.Values
		want    int
	}{
		"no such handler":               {"/handler/nope/try", url.Values{"subscription": {"post_payment"}, "body": {"{}"}}, 404},
		"no such subscription":          {"/handler/post/try", url.Values{"subscription": {"nope"}, "body": {"{}"}}, 404},
		"a subscription of another one": {"/handler/post/try", url.Values{"subscription": {"screen_payment"}, "body": {"{}"}}, 404},
		"no body":                       {"/handler/post/try", url.Values{"subscription": {"post_payment"}}, 400},
		"a header without a name":       {"/handler/post/try", url.Values{"subscription": {"post_payment"}, "body": {"{}"}, "headers": {": x"}}, 400},
		"a header that is none":         {"/handler/post/try", url.Values{"subscription": {"post_payment"}, "body": {"{}"}, "headers": {attack}}, 400},
		"too much":                      {"/handler/post/try", url.Values{"subscription": {"post_payment"}, "body": {strings.Repeat("x", 100<<10)}}, 413},
	} {
		if a := w.try(c.address, c.form); a.status != c.want {
			t.Errorf("%s: %d, want %d\n%.500s", name, a.status, c.want, a.text)
		}
	}
}

// The replies of an entry are those with its correlation-id, or of its trace, and what
// was looked at is told.
func TestTheRepliesOfAnEntry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.run()
		head := func(name, value string) broker.Field {
			return broker.Field{Name: codec.HeaderPrefix + name, Value: value}
		}
		const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
		related := w.add(`{"id":1}`, head(codec.HeaderCorrelationID, "c-1"))
		traced := w.add(`{"id":2}`, head(codec.HeaderTraceParent, "00-"+trace+"-00f067aa0ba902b7-01"))
		plain := w.add(`{"id":3}`)
		w.add(`{"id":4}`, head(codec.HeaderCorrelationID, "c-4"))
		w.settled(4)
		w.until("the replies are there", func() bool { return w.length("screened") == 4 })
		replies := s.Client().XRange(t.Context(), "screened", "-", "+").Val()
		of := func(id string) (found string) {
			for _, r := range replies {
				if r.Values["_payload"] == `{"id":`+id+`}` {
					found = r.ID
				}
			}
			return found
		}
		// By their links: a reply has the id of its entry where both came in one millisecond.
		link := func(id string) string { return "stream=screened\">" + of(id) + "<" }
		w.page("/entry?stream=payments&id="+related.String(), link("1"), "4 messages of <bdi>screened</bdi>, which are all", "!"+link("4"))
		w.page("/entry?stream=payments&id="+traced.String(), link("2"), "the same trace", "!"+link("1"))
		w.page("/entry?stream=payments&id="+plain.String(), "no <code>correlation-id</code>", "<bdi>screened</bdi>", "!"+link("3"))
		w.page("/entry?stream=screened&id="+of("1"), "!Replies that it caused")
		for range 3000 {
			s.Client().XAdd(t.Context(), addTo("screened"))
		}
		last := w.add(`{"id":9}`, head(codec.HeaderCorrelationID, "c-none"))
		w.page("/entry?stream=payments&id="+last.String(), "None found")
		w.page("/entry?stream=payments&id="+related.String(), link("1"), "2,000 messages of <bdi>screened</bdi>, up to ")
		// One that has its id and all its fields is a reply in another stream, and itself in its own.
		twin := broker.ID{Ms: last.Ms + 1_000_000}.String()
		for _, stream := range []string{"screened", "payments"} {
			if err := s.Client().Do(t.Context(), "XADD", stream, twin, "_payload", `{"id":5}`, "h:correlation-id", "c-5").Err(); err != nil {
				t.Fatal(err)
			}
		}
		w.page("/entry?stream=payments&id="+twin, "stream=screened\">"+twin+"<", "!stream=payments\">"+twin+"<")
	})
}
