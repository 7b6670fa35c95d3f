package redis

import (
	"crypto/x509"
	"time"
)

// Certificate is when a certificate ends that a connection depends on.
type Certificate struct {
	// Client: it is the one that this side shows; else one of the server's chain.
	Client bool
	// Subject is whom it is for.
	Subject string
	Ends    time.Time
}

// Certificates are, of the servers that were connected to by TLS, the certificate that
// ends first, and those that this side shows. There are none without TLS, or before
// the first connection. Nothing is asked.
func (b *Broker) Certificates() []Certificate {
	var all []Certificate
	if c := b.sockets.shown.Load(); c != nil {
		all = append(all, *c)
	}
	for _, client := range b.certificates.of {
		client.mu.Lock()
		leaf := client.good.Leaf
		client.mu.Unlock()
		if leaf != nil {
			all = append(all, Certificate{Client: true, Subject: leaf.Subject.String(), Ends: leaf.NotAfter})
		}
	}
	return all
}

// endsFirst is the one of a chain, and of what was found before, that ends first.
func endsFirst(first *Certificate, chain []*x509.Certificate) *Certificate {
	for _, c := range chain {
		if first == nil || c.NotAfter.Before(first.Ends) {
			first = &Certificate{Subject: c.Subject.String(), Ends: c.NotAfter}
		}
	}
	return first
}
