package bench

import (
	"context"
	"time"
)

// Scenario is a question to be measured.
type Scenario struct {
	// Name is what --scenario takes; Does says what it measures, in a line.
	Name, Does string
	// bytes are what it has on the server at most.
	bytes func(*Settings) int64
	run   func(context.Context, *Runner) error
}

// Scenarios are all of them, in the order in which they run.
func Scenarios() []Scenario {
	return []Scenario{
		{"ack", "acknowledge only", streamBytes(false), ack},
		{"reply", "one reply to each entry, published and acknowledged in one step", streamBytes(true), reply},
		{"recovery", "taking over what a dead consumer held, and of a list ten times as long", recoveryBytes, recovery},
		{"latency", "from the intended sending of an entry to its reply, at steady rates and after idleness", latencyBytes, latency},
		{"memory", "RSS with entries held and beside a long pending list; with --soak over time", memoryBytes, memory},
		{"growth", "an entry's cost by length of the stream, streams, workers and processes", growthBytes, growth},
		{"engines", "reply with handlers in Go, Lua, C and Go as a guest", streamBytes(true), engines},
	}
}

// Bytes is what a run of scenarios has on the server at most: they clean up one
// after the other.
func Bytes(scenarios []Scenario, s *Settings) int64 {
	var most int64
	for _, sc := range scenarios {
		most = max(most, sc.bytes(s))
	}
	return most
}

// streamBytes is a stream of all entries, all of them pending, and perhaps their
// replies.
func streamBytes(replies bool) func(*Settings) int64 {
	each := int64(bytesEntry + bytesPending)
	if replies {
		each += bytesReply
	}
	return func(s *Settings) int64 { return each * (s.Entries + int64(2*s.Rounds)) }
}

// recoveryBytes is the longer list.
func recoveryBytes(s *Settings) int64 { return (bytesEntry + bytesPending) * s.Pending }

// latencyBytes is the most that is sent at a rate, with its replies.
func latencyBytes(s *Settings) int64 {
	most := min(s.Entries, rates[len(rates)-1]*int64(rateTime/time.Second))
	return (bytesEntry + bytesPending + bytesReply) * max(most, beforeIdle+afterIdle)
}

// memoryBytes is the larger of the two: what warms up, and entries of a kilobyte;
// or the long pending list, and the new entries.
func memoryBytes(s *Settings) int64 {
	held := s.Entries / 10 * (warmHeld*(bytesEntry+bytesPending) + kilobyte + bytesEntry + bytesPending)
	return max(held, (bytesEntry+bytesPending)*(s.Pending+s.Entries), soakLength*4*(bytesEntry+bytesReply))
}

// growthBytes is the longest stream, and what is read of it.
func growthBytes(s *Settings) int64 {
	lengths := s.sizes().lengths
	longest := s.Entries * lengths[len(lengths)-1] / 100
	return bytesEntry*longest + (bytesPending+bytesReply)*(s.Entries+warmUp)
}
