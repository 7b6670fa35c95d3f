package chaos

import (
	"flag"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

var herd = flag.Int("chaos.herd", 8, "how many processes lose their server at once; 100 need some 4 GB")

// attemptsEach is how often one process may ask for a connection while its server
// is away for some seconds and when it comes back: each of its parts backs off.
const attemptsEach = 60

func TestManyProcessesLoseTheirServerAtOnceAndAllComeBackInTheirTime(t *testing.T) {
	for _, version := range []string{"7.0", "8.6"} {
		t.Run(version, func(t *testing.T) {
			s := redistest.Start(t, version, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
			network := through(t, s)
			var all []*process
			for range *herd {
				all = append(all, runOn(t, s, network.url(), "min_idle=5s"))
			}
			for _, p := range all {
				p.ready()
			}
			before := network.accepted.Load()
			s.Stop()
			<-time.After(5 * time.Second) // how long it is away, not what is waited for
			s.Restart()
			for _, p := range all {
				eventually(t, "a process is back", func() bool { return strings.Contains(p.output(), `"event":"redis.back"`) })
			}
			attempts := network.accepted.Load() - before
			t.Logf("%d connections were asked for by %d processes", attempts, *herd)
			if limit := int64(attemptsEach * *herd); attempts > limit {
				t.Errorf("%d connections were asked for, want at most %d", attempts, limit)
			}
			pay(t, s, 0, 500)
			eventually(t, "everything is settled", func() bool { return settled(t, s) })
			for _, p := range all {
				p.signal(syscall.SIGTERM)
			}
			for _, p := range all {
				p.drain()
				for _, event := range []string{"redis.lost", "redis.back"} {
					if n := strings.Count(p.output(), `"event":"`+event+`"`); n != 1 {
						t.Errorf("a process told %s %d times, want once:\n%s", event, n, p.output())
					}
				}
			}
			expectOneReplyEach(t, s, 500)
		})
	}
}
