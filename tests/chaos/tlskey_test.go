package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client key that cannot be used: what is wrong is said before anything is
// connected to, and nothing of the key.
func TestAKeyThatCannotBeUsedIsNamedAndNotShown(t *testing.T) {
	s := newSecured(t, "")
	text, err := os.ReadFile(s.worker.Key)
	if err != nil {
		t.Fatal(err)
	}
	key, dir := string(text), t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, key string
		wants     []string
	}{
		{
			"a passphrase", file("a", strings.ReplaceAll(key, "PRIVATE KEY", "ENCRYPTED PRIVATE KEY")),
			[]string{"tls: key: " + filepath.Join(dir, "a") + " is protected by a passphrase", "openssl pkey"},
		},
		{
			"a passphrase in the old format",
			file("b", strings.Replace(strings.ReplaceAll(key, "PRIVATE KEY", "EC PRIVATE KEY"), "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1)),
			[]string{"tls: key: " + filepath.Join(dir, "b") + " is protected by a passphrase"},
		},
		{"no such file", filepath.Join(dir, "none"), []string{"tls: key: open " + filepath.Join(dir, "none"), "no such file"}},
		{"no file that can be read", dir, []string{"tls: key: ", dir, "directory"}},
		{"of another certificate", s.server.Key, []string{"tls: cert and key: ", s.worker.Cert, s.server.Key, "private key does not match public key"}},
		{"the key itself", key, []string{"tls: key: want the path of a PEM file", "the value is not shown"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := s.file(fmt.Sprintf("url = \"rediss://localhost:1\"\ntls {\n ca = %q\n cert = %q\n key = %q\n}", s.ca.CA, s.worker.Cert, c.key))
			for _, args := range [][]string{{"run", path}, {"plan", path}, {"plan", path, "--json"}} {
				p := command(t, args...)
				if code := p.exit(); code != 2 {
					t.Errorf("%s ends with %d, want 2", args, code)
				}
				for _, want := range append(c.wants, "invalid_broker") {
					if !strings.Contains(p.output(), want) {
						t.Errorf("%s does not say %q:\n%s", args, want, p.output())
					}
				}
				noKey(t, s.worker.Key, p.output())
				noKey(t, s.server.Key, p.output())
			}
		})
	}
}
