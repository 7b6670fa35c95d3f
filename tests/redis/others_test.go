package redis_test

import (
	"testing"

	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/tests/redistest"
)

// A server without claiming reads that is not Redis, or an old one, runs a
// pipeline by XAUTOCLAIM: what a dead consumer left is done, everything once. A
// test on a server that is not there is skipped.
func TestAPipelineRunsOnOtherServers(t *testing.T) {
	for _, version := range []string{"6.2", "valkey"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, version)
			b, err := redis.Open(redis.Options{URL: s.URL()})
			if err != nil {
				t.Fatal(err)
			}
			server, err := b.Probe(t.Context())
			_ = b.Close()
			if f := server.Features; err != nil || f.ClaimingRead || f.IdempotentAdd || !f.AutoClaim {
				t.Errorf("%+v, %v", server, err)
			}
			s.CLI("XGROUP", "CREATE", "in", "g", "0", "MKSTREAM")
			add(t, s, 0, 1)
			s.CLI("XREADGROUP", "GROUP", "g", "dead", "COUNT", "1", "STREAMS", "in", ">")
			v := replier(t, s, "host-a", "1s", nil)
			v.ready()
			add(t, s, 2)
			v.settled("s", observe.ResultReply, 3)
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			expectOnce(t, s, 3)
			path := write(t, [2]string{"reply.hcl", replyFile}, [2]string{"h.lua", replyScript})
			p := load(t, path, map[string]string{"min_idle": "1s"})
			p.Groups[0].Subscriptions[0].Claim.Using = spec.UsingRead
			if err := start(t, s, p, "host-a").drainError(); err == nil {
				t.Error("a claiming read did not refuse to start")
			}
		})
	}
}

// drainError waits for an engine that is expected to end by itself.
func (v *service) drainError() error {
	v.t.Helper()
	err := <-v.done
	v.done <- err
	return err
}
