package chaos

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"pipeline/tests/redistest"
)

// stopFile has one worker that is busy until its process is told to give up.
const stopFile = `
pipeline "stop" {
  language      = 1
  drain_timeout = var.drain
}
variable "drain" {
  type    = string
  default = "50s"
}
variable "redis_url" {
  type = string
}
broker "redis" {
  url = var.redis_url
}
stream "in" {}
handler "h" {
  source = "h.lua"
  limits {
    timeout      = "55s"
    instructions = 100000000000
  }
  grant "log" {}
}
group "g" {
  stream = stream.in
  start  = "beginning"
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "60s"
    }
    workers {
      count = 1
    }
  }
}
`

const stopScript = `
function handle(n)
  log.info("begun")
  if n > 0 then while true do end end
  return ack()
end
`

// stopping runs stopFile on a server and gives it n entries, of which the worker
// takes the first and keeps it.
func stopping(t *testing.T, s *redistest.Server, n int, vars ...string) *process {
	t.Helper()
	dir := folder(t, map[string]string{"stop.hcl": stopFile, "h.lua": stopScript})
	args := []string{"run", filepath.Join(dir, "stop.hcl"), "--var", "redis_url=" + s.URL()}
	for _, v := range vars {
		args = append(args, "--var", v)
	}
	p := command(t, args...)
	eventually(t, "the process reads", func() bool { return strings.Contains(p.output(), "subscription.reading") })
	for range n {
		s.CLI("XADD", "in", "*", "_payload", "1")
	}
	if n > 0 {
		eventually(t, "the first entry runs", func() bool { return strings.Contains(p.output(), `"begun"`) })
		eventually(t, "the others are held", func() bool { return len(delivered(t, s)) == n })
	}
	return p
}

// delivered are the pending entries of stopFile: how often each was delivered.
func delivered(t *testing.T, s *redistest.Server) []int64 {
	t.Helper()
	var counts []int64
	pending, err := s.Client().XPendingExt(t.Context(), &redis.XPendingExtArgs{Stream: "in", Group: "g", Start: "-", End: "+", Count: 100}).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		counts = append(counts, p.RetryCount)
	}
	return counts
}

// The exit code of a process that is told to stop, and what it says and leaves.
func TestASignalEndsAProcess(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries int
		vars    []string
		signals []syscall.Signal
		code    int
		says    string
		// left are the deliveries of what stays pending.
		left []int64
	}{
		{"idle, by TERM", 0, nil, []syscall.Signal{syscall.SIGTERM}, 0, "process.stopping", nil},
		{"idle, by INT", 0, nil, []syscall.Signal{syscall.SIGINT}, 0, "process.stopping", nil},
		{"busy for longer than drain_timeout", 2, []string{"drain=2s"}, []syscall.Signal{syscall.SIGTERM}, 5, "s left 1", []int64{1, 0}},
		{"busy, a second time by INT", 1, nil, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 130, "a second signal (interrupt)", []int64{1}},
		{"busy, a second time by TERM", 1, nil, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, 143, "a second signal (terminated)", []int64{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				p := stopping(t, s, c.entries, c.vars...)
				for i, signal := range c.signals {
					p.signal(signal)
					if i+1 < len(c.signals) {
						eventually(t, "the first signal is heard", func() bool { return strings.Contains(p.output(), "process.stopping") })
					}
				}
				if code := p.exit(); code != c.code {
					t.Errorf("exit code %d, want %d:\n%s", code, c.code, p.output())
				}
				if !strings.Contains(p.output(), c.says) {
					t.Errorf("it does not say %q:\n%s", c.says, p.output())
				}
				got := delivered(t, s)
				if len(got) != len(c.left) {
					t.Fatalf("left pending with deliveries %v, want %v", got, c.left)
				}
				for i := range got {
					if got[i] != c.left[i] {
						t.Errorf("left pending with deliveries %v, want %v", got, c.left)
					}
				}
				consumers := int64(0)
				if len(c.left) > 0 {
					consumers = 1
				}
				if g := s.Client().XInfoGroups(t.Context(), "in").Val(); len(g) != 1 || g[0].Consumers != consumers {
					t.Errorf("consumers are left: %+v, want %d", g, consumers)
				}
			})
		})
	}
}

// A server that is down, or accepts connections and says nothing, while a process
// starts: a signal ends it, with nothing left behind.
func TestASignalEndsAProcessThatIsStillStarting(t *testing.T) {
	for _, version := range redistest.Versions {
		for name, away := range map[string]func(s *redistest.Server){
			"the server is down":   (*redistest.Server).Stop,
			"the server is frozen": (*redistest.Server).Pause,
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, version)
				away(s)
				p := run(t, s)
				eventually(t, "it waits for the server", func() bool {
					return strings.Contains(p.output(), "process.started")
				})
				p.signal(syscall.SIGTERM)
				if code := p.exit(); code != 0 {
					t.Errorf("exit code %s, want 0:\n%s", strconv.Itoa(code), p.output())
				}
			})
		}
	}
}
