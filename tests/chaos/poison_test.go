package chaos

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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
    timeout      = "5m"
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

// The test kills the process when it hears that the deadly entry runs.
const poisonHandler = `
function handle(entry)
  if entry.deadly then
    log.warn("deadly")
    while true do end
  end
  if entry.slow then
    for i = 1, 8000000 do end
  end
  return { n = entry.n }
end
`

// max_attempts of the pipeline above.
const poisonAttempts = 4

// An entry whose process dies of it, which is started again each time, is
// dead-lettered after max_attempts starts and not run again. The slow ones that were
// fetched and run beside it are all processed and none of them answers for it,
// though the process dies while they run. What comes meanwhile is processed, too:
// all that was published while the deadly entry runs alone is answered before it
// ends, however many entries wait for it.
func TestAnEntryThatKillsItsProcessDiesAlone(t *testing.T) {
	for name, before := range map[string]func(p *poison){
		"killed at once": func(*poison) {},
		"killed when what came meanwhile is answered": func(p *poison) {
			if p.starts >= 2 { // from the third one on it runs alone
				p.answers(12)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				p := newPoison(t, s)
				p.publish("slow", 3)
				p.add(`{"deadly":true}`)
				p.publish("slow", 9)
				p.publish("new", 30)
				for p.live(before) {
					if p.starts > poisonAttempts {
						t.Fatalf("the deadly entry was started %d times, want %d", p.starts, poisonAttempts)
					}
				}
				if p.starts != poisonAttempts {
					t.Errorf("the deadly entry was started %d times, want %d", p.starts, poisonAttempts)
				}
				p.verdict()
			})
		})
	}
}

// poison is a pipeline that a supervisor starts again whenever it dies.
type poison struct {
	t *testing.T
	s *redistest.Server
	// file is the pipeline, run the process that is alive.
	file string
	run  *process
	// n is how many harmless entries were published, starts how often the deadly
	// one began to run.
	n, starts int
}

func newPoison(t *testing.T, s *redistest.Server) *poison {
	dir := folder(t, map[string]string{"p.hcl": poisonPipeline, "h.lua": poisonHandler})
	return &poison{t: t, s: s, file: filepath.Join(dir, "p.hcl")}
}

func (p *poison) add(body string) {
	p.t.Helper()
	if err := p.s.Client().Do(p.t.Context(), "XADD", "in", "*", "_payload", body).Err(); err != nil {
		p.t.Fatal(err)
	}
}

// publish adds harmless entries of a kind.
func (p *poison) publish(kind string, count int) {
	p.t.Helper()
	for range count {
		p.add(fmt.Sprintf(`{"n":%d,"%s":true}`, p.n, kind))
		p.n++
	}
}

// live is one life of the process: it ends, by a kill, after the deadly entry began
// to run and before is done, or, with false, in order when that one is dead and
// nothing is left. New entries are published in each.
func (p *poison) live(before func(*poison)) bool {
	p.t.Helper()
	p.run = command(p.t, "run", p.file, "--var", "redis_url="+p.s.URL())
	p.publish("new", 5)
	over := false
	eventually(p.t, "the deadly entry runs or is dead\n", func() bool {
		over = p.s.Client().XLen(p.t.Context(), "dead").Val() > 0
		return over || p.began() > 0
	})
	if !over {
		before(p)
		p.starts += p.began()
		p.run.kill()
		return true
	}
	p.publish("new", 5)
	eventually(p.t, "all is processed", func() bool {
		done, dead := p.s.Client().XLen(p.t.Context(), "done").Val(), p.s.Client().XLen(p.t.Context(), "dead").Val()
		return done+dead > int64(p.n) && left(p.t, p.s) == 0
	})
	p.starts += p.began()
	p.run.signal(syscall.SIGTERM)
	p.run.left()
	return false
}

// began is how often the deadly entry began to run in this life.
func (p *poison) began() int { return strings.Count(p.run.output(), `"msg":"deadly"`) }

// answers waits until new entries, some for each worker, are answered.
func (p *poison) answers(count int) {
	p.t.Helper()
	first := p.n
	p.publish("new", count)
	eventually(p.t, "what came while the deadly entry runs is answered\n", func() bool {
		replies := p.replies()
		for n := first; n < p.n; n++ {
			if replies[n] == 0 {
				return false
			}
		}
		return true
	})
	if n := p.began(); n != 1 {
		p.t.Errorf("the deadly entry began to run %d times in a process", n)
	}
}

// replies are how many replies each harmless entry has.
func (p *poison) replies() map[int]int {
	p.t.Helper()
	all := map[int]int{}
	each(p.t, p.s, "done", func(values map[string]any) {
		n := -1
		_, _ = fmt.Sscanf(fmt.Sprint(values["_payload"]), `{"n":%d}`, &n)
		all[n]++
	})
	return all
}

// verdict is what must have become of all.
func (p *poison) verdict() {
	p.t.Helper()
	replies := p.replies()
	for n := range p.n {
		if replies[n] != 1 {
			p.t.Errorf("entry %d has %d replies, want 1", n, replies[n])
		}
	}
	letters := 0
	each(p.t, p.s, "dead", func(values map[string]any) {
		letters++
		if body, tried := fmt.Sprint(values["_payload"]), fmt.Sprint(values["h:dead-letter-attempts"]); body != `{"deadly":true}` || tried != strconv.Itoa(poisonAttempts) {
			p.t.Errorf("a dead letter of %s after %s attempts, want that of the deadly entry after %d", body, tried, poisonAttempts)
		}
	})
	if letters != 1 {
		p.t.Errorf("%d dead letters, want 1", letters)
	}
	redistest.Leftovers(p.t, p.s, "in")
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
