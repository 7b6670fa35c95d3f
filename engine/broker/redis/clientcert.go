package redis

import (
	"crypto/tls"
	"fmt"
	"sync"
)

// clientCertificate is the certificate that a client shows. Its files are read again
// for every new connection, so that a renewed one is shown without a restart. Where
// they cannot be read or do not fit, as between the writing of the one and of the
// other, the last ones that did go on being shown, which is told once, until they can
// be read again.
type clientCertificate struct {
	files *TLS
	warn  func(error)

	mu     sync.Mutex
	good   tls.Certificate
	broken bool
}

// certificates are those of a broker, one for each block: both of its clients show
// the same, and tell of it once.
type certificates struct {
	warn func(error)
	of   map[*TLS]*clientCertificate
}

// get returns the certificate of a block. An error is that of the first reading.
func (c *certificates) get(t *TLS) (*clientCertificate, error) {
	if known := c.of[t]; known != nil {
		return known, nil
	}
	pair, err := t.pair()
	if err != nil {
		return nil, err
	}
	if c.of == nil {
		c.of = make(map[*TLS]*clientCertificate)
	}
	c.of[t] = &clientCertificate{files: t, warn: c.warn, good: pair}
	return c.of[t], nil
}

// show is tls.Config.GetClientCertificate. The certificate is shown whatever
// authorities the server names, so that a wrong one is refused as that.
func (c *clientCertificate) show(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := c.files.pair()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.good, c.broken = pair, false
	} else if !c.broken {
		c.broken = true
		if c.warn != nil {
			c.warn(fmt.Errorf("%w; the client certificate that was read before goes on being shown", err))
		}
	}
	shown := c.good
	return &shown, nil
}
