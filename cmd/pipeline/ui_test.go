package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

var pageAt = regexp.MustCompile(`"page":"([^"]+)"`)

// served starts the program with a page and waits until that is served; what get
// asks for is the page then.
func served(t *testing.T, dir, url string, args ...string) *watched {
	t.Helper()
	w := watchedProcess(t, dir, url, append(args, "--ops-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0")...)
	w.until("a page is served", func() bool {
		found := pageAt.FindStringSubmatch(w.output.String())
		if found != nil {
			w.address = found[1]
		}
		return found != nil
	})
	return w
}

// TestAProcessHasAPageForPeople looks at every page of a process that works, and of
// one that does not, whose server wants a password.
func TestAProcessHasAPageForPeople(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Password("hunter2"))
			s.Record(t)
			c, url, dir := s.Client(), "redis://:hunter2@"+s.Addr, t.TempDir()
			for name, text := range map[string]string{"p.hcl": opsFile, "h.lua": opsScript} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := served(t, dir, url, "run", "p.hcl", "--ui-write")
			for i := range 8 {
				c.Do(t.Context(), "XADD", "in", "*", "_payload", fmt.Sprintf(`{"n":%d}`, i*4))
			}
			run.until("all is handled", func() bool {
				_, text := run.get("/handler/h")
				return strings.Contains(text, `<p class="value">8</p>`)
			})
			monitor := served(t, dir, url, "monitor", "p.hcl")
			for _, w := range []*watched{run, monitor} {
				w.until("the server was looked at", func() bool {
					_, text := w.get("/api/overview")
					return strings.Contains(text, `"redis_up":true`)
				})
				for _, at := range []string{
					"/", "/group/g", "/group/g/pending", "/dead-letters", "/handler/h", "/health", "/events", "/api/groups", "/api/problems",
				} {
					_, port, _ := strings.Cut(s.Addr, ":")
					if code, text := w.get(at); code != http.StatusOK || strings.Contains(text, s.Addr) || strings.Contains(text, "-p "+port) {
						t.Errorf("%s: %d\n%s", at, code, text)
					}
				}
			}
			run.until("the doctor has looked", func() bool {
				_, text := run.get("/health")
				return strings.Contains(text, "redis-cli -h … -p … CONFIG SET appendonly yes")
			})
			if _, text := run.get("/"); !strings.Contains(text, "Dead letters can be put back") {
				t.Error("run --ui-write does not let the page write")
			}
			if _, text := monitor.get("/"); !strings.Contains(text, "This page changes nothing") {
				t.Error("monitor lets the page write without being asked to")
			}
			for _, w := range []*watched{run, monitor} {
				if code := w.stop(); code != 0 {
					t.Errorf("it ended with %d:\n%s", code, w.output)
				}
				if strings.Contains(w.output.String(), "hunter2") {
					t.Error("the password is in the log")
				}
			}
			quiet := watchedProcess(t, dir, url, "run", "p.hcl", "--ops-listen", "127.0.0.1:0")
			quiet.until("it is ready", func() bool { code, _ := quiet.get("/readyz"); return code == http.StatusOK })
			if strings.Contains(quiet.output.String(), "ui.") {
				t.Errorf("run serves a page that nobody asked for:\n%s", quiet.output)
			}
			webConfigs(t, dir)
			refused(t, dir, url)
		})
	}
}

// refused are the ways in which a page is not served.
func refused(t *testing.T, dir, url string) {
	t.Helper()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "p.hcl", "--ui-listen", "0.0.0.0:0"}, "ssh -L"},
		{[]string{"run", "p.hcl", "--ui-listen", ":9631"}, "no login"},
		{[]string{"monitor", "p.hcl", "--ui-listen", "example.com:9631"}, "no login"},
		{[]string{"dev", "p.hcl", "--follow", "--ui-listen", "10.0.0.1:9631"}, "no login"},
		{[]string{"run", "p.hcl", "--ui-listen", "nonsense"}, "HOST:PORT"},
		{[]string{"run", "p.hcl", "--ui-write"}, "--ui-listen"},
		{[]string{"run", "p.hcl", "--ui-web-config", "web.yml"}, "--ui-listen"},
		{[]string{"run", "p.hcl", "--ui-listen", "0.0.0.0:0", "--ui-web-config", "tls.yml", "--ui-host", "h"}, "no login"},
		{[]string{"run", "p.hcl", "--ui-listen", "0.0.0.0:0", "--ui-web-config", "users.yml", "--ui-host", "h"}, "in the clear"},
		{[]string{"run", "p.hcl", "--ui-listen", "0.0.0.0:0", "--ui-web-config", "web.yml"}, "--ui-host"},
		{[]string{"run", "p.hcl", "--ui-listen", ":0", "--ui-web-config", "web.yml"}, "--ui-host"},
		{[]string{"monitor", "p.hcl", "--ui-listen", "[::]:0", "--ui-web-config", "web.yml"}, "--ui-host"},
		{[]string{"dev", "p.hcl", "--follow", "--ui-web-config", "none.yml"}, "none.yml"},
		{[]string{"monitor", "p.hcl", "--ui-listen", "off", "--ops-web-config", "none.yml"}, "none.yml"},
		{[]string{"run", "p.hcl", "--ops-listen", "0.0.0.0:0", "--ops-web-config", "users.yml"}, "in the clear"},
		{[]string{"monitor", "p.hcl", "--ops-listen", "off", "--ui-listen", "off"}, "nothing else to do"},
	} {
		cmd := exec.CommandContext(t.Context(), "pipeline", c.args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "REDIS_URL="+url)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %d %s", c.args, code, out)
		}
	}
}
