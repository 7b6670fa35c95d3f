package plan_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/tests/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const example = "../../../../examples/payments.hcl"

// file is a pipeline with groups of each start, a group whose subscriptions
// are disabled, and streams of each retention.
const file = `
pipeline "starts" {
  language = 1
}
variable "url" {
  type    = string
  default = env("REDIS_URL")
}
broker "redis" {
  url = var.url
}
stream "in" {
  retention {
    max_length = 3
    protect    = "unacknowledged"
  }
}
stream "out" {
  retention {
    max_length = 2
    max_age    = "1h"
  }
}
stream "spare" {}
handler "h" {
  source = "h.lua"
}
group "newest" {
  stream = stream.in
  subscription "a" {
    handler = handler.h
    reply {
      to = stream.out
    }
    claim {
      min_idle = "1m"
    }
  }
}
group "oldest" {
  stream = stream.in
  start  = "beginning"
  subscription "b" {
    handler = handler.h
    claim {
      min_idle = "1m"
      using    = "autoclaim"
    }
  }
}
group "between" {
  stream = stream.in
  start  = "15-0"
  subscription "c" {
    handler = handler.h
  }
}
group "off" {
  stream = stream.in
  subscription "d" {
    enabled = false
    handler = handler.h
  }
}
`

// server is a server with a pipeline for it.
type server struct {
	*redistest.Server
	t    *testing.T
	spec *spec.Pipeline
}

// onEach runs a test on a server of its own of every version.
func onEach(t *testing.T, test func(t *testing.T, s *server), options ...redistest.Option) {
	t.Helper()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := &server{Server: redistest.Start(t, version, options...), t: t}
			s.write(file)
			test(t, s)
		})
	}
}

// write makes the server's pipeline from a file's text.
func (s *server) write(text string) {
	s.t.Helper()
	dir := s.t.TempDir()
	for name, content := range map[string]string{"p.hcl": text, "h.lua": "function handle() return ack() end"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.load(filepath.Join(dir, "p.hcl"), nil)
}

func (s *server) load(path string, vars map[string]string) {
	s.t.Helper()
	p, report := build.Load(path, build.Vars{
		Values: vars, Env: func(name string) (string, bool) { return s.URL(), name == "REDIS_URL" },
	})
	if report.HasErrors() {
		s.t.Fatal(report.All())
	}
	s.spec = p
}

// example takes the worked example as the server's version needs it.
func (s *server) example() {
	s.load(example, map[string]string{"before_8_4": fmt.Sprint(s.Version == "7.0"), "redis_url": s.URL()})
}

// as opens the server for a login; "" is the one that may do everything.
func (s *server) as(user string) *redis.Broker {
	s.t.Helper()
	b := s.spec.Broker
	if user != "" {
		b.URL = fmt.Sprintf("redis://%s:pw@%s/%d", user, s.Addr, s.DB)
	}
	opened, err := build.OpenRedis(b, clock.Real(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// user makes a login with a rule.
func (s *server) user(name string, rule ...string) {
	s.t.Helper()
	acl := []any{"ACL", "SETUSER", name}
	for _, word := range append(rule, ">pw") {
		acl = append(acl, word)
	}
	s.do(acl...)
}

func (s *server) do(command ...any) any {
	s.t.Helper()
	v, err := s.Client().Do(s.t.Context(), command...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", command, err)
	}
	return v
}

// entries adds n entries with the ids 10-0, 20-0, ….
func (s *server) entries(stream string, n int) {
	s.t.Helper()
	for i := range n {
		s.do("XADD", stream, fmt.Sprintf("%d-0", 10*(i+1)), "f", "v")
	}
}

// plan collects the plan as a login sees it.
func (s *server) plan(user string) *plan.Plan {
	s.t.Helper()
	return plan.Collect(s.t.Context(), s.spec, s.as(user), clock.Real())
}

// group is the group of a plan with a name.
func group(t *testing.T, p *plan.Plan, name string) *plan.Group {
	t.Helper()
	i := slices.IndexFunc(p.Groups, func(g *plan.Group) bool { return g.Name == name })
	if i < 0 {
		t.Fatalf("the plan has no group %s; problems: %v", name, p.Problems)
	}
	return p.Groups[i]
}

// stream is the stream of a plan with a name.
func stream(t *testing.T, p *plan.Plan, name string) *plan.Stream {
	t.Helper()
	i := slices.IndexFunc(p.Streams, func(s *plan.Stream) bool { return s.Spec.Name == name })
	if i < 0 {
		t.Fatalf("the plan has no stream %s", name)
	}
	return p.Streams[i]
}

// problems are the codes of a severity, with what they say.
func problems(p *plan.Plan, severity diag.Severity) map[diag.Code][]plan.Problem {
	all := map[diag.Code][]plan.Problem{}
	for _, q := range p.Problems {
		if q.Severity == severity {
			all[q.Code] = append(all[q.Code], q)
		}
	}
	return all
}

// wantErrors fails the test unless the errors have exactly these codes.
func wantErrors(t *testing.T, p *plan.Plan, codes ...diag.Code) {
	t.Helper()
	slices.Sort(codes)
	if got := slices.Sorted(maps.Keys(problems(p, diag.Error))); !slices.Equal(got, codes) {
		t.Fatalf("errors are %v, want %v: %v", got, codes, p.Problems)
	}
	if p.Runs() != (len(codes) == 0) {
		t.Errorf("Runs is %v with the errors %v", p.Runs(), codes)
	}
}

// says fails the test unless one problem of the code holds all words.
func says(t *testing.T, p *plan.Plan, code diag.Code, words ...string) plan.Problem {
	t.Helper()
	for _, q := range p.Problems {
		if q.Code != code {
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(q.Summary+"\n"+q.Detail, w) })
		if len(missing) == 0 {
			return q
		}
	}
	t.Fatalf("no %s says %q: %v", code, words, p.Problems)
	return plan.Problem{}
}
