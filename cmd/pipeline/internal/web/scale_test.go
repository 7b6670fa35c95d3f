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

// With 200 subscriptions and a long pending list every page comes within 300 ms, and
// looking takes less than a hundredth of the server's time, however many look.
func TestAtScale(t *testing.T) {
	const subscriptions, mostPage, mostOfServer = 200, 300 * time.Millisecond, 0.01
	pending, polled := 50_000, 10*time.Second
	if *scale {
		pending, polled = 1_000_000, time.Minute
	}
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			s := redistest.Start(t, version)
			s.Record(t)
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
			for range pending / 10_000 {
				w.ok(s.Client().Eval(t.Context(), fill, []string{"in0"}, 10_001, "g0").Err())
			}
			info := s.Client().XInfoGroups(t.Context(), "in0").Val()
			if info[0].Pending < int64(pending) {
				t.Fatalf("%+v", info)
			}
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
			t.Logf("%s pending on %s: polling takes %.2f %% of the server, which takes %.2f %% for itself", view.Number(info[0].Pending), s.FullVersion(), 100*part, 100*idle)
			if part > mostOfServer {
				t.Errorf("polling takes %.2f %% of the server, and may take %.2f %%", 100*part, 100*mostOfServer)
			}
			id := s.Client().XRangeN(t.Context(), "in0", "-", "+", 1).Val()[0].ID
			for _, path := range []string{
				"/", "/group/g0", "/group/g0/pending", "/group/g199", "/dead-letters", "/entry?stream=in0&id=" + id, "/handler/h", "/events",
				"/api/overview", "/api/groups", "/api/problems", "/health", "/health", "/api/doctor",
			} {
				took := time.Hour
				for range 3 { // a machine that is busy just then is not meant
					begin := time.Now()
					if a := w.get(path); a.status != http.StatusOK {
						t.Fatalf("%s: %d\n%.1000s", path, a.status, a.text)
					}
					if first := time.Since(begin); took == time.Hour {
						t.Logf("%-50s %s", path, first.Round(100*time.Microsecond))
						took = first
					} else {
						took = min(took, first)
					}
				}
				if took > mostPage {
					t.Errorf("%s takes %s", path, took)
				}
			}
			stop()
			polling.Wait()
		})
	}
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
