package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// What the first page says is what is on the server, as people and as programs read
// it.
func TestTheOverview(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.page("/", "Redis not reached yet", "not looked at yet", "<caption", `scope="col"`)
		w.poller.Once(context.Background())
		w.page("/", "the group ledger on payments does not exist", "!Nothing is wrong", `href="/group/ledger"`)
		w.run()
		for i := range 30 {
			act := "ack"
			if i%10 == 0 {
				act = "dead"
			}
			w.add(fmt.Sprintf(`{"id":%d,"act":%q,"text":"no such account"}`, i, act))
		}
		w.settled(30)
		w.page("/", `<p class="value">3</p>`, "dead holds 3 dead letters", `href="/dead-letters?stream=dead"`, "running", `data-node="g1"`,
			`<a href="/group/fraud">`, `<td class="num warn">3</td>`, "!not looked at yet")
		var o struct {
			Pipeline string
			Up       bool `json:"redis_up"`
			Groups   []struct {
				Group        string
				Exists       bool
				Lag, Pending *int64
			}
			Letters []struct {
				Stream  string
				Entries int64
			} `json:"dead_letters"`
			Problems []struct{ Code, Page string }
		}
		if err := json.Unmarshal([]byte(w.get("/api/overview").text), &o); err != nil {
			t.Fatal(err)
		}
		if o.Pipeline != "shop" || !o.Up || len(o.Groups) != 2 || !o.Groups[0].Exists || *o.Groups[0].Lag != 0 || *o.Groups[0].Pending != 0 ||
			len(o.Letters) != 1 || o.Letters[0].Entries != 3 || len(o.Problems) != 1 || o.Problems[0].Code != "dead_letters_waiting" ||
			o.Problems[0].Page != "/dead-letters?stream=dead" {
			t.Errorf("%+v", o)
		}
		for _, path := range []string{"/api/groups", "/api/dead-letters", "/api/problems"} {
			var list []any
			if err := json.Unmarshal([]byte(w.get(path).text), &list); err != nil || len(list) == 0 {
				t.Errorf("%s: %v %v", path, err, list)
			}
		}
	})
}

func TestAGroupAndWhatIsPendingInIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.run()
		const n = 130
		var ids []broker.ID
		for i := range n {
			ids = append(ids, w.add(fmt.Sprintf(`{"id":%d,"act":"retry","card":"4111222","text":"card 4111222 is locked <b>%d</b>"}`, i, i)))
		}
		w.settled(n)
		w.page("/group/ledger", "0 of 2 busy", `<a href="/group/ledger/pending">130</a>`, `href="/handler/post"`, "this process", "alive",
			"entries idle for 1m, using auto", "after a failed attempt", "<figure")
		first := w.page("/group/ledger/pending", "100 on this page", "130 on", ids[0].String(), ids[99].String(), "!"+ids[100].String()+"<",
			"card (masked) is locked &lt;b&gt;0&lt;/b&gt;", "!4111222", "!<b>0")
		next := between(t, first, `rel="next" href="`, `"`)
		w.page(next, ids[100].String(), ids[129].String(), "!"+ids[99].String()+"<", "!rel=\"next\"")
		w.page("/entry?stream=payments&id="+ids[0].String(), "pending", "card (masked) is locked", "&#34;(masked)&#34;", "!4111222", "deliveries",
			"acknowledged, or passed over", `href="/group/fraud"`, "No dead letter is of this entry", "May run again: 20")
		if a := w.get("/group/nope"); a.status != http.StatusNotFound {
			t.Errorf("%d", a.status)
		}
	})
}

func between(t *testing.T, text, before, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, before)
	found, _, end := strings.Cut(rest, after)
	if !ok || !end {
		t.Fatalf("nothing stands between %q and %q in\n%s", before, after, text)
	}
	return strings.ReplaceAll(found, "&amp;", "&")
}

// Dead letters by reason and error, filtered, in pages of 100, and each with what it
// carries.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.run()
		const n = 220
		for i := range n {
			text := "the mail server is away"
			if i < 20 {
				text = "no such account"
			}
			w.add(fmt.Sprintf(`{"id":%d,"act":"dead","text":%q}`, i, text), broker.Field{Name: codec.HeaderPrefix + codec.HeaderPartitionKey, Value: fmt.Sprintf("acct-%d", i%2)})
		}
		w.add("nonsense")
		w.settled(n + 1)
		text := w.page("/dead-letters", "rejected", "invalid", "the mail server is away", `<td class="num">200</td>`, `<td class="num">20</td>`,
			"dlq replay p.hcl dead --all", "!<form class=\"card act\"")
		if rows := strings.Count(text, `href="/dead-letters/letter?`); rows != 100 {
			t.Errorf("%d rows", rows)
		}
		seen, pages := 0, 0
		for at := "/dead-letters?stream=dead"; at != ""; pages++ {
			text := w.page(at)
			seen += strings.Count(text, `href="/dead-letters/letter?`)
			if at = ""; strings.Contains(text, `rel="next"`) {
				at = between(t, text, `rel="next" href="`, `"`)
			}
		}
		if want := int(w.length("dead")); seen != want || pages < 3 {
			t.Errorf("%d letters in %d pages, want %d", seen, pages, want)
		}
		for query, want := range map[string]int{
			"reason=rejected&error=SUCH+account": 20, "reason=invalid&group=ledger": 1, "group=fraud&reason=rejected": 0,
			"error=such&until=1h": 0, "error=such&since=1h": 20, "subscription=post_payment&error=such": 20,
			"error=such&key=acct-1": 10, "entry=1-1": 0,
		} {
			text := w.page("/dead-letters?stream=dead&" + query)
			if rows := strings.Count(text, `href="/dead-letters/letter?`); rows != want {
				t.Errorf("%s: %d rows, want %d", query, rows, want)
			}
		}
		for query, status := range map[string]int{
			"reason=nope": 400, "group=nope": 404, "stream=nope": 404, "before=x": 400, "id=x": 400, "since=yesterday": 400, "since=1h&until=2h": 400,
		} {
			if a := w.get("/dead-letters?" + query); a.status != status {
				t.Errorf("%s: %d, want %d", query, a.status, status)
			}
		}
		link := between(t, w.page("/dead-letters?error=such"), `<th scope="row" class="mono"><a href="`, `"`)
		w.page(link, "no such account", "rejected", "after 1 attempt", "post_payment", "ledger on payments", "pipeline dlq export p.hcl dead --id", `href="/entry?`)
		if a := w.get("/dead-letters/letter?stream=dead&id=1-1"); a.status != http.StatusNotFound {
			t.Errorf("a letter that is not there: %d", a.status)
		}
	})
}

// A replay from the page: what was frozen goes back, once, and nothing else.
func TestReplay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.run()
		for i := range 12 {
			w.add(fmt.Sprintf(`{"id":%d,"act":"dead","text":"reason %d"}`, i, i%3))
		}
		w.settled(12)
		form := url.Values{"stream": {"dead"}, "error": {"reason 1"}}
		if a := w.post("/dead-letters/preview", form); a.status != http.StatusForbidden || !strings.Contains(a.text, "--ui-write") {
			t.Errorf("a page that only shows: %d\n%s", a.status, a.text)
		}
		w.mayWrite()
		w.page("/dead-letters", `action="/dead-letters/preview"`)
		if a := w.post("/dead-letters/preview", url.Values{"stream": {"dead"}}); a.status != http.StatusBadRequest {
			t.Errorf("an empty filter: %d", a.status)
		}
		if a := w.post("/dead-letters/preview", url.Values{"stream": {"dead"}, "error": {"never"}}); a.status != http.StatusNotFound {
			t.Errorf("nothing chosen: %d", a.status)
		}
		a := w.post("/dead-letters/preview", form)
		if a.status != http.StatusSeeOther {
			t.Fatalf("%d\n%s", a.status, a.text)
		}
		at := a.header.Get("Location")
		w.page(at, "Replay 4 letters?", "ledger runs them", "fraud acknowledges them unrun", "rejected")
		before := w.length("payments")
		if before != 12 || w.length("dead") != 12 {
			t.Fatal("the preview changed something")
		}
		w.add(`{"id":99,"act":"dead","text":"reason 1"}`) // buried after the preview
		w.until("it is buried", func() bool { return w.length("dead") == 13 })
		if a := w.post(at, url.Values{"rate": {"0"}}); a.status != http.StatusBadRequest {
			t.Errorf("rate 0: %d", a.status)
		}
		if a := w.post(at, url.Values{"rate": {"5000"}}); a.status != http.StatusSeeOther {
			t.Fatalf("%d\n%s", a.status, a.text)
		}
		w.until("it is done", func() bool { return strings.Contains(w.get(at).text, "<h1>Replayed</h1>") })
		w.page(at, "4 of 4 are back")
		// They fail again, under new letters.
		w.until("they are buried again", func() bool { return w.length("dead") == 13 && w.length("payments") == 17 })
		if a := w.post(at, url.Values{"rate": {"5000"}}); a.status != http.StatusSeeOther {
			t.Errorf("%d", a.status)
		}
		if n := w.length("payments"); n != 17 {
			t.Errorf("a second start added entries: %d", n)
		}
		w.page(at, "<h1>Replayed</h1>", "4 of 4 are back") // it was not begun again
		if a := w.get("/dead-letters/replay/nope"); a.status != http.StatusNotFound {
			t.Errorf("%d", a.status)
		}
		one := between(t, w.page("/dead-letters?error=reason+0"), `<th scope="row" class="mono"><a href="`, `"`)
		w.page(one, "Preview the replay")
		q, err := url.ParseQuery(strings.SplitN(one, "?", 2)[1])
		w.ok(err)
		a = w.post("/dead-letters/preview", q)
		w.page(a.header.Get("Location"), "Replay 1 letter?")
		token := strings.TrimPrefix(a.header.Get("Location"), "/dead-letters/replay/")
		if a := w.post("/dead-letters/discard/"+token, nil); a.status != http.StatusSeeOther || w.get("/dead-letters/replay/"+token).status != http.StatusNotFound {
			t.Errorf("discarded: %d", a.status)
		}
	})
}

// A group that is gone would never read what goes back.
func TestAReplayToAGroupThatIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.mayWrite()
		w.poller.Once(t.Context())
		d := codec.DeadLetter{Reason: "failed", Error: "x", Stream: "payments", ID: "1-1", Group: "ledger", Subscription: "post_payment", Attempts: 5}
		_, err := w.broker.Add(t.Context(), []broker.Add{{Stream: "dead", Fields: d.Fields([]broker.Field{{Name: "_payload", Value: "{}"}})}})
		w.ok(err)
		a := w.post("/dead-letters/preview", url.Values{"stream": {"dead"}, "all": {"1"}})
		at := a.header.Get("Location")
		w.page(at, "does not exist on payments", "pipeline apply", "!Replay 1 letter<")
		if a := w.post(at, url.Values{"rate": {"10"}}); a.status != http.StatusConflict {
			t.Errorf("%d", a.status)
		}
		if w.length("dead") != 1 || w.length("payments") != 0 {
			t.Error("something was moved")
		}
		if _, err := w.broker.CreateGroup(t.Context(), "payments", "ledger", "0"); err != nil {
			t.Fatal(err)
		}
		if a := w.post(at, url.Values{"rate": {"10"}}); a.status != http.StatusSeeOther {
			t.Errorf("%d", a.status)
		}
		w.until("it is back", func() bool { return w.length("dead") == 0 && w.length("payments") == 1 })
	})
}

func TestAHandlerHealthAndEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.page("/handler/post", "Nothing works in this process", "h.lua", "none: a pure function")
		w.page("/health", "not well", "it was not asked yet")
		w.page("/events", "Nothing works in this process")
		w.run()
		for i := range 20 {
			w.add(fmt.Sprintf(`{"id":%d}`, i))
		}
		w.add(`[]`)
		w.settled(21)
		w.page("/handler/post", `<p class="value">21</p>`, "hash of its code", "post_payment", "!Nothing works")
		w.page("/health", "Every check of this process passes", strings.TrimPrefix(s.FullVersion(), "Redis "), "as this machine")
		w.page("/events", "group.created", "subscription.reading", "ledger")
		w.page("/events?text=nothing+like+it", "Nothing has happened")
		w.page("/events?level=error", "!subscription.reading")
		if a := w.get("/handler/nope"); a.status != http.StatusNotFound {
			t.Errorf("%d", a.status)
		}
		for query, status := range map[string]int{"level=loud": 400, "skip=-1": 400, "skip=x": 400, "skip=99999": 200} {
			if a := w.get("/events?" + query); a.status != status {
				t.Errorf("%s: %d, want %d", query, a.status, status)
			}
		}
	})
}

func TestManyEvents(t *testing.T) {
	t.Parallel()
	w := inMemory(t)
	w.options.Journal = w.journal
	w.open()
	for i := range 1234 {
		w.journal.Event(observe.Event{Time: time.UnixMilli(int64(i)), Name: "entry.taken_over", Level: sandbox.Warn, Message: fmt.Sprintf("number %d.", i)})
	}
	first := w.page("/events", "number 1233.", "number 1134.", "!number 1133.")
	w.page(between(t, first, `rel="next" href="`, `"`), "number 1133.", "number 1034.", "!number 1033.")
	w.page("/events?skip=900", "number 234.", "!number 233.", "!rel=\"next\"")
}

// A server that is away leaves what was known, says so, and is no failure of pages
// that need it for nothing.
func TestAServerThatIsAway(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Password("hunter2"))
			s.Record(t)
			w := newWorld(t, s)
			w.poller.Once(context.Background())
			s.Stop()
			w.poller.Once(context.Background())
			for _, at := range []string{"/", "/group/ledger", "/health", "/events", "/api/overview"} {
				w.page(at, "!hunter2", "!"+s.Addr)
			}
			w.page("/", "Redis does not answer")
			w.page("/events", "redis.lost")
			for _, at := range []string{"/dead-letters", "/group/ledger/pending", "/entry?stream=payments&id=1-1"} {
				if a := w.get(at); a.status != http.StatusServiceUnavailable || strings.Contains(a.text, "hunter2") || strings.Contains(a.text, s.Addr) || !strings.Contains(a.text, "Redis cannot be asked") {
					t.Errorf("%s: %d\n%s", at, a.status, a.text)
				}
			}
		})
	}
}

// What a login may not read is said, with what to do, and is no failure of the page.
func TestALoginWithoutTheRight(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Config("user", "viewer", "on", ">hunter2", "~*", "&*", "+@all", "-xrevrange", "-hmget"))
			s.Record(t)
			w := &world{TB: t}
			w.load(file, "redis://viewer:hunter2@"+s.Addr)
			w.on(opened(t, w))
			w.add(`{}`)
			if err := s.Client().XAdd(t.Context(), addTo("dead")).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := w.broker.CreateGroup(t.Context(), "payments", "ledger", "0"); err != nil {
				t.Fatal(err)
			}
			c := s.Client()
			if err := c.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "ledger", Consumer: "c", Streams: []string{"payments", ">"}, Block: -1}).Err(); err != nil {
				t.Fatal(err)
			}
			w.page("/group/ledger/pending", "1 on this page", "may not read what retries have recorded")
			a := w.get("/dead-letters")
			if a.status != http.StatusForbidden || !strings.Contains(a.text, "export acl") || strings.Contains(a.text, "hunter2") {
				t.Errorf("%d\n%s", a.status, a.text)
			}
		})
	}
}
