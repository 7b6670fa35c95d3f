package web_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/web"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
	"pipeline/tests/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const file = `
pipeline "shop" {
  version  = "7"
  language = 1
}
broker "redis" {
  url = "URL"
}
stream "payments" {
  codec     = "json"
  sensitive = ["card"]
}
stream "screened" {}
stream "dead" {}
handler "post" {
  source = "h.lua"
}
handler "screen" {
  source   = "h.lua"
  function = "screen"
}
group "ledger" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "post_payment" {
    handler    = handler.post
    on_failure = "dead"
    claim {
      min_idle = "60s"
    }
    workers {
      count = 2
    }
  }
}
group "fraud" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "screen_payment" {
    handler = handler.screen
    claim {
      min_idle = "60s"
    }
    reply {
      to = stream.screened
    }
  }
}
`

// The handler says what its entry tells it to say.
const script = `
function handle(e)
  if e.act == "dead" then return dead(e.text) end
  if e.act == "retry" then return retry{ after = "1h", reason = e.text } end
  return ack()
end
function screen(e) return { id = e.id } end
`

// world is a pipeline, what works on it, and its page.
type world struct {
	testing.TB
	pipeline *spec.Pipeline
	broker   broker.Broker
	poller   *poll.Poller
	metrics  *metrics.Metrics
	engine   *engine.Engine
	handlers *build.Handlers
	journal  *web.Journal
	options  web.Options
	site     *web.Site
}

// newWorld opens the page of a pipeline on the server; change may change what it may
// do. Nothing works on it until run is called.
func newWorld(t testing.TB, s *redistest.Server, change ...func(*web.Options)) *world {
	t.Helper()
	w := &world{TB: t}
	w.load(file, s.URL())
	opened, err := build.OpenRedis(w.pipeline.Broker, clock.Real(), nil)
	w.ok(err)
	w.on(opened, change...)
	return w
}

func (w *world) load(file, url string) {
	w.Helper()
	dir := w.TempDir()
	for name, text := range map[string]string{"p.hcl": strings.ReplaceAll(file, "URL", url), "h.lua": script} {
		w.ok(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	p, report := build.Load(filepath.Join(dir, "p.hcl"), build.Vars{})
	if p == nil {
		w.Fatalf("%v", report.All())
	}
	w.pipeline = p
}

func (w *world) on(b broker.Broker, change ...func(*web.Options)) {
	w.Helper()
	w.broker = b
	w.Cleanup(func() { _ = b.Close() })
	c := clock.Real()
	w.journal = web.NewJournal(observe.None{})
	w.metrics = metrics.New(w.pipeline, c, metrics.Build{Version: "v"}, w.journal)
	w.poller = poll.New(w.pipeline, readonly.New(b), c, func() float64 { return 0.5 })
	w.metrics.Poll(w.poller)
	w.options = web.Options{
		Pipeline: w.pipeline, Poller: w.poller, Metrics: w.metrics, Reader: readonly.New(b), Clock: c, Log: slog.New(slog.DiscardHandler),
		Mode: "monitor", Build: view.Version{Version: "v"}, Checks: []ops.Check{ops.Answering(w.poller, c)},
		Command: func(command string, words ...string) string {
			return "pipeline " + command + " p.hcl " + strings.Join(words, " ")
		},
	}
	for _, f := range change {
		f(&w.options)
	}
	w.open()
}

// open opens the page anew.
func (w *world) open() {
	if w.site != nil {
		w.site.Close()
	}
	site := web.New(w.options)
	w.site = site
	w.Cleanup(site.Close)
}

// mayWrite lets the page put dead letters back.
func (w *world) mayWrite() {
	w.options.Writer = w.broker
	w.open()
}

// run has an engine work in this process until the test ends.
func (w *world) run() {
	w.Helper()
	handlers, err := build.Compile(w.pipeline, build.LogHost(slog.New(slog.DiscardHandler)))
	w.ok(err)
	w.handlers = handlers
	w.engine, err = engine.New(engine.Config{
		Pipeline: w.pipeline, Broker: w.broker, Handlers: w.metrics.Handlers(handlers.ByLabel()), Observer: w.metrics,
	})
	w.ok(err)
	w.metrics.Watch(w.engine)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.engine.Run(ctx) })
	w.Cleanup(func() {
		cancel()
		running.Wait()
		_ = handlers.Close()
	})
	<-w.engine.Ready()
	w.options.Engine, w.options.Journal, w.options.Mode = w.engine, w.journal, "run"
	w.options.Sum = func(label string) string {
		sum, _ := handlers.Sum(label)
		return fmt.Sprintf("%x", sum)
	}
	w.open()
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// until waits for something that comes by itself.
func (w *world) until(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatal("waited in vain until " + what)
		}
	}
}

// add adds an entry whose body is JSON.
func (w *world) add(body string, more ...broker.Field) broker.ID {
	w.Helper()
	ids, err := w.broker.Add(context.Background(), []broker.Add{{
		Stream: "payments", Fields: append([]broker.Field{{Name: "_payload", Value: body}}, more...),
	}})
	w.ok(err)
	return ids[0]
}

// length is that of a stream.
func (w *world) length(stream string) int64 {
	w.Helper()
	info, err := w.broker.StreamInfo(context.Background(), stream)
	w.ok(err)
	return info.Length
}

// settled waits until both groups have nothing left to do with n entries.
func (w *world) settled(n int64) {
	w.Helper()
	w.until("all is settled", func() bool {
		snap := w.engine.Snapshot()
		for _, s := range snap.Subscriptions {
			sum := int64(0)
			for _, k := range s.Settled {
				sum += k
			}
			if sum < n {
				return false
			}
		}
		return true
	})
	w.poller.Once(context.Background())
}

// answer is what the page answered.
type answer struct {
	status int
	text   string
	header http.Header
}

// get asks for an address.
func (w *world) get(address string) answer {
	w.Helper()
	return w.send(httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9631"+address, http.NoBody))
}

// post sends a form; a browser sent it from the page.
func (w *world) post(address string, form url.Values) answer {
	w.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:9631"+address, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://127.0.0.1:9631")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return w.send(r)
}

func (w *world) send(r *http.Request) answer {
	w.Helper()
	recorder := httptest.NewRecorder()
	w.site.ServeHTTP(recorder, r)
	result := recorder.Result()
	defer func() { _ = result.Body.Close() }()
	text, err := io.ReadAll(result.Body)
	w.ok(err)
	return answer{result.StatusCode, string(text), result.Header}
}

// page is an address that must answer, with every one of these texts and, after "!",
// none of those.
func (w *world) page(address string, texts ...string) string {
	w.Helper()
	a := w.get(address)
	if a.status != http.StatusOK {
		w.Fatalf("%s: %d\n%s", address, a.status, a.text)
	}
	w.holds(address, a.text, texts...)
	return a.text
}

func (w *world) holds(what, text string, texts ...string) {
	w.Helper()
	for _, want := range texts {
		if without, no := strings.CutPrefix(want, "!"); no {
			if strings.Contains(text, without) {
				w.Errorf("%s has %q:\n%s", what, without, text)
			}
		} else if !strings.Contains(text, want) {
			w.Errorf("%s lacks %q:\n%s", what, want, text)
		}
	}
}

// each runs a test on every server.
func each(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, version)
			s.Record(t)
			test(t, s)
		})
	}
}
