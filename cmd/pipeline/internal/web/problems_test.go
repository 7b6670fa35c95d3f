package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

// Many problems of one cause leave room for another beside them, and none is left out.
func TestProblemsOfOneKindAreFolded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		const groups = 40
		w := &world{TB: t}
		w.load(manyGroups(groups), s.URL())
		b, err := build.OpenRedis(w.pipeline.Broker, clock.Real(), nil)
		w.ok(err)
		w.on(b)
		w.ok(s.Client().XAdd(t.Context(), addTo("dead")).Err())
		w.poller.Once(context.Background())
		text := w.page("/", "37 more of the same</summary>", "dead holds 1 dead letter", "(40) Overview", `/static/error.svg`)
		if n := strings.Count(text, "<code>pipeline apply p.hcl </code>"); n != 3 {
			t.Errorf("%d groups are told of in full, want 3", n)
		}
		for _, g := range w.pipeline.Groups {
			if !strings.Contains(text, "the group "+g.Name+" on "+g.Stream.Name+" does not exist on the server") {
				t.Errorf("nothing is told of the group %s", g.Name)
			}
		}
		// A group's own page has its own.
		w.page("/group/"+w.pipeline.Groups[20].Label, "the group "+w.pipeline.Groups[20].Name+" on ", "!more of the same", "!Look at the group")
		// Four are not worth a fold.
		for _, g := range w.pipeline.Groups[4:] {
			w.ok(s.Client().XGroupCreateMkStream(t.Context(), g.Stream.Name, g.Name, "0").Err())
		}
		w.poller.Once(context.Background())
		w.page("/", "!more of the same", "(4) Overview")
	})
}

// A tab that nobody looks at tells how bad things are.
func TestTitleAndIconTellOfTrouble(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		w.page("/", "<title>Overview · shop</title>", "/static/unknown.svg")
		w.poller.Once(context.Background())
		w.page("/events", "<title>(2) Events · shop</title>", "/static/error.svg", `<span class="badge error">2<span class="hidden"> problems</span></span>`)
		for _, g := range []string{"ledger", "fraud"} {
			w.ok(s.Client().XGroupCreateMkStream(t.Context(), "payments", g, "0").Err())
		}
		w.poller.Once(context.Background())
		w.page("/events", "<title>Events · shop</title>", "/static/well.svg", "!badge error")
		w.ok(s.Client().XAdd(t.Context(), addTo("payments")).Err())
		w.ok(s.Client().Do(t.Context(), "XREADGROUP", "GROUP", "ledger", "c", "STREAMS", "payments", ">").Err())
		w.ok(s.Client().Do(t.Context(), "XREADGROUP", "GROUP", "fraud", "c", "STREAMS", "payments", ">").Err())
		w.ok(s.Client().Do(t.Context(), "XCLAIM", "payments", "ledger", "d", "0", s.Client().XRange(t.Context(), "payments", "-", "+").Val()[0].ID).Err())
		w.poller.Once(context.Background())
		// What an entry that is pending lacks is told by the pending list.
		w.page("/", "<title>(1) Overview · shop</title>", "/static/warning.svg", `<a href="/group/ledger/pending">Look at what is pending</a>`,
			"<code>pipeline pending list p.hcl --group ledger</code>")
		for _, icon := range []string{"well", "warning", "error", "unknown"} {
			if a := w.get("/static/" + icon + ".svg"); a.status != http.StatusOK || a.header.Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(a.text, "<svg ") {
				t.Errorf("%s: %d %v %.40s", icon, a.status, a.header, a.text)
			}
		}
	})
}

// A program that asks for what is not there, or wants to change something, is told so in
// a form that it reads.
func TestTheAPIRefusesInJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, "8.6"))
	for _, c := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{http.MethodGet, "/api/nothing", http.StatusNotFound, "not_found", ""},
		{http.MethodGet, "/api/", http.StatusNotFound, "not_found", ""},
		{http.MethodDelete, "/api/nothing", http.StatusNotFound, "not_found", ""},
		{http.MethodPost, "/api/overview", http.StatusMethodNotAllowed, "method_not_allowed", "GET, HEAD"},
		{http.MethodPut, "/api/doctor", http.StatusMethodNotAllowed, "method_not_allowed", "GET, HEAD"},
	} {
		a := w.send(httptest.NewRequest(c.method, "http://127.0.0.1:9631"+c.path, http.NoBody))
		var refused struct{ Error, Message string }
		if err := json.Unmarshal([]byte(a.text), &refused); err != nil {
			t.Fatalf("%s %s: %v in %s", c.method, c.path, err, a.text)
		}
		if a.status != c.status || refused.Error != c.code || refused.Message == "" || a.header.Get("Allow") != c.allow || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %+v %v", c.method, c.path, a.status, refused, a.header)
		}
	}
}

// A consumer is silent as soon as none that lives would be.
func TestAConsumerThatWasKilledIsSilent(t *testing.T) {
	t.Parallel()
	w := &world{TB: t}
	w.load(file, "redis://127.0.0.1:1")
	c := clock.NewVirtual(time.Now())
	b := memory.New(c, memory.Options{})
	w.on(b)
	_, err := b.CreateGroup(t.Context(), "payments", "ledger", "0")
	w.ok(err)
	w.add(`{"id":1}`)
	_, err = b.Read(t.Context(), broker.ReadRequest{Owner: broker.Owner{Stream: "payments", Group: "ledger", Consumer: "c"}, Count: 1})
	w.ok(err)
	c.Advance(59 * time.Second)
	w.poller.Once(context.Background())
	w.page("/group/ledger", `<span class="pill good">alive</span>`, "renewed for 1m, which")
	c.Advance(time.Second)
	w.poller.Once(context.Background())
	w.page("/group/ledger", `<span class="pill unknown">silent</span>`, "nobody reads the group ledger")
}
