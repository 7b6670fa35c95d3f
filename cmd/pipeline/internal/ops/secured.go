package ops

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"
)

// Secured is TLS and a login for what is served, as a file says that has the format of
// Prometheus and its exporters:
// https://prometheus.io/docs/prometheus/latest/configuration/https/
//
// The file and the certificates that it names are read anew for each connection and
// each request, so that they can be renewed while the process runs. It is safe for
// concurrent use.
type Secured struct {
	path string
	// login: it asked for one at the start.
	login, tls bool
}

// verified is the one policy for client certificates that keeps strangers out.
const verified = "RequireAndVerifyClientCert"

// Secure reads the file, and all that it names. It refuses passwords that would go
// over the wire in the clear to an address that other machines reach.
func Secure(path, address string) (*Secured, error) {
	if err := web.Validate(path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c, err := readSecured(path)
	if err != nil {
		return nil, err
	}
	s := &Secured{path: path, tls: c.TLSConfig.IsEnabled(), login: len(c.Users) > 0 || asksForCertificate(c)}
	if c.TLSConfig.ClientAuth == verified && !asksForCertificate(c) {
		return nil, fmt.Errorf("%s: client_auth_type is %s without a client_ca_file, which would let in whoever has a certificate of any public authority", path, verified)
	}
	if len(c.Users) > 0 && !s.tls && !OfThisMachine(address) {
		return nil, fmt.Errorf("%s: basic_auth_users without TLS: passwords would go to %s in the clear; "+
			"add tls_server_config with cert_file and key_file", path, address)
	}
	return s, nil
}

// TLS reports whether nobody between can read along.
func (s *Secured) TLS() bool { return s != nil && s.tls }

// Login reports whether everybody has to say who he is, by a password or a certificate.
func (s *Secured) Login() bool { return s != nil && s.login }

func readSecured(path string) (*web.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &web.Config{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func asksForCertificate(c *web.Config) bool {
	return c.TLSConfig.ClientAuth == verified && (c.TLSConfig.ClientCAs != "" || c.TLSConfig.ClientCAsText != "")
}

// serve is http.Server.Serve with what the file says.
func (s *Secured) serve(l net.Listener, server *http.Server, log *slog.Logger) error {
	if s.login {
		server.Handler = s.demand(server.Handler)
	}
	// It tells what it does as a log of its own would; only what goes wrong is for ours.
	log = slog.New(warnings{log.With(slog.String("event", "web_config.unusable"), slog.String("file", s.path)).Handler()})
	return web.Serve(l, server, &web.FlagConfig{WebConfigFile: &s.path}, log)
}

// demand lets nobody through who did not log in. The file is read again and again, and
// one that no longer has users, for a moment or for good, would open what was closed.
func (s *Secured) demand(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := readSecured(s.path)
		user := ""
		if err == nil {
			user = loggedIn(c, r)
		}
		if user == "" {
			http.Error(w, "The file of users and certificates asked for a login when this process started, and no longer does. "+
				"Restore it, or start the process again.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
	})
}

// loggedIn is who asks: the user whose password was checked before, or the one that a
// verified certificate names; "" where the file asks for neither.
func loggedIn(c *web.Config, r *http.Request) string {
	if user, _, _ := r.BasicAuth(); c.Users[user] != "" {
		return user
	}
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || !asksForCertificate(c) {
		return ""
	}
	subject := r.TLS.VerifiedChains[0][0].Subject
	return cmp.Or(subject.CommonName, subject.String(), "a certificate without a name")
}

type userKey struct{}

// User is who has logged in for a request, by the name of the user or of the
// certificate; "" where nobody has to.
func User(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// warnings passes on what is at least a warning.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
