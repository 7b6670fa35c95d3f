package ops_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/tests/redistest"
)

// lines is a log that can be read meanwhile.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// locked is a listener with a file of TLS and users.
type locked struct {
	*testing.T

	authority *redistest.Authority
	server    redistest.Certificate
	path      string
	log       lines
	listener  *ops.Listener
}

func newLocked(t *testing.T) *locked {
	t.Helper()
	l := &locked{T: t, authority: redistest.NewAuthority(t, "authority"), path: filepath.Join(t.TempDir(), "web.yml")}
	l.server = l.authority.Issue("pipeline", redistest.ForLoopback)
	return l
}

// says puts a file in place, as whole as who changes it should.
func (l *locked) says(parts ...string) {
	l.Helper()
	l.ok(os.WriteFile(l.path+".new", []byte(strings.Join(parts, "\n")), 0o600))
	l.ok(os.Rename(l.path+".new", l.path))
}

func (l *locked) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// tls are the lines of the server's certificate and others of tls_server_config.
func (l *locked) tls(more ...string) string {
	text := fmt.Sprintf("tls_server_config:\n  cert_file: %s\n  key_file: %s\n", l.server.Cert, l.server.Key)
	for _, line := range more {
		text += "  " + line + "\n"
	}
	return text
}

// user are the lines of one who may look.
func (l *locked) user(name, password string) string {
	l.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	l.ok(err)
	return fmt.Sprintf("basic_auth_users:\n  %s: %s\n", name, hash)
}

// listen serves what the file protects.
func (l *locked) listen(h http.Handler) {
	l.Helper()
	secured, err := ops.Secure(l.path, "127.0.0.1:0")
	l.ok(err)
	l.listener, err = ops.Listen(context.Background(), "127.0.0.1:0", h, secured, slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	l.ok(err)
	l.Cleanup(func() {
		if err := l.listener.Close(); err != nil {
			l.Error(err)
		}
	})
}

// who asks: with a certificate, or a name and a password, on a connection of his own.
type who struct {
	cert           redistest.Certificate
	name, password string
}

// ask is the status of an answer, what it says, and the number of the server's
// certificate; without an answer the status is 0.
func (l *locked) ask(w who) (status int, text, serial string) {
	l.Helper()
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(l.authority.CA)
	l.ok(err)
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	if w.cert.Cert != "" {
		pair, err := tls.LoadX509KeyPair(w.cert.Cert, w.cert.Key)
		l.ok(err)
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	r, err := http.NewRequestWithContext(l.Context(), http.MethodGet, l.listener.URL()+"/", http.NoBody)
	l.ok(err)
	if w.name != "" {
		r.SetBasicAuth(w.name, w.password)
	}
	a, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return 0, err.Error(), ""
	}
	defer func() { _ = a.Body.Close() }()
	body, err := io.ReadAll(a.Body)
	l.ok(err)
	if a.TLS != nil {
		serial = a.TLS.PeerCertificates[0].SerialNumber.String()
	}
	return a.StatusCode, string(body), serial
}

func (l *locked) gets(w who, want int, says string) {
	l.Helper()
	if got, text, _ := l.ask(w); got != want || !strings.Contains(text, says) {
		l.Errorf("%+v gets %d %q, want %d %q", w, got, text, want, says)
	}
}

var open = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "come in") })

func TestAPassword(t *testing.T) {
	l := newLocked(t)
	l.says(l.tls(), l.user("ada", "right"))
	l.listen(open)
	if !strings.HasPrefix(l.listener.URL(), "https://127.0.0.1:") {
		t.Error(l.listener.URL())
	}
	l.gets(who{}, 401, "Unauthorized")
	l.gets(who{name: "ada", password: "wrong"}, 401, "")
	l.gets(who{name: "bob", password: "right"}, 401, "")
	l.gets(who{name: "ada", password: "right"}, 200, "come in")
	// It is taken from one and given to another without a new start.
	l.says(l.tls(), l.user("bob", "better"))
	l.gets(who{name: "ada", password: "right"}, 401, "")
	l.gets(who{name: "bob", password: "better"}, 200, "come in")
}

func TestACertificate(t *testing.T) {
	l := newLocked(t)
	stranger := redistest.NewAuthority(t, "stranger").Issue("ada")
	l.says(l.tls("client_auth_type: RequireAndVerifyClientCert", "client_ca_file: "+l.authority.CA))
	l.listen(open)
	l.gets(who{}, 0, "")
	l.gets(who{cert: stranger}, 0, "")
	l.gets(who{cert: l.authority.Issue("ada", redistest.Expired)}, 0, "")
	l.gets(who{cert: l.authority.Issue("ada")}, 200, "come in")
	// The server's own is renewed without a new start.
	_, _, before := l.ask(who{cert: l.authority.Issue("ada")})
	l.authority.Issue("pipeline", redistest.ForLoopback)
	if _, _, after := l.ask(who{cert: l.authority.Issue("ada")}); after == before || after == "" {
		t.Errorf("the server shows the certificate %s, before %s", after, before)
	}
}

// What asked for a login at the start does not go without one, whatever becomes of the file.
func TestAFileThatAsksForALoginNoMore(t *testing.T) {
	l := newLocked(t)
	ada := who{name: "ada", password: "right"}
	l.says(l.tls(), l.user("ada", "right"))
	l.listen(open)
	l.gets(ada, 200, "come in")
	l.says(l.tls())
	l.gets(ada, 403, "Restore it")
	l.gets(who{}, 403, "Restore it")
	l.gets(who{cert: redistest.NewAuthority(t, "stranger").Issue("ada")}, 403, "Restore it")
	// A certificate that nobody has to show is no login, though it was verified.
	l.says(l.tls("client_auth_type: VerifyClientCertIfGiven", "client_ca_file: "+l.authority.CA))
	l.gets(who{cert: l.authority.Issue("ada")}, 403, "Restore it")
	l.says(l.tls(), "basic_auth_users: [")
	l.gets(ada, 0, "") // no new connection: it might ask for a certificate
	l.ok(os.Remove(l.path))
	l.gets(ada, 0, "")
	l.says(l.tls(), l.user("ada", "right"))
	l.gets(ada, 200, "come in")
}

func TestFilesThatWouldNotKeepStrangersOut(t *testing.T) {
	l := newLocked(t)
	text := func(parts ...string) string { return strings.Join(parts, "\n") }
	for name, c := range map[string]struct{ text, address, want string }{
		"nothing to read":                 {"", "127.0.0.1:0", ""},
		"a password in the clear":         {l.user("ada", "right"), "0.0.0.0:0", "in the clear"},
		"a password on this machine":      {l.user("ada", "right"), "127.0.0.1:0", ""},
		"a password that is not hashed":   {text(l.tls(), "basic_auth_users: {ada: secret}"), "127.0.0.1:0", "hash"},
		"an unknown word":                 {text(l.tls(), "users: {ada: secret}"), "127.0.0.1:0", "users"},
		"certificates of any authority":   {l.tls("client_auth_type: RequireAndVerifyClientCert"), "127.0.0.1:0", "client_ca_file"},
		"an authority that nobody asks":   {l.tls("client_ca_file: " + l.authority.CA), "127.0.0.1:0", "Client Auth"},
		"a key that is not there":         {"tls_server_config: {cert_file: " + l.server.Cert + ", key_file: none.key}", "127.0.0.1:0", "none.key"},
		"a certificate that is not there": {"tls_server_config: {cert_file: none.crt, key_file: " + l.server.Key + "}", "127.0.0.1:0", "none.crt"},
	} {
		l.says(c.text)
		_, err := ops.Secure(l.path, c.address)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), l.path)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows a password: %v", name, err)
		}
	}
	if _, err := ops.Secure(filepath.Join(t.TempDir(), "none.yml"), "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "none.yml") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestWhatATLSPageNeeds(t *testing.T) {
	l := newLocked(t)
	certificate := "client_auth_type: RequireAndVerifyClientCert"
	for name, c := range map[string]struct {
		text       string
		tls, login bool
	}{
		"nothing":                 {"", false, false},
		"TLS":                     {l.tls(), true, false},
		"a certificate if given":  {l.tls("client_auth_type: VerifyClientCertIfGiven", "client_ca_file: "+l.authority.CA), true, false},
		"any certificate":         {l.tls("client_auth_type: RequireAnyClientCert", "client_ca_file: "+l.authority.CA), true, false},
		"a certificate":           {l.tls(certificate, "client_ca_file: "+l.authority.CA), true, true},
		"a password":              {l.user("ada", "right"), false, true},
		"TLS and a password":      {l.tls() + l.user("ada", "right"), true, true},
		"TLS and nobody's at all": {l.tls() + "basic_auth_users: {}\n", true, false},
	} {
		l.says(c.text)
		s, err := ops.Secure(l.path, "127.0.0.1:0")
		if err != nil || s.TLS() != c.tls || s.Login() != c.login {
			t.Errorf("%s: TLS %t, login %t, %v; want %t, %t", name, s.TLS(), s.Login(), err, c.tls, c.login)
		}
	}
	var none *ops.Secured
	if none.TLS() || none.Login() {
		t.Error("no file is TLS, or a login")
	}
}

// Whoever breaks off a connection is told at the level of debugging, a panic is an error.
func TestWhatTheHTTPServerComplainsOf(t *testing.T) {
	l := newLocked(t)
	l.says(l.tls())
	l.listen(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a fault of ours") }))
	l.gets(who{}, 0, "")
	r, err := http.Get("http://" + l.listener.Addr() + "/") //nolint:noctx // it is answered at once
	l.ok(err)
	_ = r.Body.Close()
	if _, err := tls.Dial("tcp", l.listener.Addr(), &tls.Config{}); err == nil { //nolint:noctx // the same
		t.Error("a client that knows no authority is content")
	}
	for _, want := range []string{`level=ERROR msg="http2: panic serving`, `level=DEBUG msg="http: TLS handshake error`, "event=http.error"} {
		if !strings.Contains(l.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, l.log.String())
		}
	}
	if strings.Contains(l.log.String(), "level=INFO") {
		t.Errorf("it tells what only its library wants to:\n%s", l.log.String())
	}
}
