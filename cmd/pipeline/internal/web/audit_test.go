package web_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/tests/program"
)

// The log says who put letters back: by his name where people log in, which nobody can
// give himself where nobody does.
func TestTheLogSaysWhoReplayed(t *testing.T) {
	t.Parallel()
	for _, login := range []bool{true, false} {
		t.Run(fmt.Sprintf("login %t", login), func(t *testing.T) {
			t.Parallel()
			out := &program.Output{}
			w := inMemory(t)
			w.options.Log = slog.New(slog.NewTextHandler(out, nil))
			w.run()
			w.add(`{"id":1,"act":"dead","text":"no such account"}`)
			w.settled(1)
			w.mayWrite()
			var secured *ops.Secured
			if login {
				hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
				w.ok(err)
				path := filepath.Join(t.TempDir(), "web.yml")
				w.ok(os.WriteFile(path, fmt.Appendf(nil, "basic_auth_users:\n  ada: %s\n", hash), 0o600))
				secured, err = ops.Secure(path, "127.0.0.1:0")
				w.ok(err)
			}
			l, err := ops.Listen(t.Context(), "127.0.0.1:0", w.site, secured, slog.New(slog.DiscardHandler))
			w.ok(err)
			defer func() { _ = l.Close() }()
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			send := func(path string, form url.Values) string {
				t.Helper()
				r := httptest.NewRequest(http.MethodPost, l.URL()+path, strings.NewReader(form.Encode()))
				r.RequestURI = ""
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.SetBasicAuth("ada", "right")
				a, err := client.Do(r)
				w.ok(err)
				defer func() { _ = a.Body.Close() }()
				if a.StatusCode != http.StatusSeeOther {
					t.Fatalf("%s: %d", path, a.StatusCode)
				}
				return a.Header.Get("Location")
			}
			send(send("/dead-letters/preview", url.Values{"stream": {"dead"}, "all": {"1"}}), url.Values{"rate": {"5000"}})
			w.until("it is in the log", func() bool { return strings.Contains(out.String(), "event=dlq.replay") })
			if got := strings.Contains(out.String(), " user=ada"); got != login || !strings.Contains(out.String(), " from=127.0.0.1:") {
				t.Errorf("login %t: %s", login, out)
			}
		})
	}
}
