//go:build unix

package redis_test

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

const batchSize = 1000

// benchmarkStream makes a stream of payments with a group, so long that it can
// be read several times before the group is set back.
func benchmarkStream(b *testing.B, s *redistest.Server, r *redis.Broker, entries int) {
	b.Helper()
	if _, err := r.CreateGroup(b.Context(), stream, group, "0"); err != nil {
		b.Fatal(err)
	}
	adds := make([]broker.Add, entries)
	for i := range adds {
		adds[i] = message(stream,
			field("_payload", fmt.Sprintf(`{"id":%d,"account":"acct-%d","amount_cents":%d}`, i, i%100, i*7)),
			field("h:redis-partition-key", "acct-"+strconv.Itoa(i%100)))
	}
	if _, err := r.Add(b.Context(), adds); err != nil {
		b.Fatal(err)
	}
}

// rewind makes every entry new again.
func rewind(b *testing.B, s *redistest.Server) {
	b.Helper()
	c := s.Client()
	c.XGroupDestroy(b.Context(), stream, group)
	if err := c.XGroupCreate(b.Context(), stream, group, "0").Err(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead reads batches of 1,000, with this package and with the client
// library's own parser, from the same server.
func BenchmarkRead(b *testing.B) {
	const entries = 20 * batchSize
	run := func(name string, readBatch func(b *testing.B, s *redistest.Server, r *redis.Broker) int) {
		b.Run(name, func(b *testing.B) {
			s := redistest.Shared(b, "8.6")
			r := open(b, s)
			benchmarkStream(b, s, r, entries)
			b.ReportAllocs()
			done, before := 0, ownTime(b)
			for b.Loop() {
				if done%entries == 0 {
					b.StopTimer()
					rewind(b, s)
					b.StartTimer()
				}
				n := readBatch(b, s, r)
				if n != batchSize {
					b.Fatalf("read %d", n)
				}
				done += n
			}
			b.ReportMetric(float64((ownTime(b)-before).Nanoseconds())/float64(done), "cpu-ns/entry")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(done), "ns/entry")
		})
	}
	run("broker", func(b *testing.B, s *redistest.Server, r *redis.Broker) int {
		d, err := r.Read(b.Context(), broker.ReadRequest{Owner: owner("c"), Count: batchSize})
		if err != nil {
			b.Fatal(err)
		}
		return len(d)
	})
	run("go-redis", func(b *testing.B, s *redistest.Server, _ *redis.Broker) int {
		d, err := s.Client().XReadGroup(b.Context(), &goredis.XReadGroupArgs{
			Group: group, Consumer: "c", Streams: []string{stream, ">"}, Count: batchSize, Block: -1,
		}).Result()
		if err != nil {
			b.Fatal(err)
		}
		return len(d[0].Messages)
	})
}

// ownTime is the processor time that this process has used.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSettle settles batches of 250 replies and of 1,000 acks and reports
// what they cost the server.
func BenchmarkSettle(b *testing.B) {
	const entries = 20 * batchSize
	run := func(name string, size int, fill func(s *broker.Settlement, d []broker.Delivery)) {
		b.Run(name, func(b *testing.B) {
			s := redistest.Start(b, "8.6")
			r := open(b, s)
			benchmarkStream(b, s, r, entries)
			s.Client().ConfigResetStat(b.Context())
			b.ReportAllocs()
			done := 0
			for b.Loop() {
				b.StopTimer()
				if done%entries == 0 {
					rewind(b, s)
					s.Client().Del(b.Context(), replies)
				}
				d := read(b, r, "c", size)
				settlement := &broker.Settlement{Owner: owner("c")}
				fill(settlement, d)
				b.StartTimer()
				if _, err := r.Settle(b.Context(), settlement); err != nil {
					b.Fatal(err)
				}
				done += len(d)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(done), "ns/entry")
			for _, command := range []string{"evalsha", "xack"} {
				if us := serverTime(b, s, command); us > 0 {
					b.ReportMetric(us*1000/float64(done), "server-"+command+"-ns/entry")
				}
			}
		})
	}
	run("replies", 250, func(s *broker.Settlement, d []broker.Delivery) {
		for i := range d {
			s.Steps = append(s.Steps, broker.Step{ID: d[i].ID, Publish: []broker.Add{message(replies, d[i].Fields...)}})
		}
	})
	run("acks", batchSize, func(s *broker.Settlement, d []broker.Delivery) { s.Acks = idsOf(d) })
	fenced := func(key func(i int) string, publish bool) func(s *broker.Settlement, d []broker.Delivery) {
		n := 0
		return func(s *broker.Settlement, d []broker.Delivery) {
			s.Marks = broker.Marks{Set: "bench", Window: 24 * time.Hour}
			for i := range d {
				step := broker.Step{ID: d[i].ID, Mark: key(n)}
				if publish {
					step.Publish = []broker.Add{message(replies, d[i].Fields...)}
				}
				s.Steps = append(s.Steps, step)
				n++
			}
		}
	}
	unique := func(i int) string { return fmt.Sprintf("0190a9f0-7b1c-7000-8000-%012d", i) }
	run("fenced acks", 250, fenced(func(int) string { return "" }, false))
	run("marked acks", 250, fenced(unique, false))
	run("marked replies", 250, fenced(unique, true))
	run("duplicates", 250, fenced(func(i int) string { return unique(i % 200) }, false))
}

// BenchmarkMarked looks up the keys of batches of 100 among a million.
func BenchmarkMarked(b *testing.B) {
	s := redistest.Start(b, "8.6")
	r := open(b, s)
	const many, size = 1_000_000, 100
	before := usedMemory(b, s)
	pipe := s.Client().Pipeline()
	for i := range many {
		pipe.HSet(b.Context(), "{payments}:pipeline:ledger:marks:bench:0", fmt.Sprintf("0190a9f0-7b1c-7000-8000-%012d", i), fmt.Sprintf("%d %d-0", time.Now().UnixMilli(), time.Now().UnixMilli()))
		if pipe.Len() == 10_000 {
			if _, err := pipe.Exec(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	bytes := float64(usedMemory(b, s)-before) / many
	s.Client().ConfigResetStat(b.Context())
	keys := make([]string, size)
	done := 0
	for b.Loop() {
		for i := range keys {
			keys[i] = fmt.Sprintf("0190a9f0-7b1c-7000-8000-%012d", (done+i)*7919%(2*many))
		}
		m := broker.MarkedRequest{Stream: stream, Group: group, Marks: broker.Marks{Set: "bench", Window: 24 * time.Hour}, Keys: keys}
		if _, err := r.Marked(b.Context(), m); err != nil {
			b.Fatal(err)
		}
		done += size
	}
	b.ReportMetric(serverTime(b, s, "evalsha")*1000/float64(done), "server-evalsha-ns/key")
	b.ReportMetric(bytes, "server-bytes/mark")
}

// usedMemory is how many bytes the server uses.
func usedMemory(b *testing.B, s *redistest.Server) int64 {
	b.Helper()
	_, after, _ := strings.Cut(s.Client().Info(b.Context(), "memory").Val(), "used_memory:")
	text, _, _ := strings.Cut(after, "\r")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// serverTime is the microseconds that the server spent in a command.
func serverTime(b *testing.B, s *redistest.Server, command string) float64 {
	b.Helper()
	stats := s.Client().Info(b.Context(), "commandstats").Val()
	_, after, found := strings.Cut(stats, "cmdstat_"+command+":")
	if !found {
		return 0
	}
	_, after, _ = strings.Cut(after, "usec=")
	text, _, _ := strings.Cut(after, ",")
	us, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatal(err)
	}
	return us
}
