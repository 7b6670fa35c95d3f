package cli

import (
	"testing"

	"pipeline/engine/spec"
)

func TestAServerOnThisMachineIsLeftAProcessor(t *testing.T) {
	for url, left := range map[string]bool{
		"redis://localhost:6379": true, "redis://127.0.0.1:6379/2": true, "rediss://user:secret@[::1]:6379": true, "unix:///run/redis.sock?db=1": true,
		"redis://redis.internal:6379": false, "redis://10.0.0.7": false, "redis://localhost.example.com": false, "": false, "redis://%zz": false,
	} {
		for have, want := range map[int]int{1: 1, 2: 1, 8: 7} {
			if !left {
				want = have
			}
			got := have
			a := &app{process: Process{Processors: func(n int) int {
				before := got
				if n > 0 {
					got = n
				}
				return before
			}}}
			a.leaveProcessor(spec.Broker{Kind: spec.BrokerRedis, URL: url})
			if got != want {
				t.Errorf("%q with %d processors: %d are used, want %d", url, have, got, want)
			}
		}
	}
	(&app{}).leaveProcessor(spec.Broker{URL: "redis://localhost"})
}
