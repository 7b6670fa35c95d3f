package build

import (
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// OpenRedis opens the server that a pipeline names. It does not connect yet.
// Its errors never hold the address. Warn is told what is wrong and goes on all the
// same; it may be nil.
func OpenRedis(b spec.Broker, c clock.Clock, warn func(error)) (*redis.Broker, error) {
	o := redis.Options{
		URL: b.URL, Username: b.Username, Password: b.Password, TLS: tls(b.TLS), Cluster: b.Cluster, Clock: c, Warn: warn,
	}
	if s := b.Sentinel; s != nil {
		o.Sentinel = &redis.Sentinel{
			Master: s.Master, Addresses: s.Addresses, Username: s.Username, Password: s.Password, TLS: tls(s.TLS),
		}
	}
	return redis.Open(o)
}

func tls(t *spec.TLS) *redis.TLS {
	if t == nil {
		return nil
	}
	return &redis.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName}
}
