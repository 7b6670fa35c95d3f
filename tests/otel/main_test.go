// Package otel runs the command against servers and a collector, and looks at what it
// exports.
package otel

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/tests/otlptest"
	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

var command string

func TestMain(m *testing.M) { program.Main(m, &command) }

// patience bounds every wait: it is only how long a test waits before it says that
// something never happened.
const patience = time.Minute

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// secret stands in every body, header, key and error of these tests.
const secret = "hunter2"

// script does what an entry says.
const script = `
function handle(e, ctx)
  if e.fail then error("cannot post hunter2") end
  if e.dead then return dead("account hunter2 is closed") end
  if e.slow then while true do end end
  if e.ack then return ack() end
  return reply({ n = e.n, note = "hunter2" }, { key = "hunter2" })
end
`

// pipelineFile reads "in" and replies to "mid", or, as the second one, reads "mid" and
// replies to "out". TRACE is its trace block.
const pipelineFile = `
pipeline "NAME" {
  version  = "1.2"
  language = 1
  TRACE
}
variable "redis_url" {
  type    = string
  default = env("REDIS_URL", "")
}
broker "redis" {
  url = var.redis_url
}
stream "in" {
  name = "IN"
  key  = entry.note
}
stream "out" {
  name = "OUT"
}
stream "dead" {
  name = "dead"
}
handler "post" {
  source = "h.lua"
  limits {
    timeout = "10s"
  }
}
retry "quick" {
  max_attempts = 3
  delay        = "50ms"
  max_delay    = "50ms"
}
group "ledger" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "work" {
    handler = handler.post
    retry   = retry.quick
    block   = "200ms"
    claim {
      min_idle = "1s"
    }
    reply {
      to = stream.out
    }
  }
}
`

// file writes a pipeline of that name from one stream to another.
func file(t *testing.T, name, in, out, trace string) string {
	t.Helper()
	folder := t.TempDir()
	text := strings.NewReplacer("NAME", name, "IN", in, "OUT", out, "TRACE", trace).Replace(pipelineFile)
	for at, content := range map[string]string{"p.hcl": text, "h.lua": script} {
		if err := os.WriteFile(filepath.Join(folder, at), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "p.hcl")
}

const goesOn = "trace {\n    parent = \"producer\"\n  }"

// process is a `pipeline run`.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	out program.Output
}

// start runs a command until the test ends; env are variables "NAME=value".
func start(t *testing.T, s *redistest.Server, args []string, env ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(context.Background(), command, args...)}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "REDIS_URL=" + s.URL(), "OTEL_BSP_SCHEDULE_DELAY=20"}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("the process printed:\n%s", p.out.String())
		}
	})
	return p
}

// run runs a pipeline and waits until it reads.
func run(t *testing.T, s *redistest.Server, path string, env ...string) *process {
	t.Helper()
	p := start(t, s, []string{"run", path, "--ops-listen", "off"}, env...)
	eventually(t, "it reads", func() bool {
		text := p.out.String()
		if strings.Contains(text, "error[") {
			t.Fatal("the pipeline is refused")
		}
		return strings.Contains(text, "subscription.reading")
	})
	return p
}

// to are the variables for a collector.
func to(c *otlptest.Collector) string { return "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL }

// stop ends the process as a supervisor would, and returns how long that took.
func (p *process) stop() time.Duration {
	p.t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("it ended with %v", err)
	}
	return time.Since(began)
}

// add adds an entry with headers "name", "value".
func add(t *testing.T, s *redistest.Server, stream, body string, headers ...string) string {
	t.Helper()
	values := []any{"_payload", body, "h:redis-partition-key", secret}
	for i := 0; i < len(headers); i += 2 {
		values = append(values, "h:"+headers[i], headers[i+1])
	}
	id, err := s.Client().XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: values}).Result()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// named are the spans of that name.
func named(c *otlptest.Collector, name string) []otlptest.Span {
	var all []otlptest.Span
	for _, s := range c.Spans() {
		if s.Name == name {
			all = append(all, s)
		}
	}
	return all
}

// spans waits for n spans of that name.
func spans(t *testing.T, c *otlptest.Collector, name string, n int) []otlptest.Span {
	t.Helper()
	eventually(t, "enough spans "+name, func() bool { return len(named(c, name)) >= n })
	all := named(c, name)
	if len(all) != n {
		t.Fatalf("%d spans %s, want %d", len(all), name, n)
	}
	return all
}

// each runs a test on every server version.
func each(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	t.Helper()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			s := redistest.Shared(t, version)
			s.Record(t)
			test(t, s)
		})
	}
}
