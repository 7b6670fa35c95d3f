package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/doctor"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/tests/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is a pipeline without a flaw; BROKER and CLAIM are filled in.
const file = `
pipeline "p" {
  language = 1
}
variable "redis_url" {
  type    = string
  default = env("REDIS_URL")
}
broker "redis" {
  url = var.redis_url
  BROKER
}
stream "in" {}
stream "out" {}
stream "dead" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "1m"
      CLAIM
    }
    reply {
      to = stream.out
    }
  }
}
`

// patient is a server with a pipeline.
type patient struct {
	*redistest.Server

	t    *testing.T
	spec *spec.Pipeline
	// clock is that of the examination, stale after when a consumer counts as gone.
	clock clock.Clock
	stale time.Duration
}

// saved has a server keep what it holds: without it nothing is well.
var saved = redistest.Config("appendonly", "yes")

func newPatient(t *testing.T, s *redistest.Server) *patient {
	t.Helper()
	p := &patient{Server: s, t: t, clock: clock.Real()}
	p.load("", "")
	return p
}

// load takes the pipeline with more in its broker and claim blocks.
func (p *patient) load(broker, claim string) {
	p.t.Helper()
	dir := p.t.TempDir()
	text := strings.NewReplacer("BROKER", broker, "CLAIM", claim).Replace(file)
	for name, content := range map[string]string{"p.hcl": text, "h.lua": "function handle() return ack() end"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	loaded, report := build.Load(filepath.Join(dir, "p.hcl"), build.Vars{
		Env: func(name string) (string, bool) { return p.URL(), name == "REDIS_URL" },
	})
	if report.HasErrors() {
		p.t.Fatal(report.All())
	}
	p.spec = loaded
}

// open opens the pipeline's server.
func (p *patient) open() *redis.Broker {
	p.t.Helper()
	opened, err := build.OpenRedis(p.spec.Broker, clock.Real(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// apply creates the group as `pipeline apply` does.
func (p *patient) apply() {
	p.t.Helper()
	if _, err := p.open().CreateGroup(p.t.Context(), "in", "g", "$"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) do(command ...any) any {
	p.t.Helper()
	v, err := p.Client().Do(p.t.Context(), command...).Result()
	if err != nil {
		p.t.Fatalf("%v: %v", command, err)
	}
	return v
}

func (p *patient) examine() []doctor.Finding {
	p.t.Helper()
	command := func(command string, words ...string) string {
		return strings.Join(append([]string{"pipeline", command, "p.hcl"}, words...), " ")
	}
	return doctor.Run(p.t.Context(), p.spec, p.open(), p.clock, doctor.Options{Command: command, StaleAfter: p.stale})
}

// info is a number of INFO.
func (p *patient) info(name string) (n int64) {
	p.t.Helper()
	for line := range strings.Lines(p.do("INFO").(string)) {
		if after, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			_, _ = fmt.Sscan(after, &n)
		}
	}
	return n
}

// eventually waits until something holds.
func (p *patient) eventually(what string, holds func() bool) {
	p.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			p.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// codes are those of findings, sorted.
func codes(found []doctor.Finding) []diag.Code {
	out := make([]diag.Code, len(found))
	for i := range found {
		out[i] = found[i].Code
	}
	slices.Sort(out)
	return out
}

// finding is the first one with a code.
func finding(t *testing.T, found []doctor.Finding, code diag.Code) doctor.Finding {
	t.Helper()
	i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Code == code })
	if i < 0 {
		t.Fatalf("no %s among %+v", code, found)
	}
	return found[i]
}

// features are those of the server.
func (p *patient) features() broker.Features {
	p.t.Helper()
	server, err := p.open().Probe(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return server.Features
}
