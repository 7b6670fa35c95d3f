package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ExposedError is an address that others than this machine could reach.
type ExposedError struct{ Address string }

// Error says what to do instead.
func (e *ExposedError) Error() string {
	return fmt.Sprintf("the page has no login, and %s can be reached from other machines; "+
		"listen on 127.0.0.1 and reach it through a tunnel (ssh -L 9631:127.0.0.1:9631 HOST, kubectl port-forward POD 9631), "+
		"or put a proxy with a login before it on the same machine, and name its host with --ui-host", e.Address)
}

// CheckAddress reports an address that is no HOST:PORT, or, as *ExposedError, one
// that is not of this machine alone. A name other than localhost is not looked up:
// what it means may change.
func CheckAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no HOST:PORT", address)
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return &ExposedError{address}
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
