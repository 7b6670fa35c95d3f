// Package promtest lets tests ask the real Prometheus: promtool, whether rules and
// expressions are what it takes and say what they should, and a server that scrapes
// processes of a test on loopback.
package promtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

// patience bounds every wait for a program of Prometheus.
const patience = time.Minute

// Program is the path of a program of Prometheus, or ends the test: it fails in CI,
// and is skipped elsewhere.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	message := "no " + name + " on this machine; Debian's package prometheus has it"
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// Promtool runs promtool in a folder of its own that holds these files, by their
// names, and returns what it prints. Its failure is the test's.
func Promtool(t testing.TB, files map[string]string, args ...string) string {
	t.Helper()
	path := Program(t, "promtool")
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// Parses has Prometheus read expressions, by whatever name they are known to the
// test.
func Parses(t testing.TB, expressions map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("groups:\n  - name: expressions\n    rules:\n")
	for name, expr := range expressions {
		text, err := json.Marshal(expr)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintf(&b, "      - record: expression\n        labels: {of: %q}\n        expr: %s\n", name, text)
	}
	Promtool(t, map[string]string{"rules.yml": b.String()}, "check", "rules", "--lint=none", "rules.yml")
}

// Server is a Prometheus that belongs to one test.
type Server struct {
	t       testing.TB
	address string
}

// Start starts a Prometheus with rules that scrapes the targets of a job every
// second, by their addresses, and ends it with the test.
func Start(t testing.TB, job, rules string, targets ...string) *Server {
	t.Helper()
	path := Program(t, "prometheus")
	dir := t.TempDir()
	s := &Server{t: t, address: redistest.FreeAddress(t)}
	list := make([]string, len(targets))
	for i, target := range targets {
		list[i] = strconv.Quote(target)
	}
	config := "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 1s\nrule_files: [rules.yml]\nscrape_configs:\n" +
		"  - job_name: " + job + "\n    static_configs:\n      - targets: [" + strings.Join(list, ", ") + "]\n"
	for name, text := range map[string]string{"prometheus.yml": config, "rules.yml": rules} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--config.file=prometheus.yml", "--web.listen-address="+s.address,
		"--storage.tsdb.path=data", "--storage.tsdb.retention.size=64MB", "--log.level=warn")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = output.Close()
		if text, err := os.ReadFile(filepath.Join(dir, "output")); t.Failed() && err == nil {
			t.Logf("log of Prometheus:\n%s", text)
		}
	})
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if code, _, err := s.get("/-/ready"); err == nil && code == http.StatusOK {
			return s
		}
		select {
		case <-ended:
			t.Fatal("Prometheus ended at once")
		default:
		}
		if time.Now().After(end) {
			t.Fatal("Prometheus does not become ready")
		}
	}
}

func (s *Server) get(path string) (code int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// Alert is one that Prometheus has: pending or firing.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
}

// Alerts are all that Prometheus has now.
func (s *Server) Alerts() []Alert {
	s.t.Helper()
	var found struct {
		Data struct {
			Alerts []Alert `json:"alerts"`
		} `json:"data"`
	}
	s.ask("/api/v1/alerts", &found)
	return found.Data.Alerts
}

// Firing are the alerts of a name that fire now.
func (s *Server) Firing(name string) (all []Alert) {
	s.t.Helper()
	for _, a := range s.Alerts() {
		if a.Labels["alertname"] == name && a.State == "firing" {
			all = append(all, a)
		}
	}
	return all
}

// Query is how many series an expression has now.
func (s *Server) Query(expr string) int {
	s.t.Helper()
	var found struct {
		Data struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	s.ask("/api/v1/query?query="+url.QueryEscape(expr), &found)
	return len(found.Data.Result)
}

func (s *Server) ask(path string, into any) {
	s.t.Helper()
	code, body, err := s.get(path)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d: %s", code, body)
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		s.t.Fatalf("Prometheus: %s: %v", path, err)
	}
}
