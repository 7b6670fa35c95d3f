// Package secrets has a pipeline that is full of secrets, on a real server, and looks for
// them wherever something is shown.
package secrets

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/otlptest"
	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

// secret is a part of every secret of these tests, and of nothing else. Where each of
// them stands is what follows it.
const (
	secret   = "hunter2"
	password = secret + "-password"
	header   = secret + "-header"
	card     = secret + "-card"
)

const patience = time.Minute

// file is a pipeline whose entries fail, are retried, buried and replied to, and that
// has the card in every place where a file may have a value of an entry.
const file = `
pipeline "shop" {
  version  = "1"
  language = 1
}
variable "password" {
  type      = string
  default   = env("SHOP_PASSWORD")
  sensitive = true
}
broker "redis" {
  url      = "redis://ADDRESS"
  password = var.password
}
stream "payments" {
  entry     = object({ card = string, act = string })
  sensitive = ["card"]
}
stream "posted" {
  sensitive = ["card"]
}
stream "dead" {}
handler "post" {
  source = "h.lua"
}
handler "screen" {
  source   = "h.lua"
  function = "screen"
}
retry "later" {
  max_attempts = 9
  delay        = "2s"
}
group "ledger" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "post_payment" {
    handler = handler.post
    retry   = retry.later
    claim {
      min_idle = "1s"
    }
    workers {
      count          = 4
      key            = entry.card
      while_retrying = "hold"
    }
    idempotency {
      key    = entry.card
      window = "1h"
    }
    reply {
      to  = stream.posted
      key = entry.card
      headers = {
        card = entry.card
      }
    }
  }
}
group "strict" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "stops" {
    handler    = handler.post
    on_failure = "stop"
    claim {
      min_idle = "1s"
    }
    reply {
      to = stream.posted
    }
  }
}
group "fraud" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "screen_payment" {
    handler = handler.screen
    claim {
      min_idle = "1s"
    }
  }
}
`

const script = `
function handle(e)
  if e.act == "fail" then error("card " .. e.card .. " is closed") end
  if e.act == "dead" then return dead("card " .. e.card .. " is unknown") end
  if e.act == "retry" then return retry{ after = "1h", reason = "card " .. e.card .. " is locked" } end
  return { card = e.card, note = "paid by " .. e.card }
end
function screen(e)
  if e.act == "fail" then return { [e.card] = e.card } end
  return ack()
end
`

// binary is the command, built once for all tests.
var binary string

func TestMain(m *testing.M) { program.Main(m, &binary) }

// shop is the pipeline in a folder, with a server that wants the password.
type shop struct {
	*testing.T
	server *redistest.Server
	dir    string
	env    []string
}

func open(t *testing.T, version string, env ...string) *shop {
	t.Helper()
	s := &shop{T: t, server: redistest.Start(t, version, redistest.Password(password)), dir: t.TempDir()}
	s.server.Record(t)
	s.env = append(append(os.Environ(), "SHOP_PASSWORD="+password, "GOTRACEBACK=all"), env...)
	for name, text := range map[string]string{"p.hcl": strings.ReplaceAll(file, "ADDRESS", s.server.Addr), "h.lua": script} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// add adds an entry, and has the card also where a producer may have put it by mistake.
func (s *shop) add(act, number string) {
	s.Helper()
	body := fmt.Sprintf(`{"card":%q,"act":%q}`, number, act)
	if act == "broken" {
		body = `{"card":"` + number
	}
	if err := s.server.Client().Do(s.Context(), "XADD", "payments", "*", "_payload", body, "h:correlation-id", number, "h:redis-partition-key", number, "x", "of "+number).Err(); err != nil {
		s.Fatal(err)
	}
}

func (s *shop) until(what string, done func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("waited in vain until %s", what)
		}
	}
}

// process is one that stays, with a page for people and one for programs.
type process struct {
	*shop
	cmd       *exec.Cmd
	out       *program.Output
	page, ops string
}

var (
	pageAt = regexp.MustCompile(`"page":"([^"]+)"`)
	opsAt  = regexp.MustCompile(`health checks and metrics at http://([^"]+)"`)
)

func (s *shop) start(args ...string) *process {
	s.Helper()
	p := &process{shop: s, cmd: exec.Command(binary, append(args, "--json", "--ops-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0")...), out: &program.Output{}}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = s.dir, s.env, p.out, p.out
	if err := p.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	s.until("its pages are served", func() bool {
		page, ops := pageAt.FindStringSubmatch(p.out.String()), opsAt.FindStringSubmatch(p.out.String())
		if page != nil && ops != nil {
			p.page, p.ops = page[1], ops[1]
		}
		return p.page != ""
	})
	return p
}

// get is what stands at an address, whatever its status.
func (s *shop) get(address string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// clean fails for each line with a secret, and for nothing at all.
func (s *shop) clean(what, text string) {
	s.Helper()
	if text == "" && what != "/startupz?verbose" { // which has nothing to say of a monitor
		s.Errorf("%s shows nothing", what)
	}
	for line := range strings.Lines(text) {
		if at := strings.Index(line, secret); at >= 0 {
			s.Errorf("%s shows a secret: … %s", what, line[max(0, at-200):min(len(line), at+60)])
		}
	}
}

// The password of the server, what the headers for a collector hold, and a field that
// a stream declares sensitive stand on no page, in no answer to a program, in no log,
// metric or trace, and in nothing that a command prints.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := otlptest.HTTP(t)
			s := open(t, version, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+header,
				"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=200")
			for i, act := range []string{"ack", "fail", "dead", "retry", "broken", "fail", "dead", "ack"} {
				s.add(act, fmt.Sprintf("%s-%d", card, i))
			}
			s.add("ack", card+"-0") // which was there before
			run := s.start("run", "p.hcl", "--ui-write", "--log-level", "debug")
			monitor := s.start("monitor", "p.hcl")
			client := s.server.Client()
			s.until("all is done or waits", func() bool {
				return client.XLen(t.Context(), "dead").Val() >= 4 && client.XLen(t.Context(), "posted").Val() >= 2 && len(c.Spans()) > 8 && len(c.Metrics()) > 10 &&
					strings.Contains(s.get(monitor.page+"/api/overview"), `"redis_up":true`) && !strings.Contains(s.get(monitor.page+"/api/dead-letters"), `"entries":0`) &&
					strings.Contains(run.out.String(), "subscription.failed")
			})
			letter := client.XRange(t.Context(), "dead", "-", "+").Val()
			var paths []string
			for _, stream := range []string{"payments", "posted", "dead"} {
				for _, m := range client.XRange(t.Context(), stream, "-", "+").Val() {
					paths = append(paths, "/entry?stream="+stream+"&id="+m.ID)
				}
			}
			for _, m := range letter {
				paths = append(paths, "/dead-letters/letter?stream=dead&id="+m.ID)
			}
			for _, p := range []*process{run, monitor} {
				for _, path := range slices.Concat(paths, []string{
					"/", "/group/ledger", "/group/ledger/pending", "/group/fraud", "/group/fraud/pending", "/dead-letters", "/handler/post", "/handler/screen", "/health", "/events",
					"/api/overview", "/api/groups", "/api/dead-letters", "/api/problems", "/api/doctor",
				}) {
					s.clean(path, s.get(p.page+path))
				}
				for _, path := range []string{"/metrics", "/livez?verbose", "/startupz?verbose", "/readyz?verbose", "/version"} {
					s.clean(path, s.get(p.ops+path))
				}
			}
			s.commands(letter[0].ID)
			s.clean("what is exported", c.Raw())
			for _, p := range []*process{run, monitor} {
				_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it says what each goroutine is about
				_ = p.cmd.Wait()
				s.clean(strings.Join(p.cmd.Args[1:2], " "), p.out.String())
			}
		})
	}
}

// commands types all that shows something of a server, for people and for programs.
func (s *shop) commands(letter string) {
	s.Helper()
	pending := s.server.Client().XPending(s.Context(), "payments", "ledger").Val()
	for _, line := range []string{
		"validate p.hcl", "plan p.hcl", "doctor p.hcl", "stats p.hcl", "graph p.hcl --live", "export acl p.hcl", "export alerts p.hcl", "export dashboard p.hcl",
		"consumers list p.hcl", "pending list p.hcl", "pending show p.hcl " + pending.Lower, "pending show p.hcl " + pending.Higher,
		"dlq stats p.hcl", "dlq list p.hcl", "dlq show p.hcl " + letter, "dlq replay p.hcl --all", "dlq drop p.hcl --all",
		"tail p.hcl --from 1h", "dry-run p.hcl --live", "dry-run p.hcl --live --against p.hcl",
	} {
		for _, form := range []string{"", " --json"} {
			ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
			cmd := exec.CommandContext(ctx, binary, strings.Fields(line+form)...)
			cmd.Dir, cmd.Env = s.dir, s.env
			out := &program.Output{}
			cmd.Stdout, cmd.Stderr = out, out
			cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 5*time.Second
			_ = cmd.Run() // which commands fail is not asked here
			cancel()
			s.clean(line+form, out.String())
		}
	}
}
