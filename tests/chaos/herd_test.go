package chaos

import (
	"encoding/json"
	"flag"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

var (
	herd   = flag.Int("chaos.herd", 20, "how many processes lose their server at once; 100 need some 4 GB")
	outage = flag.Duration("chaos.outage", 8*time.Second, "how long that server is away")
)

// What one process may ask for while its server is away and when it comes back.
// Only one of its parts looks for the server at a time, with pauses that grow to a
// sixth of its min_idle and a second, half of that on average; when it is found, all
// parts connect.
const (
	minIdle      = 5 * time.Second
	attemptsBack = 25
)

func attemptsAway() int { return 25 + int(*outage/((minIdle/6+time.Second)/2)) }

func TestManyProcessesLoseTheirServerAtOnceAndAllComeBackInTheirTime(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			// An orderly stop writes everything; until then no disk holds the server up.
			s := redistest.Start(t, version, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "no"))
			network := redistest.Through(t, s)
			all := gather(t, s, network)
			before := network.Asked()
			s.Stop()
			lost := time.Now()
			<-time.After(*outage) // how long it is away, not what is waited for
			s.Restart()
			back := time.Now()
			for _, p := range all {
				wait(t, 2*patience, "a process is back", func() bool { return strings.Contains(p.output(), `"event":"redis.back"`) })
				wait(t, 2*patience, "a process reads again", func() bool { return reads(p) })
			}
			took := time.Since(back)
			for _, p := range all {
				expectFewWords(t, p)
			}
			attempts := network.Asked()[len(before):]
			expectNoStampede(t, attempts, lost, back)
			t.Logf("all of %d were back %v after their server", *herd, took.Round(100*time.Millisecond))
			pay(t, s, 0, 500)
			eventually(t, "everything is settled", func() bool { return settled(t, s) })
			for _, p := range all {
				p.signal(syscall.SIGTERM)
			}
			for _, p := range all {
				p.left() // a second signal would end it at once
			}
			expectOneReplyEach(t, s, 500)
		})
	}
}

// gather starts the herd and waits until all of it reads.
func gather(t *testing.T, s *redistest.Server, network *redistest.Proxy) []*process {
	t.Helper()
	began := time.Now()
	var all []*process
	for range *herd {
		all = append(all, runOn(t, s, network.URL(), "min_idle="+minIdle.String()))
	}
	for _, p := range all {
		wait(t, 3*patience, "the process reads", func() bool { return reads(p) })
	}
	t.Logf("%d processes read after %v, over %d connections", *herd, time.Since(began).Round(100*time.Millisecond), len(network.Asked()))
	return all
}

// reads reports whether both subscriptions that read new entries do so, under the
// last of their names.
func reads(p *process) bool {
	reading := map[string]int{}
	both := 0
	for _, l := range lines(p) {
		switch l.Event {
		case "subscription.reading":
			if reading[l.Subscription]++; reading[l.Subscription] == 1 {
				both++
			}
		case "slot.lost":
			reading[l.Subscription]--
			if reading[l.Subscription] == 0 {
				both--
			}
		}
	}
	return both == 2
}

// expectNoStampede checks how often the herd asked for a connection.
func expectNoStampede(t *testing.T, attempts []time.Time, lost, back time.Time) {
	t.Helper()
	away, after := map[int]int{}, map[int]int{}
	sum := 0
	for _, at := range attempts {
		if at.Before(back) {
			away[int(at.Sub(lost)/time.Second)]++
			sum++
		} else {
			after[int(at.Sub(back)/time.Second)]++
		}
	}
	t.Logf("asked for %d connections while it was away, by second %v", sum, perSecond(away))
	t.Logf("asked for %d connections when it was back, by second %v", len(attempts)-sum, perSecond(after))
	if limit := attemptsAway() * *herd; sum > limit {
		t.Errorf("%d connections were asked for while the server was away, want at most %d", sum, limit)
	}
	if limit := attemptsBack * *herd; len(attempts)-sum > limit {
		t.Errorf("%d connections were asked for when the server was back, want at most %d", len(attempts)-sum, limit)
	}
}

// perSecond is a histogram as a list.
func perSecond(counts map[int]int) []int {
	if len(counts) == 0 {
		return nil
	}
	list := make([]int, slices.Max(slices.Collect(maps.Keys(counts)))+1)
	for second, n := range counts {
		list[max(0, second)] += n
	}
	return list
}

// expectFewWords checks that a process told each change of state once.
func expectFewWords(t *testing.T, p *process) {
	t.Helper()
	n := map[string]int{}
	for _, l := range lines(p) {
		n[l.Event]++
	}
	for _, event := range []string{"redis.lost", "redis.back"} {
		if n[event] != 1 {
			t.Errorf("a process told %s %d times, want once:\n%s", event, n[event], p.output())
		}
	}
}

// lines are what a process told, in its order.
func lines(p *process) []line {
	var all []line
	for text := range strings.Lines(p.output()) {
		var l line
		if json.Unmarshal([]byte(text), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}
