package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

const opsFile = `
pipeline "watched" {
  language = 1
}
variable "redis_url" {
  type      = string
  default   = env("REDIS_URL")
  sensitive = true
}
broker "redis" {
  url = var.redis_url
}
stream "in" {}
stream "out" {}
stream "dead" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler    = handler.h
    on_failure = "dead"
    claim {
      min_idle = "60s"
    }
    workers {
      count = 2
    }
    reply {
      to = stream.out
    }
  }
}
`

const opsScript = `
function handle(e)
  if e.n % 4 == 0 then return ack() end
  if e.n % 4 == 1 then return { n = e.n } end
  if e.n % 4 == 2 then return dead("a stranger's word " .. e.n) end
  error("broken " .. e.n)
end
`

// watched is a process that serves its health and metrics.
type watched struct {
	t       *testing.T
	cmd     *exec.Cmd
	output  *program.Output
	address string
}

var listening = regexp.MustCompile(`"address":"([^"]+)"`)

// watchedProcess starts the program in a folder and waits until it listens.
func watchedProcess(t *testing.T, dir, url string, args ...string) *watched {
	t.Helper()
	w := &watched{t: t, output: &program.Output{}}
	w.cmd = exec.CommandContext(t.Context(), "pipeline", append(args, "--json")...)
	w.cmd.Dir, w.cmd.Env = dir, append(os.Environ(), "REDIS_URL="+url)
	w.cmd.Stdout, w.cmd.Stderr = w.output, w.output
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill(); _ = w.cmd.Wait() })
	w.until("it listens", func() bool {
		found := listening.FindStringSubmatch(w.output.String())
		if found != nil {
			w.address = found[1]
		}
		return found != nil
	})
	return w
}

func (w *watched) until(what string, done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited in vain until %s:\n%s", what, w.output)
		}
	}
}

// get is one page; no page shows the password.
func (w *watched) get(path string) (int, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "stranger") {
		w.t.Errorf("%s shows the password, or what a handler said:\n%s", path, text)
	}
	return answer.StatusCode, string(text)
}

// metric is the sum of all series of that name with these labels; -1 without one.
func (w *watched) metric(name string, labels ...string) float64 {
	w.t.Helper()
	_, text := w.get("/metrics")
	sum, found := 0.0, false
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		rest, ours := strings.CutPrefix(series, name+"{")
		for _, l := range labels {
			ours = ours && strings.Contains(rest, l)
		}
		if v, err := strconv.ParseFloat(value, 64); ours && err == nil {
			sum, found = sum+v, true
		}
	}
	if !found {
		return -1
	}
	return sum
}

// stop ends the process and returns its exit code.
func (w *watched) stop() int {
	w.t.Helper()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	_ = w.cmd.Wait()
	return w.cmd.ProcessState.ExitCode()
}

// TestAProcessCanBeLookedAt runs a pipeline and a monitor beside it, and compares
// what they say with what is on the server.
func TestAProcessCanBeLookedAt(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Password("hunter2"))
			c, url, dir := s.Client(), "redis://:hunter2@"+s.Addr, t.TempDir()
			for name, text := range map[string]string{"p.hcl": opsFile, "h.lua": opsScript} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := watchedProcess(t, dir, url, "run", "p.hcl", "--ops-listen", "127.0.0.1:0")
			run.until("it is ready", func() bool { code, _ := run.get("/readyz"); return code == http.StatusOK })
			for _, path := range []string{"/livez", "/startupz", "/readyz?verbose", "/version", "/"} {
				if code, text := run.get(path); code != http.StatusOK {
					t.Errorf("%s: %d %s", path, code, text)
				}
			}
			const n = 40
			for i := range n {
				c.Do(t.Context(), "XADD", "in", "*", "_payload", fmt.Sprintf(`{"n":%d}`, i))
			}
			run.until("all is settled", func() bool { return run.metric("pipeline_entries_settled_total") == n })
			letters := float64(c.XLen(t.Context(), "dead").Val())
			for _, m := range []struct {
				want   float64
				name   string
				labels []string
			}{
				{n, "messaging_client_consumed_messages_total", nil},
				{float64(c.XLen(t.Context(), "out").Val()), "messaging_client_sent_messages_total", []string{`"out"`}},
				{letters, "messaging_client_sent_messages_total", []string{`"dead"`}},
				{n / 4, "pipeline_entries_settled_total", []string{`"ack"`}},
				{n / 4, "pipeline_entries_settled_total", []string{`"reply"`}},
				{letters / 2, "pipeline_dead_lettered_total", []string{`"rejected"`}},
				{letters / 2, "pipeline_dead_lettered_total", []string{`"failed"`}},
				{n / 4, "pipeline_handler_failures_total", []string{`"error"`}},
				{n, "pipeline_queue_time_seconds_count", nil},
				{n, "pipeline_end_to_end_seconds_count", nil},
				{n, "messaging_process_duration_seconds_count", nil},
				{2, "pipeline_workers", nil},
				{0, "pipeline_in_flight", nil},
				{1, "pipeline_redis_up", nil},
				{1, "pipeline_state", []string{`"running"`}},
			} {
				if got := run.metric(m.name, m.labels...); got != m.want {
					t.Errorf("%s %v is %v, want %v", m.name, m.labels, got, m.want)
				}
			}
			if size := run.metric("pipeline_payload_bytes_sum"); size != 10*7+30*8 {
				t.Errorf("payloads have %v bytes", size)
			}
			run.until("the dead letters are seen", func() bool { return run.metric("pipeline_dead_letters") == letters })
			if alive := run.metric("pipeline_sandbox_instances"); alive < 1 || alive > 2 {
				t.Errorf("%v instances", alive)
			}
			run.until("the workers' time is counted", func() bool { return run.metric("pipeline_worker_seconds_total", `"idle"`) > 1 })

			taken := exec.Command("pipeline", "run", "p.hcl", "--ops-listen", run.address)
			taken.Dir, taken.Env = dir, append(os.Environ(), "REDIS_URL="+url)
			if out, _ := taken.CombinedOutput(); taken.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "--ops-listen") || !strings.Contains(string(out), "in use") {
				t.Errorf("a taken address: %d %s", taken.ProcessState.ExitCode(), out)
			}
			if code := run.stop(); code != 0 {
				t.Errorf("run ended with %d:\n%s", code, run.output)
			}

			for range 3 {
				c.Do(t.Context(), "XADD", "in", "*", "_payload", `{"n":0}`)
			}
			c.XReadGroup(t.Context(), readOne("in", "g"))
			keys := c.DBSize(t.Context()).Val()
			// The login has the rights that the manual names, and no others.
			rule := monitorRule(t)
			if err := c.Do(t.Context(), append([]any{"ACL", "SETUSER", "watcher", "on", ">hunter2w", "resetkeys", "~in", "~out", "~dead", "-@all"}, rule...)...).Err(); err != nil {
				t.Fatal(err)
			}
			monitor := watchedProcess(t, dir, "redis://watcher:hunter2w@"+s.Addr, "monitor", "p.hcl", "--ops-listen", "127.0.0.1:0")
			monitor.until("it is ready", func() bool { code, _ := monitor.get("/readyz"); return code == http.StatusOK })
			for _, m := range []struct {
				name string
				want float64
			}{
				{"pipeline_group_lag", 2}, {"pipeline_group_pending", 1}, {"pipeline_group_consumers", 1}, {"pipeline_dead_letters", letters},
				{"pipeline_workers", -1}, {"pipeline_entries_settled_total", -1},
			} {
				if got := monitor.metric(m.name); got != m.want {
					t.Errorf("monitor: %s is %v, want %v", m.name, got, m.want)
				}
			}
			if denied := c.Do(t.Context(), "ACL", "LOG").String(); strings.Contains(denied, "watcher") && strings.Contains(denied, "xinfo") {
				t.Errorf("monitor was refused something: %s", denied)
			}
			if now := c.DBSize(t.Context()).Val(); now != keys {
				t.Errorf("monitor made %d keys of %d", now, keys)
			}
			if code := monitor.stop(); code != 0 {
				t.Errorf("monitor ended with %d:\n%s", code, monitor.output)
			}
		})
	}
}

// monitorRule are the commands that the manual gives to monitor's login.
func monitorRule(t *testing.T) []any {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("```\n(\\+time .*)\n```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the manual has no rule for monitor")
	}
	var rule []any
	for word := range strings.FieldsSeq(string(found[1])) {
		rule = append(rule, word)
	}
	return rule
}

// readOne delivers one entry to a consumer.
func readOne(stream, group string) *redis.XReadGroupArgs {
	return &redis.XReadGroupArgs{Group: group, Consumer: "c", Streams: []string{stream, ">"}, Count: 1, Block: -1}
}
