package web_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/doctor"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

// scale has TestAtScale measure at full size: go test ./cmd/pipeline/internal/web -run AtScale -scale -v.
var scale = flag.Bool("scale", false, "TestAtScale: a million pending entries, and a minute of polling")

// fill adds entries to a stream and has a group deliver all but some of them, on the
// server itself.
const fill = `
for i = 1, ARGV[1] do redis.call("XADD", KEYS[1], "*", "_payload", '{"id":' .. i .. ',"card":"4111222233334444"}') end
redis.call("XREADGROUP", "GROUP", ARGV[2], "gone", "COUNT", ARGV[1] - 1, "STREAMS", KEYS[1], ">")
return 0`

// busy is a site over subscriptions of a server, one of which has a long pending list.
func busy(t *testing.T, s *redistest.Server, subscriptions, pending int) *world {
	t.Helper()
	w := &world{TB: t}
	w.load(manyGroups(subscriptions), s.URL())
	b, err := build.OpenRedis(w.pipeline.Broker, clock.Real(), nil)
	w.ok(err)
	w.on(b)
	w.options.Examine = func(ctx context.Context) []view.Finding {
		return doctor.Run(ctx, w.pipeline, b, clock.Real(), doctor.Options{})
	}
	w.open()
	for i := range subscriptions {
		w.ok(s.Client().XGroupCreateMkStream(t.Context(), fmt.Sprintf("in%d", i/2), fmt.Sprintf("g%d", i), "0").Err())
	}
	for n := pending; n > 0; n -= 10_000 {
		w.ok(s.Client().Eval(t.Context(), fill, []string{"in0"}, min(n, 10_000)+1, "g0").Err())
	}
	info := s.Client().XInfoGroups(t.Context(), "in0").Val()
	if info[0].Pending < int64(pending) {
		t.Fatalf("%+v", info)
	}
	return w
}

// asked is what a page cost at least so far, and once more: the processor's time in this
// process and of the server, which a busy machine hardly makes longer, and the time until
// it came.
func (w *world) asked(t *testing.T, s *redistest.Server, path string, least cost) cost {
	t.Helper()
	server, here, begin := used(t, s), usedHere(t), time.Now()
	if a := w.get(path); a.status != http.StatusOK {
		t.Fatalf("%s: %d\n%.1000s", path, a.status, a.text)
	}
	took := time.Since(begin)
	work := usedHere(t) - here + time.Duration((used(t, s)-server)*float64(time.Second))
	if least == (cost{}) {
		return cost{work, took}
	}
	return cost{min(least.work, work), min(least.took, took)}
}

type cost struct{ work, took time.Duration }

func (c cost) String() string {
	return fmt.Sprintf("%s, %s of it work", c.took.Round(100*time.Microsecond), c.work.Round(100*time.Microsecond))
}

// With 200 subscriptions and a long pending list, looking takes less than a hundredth of
// the server's time, however many look, and no page costs more than in proportion to what
// it does where a tenth of the subscriptions are, and few entries pending. At full size
// every page comes within 300 ms, too: on a machine that does nothing else.
func TestAtScale(t *testing.T) {
	const subscriptions, mostOfServer = 200, 0.01
	const fewer, few, least = subscriptions / 10, 2_000, 5 * time.Millisecond
	const inProportion, slack = subscriptions / fewer, 3
	pending, polled, mostPage := 50_000, 10*time.Second, time.Hour
	if *scale {
		pending, polled, mostPage = 1_000_000, time.Minute, 300*time.Millisecond
	}
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			s := redistest.Start(t, version)
			s.Record(t)
			w := busy(t, s, subscriptions, pending)
			other := redistest.Shared(t, version)
			small := busy(t, other, fewer, few)
			small.poller.Once(t.Context())
			before, began := used(t, s), time.Now()
			time.Sleep(polled / 3) // what the server takes for itself
			idle := (used(t, s) - before) / time.Since(began).Seconds()
			ctx, stop := context.WithCancel(t.Context())
			var polling sync.WaitGroup
			before, began = used(t, s), time.Now()
			polling.Go(func() { w.poller.Run(ctx) })
			w.until("the server was looked at", func() bool { return w.poller.Latest().Up() })
			time.Sleep(polled - time.Since(began))
			part := (used(t, s)-before)/time.Since(began).Seconds() - idle
			t.Logf("%s pending on %s: polling takes %.2f %% of the server, which takes %.2f %% for itself", view.Number(int64(pending)), s.FullVersion(), 100*part, 100*idle)
			if part > mostOfServer {
				t.Errorf("polling takes %.2f %% of the server, and may take %.2f %%", 100*part, 100*mostOfServer)
			}
			for _, path := range []string{
				"/", "/group/g0", "/group/g0/pending", "/group/g19", "/dead-letters", "/entry?stream=in0&id=ID", "/handler/h", "/events",
				"/api/overview", "/api/groups", "/api/problems", "/health", "/api/doctor",
			} {
				var all, some cost
				for range 5 { // by turns, so that the machine is as busy for both
					all = w.asked(t, s, strings.Replace(path, "ID", first(t, s), 1), all)
					some = small.asked(t, other, strings.Replace(path, "ID", first(t, other), 1), some)
				}
				t.Logf("%-30s %s; with fewer %s", path, all, some)
				if most := slack * inProportion * max(least, some.work); all.work > most || all.took > mostPage {
					t.Errorf("%s takes %s, and may take %s, and %s of work", path, all, mostPage, most)
				}
			}
			stop()
			polling.Wait()
		})
	}
}

// usedHere is the processor time of this process so far.
func usedHere(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// first is the id of the first entry of what is filled.
func first(t *testing.T, s *redistest.Server) string {
	t.Helper()
	return s.Client().XRangeN(t.Context(), "in0", "-", "+", 1).Val()[0].ID
}

var mainThread = regexp.MustCompile(`used_cpu_(?:sys|user)_main_thread:([0-9.]+)`)

// used is the processor time of the server's thread so far, in seconds.
func used(t *testing.T, s *redistest.Server) (sum float64) {
	t.Helper()
	text := s.Client().Info(t.Context(), "cpu").Val()
	found := mainThread.FindAllStringSubmatch(text, -1)
	for _, m := range found {
		v, err := strconv.ParseFloat(strings.TrimSpace(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if len(found) != 2 {
		t.Fatalf("the server does not tell its time:\n%s", text)
	}
	return sum
}
