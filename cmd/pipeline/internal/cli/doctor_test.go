package cli

import (
	"testing"

	"pipeline/engine/spec"
)

// redis-cli reaches the server that was examined, and is told no login.
func TestFlagsOfRedisCLI(t *testing.T) {
	for _, c := range []struct {
		broker spec.Broker
		want   string
	}{
		{spec.Broker{URL: "redis://localhost:6379"}, ""},
		{spec.Broker{URL: "redis://127.0.0.1"}, ""},
		{spec.Broker{URL: "redis://user:secret@10.0.0.5:7000/3"}, " -h 10.0.0.5 -p 7000"},
		{spec.Broker{URL: "redis://localhost:7000"}, " -p 7000"},
		{spec.Broker{URL: "redis://[::1]:6379"}, " -h ::1"},
		{spec.Broker{URL: "rediss://redis.example"}, " -h redis.example --tls"},
		{spec.Broker{URL: "redis://redis.example", TLS: &spec.TLS{CA: "ca.pem"}}, " -h redis.example --tls"},
		{spec.Broker{URL: "unix://user:secret@/run/my redis.sock?db=1"}, " -s '/run/my redis.sock'"},
		{spec.Broker{URL: "redis://10.0.0.5:7000", Cluster: true}, ""},
		{spec.Broker{URL: "redis://10.0.0.5:7000", Sentinel: &spec.Sentinel{}}, ""},
		{spec.Broker{URL: "redis://:%zz@10.0.0.5"}, ""},
	} {
		if got := redisFlags(c.broker); got != c.want {
			t.Errorf("%+v: %q, want %q", c.broker, got, c.want)
		}
	}
}
