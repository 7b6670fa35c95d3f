package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"pipeline/cmd/pipeline/internal/ops"
)

// ExposedError is an address that others than this machine could reach, and a page
// that is not fit for it: for want of TLS, of a login, or of names that it answers to.
type ExposedError struct{ Address, Lacks string }

// Error says what to do instead.
func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s can be reached from other machines, and the page has no %s; "+
		"listen on 127.0.0.1 and reach it through a tunnel (ssh -L 9631:127.0.0.1:9631 HOST, kubectl port-forward POD 9631), "+
		"put a proxy with a login before it on the same machine, and name its host with --ui-host, "+
		"or give it TLS and a login of its own with --ui-web-config FILE", e.Address, e.Lacks)
}

// CheckAddress reports an address that is no HOST:PORT, or, as *ExposedError, one
// that is not of this machine alone while the page lacks TLS or a login.
func CheckAddress(address string, secured *ops.Secured) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%q is no HOST:PORT", address)
	}
	switch {
	case ops.OfThisMachine(address):
		return nil
	case !secured.Login():
		return &ExposedError{address, "login"}
	case !secured.TLS():
		return &ExposedError{address, "TLS"}
	}
	return nil
}

// policy allows a page what comes from here, and nothing else: no script or style
// within it, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm bounds what a form sends.
const maxForm = 64 << 10

// guard is what every request passes. A browser that was led to this address under
// another name (DNS rebinding) is told apart by the name, which it sends; one that
// another site has send a form, by where the form came from.
func (s *Site) guard(next http.Handler) http.Handler {
	sameOrigin := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.knows(r.Host) {
			http.Error(w, "This page answers to the names of its own machine alone: 127.0.0.1, [::1] and localhost, and those given with --ui-host.",
				http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		sameOrigin.ServeHTTP(w, r)
	})
}

// knows reports whether a browser may ask under this name.
func (s *Site) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(known string) bool { return strings.EqualFold(known, host) })
}
