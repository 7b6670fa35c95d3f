package web_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/web"
	"pipeline/tests/redistest"
)

// Every look of the poller is told to a page that follows, also after the time that
// the listener gives a request to be read; more than a number of pages are refused.
func TestAPageIsToldOfEveryLook(t *testing.T) {
	t.Parallel()
	t.Run("HTTP/1.1", func(t *testing.T) {
		t.Parallel()
		followsEveryLook(t, nil, &http.Transport{})
	})
	// A connection with TLS carries all requests of a browser at once.
	t.Run("HTTP/2.0", func(t *testing.T) {
		t.Parallel()
		authority := redistest.NewAuthority(t, "authority")
		server, path := authority.Issue("pipeline", redistest.ForLoopback), filepath.Join(t.TempDir(), "web.yml")
		if err := os.WriteFile(path, fmt.Appendf(nil, "tls_server_config: {cert_file: %s, key_file: %s}", server.Cert, server.Key), 0o600); err != nil {
			t.Fatal(err)
		}
		secured, err := ops.Secure(path, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ca, err := os.ReadFile(authority.CA)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		followsEveryLook(t, secured, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true})
	})
}

func followsEveryLook(t *testing.T, secured *ops.Secured, transport *http.Transport) {
	t.Helper()
	w := inMemory(t)
	l, err := ops.Listen(t.Context(), "127.0.0.1:0", w.site, secured, slog.New(slog.DiscardHandler))
	w.ok(err)
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	type followed struct {
		status int
		kind   string
		lines  *bufio.Scanner
		end    func()
	}
	follow := func() followed {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL()+"/follow", http.NoBody)
		w.ok(err)
		a, err := client.Do(r) //nolint:bodyclose // end closes it
		w.ok(err)
		if a.Proto != t.Name()[strings.LastIndex(t.Name(), "/HTTP")+1:] {
			t.Fatalf("it speaks %s", a.Proto)
		}
		return followed{a.StatusCode, a.Header.Get("Content-Type"), bufio.NewScanner(a.Body), func() { _ = a.Body.Close() }}
	}
	first := follow()
	if first.status != http.StatusOK || first.kind != "text/event-stream" {
		t.Fatalf("%+v", first)
	}
	next := func() string {
		for first.lines.Scan() {
			if text, ok := strings.CutPrefix(first.lines.Text(), "event: "); ok {
				return text
			}
		}
		return ""
	}
	for range 3 {
		w.poller.Once(t.Context())
		if got := next(); got != "look" {
			t.Fatalf("%q", got)
		}
	}
	// Longer than ops.Listen gives a request.
	late := time.NewTimer(11 * time.Second)
	defer late.Stop()
	<-late.C
	w.poller.Once(t.Context())
	if got := next(); got != "look" {
		t.Errorf("a page is not followed for longer than a request may take to be read: %q", got)
	}
	open := []followed{first}
	for range web.MaxFollowing - 1 {
		open = append(open, follow())
	}
	more := follow()
	if more.end(); more.status != http.StatusServiceUnavailable {
		t.Errorf("one more than is allowed: %d", more.status)
	}
	for _, one := range open {
		one.end()
	}
	w.until("those who left are forgotten", func() bool {
		w.poller.Once(t.Context())
		one := follow()
		defer one.end()
		return one.status == http.StatusOK
	})
	w.ok(l.Close())
}
