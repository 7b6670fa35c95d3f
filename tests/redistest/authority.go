package redistest

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
)

// Authority signs certificates and keeps their PEM files as long as the test. Its
// methods fail the test instead of returning errors.
type Authority struct {
	// CA is the path of the authority's own certificate.
	CA string

	t      testing.TB
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// Certificate is a pair of PEM files.
type Certificate struct {
	// Name is the name that the certificate is for.
	Name string
	// Cert and Key are paths.
	Cert, Key string
}

// NewAuthority makes an authority of that name. Changes are made before its certificate
// is signed.
func NewAuthority(t testing.TB, name string, changes ...func(*x509.Certificate)) *Authority {
	t.Helper()
	a := &Authority{t: t, folder: t.TempDir()}
	a.CA = a.Issue(name, changes...).Cert
	return a
}

// Issue makes a certificate for a name, with which a server or a client may show
// who it is, for an hour. Changes are made before it is signed. One of the same name
// takes the place of the one before, in the same files.
func (a *Authority) Issue(name string, changes ...func(*x509.Certificate)) Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: a.cert == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, change := range changes {
		change(template)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		template.KeyUsage |= x509.KeyUsageCertSign
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	a.check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	a.check(err)
	if a.cert == nil {
		a.key = key
		a.cert, err = x509.ParseCertificate(der)
		a.check(err)
	}
	return Certificate{Name: name, Cert: a.write(name+".crt", "CERTIFICATE", der), Key: a.write(name+".key", "PRIVATE KEY", private)}
}

// ForLoopback makes a certificate good for 127.0.0.1 besides its name.
func ForLoopback(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }

// Expired makes a certificate that is valid no more.
func Expired(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }

// write puts a file in place whole, as who renews certificates should: a worker may
// read it at any time.
func (a *Authority) write(name, kind string, der []byte) (path string) {
	a.t.Helper()
	path = filepath.Join(a.folder, name)
	a.check(os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	a.check(os.Rename(path+".new", path))
	return path
}

func (a *Authority) check(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}
