package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"pipeline/tests/redistest"
)

// webConfigs writes two files for listeners: one with TLS and a user, ada, whose password is right; one without users.
func webConfigs(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	authority := redistest.NewAuthority(t, "authority")
	server := authority.Issue("pipeline", redistest.ForLoopback)
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	certificate := fmt.Sprintf("tls_server_config:\n  cert_file: %s\n  key_file: %s\n", server.Cert, server.Key)
	users := fmt.Sprintf("basic_auth_users:\n  ada: %s\n", hash)
	for name, text := range map[string]string{"web.yml": certificate + users, "tls.yml": certificate, "users.yml": users} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, err := os.ReadFile(authority.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return roots
}

// TestThePageAndTheMetricsWithALogin serves both where other machines could reach them.
func TestThePageAndTheMetricsWithALogin(t *testing.T) {
	t.Parallel()
	s, dir := redistest.Start(t, redistest.Versions[0]), t.TempDir()
	for name, text := range map[string]string{"p.hcl": opsFile, "h.lua": opsScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: webConfigs(t, dir)}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	w := watchedProcess(t, dir, s.URL(), "monitor", "p.hcl", "--ops-listen", "127.0.0.1:0", "--ops-web-config", "web.yml",
		"--ui-listen", "0.0.0.0:0", "--ui-web-config", "web.yml", "--ui-host", "127.0.0.1", "--ui-host", "pipeline.example.com")
	w.until("both are served", func() bool { return pageAt.FindString(w.output.String()) != "" })
	_, port, _ := strings.Cut(pageAt.FindStringSubmatch(w.output.String())[1], "]:")
	for at, name := range map[string]string{"https://127.0.0.1:" + port + "/": "the page", "https://" + w.address + "/metrics": "the metrics"} {
		for password, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "right": http.StatusOK} {
			if code, text := askAs(t, client, http.MethodGet, at, password); code != want {
				t.Errorf("%s with the password %q: %d %s", name, password, code, text)
			}
		}
	}
	// A login does not make a form of another site one of ours, nor another name one that we answer to.
	page := "https://127.0.0.1:" + port
	if code, text := askAs(t, client, http.MethodPost, page+"/handler/h", "right", "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
		t.Errorf("a form of another site: %d %s", code, text)
	}
	if code, text := askAs(t, client, http.MethodGet, page+"/", "right", "Host", "evil.example.com"); code != http.StatusMisdirectedRequest {
		t.Errorf("another name: %d %s", code, text)
	}
	if code, text := askAs(t, client, http.MethodGet, page+"/", "right", "Host", "pipeline.example.com:"+port); code != http.StatusOK {
		t.Errorf("the name of --ui-host: %d %s", code, text)
	}
	for _, want := range []string{"at https://127.0.0.1:", "at https://[::]:" + port} {
		if !strings.Contains(w.output.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, w.output)
		}
	}
	if code := w.stop(); code != 0 {
		t.Errorf("it ended with %d:\n%s", code, w.output)
	}
}

// askAs asks as ada, unless the password is empty; headers are pairs.
func askAs(t *testing.T, client *http.Client, method, address, password string, headers ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if password != "" {
		r.SetBasicAuth("ada", password)
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}
