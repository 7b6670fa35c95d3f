package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/web"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/tests/redistest"
)

// opened is the server of a world's pipeline.
func opened(t testing.TB, w *world) broker.Broker {
	t.Helper()
	b, err := build.OpenRedis(w.pipeline.Broker, clock.Real(), nil)
	w.ok(err)
	return b
}

func addTo(stream string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: stream, Values: []string{"a", "b"}}
}

// inMemory is a world on a broker in this process.
func inMemory(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t}
	w.load(file, "redis://127.0.0.1:1")
	w.on(memory.New(clock.Real(), memory.Options{}))
	return w
}

// attack is what somebody might write into an entry to have it run in a browser.
const attack = `"><script>alert("pwned")</script><img src=x onerror=alert(1)>`

// bury adds a letter that carries hostile text wherever it can.
func (w *world) bury(body string) broker.ID {
	w.Helper()
	d := codec.DeadLetter{
		Reason: attack, Error: attack + body[:min(len(body), 100)], Stream: "payments", ID: attack, Group: attack, Subscription: attack, Consumer: attack,
		Attempts: 5, PipelineVersion: attack,
	}
	fields := []broker.Field{
		{Name: "_payload", Value: body}, {Name: codec.HeaderPrefix + attack, Value: attack},
		{Name: codec.HeaderPrefix + codec.HeaderPartitionKey, Value: attack},
	}
	ids, err := w.broker.Add(context.Background(), []broker.Add{{Stream: "dead", Fields: d.Fields(fields)}})
	w.ok(err)
	return ids[0]
}

// harmless fails where a text of the attack is markup.
func (w *world) harmless(what, text string) {
	w.Helper()
	for _, bad := range []string{"<script>alert", "<img", "onerror=alert(1)>\"", "\u202e", "\u2066", "\x00", "\x1b"} {
		if strings.Contains(text, bad) {
			w.Errorf("%s holds %q:\n%.2000s", what, bad, text)
		}
	}
}

func TestHostileEntries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		if _, err := w.broker.CreateGroup(t.Context(), "payments", "ledger", "0"); err != nil {
			t.Fatal(err)
		}
		bodies := map[string]string{
			"markup":  `{"a":` + fmt.Sprintf("%q", attack) + `}`,
			"large":   `{"a":"` + strings.Repeat("x", 1<<20) + `"}`,
			"binary":  "\x00\xff\xfe\x1b[31m",
			"rtl":     `{"a":"` + "\u202eevil\u2066 \u05d0\u05d1" + `"}`,
			"deep":    strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000),
			"secret":  `{"card":"4111222233334444","note":"card 4111222233334444"}`,
			"unread":  `{"card":"4111222233334444"`,
			"entity":  `{"a":"&lt;script&gt;alert(1)&lt;/script&gt;"}`,
			"newline": "{\"a\":\"line\\nline\\r\\u0000\"}",
		}
		for name, body := range bodies {
			letter := w.bury(body)
			id := w.add(body, broker.Field{Name: codec.HeaderPrefix + attack, Value: attack})
			for _, at := range []string{
				"/dead-letters/letter?stream=dead&id=" + letter.String(), "/entry?stream=payments&id=" + id.String(),
				"/entry?stream=dead&id=" + letter.String(),
			} {
				text := w.page(at, "!4111222233334444")
				w.harmless(name+" "+at, text)
				if len(text) > 200<<10 {
					t.Errorf("%s %s: a page of %d bytes", name, at, len(text))
				}
			}
		}
		if err := s.Client().Do(t.Context(), "XGROUP", "CREATE", "payments", attack, "0").Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Client().XReadGroup(t.Context(), &redis.XReadGroupArgs{
			Group: "ledger", Consumer: attack, Streams: []string{"payments", ">"}, Count: 100, Block: -1,
		}).Err(); err != nil {
			t.Fatal(err)
		}
		w.poller.Once(t.Context())
		for _, at := range []string{"/", "/group/ledger", "/group/ledger/pending", "/dead-letters"} {
			w.harmless(at, w.page(at, "&lt;script&gt;", "!4111222233334444"))
		}
	})
}

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	w := inMemory(t)
	w.options.Hosts = []string{"pipeline.example.com"}
	w.options.Writer = w.broker
	w.open()
	for host, want := range map[string]int{
		"127.0.0.1:9631": 200, "localhost:9631": 200, "LOCALHOST": 200, "[::1]:9631": 200, "127.0.0.2": 200, "pipeline.example.com": 200,
		"Pipeline.Example.com:443": 200, "evil.example.com": 421, "evil.example.com:9631": 421, "10.0.0.1": 421, "": 421,
		"127.0.0.1.evil.example.com": 421, "localhost.evil.example.com": 421, "0.0.0.0": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Host = host
		if a := w.send(r); a.status != want {
			t.Errorf("%q: %d, want %d", host, a.status, want)
		}
	}
	for name, c := range map[string]struct {
		headers map[string]string
		want    int
	}{
		"from the page":                   {map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:9631"}, http.StatusNotFound},
		"from another site":               {map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com"}, http.StatusForbidden},
		"from another port":               {map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8080"}, http.StatusForbidden},
		"an old browser":                  {map[string]string{"Origin": "https://evil.example.com"}, http.StatusForbidden},
		"from nowhere: a file, a sandbox": {map[string]string{"Origin": "null"}, http.StatusForbidden},
		"not a browser":                   {nil, http.StatusNotFound},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:9631/dead-letters/preview", strings.NewReader("stream=dead&all=1"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		if a := w.send(r); a.status != c.want {
			t.Errorf("%s: %d, want %d\n%s", name, a.status, c.want, a.text)
		}
	}
	a := w.get("/")
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'", "X-Content-Type-Options": "nosniff",
		"X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if !strings.HasPrefix(a.header.Get(header), want) {
			t.Errorf("%s is %q", header, a.header.Get(header))
		}
	}
	if !strings.Contains(a.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || strings.Contains(a.header.Get("Content-Security-Policy"), "unsafe") {
		t.Errorf("the policy is %q", a.header.Get("Content-Security-Policy"))
	}
	for _, inline := range []string{"<style", " style=", "onclick", "<script>"} {
		if strings.Contains(a.text, inline) {
			t.Errorf("the page has %q, which its policy forbids", inline)
		}
	}
	large := url.Values{"error": {strings.Repeat("x", 100<<10)}, "stream": {"dead"}}
	if a := w.post("/dead-letters/preview", large); a.status/100 == 2 || a.status/100 == 5 {
		t.Errorf("a form of 100 KiB: %d", a.status)
	}
	for _, path := range []string{"/static/page.css", "/static/page.js", "/static/topology.css"} {
		if a := w.get(path); a.status != 200 || a.header.Get("Content-Type") == "" {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	for _, path := range []string{"/static/..%2fpages%2fframe.html", "/static/../web.go", "/static/nope.js", "/nope"} {
		if a := w.get(path); a.status != 404 && a.status != 307 && a.status != 301 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

func TestAddressesThatOthersCanReachAreRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:9631": "", "127.0.0.2:0": "", "localhost:9631": "", "[::1]:9631": "", "[::ffff:127.0.0.1]:9631": "",
		"0.0.0.0:9631": "exposed", ":9631": "exposed", "[::]:9631": "exposed", "10.1.2.3:9631": "exposed", "example.com:9631": "exposed",
		"localhost.example.com:80": "exposed", "9631": "wrong", "127.0.0.1": "wrong", "": "wrong",
	} {
		err := web.CheckAddress(address, nil)
		exposed, is := errors.AsType[*web.ExposedError](err)
		switch {
		case want == "" && err != nil, want == "exposed" && !is, want == "wrong" && (err == nil || is):
			t.Errorf("%q: %v, want %q", address, err, want)
		case is && (!strings.Contains(exposed.Error(), "tunnel") || !strings.Contains(exposed.Error(), "--ui-host")):
			t.Errorf("it does not say what to do: %v", exposed)
		}
	}
}

// A login that was meant for this machine alone has no TLS, and does not do for others.
func TestAPageOfOthersNeedsTLSAndALogin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(path, []byte("basic_auth_users: {ada: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ops.Secure(path, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := web.CheckAddress("127.0.0.1:0", s); err != nil {
		t.Error(err)
	}
	if err := web.CheckAddress("10.1.2.3:0", s); err == nil || !strings.Contains(err.Error(), "no TLS") {
		t.Error(err)
	}
}

// calls counts what reaches a server.
type calls struct {
	broker.Broker
	rest int
}

func (c *calls) StreamInfo(ctx context.Context, stream string) (broker.StreamInfo, error) {
	c.rest++
	return c.Broker.StreamInfo(ctx, stream)
}

func (c *calls) Range(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	c.rest++
	return c.Broker.Range(ctx, stream, first, last, count)
}

func (c *calls) RangeBack(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	c.rest++
	return c.Broker.RangeBack(ctx, stream, first, last, count)
}

func (c *calls) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	c.rest++
	return c.Broker.GroupInfos(ctx, stream)
}

func (c *calls) Survey(ctx context.Context, asks []broker.Ask) (broker.Survey, error) {
	c.rest++
	return c.Broker.Survey(ctx, asks)
}

func TestAnOpenPageCostsTheServerNothing(t *testing.T) {
	t.Parallel()
	w := inMemory(t)
	counted := &calls{Broker: w.broker}
	w.options.Reader = counted
	w.open()
	w.poller.Once(t.Context())
	for range 50 {
		for _, at := range []string{"/", "/group/ledger", "/health", "/events", "/handler/post", "/api/overview", "/api/problems"} {
			w.page(at)
		}
	}
	if counted.rest != 0 {
		t.Errorf("%d calls", counted.rest)
	}
	if w.page("/dead-letters"); counted.rest == 0 {
		t.Error("the counting counts nothing")
	}
}

// FuzzQuery asks for pages with any arguments: none is a failure of the page, and
// nothing of what was given becomes markup.
func FuzzQuery(f *testing.F) {
	w := inMemory(f)
	w.bury(`{"a":1}`)
	id := w.add(`{"a":1}`)
	w.poller.Once(context.Background())
	paths := []string{
		"/", "/group/ledger", "/group/ledger/pending", "/group/nope", "/dead-letters", "/dead-letters/letter", "/entry", "/handler/post",
		"/handler/nope", "/health", "/events", "/api/overview", "/dead-letters/replay/x",
	}
	names := []string{"stream", "id", "reason", "group", "subscription", "error", "key", "since", "until", "entry", "before", "after", "level", "text", "skip", "find", "sort"}
	for i := range paths {
		f.Add(uint8(i), uint8(i), "dead", uint8(5), attack)
		f.Add(uint8(i), uint8(1), id.String(), uint8(0), "payments")
		f.Add(uint8(i), uint8(10), "18446744073709551615-18446744073709551615", uint8(7), "9999999999h")
	}
	f.Add(uint8(0), uint8(15), attack, uint8(16), "lag")
	const mark = "<zq\"'`>"
	f.Fuzz(func(t *testing.T, path, name1 uint8, value1 string, name2 uint8, value2 string) {
		q := url.Values{}
		q.Set(names[int(name1)%len(names)], value1+mark)
		q.Set(names[int(name2)%len(names)], value2)
		for _, query := range []string{q.Encode(), url.Values{names[int(name2)%len(names)]: {value2}}.Encode(), value1} {
			at := paths[int(path)%len(paths)]
			r := &http.Request{
				Method: http.MethodGet, URL: &url.URL{Path: at, RawQuery: query}, Host: "localhost", Header: http.Header{}, Body: http.NoBody,
			}
			recorder := httptest.NewRecorder()
			w.site.ServeHTTP(recorder, r)
			if recorder.Code >= 500 {
				t.Fatalf("%s?%s: %d\n%s", at, query, recorder.Code, recorder.Body)
			}
			text := recorder.Body.String()
			if strings.Contains(text, "<zq") || strings.Contains(text, "<script>alert") || strings.Contains(text, "zq\"'") {
				t.Fatalf("%s?%s: unescaped\n%s", at, query, text)
			}
		}
	})
}
