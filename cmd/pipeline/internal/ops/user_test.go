package ops_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/tests/redistest"
)

// Who has logged in has the name of the user whose password it was, else that of the
// certificate; a name beside a certificate, which nobody has checked, is none.
func TestWhoHasLoggedIn(t *testing.T) {
	said := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "user %q", ops.User(r.Context())) })
	ask := "client_auth_type: RequireAndVerifyClientCert"
	l := newLocked(t)
	l.says(l.tls(), l.user("ada", "right"))
	l.listen(said)
	l.gets(who{name: "ada", password: "right"}, 200, `user "ada"`)
	l.says(l.tls(ask, "client_ca_file: "+l.authority.CA))
	l.gets(who{cert: l.authority.Issue("worker-7"), name: "ada", password: "right"}, 200, `user "worker-7"`)
	l.says(l.tls(ask, "client_ca_file: "+l.authority.CA), l.user("ada", "right"))
	l.gets(who{cert: l.authority.Issue("worker-7"), name: "ada", password: "right"}, 200, `user "ada"`)

	open := newLocked(t)
	open.says(open.tls())
	open.listen(said)
	open.gets(who{name: "ada", password: "right"}, 200, `user ""`)
	open.gets(who{cert: redistest.NewAuthority(t, "stranger").Issue("ada")}, 200, `user ""`)
	if user := ops.User(context.Background()); user != "" {
		t.Errorf("of nothing: %q", user)
	}
}
