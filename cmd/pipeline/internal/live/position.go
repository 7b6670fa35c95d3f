package live

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"pipeline/engine/broker"
)

// ParseFrom reads where a range begins: an entry id, a time as RFC 3339 writes
// it, or how long before now.
func ParseFrom(text string, now time.Time) (broker.ID, error) { return parsePosition(text, now, 0) }

// ParseTo reads where a range ends. Like the server it takes an id without a
// sequence number, and a time, for the whole of that millisecond.
func ParseTo(text string, now time.Time) (broker.ID, error) {
	return parsePosition(text, now, math.MaxUint64)
}

// parsePosition reads a position; seq is the sequence number of one without.
func parsePosition(text string, now time.Time, seq uint64) (broker.ID, error) {
	if id, err := broker.ParseID(text); err == nil {
		if !strings.Contains(text, "-") {
			id.Seq = seq
		}
		return id, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		back, ok := parseBack(text)
		if !ok {
			return broker.ID{}, fmt.Errorf("%q is no position: want an entry id (1700000000000-0), a time (2026-01-02T15:04:05Z) or a time back from now (24h, 7d)", text)
		}
		at = now.Add(-back)
	}
	return broker.ID{Ms: uint64(max(0, at.UnixMilli())), Seq: seq}, nil
}

const day = 24 * time.Hour

// parseBack reads a duration, which may begin with days: "7d", "1d12h", "90m".
func parseBack(text string) (time.Duration, bool) {
	var back time.Duration
	if days, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || time.Duration(n) > math.MaxInt64/day {
			return 0, false
		}
		if back, text = time.Duration(n)*day, rest; text == "" {
			return back, true
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > math.MaxInt64-back {
		return 0, false
	}
	return back + d, true
}
