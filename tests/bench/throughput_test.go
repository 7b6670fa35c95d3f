// Package bench measures the engine beside a consumer written by hand, in one
// run on one server, so that what is compared is a ratio and not a machine.
package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine"
	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/sandbox"
	"pipeline/sandbox/lua"
	"pipeline/tests/bench/reference"
	"pipeline/tests/redistest"
)

// entries is how many payments one round handles; PIPELINE_BENCH_ENTRIES sets it.
var entries = func() int {
	n, err := strconv.Atoi(os.Getenv("PIPELINE_BENCH_ENTRIES"))
	if err != nil {
		return 100_000
	}
	return n
}()

const file = `
pipeline "bench" {
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "payments" {
  entry = object({ id = number, account = string, amount_cents = number })
}
stream "payments_screened" {
  name = "payments.screened"
}
handler "screen" {
  source   = "%[1]s/../../examples/handlers/payments.lua"
  function = "screen_payment"
}
handler "ack" {
  source = "%[1]s/ack.lua"
}
group "fraud" {
  stream = stream.payments
  start  = "beginning"
  subscription "screen" {
    handler = handler.%[2]s
    batch   = 1000
    claim {
      min_idle = "30s"
    }
    workers {
      count = 8
    }
    %[3]s
  }
}
`

// BenchmarkReply handles payments, publishes a reply to each and acknowledges
// it: the engine with a sandboxed script and fenced replies, and the reference.
func BenchmarkReply(b *testing.B) {
	run(b, "payments.screened", "screen", "reply {\n to = stream.payments_screened\n }")
}

// BenchmarkAck only acknowledges.
func BenchmarkAck(b *testing.B) { run(b, "", "ack", "") }

func run(b *testing.B, replyTo, handler, reply string) {
	s := redistest.Shared(b, "8.6")
	fill(b, s.Client())
	b.Run("reference", func(b *testing.B) {
		client, err := reference.Connect(s.URL(), 8)
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		rounds(b, s.Client(), "reference", func() { runReference(b, client, replyTo) })
	})
	b.Run("pipeline", func(b *testing.B) {
		rounds(b, s.Client(), "fraud", func() { runEngine(b, s, fmt.Sprintf(file, here(b), handler, reply)) })
	})
}

// rounds runs a consumer over the whole stream b.N times.
func rounds(b *testing.B, c *goredis.Client, group string, consume func()) {
	for range b.N {
		b.StopTimer()
		c.XGroupDestroy(b.Context(), "payments", group)
		c.Del(b.Context(), "payments.screened", "{payments}:pipeline:"+group+":floor")
		if err := c.XGroupCreate(b.Context(), "payments", group, "0").Err(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		consume()
		b.StopTimer()
		if p := c.XPending(b.Context(), "payments", group).Val(); p == nil || p.Count != 0 {
			b.Fatalf("left pending: %+v", p)
		}
	}
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(0, "ns/op")
}

func fill(b *testing.B, c *goredis.Client) {
	pipe := c.Pipeline()
	for i := range entries {
		body := fmt.Sprintf(`{"id":%d,"account":"acct-%06d","amount_cents":%d,"currency":"EUR","memo":"invoice 2026-11 payment ref %08d"}`,
			i, i%5000, 100+i%2000000, i)
		pipe.XAdd(b.Context(), &goredis.XAddArgs{
			Stream: "payments", Values: []string{"_payload", body, "h:redis-partition-key", fmt.Sprintf("acct-%06d", i%5000)},
		})
		if i%1000 == 999 || i == entries-1 {
			if _, err := pipe.Exec(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// runEngine runs the pipeline until all entries are settled.
func runEngine(b *testing.B, s *redistest.Server, source string) {
	b.StopTimer()
	path := b.TempDir() + "/bench.hcl"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		b.Fatal(err)
	}
	p, report := lang.Load(lang.OS(), path, lang.Options{})
	if report.HasErrors() {
		b.Fatal(report.All())
	}
	h := p.Subscriptions()[0].Handler
	code, err := os.ReadFile(h.Path)
	if err != nil {
		b.Fatal(err)
	}
	compiled, err := lua.Compile(sandbox.Spec{Label: h.Label, Function: h.Function, Source: sandbox.Source{Name: h.Source, Code: code}})
	if err != nil {
		b.Fatal(err)
	}
	broker, err := redis.Open(redis.Options{URL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	defer broker.Close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	done := &counter{done: func() { b.StopTimer(); cancel() }}
	e, err := engine.New(engine.Config{
		Pipeline: p, Broker: broker, Handlers: map[string]sandbox.Handler{h.Label: compiled}, Observer: done,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	if err := e.Run(ctx); err != nil {
		b.Fatal(err)
	}
}

// runReference runs the consumer written by hand until all entries are settled.
func runReference(b *testing.B, client *goredis.Client, replyTo string) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var settled atomic.Int64
	c := reference.Consumer{
		Client: client, Streams: []string{"payments"}, Group: "reference", Consumer: "c", Reply: replyTo, Workers: 8, Count: 1000,
		Settled: func(n int) {
			if settled.Add(int64(n)) >= int64(entries) {
				// What follows is waiting for a read that blocks.
				b.StopTimer()
				cancel()
			}
		},
	}
	if err := c.Run(ctx); err != nil {
		b.Fatal(err)
	}
}

// counter calls done once all entries are settled.
type counter struct {
	observe.None
	n    atomic.Int64
	done func()
}

func (c *counter) Settled(_ *spec.Subscription, outs []observe.Outcome) {
	if c.n.Add(int64(len(outs))) >= int64(entries) {
		c.done()
	}
}

func here(b *testing.B) string {
	dir, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	return dir
}
