package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// authority issues certificates into a folder.
type authority struct {
	t      *testing.T
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, folder: t.TempDir()}
	a.issue(name, nil)
	return a
}

// path is the PEM file of a name's certificate or key.
func (a *authority) path(name, what string) string { return filepath.Join(a.folder, name+"."+what) }

// issue writes a certificate for the name, the authority's own if there is none yet.
func (a *authority) issue(name string, hosts []net.IP) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: a.cert == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(a.path(name, "crt"), "CERTIFICATE", der)
	a.write(a.path(name, "key"), "EC PRIVATE KEY", private)
	if a.cert == nil {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
	}
}

func (a *authority) write(path, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// freeAddr is an address nobody listens on.
func freeAddr(t *testing.T) (addr, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return l.Addr().String(), port
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	ca.issue("redis.test", []net.IP{net.IPv4(127, 0, 0, 1)})
	ca.issue("worker", nil)
	addr, port := freeAddr(t)
	redistest.Start(t, "8.6", redistest.Config("tls-port", port), redistest.Config("tls-ca-cert-file", ca.path("ca", "crt")),
		redistest.Config("tls-cert-file", ca.path("redis.test", "crt")), redistest.Config("tls-key-file", ca.path("redis.test", "key")))
	whole := redis.TLS{CA: ca.path("ca", "crt"), Cert: ca.path("worker", "crt"), Key: ca.path("worker", "key")}
	named := whole
	named.ServerName = "redis.test"
	for _, o := range []redis.Options{{URL: "rediss://" + addr, TLS: &whole}, {URL: "redis://" + addr, TLS: &named}} {
		b := openWith(t, o)
		if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
	foreign, wrongName, noCert := whole, whole, whole
	foreign.CA = other.path("other", "crt")
	wrongName.ServerName = "elsewhere.test"
	noCert.Cert, noCert.Key = "", ""
	for want, o := range map[string]redis.Options{
		"unknown authority":  {URL: "rediss://" + addr, TLS: &foreign},
		"elsewhere.test":     {URL: "rediss://" + addr, TLS: &wrongName},
		"payments":           {URL: "rediss://" + addr, TLS: &noCert}, // the server's reason may be lost with the connection
		"connect to " + addr: {URL: "rediss://" + addr, TLS: &foreign},
	} {
		b := openWith(t, o)
		_, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
		wantKind(t, err, broker.ErrUnavailable, want)
	}
}
