package web_test

import (
	"testing"

	"pipeline/cmd/pipeline/internal/web"
)

// What errors of networks say is kept, and where the server is is not.
func TestAddressesAreNotTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"the server is unavailable: dial tcp 10.1.2.3:6379: connect: connection refused": "the server is unavailable: dial tcp: connect: connection refused",
		"dial tcp [fd00::1]:6379: i/o timeout":                                           "dial tcp: i/o timeout",
		"read tcp 10.0.0.9:41000->10.1.2.3:6379: i/o timeout":                            "read tcp: i/o timeout",
		"dial unix /run/redis.sock: connect: no such file or directory":                  "dial unix: connect: no such file or directory",
		"dial tcp: lookup redis.internal on 10.0.0.2:53: no such host":                   "dial tcp: lookup: no such host",
		"dial tcp: lookup redis.internal: no such host":                                  "dial tcp: lookup: no such host",
		"x509: certificate is valid for a.internal, b.internal, not redis.internal":      "x509: certificate is not valid for the server's name",
		"redis://ada:hunter2@10.1.2.3":                                                   "redis://(masked)",
		"no such account":                                                                "no such account",
	} {
		if got := web.Told(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
