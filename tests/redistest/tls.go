package redistest

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strconv"
)

// secure is how a server speaks TLS, and how its test does with it.
type secure struct {
	// of is the certificate of the clients of [Server].
	of     Certificate
	ca     string
	config *tls.Config
}

// TLS has the server speak TLS and nothing else, with its replicas, its cluster and
// its sentinels too. It shows the certificate, and asks whoever connects for one of
// the authority's. Of a certificate that is written anew the server knows with its
// next start.
func TLS(a *Authority, c Certificate) Option {
	a.t.Helper()
	of := a.Issue("redistest")
	pair, err := tls.LoadX509KeyPair(of.Cert, of.Key)
	a.check(err)
	ca, err := os.ReadFile(a.CA)
	a.check(err)
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Name, RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{pair}}
	config.RootCAs.AppendCertsFromPEM(ca)
	return func(s *settings) {
		s.secure = &secure{of: of, ca: a.CA, config: config}
		s.directives = append(
			s.directives, []string{"tls-ca-cert-file", a.CA}, []string{"tls-cert-file", c.Cert}, []string{"tls-key-file", c.Key},
			[]string{"tls-replication", "yes"}, []string{"tls-cluster", "yes"},
		)
	}
}

// ports are the directives that have a server listen.
func (s *settings) ports(port int) [][]string {
	if s.secure == nil {
		return [][]string{{"port", strconv.Itoa(port)}}
	}
	return [][]string{{"port", "0"}, {"tls-port", strconv.Itoa(port)}}
}

// cli are the arguments of redis-cli for such a server; nil speaks no TLS.
func (s *secure) cli() []string {
	if s == nil {
		return nil
	}
	return []string{"--tls", "--cacert", s.ca, "--cert", s.of.Cert, "--key", s.of.Key}
}
