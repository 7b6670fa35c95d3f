// Package ops is the listener for those who operate a process: whether it lives,
// whether it is ready, its metrics, its version, and profiles where they are asked
// for. It shows no payload, no key, no address of a server and no password, and
// changes nothing.
package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pipeline/engine/clock"
)

// Default is where it listens unless it is told.
const Default = "127.0.0.1:9630"

// Check is one thing that has to be well: nil, or what is not.
type Check struct {
	Name  string
	Check func() error
}

// Options are what a listener shows.
type Options struct {
	// Alive, Started and Ready are what /livez, /startupz and /readyz ask. They must
	// answer at once and ask no server.
	Alive, Started, Ready []Check
	// Metrics are what /metrics gathers.
	Metrics prometheus.Gatherer
	// Version is what /version shows, as JSON.
	Version any
	// Profiles serves /debug/pprof/.
	Profiles bool
	Clock    clock.Clock
}

// Handler serves the pages.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", checks(o.Alive))
	mux.Handle("GET /startupz", checks(o.Started))
	mux.Handle("GET /readyz", checks(o.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second}))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(o.Version) // who asked is gone
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "/livez\n/startupz\n/readyz?verbose\n/metrics\n/version\n")
		if o.Profiles {
			fmt.Fprint(w, "/debug/pprof/\n")
		}
	})
	if o.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound) // arguments may hold a secret
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return plain(mux)
}

// plain sets what every answer has.
func plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// checks answers 200 where all is well, and 503 otherwise. With ?verbose it says
// what of each.
func checks(list []Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var text strings.Builder
		status := http.StatusOK
		for _, c := range list {
			if err := c.Check(); err != nil {
				status = http.StatusServiceUnavailable
				fmt.Fprintf(&text, "[-] %s: %v\n", c.Name, err)
			} else {
				fmt.Fprintf(&text, "[+] %s\n", c.Name)
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		if r.URL.Query().Has("verbose") || status != http.StatusOK {
			fmt.Fprint(w, text.String())
			return
		}
		fmt.Fprint(w, "ok\n")
	})
}

// Listener listens.
type Listener struct {
	net     net.Listener
	server  *http.Server
	secured *Secured
	ended   chan error
}

// ErrInUse says that somebody else listens there.
var ErrInUse = errors.New("the address is in use")

// Listen begins to listen and serve, with TLS and a login where secured is not nil. Close
// ends it. The error of a taken address is ErrInUse.
func Listen(ctx context.Context, address string, h http.Handler, secured *Secured, log *slog.Logger) (*Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: %w", address, ErrInUse)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	s := &Listener{net: l, secured: secured, ended: make(chan error, 1), server: &http.Server{
		ErrorLog: stdlog.New(complaints{log}, "", 0), Handler: h,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}}
	serve := func() error { return s.server.Serve(l) }
	if secured != nil {
		serve = func() error { return secured.serve(l, s.server, log) }
	}
	go func() { s.ended <- serve() }()
	return s, nil
}

// complaints are what an HTTP server says of its connections. Who breaks one off, or is
// no browser at all, is no matter of those who read the log; a panic is.
type complaints struct{ log *slog.Logger }

// Write implements io.Writer, for a log.Logger: a message each time.
func (c complaints) Write(p []byte) (int, error) {
	level, text := slog.LevelDebug, strings.TrimSpace(string(p))
	if strings.Contains(text, ": panic serving ") { // by HTTP/1 or HTTP/2
		level = slog.LevelError
	}
	c.log.Log(context.Background(), level, text, slog.String("event", "http.error"))
	return len(p), nil
}

// OfThisMachine reports whether no other machine can reach an address, HOST:PORT. A name
// other than localhost is not looked up: what it means may change.
func OfThisMachine(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Addr is where it listens: the port that was found where 0 was asked for.
func (l *Listener) Addr() string { return l.net.Addr().String() }

// URL is Addr with what it is asked by.
func (l *Listener) URL() string {
	if l.secured.TLS() {
		return "https://" + l.Addr()
	}
	return "http://" + l.Addr()
}

// Close ends what is being served.
func (l *Listener) Close() error {
	err := l.server.Close()
	if end := <-l.ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}
