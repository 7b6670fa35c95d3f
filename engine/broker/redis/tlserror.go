package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// tlsError is why a connection by TLS came to nothing, with what to do about it.
type tlsError struct {
	addr, remedy string
	err          error
}

// Error names the server, the reason, and what to set.
func (e *tlsError) Error() string {
	return "connect to " + e.addr + ": " + e.err.Error() + "; " + e.remedy
}

// Unwrap is the reason.
func (e *tlsError) Unwrap() error { return e.err }

// guide says what to do about errors of TLS, to whoever wrote the block of that name.
type guide struct {
	block string
	// shows: there is a client certificate.
	shows bool
}

// dialer has the errors of next, and of what it opens, say what to do about them.
func (g guide) dialer(next dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, g.explain(addr, err)
		}
		if secure, ok := conn.(*tls.Conn); ok {
			plain, _ := secure.NetConn().(syscall.Conn)
			return &guided{Conn: secure, plain: plain, guide: g, addr: addr}, nil
		}
		if plain, ok := conn.(syscall.Conn); ok && conn.RemoteAddr().Network() == "tcp" {
			return &unguarded{Conn: conn, plain: plain, guide: g, addr: addr}, nil
		}
		return conn, nil
	}
}

// explain turns an error of TLS into one with a remedy; others stay what they are.
func (g guide) explain(addr string, err error) error {
	if remedy := g.remedy(err); remedy != "" {
		return explained(&tlsError{addr: addr, remedy: remedy, err: err})
	}
	return err
}

// explained keeps the explanation from being lost: the library takes off one layer of
// what it wraps.
func explained(e *tlsError) error { return errors.Join(e) }

func (g guide) remedy(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "set ca in " + g.block + " to the authority that signed the server's certificate"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "set server_name in " + g.block + " to a name that the certificate has"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "give the server a certificate that is valid now, if this machine's clock is right"
	}
	// A server without TLS takes the client's first words for the beginning of a command
	// and waits for its end. That a server cannot be reached in time is a net.OpError.
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, operation := errors.AsType[*net.OpError](err)
	if record || errors.Is(err, context.DeadlineExceeded) && !operation {
		return "there was no handshake: if the server does not speak TLS at this port, name its tls-port, or connect by redis:// and without " + g.block
	}
	// What the server says is an alert, whose type the library keeps to itself.
	if said, ok := errors.AsType[*net.OpError](err); ok && said.Op == "remote error" {
		return g.alert(said.Err.Error())
	}
	return ""
}

// alert is what to do about an alert of the server (RFC 8446, section 6.2). TLS 1.2
// has none for a client that shows no certificate.
func (g guide) alert(text string) string {
	refused := strings.Contains(text, "certificate") || strings.Contains(text, "handshake failure")
	switch {
	case !refused:
		return "the server's log may say more"
	case !g.shows:
		return "the server asks for a client certificate: set cert and key in " + g.block
	}
	return "the server refuses the client certificate: cert in " + g.block + " has to be valid now, and of an authority that the server trusts (its tls-ca-cert-file)"
}

// guided is a connection by TLS. By SyscallConn the client sees that one which lies idle
// was closed, and takes another one; it does not see what waits to be read, which may be
// of TLS itself. With TLS 1.3 a client is through with the handshake
// before the server has judged its certificate, so that a refusal comes when a first
// command is written or its answer read.
type guided struct {
	net.Conn
	// plain is what TLS goes over; nil where that is none of the system's.
	plain syscall.Conn
	guide guide
	addr  string
	// answered: something was read.
	answered bool
}

// certificates are the chain that the server has shown.
func (c *guided) certificates() []*x509.Certificate {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		return secure.ConnectionState().PeerCertificates
	}
	return nil
}

// Read implements net.Conn.
func (c *guided) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.answered = c.answered || n > 0
	return n, c.explain(err)
}

// Write implements net.Conn.
func (c *guided) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if broken(err) && !c.answered {
		// The reason may have arrived. Nothing is waited for: the connection is at its end.
		if _, reason := c.Conn.Read(make([]byte, 1)); c.guide.remedy(reason) != "" {
			err = reason
		}
	}
	return n, c.explain(err)
}

// explain says what a server most likely wants that closes a connection before its
// first answer: its alert may be lost with the connection.
func (c *guided) explain(err error) error {
	if !c.answered && !c.guide.shows && (broken(err) || errors.Is(err, io.EOF)) {
		return explained(&tlsError{addr: c.addr, err: err, remedy: "if the server asks for a client certificate, set cert and key in " + c.guide.block})
	}
	return c.guide.explain(c.addr, err)
}

// broken reports whether an error says that the other side has closed the connection.
func broken(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
