package plan_test

import (
	"slices"
	"strings"
	"testing"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker/redis"
	"pipeline/lang/diag"
)

// A group that deduplicates needs rights that others do not, and loses its memory
// where a full server removes keys.
func TestAGroupThatDeduplicates(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		only := redis.Marks.Commands()
		only = slices.DeleteFunc(only, func(c string) bool { return slices.Contains(redis.Rights(), c) })
		if len(only) == 0 {
			t.Fatal("marks need nothing of their own")
		}
		for _, command := range only {
			if slices.Contains(s.plan("").Rights.Rule, "+"+command) {
				t.Errorf("+%s is asked for though nothing deduplicates", command)
			}
		}
		s.write(strings.Replace(file, "group \"newest\" {\n  stream = stream.in\n  subscription \"a\" {\n", `group "newest" {
  stream = stream.in
  subscription "a" {
    idempotency {
      key    = headers["key"]
      window = "24h"
    }
`, 1))
		p := s.plan("")
		wantErrors(t, p)
		for _, command := range only {
			if !slices.Contains(p.Rights.Rule, "+"+command) {
				t.Errorf("+%s is not in the rule %v", command, p.Rights.Rule)
			}
		}
		s.user("worker", p.Rights.Rule[1:]...)
		s.user("worker", "on")
		s.do("XGROUP", "CREATE", "in", "newest", "$", "MKSTREAM")
		s.do("XGROUP", "CREATE", "in", "oldest", "0")
		s.do("XGROUP", "CREATE", "in", "between", "15-0")
		wantErrors(t, s.plan("worker"))
		for _, command := range only {
			s.user("worker", "-"+command)
			lacking := s.plan("worker")
			wantErrors(t, lacking, plan.CodeRights)
			says(t, lacking, plan.CodeRights, "+"+command)
		}
		s.do("CONFIG", "SET", "maxmemory-policy", "volatile-lru", "maxmemory", "100mb")
		if q := says(t, s.plan(""), plan.CodeEviction, "keys of settled entries"); q.Severity != diag.Warning {
			t.Errorf("%+v", q)
		}
	})
}
