// Package web is the page on which people look at a pipeline, try its handlers without
// effects, and, where that is allowed, put dead letters back. It is rendered on the server and readable without
// scripts; a small script keeps what is shown up to date.
//
// What a page shows of streams and groups comes from the poller of the process,
// however many look: an open page costs the server nothing. Only the pages of
// entries ask the server, once for each time that somebody opens one, and that of
// health, once a minute at most for all who open it.
//
// What streams declare sensitive is masked here, before it is sent. The page shows
// no address of a server and no password.
package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/topology"
	"pipeline/cmd/pipeline/internal/trial"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// Default is where dev and monitor listen unless they are told.
const Default = "127.0.0.1:9631"

// Options are what a page shows and may do.
type Options struct {
	Pipeline *spec.Pipeline
	Poller   *poll.Poller
	// Metrics are those of the process, Engine what works in it; nil where nothing
	// does.
	Metrics *metrics.Metrics
	Engine  metrics.Engine
	// Reader is asked for entries. Writer puts dead letters back; nil where the page
	// changes nothing.
	Reader, Writer broker.Broker
	// Examine looks for what is wrong with the server, the login, the streams and the
	// groups, as doctor does. It only looks, and returns early when ctx is done. It is
	// nil where there is no server.
	Examine func(ctx context.Context) []view.Finding
	// Checks are those of /readyz.
	Checks []ops.Check
	Build  view.Version
	// Mode is the command that serves the page: "run", "monitor" or "dev".
	Mode string
	// Journal has the events of the engine; nil where there is none.
	Journal *Journal
	// Hosts are names, beside those of this machine, under which a browser may ask
	// for the page.
	Hosts []string
	// Command is a command line of the program to go on with. Its words come after
	// the command; PATH is filled in.
	Command func(command string, words ...string) string
	// Sum is what the code of a handler that runs is told by; "" where it is not
	// known.
	Sum   func(handler string) string
	Clock clock.Clock
	Log   *slog.Logger
}

// Site serves the pages. Close ends what it has begun.
type Site struct {
	Options

	handler http.Handler
	view    *view.View
	graph   *topology.Graph
	started time.Time
	looks   looks
	replays replays
	exams   exams
	trial   *trial.Runner
	// asking bounds the requests that ask the server at once, following those that
	// are kept up to date.
	asking, following chan struct{}
}

// What a site does at once.
const (
	maxAsking    = 2
	maxFollowing = 64
)

// New returns a site.
func New(o Options) *Site {
	s := &Site{
		Options: o, view: view.New(view.Options{Out: io.Discard, Err: io.Discard}), graph: topology.New(o.Pipeline), started: o.Clock.Now(),
		asking: make(chan struct{}, maxAsking), following: make(chan struct{}, maxFollowing),
	}
	s.trial = trial.New(o.Pipeline, s.view, o.Clock)
	s.replays.begin()
	s.exams.begin()
	mux := http.NewServeMux()
	mux.Handle("GET /static/{name}", http.HandlerFunc(static))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /follow", s.follow)
	for pattern, page := range map[string]page{
		"GET /{$}":                           s.overview,
		"GET /group/{label}":                 s.group,
		"GET /group/{label}/pending":         s.pending,
		"GET /dead-letters":                  s.letters,
		"GET /dead-letters/letter":           s.letter,
		"POST /dead-letters/preview":         s.preview,
		"GET /dead-letters/replay/{token}":   s.replay,
		"POST /dead-letters/replay/{token}":  s.start,
		"POST /dead-letters/discard/{token}": s.discard,
		"GET /entry":                         s.entry,
		"POST /entry/try":                    s.tryEntry,
		"GET /handler/{label}":               s.handlerPage,
		"POST /handler/{label}/try":          s.tryHandler,
		"GET /health":                        s.health,
		"POST /health/examine":               s.examineAgain,
		"GET /events":                        s.events,
		"/":                                  s.nowhere,
	} {
		mux.Handle(pattern, s.serve(page))
	}
	s.api(mux)
	s.handler = s.guard(mux)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close stops a replay between two of its batches and waits for it. Its selection
// stays in its file.
func (s *Site) Close() {
	s.exams.close()
	s.replays.close()
	if err := s.trial.Close(); err != nil {
		s.Log.Warn("what was compiled to try handlers was not freed", slog.String("event", "ui.closed"), slog.String("error", err.Error()))
	}
}
