package chaos

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

// steadyFile is a pipeline whose handler works for a moment and then replies.
const steadyFile = `
pipeline "steady" {
  language      = 1
  drain_timeout = "3s"
}
variable "url" {
  type      = string
  sensitive = true
}
broker "redis" {
  url = var.url
}
stream "in" {}
stream "out" {}
handler "h" {
  source = "steady.lua"
  limits {
    instructions = 10000000000
  }
  grant "log" {}
}
group "g" {
  stream = stream.in
  start  = "beginning"
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "2s"
    }
    reply {
      to = stream.out
    }
  }
}
`

const steadyScript = `
function handle(e)
  log.info("begun")
  local n = 0
  for i = 1, 30000000 do n = n + i end
  return e
end
`

// answers is how long at most a drain waits for a server's answers, and what this
// machine may be late by.
const answers, late = 10 * time.Second, 15 * time.Second

// silences are ways in which a server does not answer.
var silences = []struct {
	name    string
	options []redistest.Option
	begin   func(t *testing.T, s *redistest.Server, network *redistest.Proxy)
	end     func(s *redistest.Server, network *redistest.Proxy)
}{
	{
		"hung sockets", nil,
		func(_ *testing.T, _ *redistest.Server, network *redistest.Proxy) { network.Hang() },
		func(_ *redistest.Server, network *redistest.Proxy) { network.Heal() },
	},
	{
		"away", []redistest.Option{redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always")},
		func(_ *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Kill() },
		func(s *redistest.Server, _ *redistest.Proxy) { s.Restart() },
	},
	{
		"loading", []redistest.Option{
			redistest.Config("key-load-delay", "100000"), redistest.Config("loading-process-events-interval-bytes", "1024"),
			redistest.Config("rdbcompression", "no"),
		},
		load,
		func(s *redistest.Server, _ *redistest.Proxy) {
			_ = s.Client().ConfigSet(context.Background(), "key-load-delay", "0") // too late, if it is loaded
		},
	},
}

// load restarts the server with so much data that it loads until it is told to make
// haste.
func load(t *testing.T, s *redistest.Server, _ *redistest.Proxy) {
	ctx := context.Background()
	pipe := s.Client().Pipeline()
	for range 190 { // a key more or less is of no matter
		pipe.Do(ctx, "EVAL", "redis.call('SET', 'ballast:' .. redis.call('INCR', 'n'), string.rep('x', 1100))", 0)
	}
	pipe.Save(ctx)
	if _, err := pipe.Exec(ctx); err != nil && !strings.Contains(err.Error(), "nil") {
		t.Fatal(err)
	}
	s.Kill()
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		s.Restart()
	}()
	t.Cleanup(func() { <-restarted })
	eventually(t, "the server says that it is loading", func() bool {
		err := s.Client().Ping(ctx).Err()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	})
}

// steady starts the steady pipeline and waits until it reads.
func steady(t *testing.T, network *redistest.Proxy) *process {
	t.Helper()
	dir := folder(t, map[string]string{"steady.hcl": steadyFile, "steady.lua": steadyScript})
	p := command(t, "run", filepath.Join(dir, "steady.hcl"), "--var", "url="+network.URL())
	eventually(t, "the process reads", func() bool { return strings.Contains(p.output(), "subscription.reading") })
	return p
}

// onSilences runs a test for each silence on each server, side by side: they mostly
// wait. busy has the silence begin while an entry is worked on.
func onSilences(t *testing.T, busy bool, test func(t *testing.T, p *process)) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, version := range redistest.Versions {
		for _, c := range silences {
			all.Go(func() {
				t.Run(version+"/"+c.name, func(t *testing.T) {
					s := redistest.Start(t, version, c.options...)
					network := redistest.Through(t, s)
					p := steady(t, network)
					if busy {
						s.CLI("XADD", "in", "*", "_payload", `{"n":1}`)
						eventually(t, "the handler has begun", func() bool { return strings.Contains(p.output(), `"begun"`) })
					}
					c.begin(t, s, network)
					test(t, p)
					c.end(s, network)
					if busy {
						expectDoneByAnother(t, s, network)
					}
				})
			})
		}
	}
}

// expectDoneByAnother checks that what was left is done, once.
func expectDoneByAnother(t *testing.T, s *redistest.Server, network *redistest.Proxy) {
	t.Helper()
	next := steady(t, network)
	eventually(t, "the entry has a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() > 0 })
	next.signal(syscall.SIGTERM)
	next.left()
	if n := s.Client().XLen(t.Context(), "out").Val(); n != 1 {
		t.Errorf("%d replies, want 1", n)
	}
}

func TestADrainDoesNotWaitForAServerThatDoesNotAnswer(t *testing.T) {
	onSilences(t, true, func(t *testing.T, p *process) {
		began := time.Now()
		p.signal(syscall.SIGTERM)
		if code := p.exit(); code != 5 {
			t.Errorf("exit code %d, want 5:\n%s", code, p.output())
		}
		if took := time.Since(began); took > answers+late {
			t.Errorf("the drain took %v", took)
		} else {
			t.Logf("the drain took %v", took.Round(10*time.Millisecond))
		}
		if !strings.Contains(p.output(), "entries_left") || !strings.Contains(p.output(), "s left 1") {
			t.Errorf("it does not say what was left:\n%s", p.output())
		}
	})
}

func TestADrainWithNothingInFlightEndsWellWithoutItsServer(t *testing.T) {
	onSilences(t, false, func(t *testing.T, p *process) {
		began := time.Now()
		p.signal(syscall.SIGTERM)
		p.left()
		if took := time.Since(began); took > answers+late {
			t.Errorf("the drain took %v", took)
		} else {
			t.Logf("the drain took %v", took.Round(10*time.Millisecond))
		}
	})
}

func TestASecondSignalEndsADrainThatWaitsForAServerAtOnce(t *testing.T) {
	onSilences(t, true, func(t *testing.T, p *process) {
		p.signal(syscall.SIGTERM)
		eventually(t, "it stops", func() bool { return strings.Contains(p.output(), "process.stopping") })
		again := time.NewTicker(20 * time.Millisecond) // the first of them may pass for an echo
		defer again.Stop()
		for ended := false; !ended; {
			select {
			case <-again.C:
				p.signal(syscall.SIGTERM)
			case <-p.done:
				ended = true
			}
		}
		if code := p.exit(); code != 143 {
			t.Errorf("exit code %d, want 143:\n%s", code, p.output())
		}
	})
}
