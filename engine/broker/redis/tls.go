package redis

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// TLS names PEM files. Without CA the machine's certificates are trusted; Cert
// and Key come together; ServerName replaces the host as the name to verify. The
// files are read when the broker is opened, and Cert and Key again for every new
// connection.
type TLS struct{ CA, Cert, Key, ServerName string }

// config reads the files and adds them to base, which may be nil.
func (t *TLS) config(base *tls.Config, shared *certificates) (*tls.Config, error) {
	if t == nil {
		return base, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		c = base.Clone()
	}
	if t.ServerName != "" {
		c.ServerName = t.ServerName
	}
	if t.CA != "" {
		text, err := readPEM("ca", t.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls: ca: %s holds no PEM certificate", t.CA)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("tls: cert and key belong together, one is missing")
	}
	if t.Cert != "" {
		client, err := shared.get(t)
		if err != nil {
			return nil, err
		}
		c.GetClientCertificate = client.show
	}
	return c, nil
}

// pair reads the client's certificate and its key. No error holds any of the key.
func (t *TLS) pair() (tls.Certificate, error) {
	cert, err := readPEM("cert", t.Cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM("key", t.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	if hasPassphrase(key) {
		return tls.Certificate{}, fmt.Errorf("tls: key: %s is protected by a passphrase, and there is no argument for one; "+
			"give a copy without it, which only the user of this process may read: openssl pkey -in FILE -out COPY", t.Key)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("tls: cert and key: %s and %s: %w", t.Cert, t.Key, err)
	}
	return pair, nil
}

// readPEM reads the file of an argument. One that holds the PEM text where its path
// belongs is told so without the text, which may be a key.
func readPEM(argument, path string) ([]byte, error) {
	if strings.Contains(path, "-----BEGIN") || strings.Contains(path, "\n") {
		return nil, fmt.Errorf("tls: %s: want the path of a PEM file, not what stands in it (the value is not shown)", argument)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tls: %s: %w", argument, err)
	}
	return text, nil
}

// hasPassphrase reports whether a PEM file holds a key that is encrypted: by the type
// of RFC 7468, section 11, or the older header of RFC 1421, section 4.6.1.1.
func hasPassphrase(text []byte) bool {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return false
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
	}
}
