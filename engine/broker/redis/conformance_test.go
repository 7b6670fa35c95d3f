package redis_test

import (
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/brokertest"
	"pipeline/tests/redistest"
)

// others are servers that may be there or not: without one its cases are skipped.
var others = []string{"6.2", "valkey"}

// TestConformance runs the cases that every broker passes on each server.
func TestConformance(t *testing.T) {
	for _, version := range slices.Concat(redistest.Versions, others) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			brokertest.Run(t, func(t *testing.T) *brokertest.Env { return environment(t, version) })
		})
	}
}

// environment is a broker on an empty database, and the server behind it.
func environment(t *testing.T, version string) *brokertest.Env {
	t.Helper()
	s := redistest.Shared(t, version)
	run := func(command ...any) {
		t.Helper()
		if err := s.Client().Do(t.Context(), command...).Err(); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
	return &brokertest.Env{
		Broker:  open(t, s),
		Server:  s.FullVersion(),
		Advance: time.Sleep,
		Blocked: func() int { return blockedReads(t, s) },
		SetIdle: func(stream, group string, idle time.Duration, ids ...broker.ID) {
			t.Helper()
			for _, id := range ids {
				pending := s.Client().XPendingExt(t.Context(), &goredisXPendingExtArgs{
					Stream: stream, Group: group, Start: id.String(), End: id.String(), Count: 1,
				}).Val()
				if len(pending) != 1 {
					t.Fatalf("%v is not pending", id)
				}
				run("XCLAIM", stream, group, pending[0].Consumer, 0, id.String(), "IDLE", idle.Milliseconds(), "JUSTID")
			}
		},
		Delete:       func(stream string) { t.Helper(); run("DEL", stream) },
		DestroyGroup: func(stream, group string) { t.Helper(); run("XGROUP", "DESTROY", stream, group) },
		DeleteEntries: func(stream string, ids ...broker.ID) {
			t.Helper()
			for _, id := range ids {
				run("XDEL", stream, id.String())
			}
		},
		SetString: func(key string) { t.Helper(); run("SET", key, "x") },
		AddAs: func(stream string, id broker.ID, fields []broker.Field) bool {
			t.Helper()
			var values []string
			for _, f := range fields {
				values = append(values, f.Name, f.Value)
			}
			return s.Client().XAdd(t.Context(), &goredisXAddArgs{Stream: stream, ID: id.String(), Values: values}).Err() == nil
		},
		Flush: func() { t.Helper(); run("FLUSHDB") },
	}
}
