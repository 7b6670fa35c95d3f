package ops_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return w.Code, w.Body.String()
}

func check(name string, err error) ops.Check {
	return ops.Check{Name: name, Check: func() error { return err }}
}

func TestPages(t *testing.T) {
	good, bad := check("this", nil), check("that", errors.New("it broke"))
	o := ops.Options{
		Alive: []ops.Check{good}, Started: []ops.Check{bad}, Ready: []ops.Check{good, bad}, Metrics: prometheus.NewRegistry(),
		Version: map[string]string{"version": "1"},
	}
	h := ops.Handler(o)
	o.Profiles = true
	profiling := ops.Handler(o)
	for _, c := range []struct {
		h            http.Handler
		method, path string
		code         int
		text         string
	}{
		{h, "GET", "/livez", 200, "ok\n"},
		{h, "GET", "/livez?verbose", 200, "[+] this\n"},
		{h, "GET", "/startupz", 503, "[-] that: it broke\n"},
		{h, "GET", "/readyz", 503, "[+] this\n[-] that: it broke\n"},
		{h, "GET", "/metrics", 200, ""},
		{h, "GET", "/version", 200, "{\"version\":\"1\"}\n"},
		{h, "GET", "/", 200, "/livez\n/startupz\n/readyz?verbose\n/metrics\n/version\n"},
		{h, "GET", "/other", 404, "404 page not found\n"},
		{h, "POST", "/livez", 405, "Method Not Allowed\n"},
		{h, "DELETE", "/metrics", 405, "Method Not Allowed\n"},
		{h, "GET", "/debug/pprof/", 404, "404 page not found\n"},
		{profiling, "GET", "/debug/pprof/cmdline", 404, "404 page not found\n"},
	} {
		if code, text := get(t, c.h, c.method, c.path); code != c.code || text != c.text {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, code, text, c.code, c.text)
		}
	}
	if code, text := get(t, profiling, "GET", "/debug/pprof/"); code != 200 || !strings.Contains(text, "goroutine") {
		t.Errorf("profiles: %d %q", code, text)
	}
}

func TestListening(t *testing.T) {
	l, err := ops.Listen(t.Context(), "127.0.0.1:0", ops.Handler(ops.Options{Metrics: prometheus.NewRegistry()}), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ops.Listen(t.Context(), l.Addr(), http.NotFoundHandler(), nil, slog.New(slog.DiscardHandler)); !errors.Is(err, ops.ErrInUse) || !strings.Contains(err.Error(), l.Addr()) {
		t.Errorf("a taken address: %v", err)
	}
	if _, err := ops.Listen(t.Context(), "nonsense", http.NotFoundHandler(), nil, slog.New(slog.DiscardHandler)); err == nil || errors.Is(err, ops.ErrInUse) {
		t.Errorf("no address: %v", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + l.Addr() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK || string(text) != "ok\n" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %q %v", r.StatusCode, text, r.Header)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	again, err := ops.Listen(t.Context(), l.Addr(), http.NotFoundHandler(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("the address was not given back: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// failing is an engine with a subscription that stopped.
type failing struct{ err error }

func (f failing) Snapshot() engine.Snapshot {
	return engine.Snapshot{Subscriptions: []engine.SubscriptionSnapshot{{Label: "good"}, {Label: "s", Err: f.err}}}
}
func (failing) Ready() <-chan struct{} { return nil }

func TestChecks(t *testing.T) {
	c := clock.NewVirtual(time.UnixMilli(1_700_000_000_000))
	p := &spec.Pipeline{Name: "p"}
	m := metrics.New(p, c, metrics.Build{}, observe.None{})
	server := memory.New(c, memory.Options{})
	defer func() { _ = server.Close() }()
	poller := poll.New(p, server, c, func() float64 { return 0 })
	says := func(what string, check ops.Check, want string) {
		t.Helper()
		text := ""
		if err := check.Check(); err != nil {
			text = err.Error()
		}
		if (text == "") != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", what, text, want)
		}
	}
	beating, answering := ops.Beating(m, c), ops.Answering(poller, c)
	says("before the first look", answering, "not asked")
	poller.Once(t.Context())
	says("it answered", answering, "")
	server.SetFault(func(memory.Call) memory.Effect { return memory.Effect{Err: broker.ErrUnavailable, Skip: true} })
	c.Advance(10 * time.Second)
	poller.Once(t.Context())
	says("ten seconds of silence are nothing", answering, "")
	c.Advance(time.Millisecond)
	says("more are", answering, "not answered for 10s: survey: the server is unavailable")
	c.Advance(19*time.Second + 998*time.Millisecond)
	says("a beat of just under half a minute", beating, "")
	c.Advance(time.Millisecond)
	says("half a minute without a beat", beating, "stood still for 30s")
	m.Beat()
	says("it beats again", beating, "")
	draining := ops.NotDraining(m)
	says("it works", draining, "")
	m.SetState(metrics.Draining)
	says("it drains", draining, "stops")
	says("all subscriptions work", ops.Subscriptions(failing{}), "")
	says("one has failed", ops.Subscriptions(failing{errors.New("WRONGTYPE")}), "s: WRONGTYPE")
}
