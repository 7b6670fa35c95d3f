package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

const poisonPipeline = `
pipeline "poison" {
  language = 1
}
variable "redis_url" {
  type = string
}
broker "redis" {
  url = var.redis_url
}
stream "in" {}
stream "dead" {}
stream "done" {}
handler "h" {
  source = "h.lua"
  limits {
    timeout      = "50s"
    instructions = 100000000000
  }
  grant "log" {}
}
retry "r" {
  max_attempts = 4
  delay        = "100ms"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    retry   = retry.r
    block   = "50ms"
    claim {
      min_idle = "300ms"
    }
    workers {
      count = 4
    }
    reply {
      to = stream.done
    }
  }
}
`

// The test kills the process as soon as it hears that the deadly entry runs.
const poisonHandler = `
function handle(entry)
  if entry.deadly then
    log.warn("deadly")
    while true do end
  end
  return { n = entry.n }
end
`

// An entry whose process dies of it is dead-lettered after max_attempts starts
// without being run again. What was fetched beside it is all processed, and what
// comes meanwhile too.
func TestAnEntryThatKillsItsProcessDiesAlone(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		dir := t.TempDir()
		for name, text := range map[string]string{"p.hcl": poisonPipeline, "h.lua": poisonHandler} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		add := func(body string) {
			t.Helper()
			if err := s.Client().Do(t.Context(), "XADD", "in", "*", "_payload", body).Err(); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		harmless := func(count int) {
			t.Helper()
			for range count {
				add(fmt.Sprintf(`{"n":%d}`, n))
				n++
			}
		}
		harmless(30)
		add(`{"deadly":true}`)
		harmless(30)
		starts := 0
		length := func(stream string) int64 { return s.Client().XLen(t.Context(), stream).Val() }
		for over := false; !over; {
			p := command(t, "run", filepath.Join(dir, "p.hcl"), "--var", "redis_url="+s.URL())
			eventually(t, "the deadly entry runs or is dead\n", func() bool {
				over = length("dead") == 1
				return over || strings.Contains(p.output(), `"msg":"deadly"`)
			})
			if over {
				eventually(t, "all is processed", func() bool { return length("done") >= int64(n) && left(t, s) == 0 })
			} else {
				starts++
				harmless(5)
			}
			p.kill()
		}
		if starts != 4 {
			t.Errorf("the deadly entry was started %d times, want 4", starts)
		}
		replies := map[string]int{}
		for _, e := range s.Client().XRange(t.Context(), "done", "-", "+").Val() {
			replies[fmt.Sprint(e.Values["_payload"])]++
		}
		for i := range n {
			if got := replies[fmt.Sprintf(`{"n":%d}`, i)]; got != 1 {
				t.Errorf("entry %d has %d replies, want 1", i, got)
			}
		}
	})
}

// left is how many entries of the group are pending.
func left(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	p, err := s.Client().XPending(t.Context(), "in", "g").Result()
	if err != nil {
		t.Fatal(err)
	}
	return p.Count
}
