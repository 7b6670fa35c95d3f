package view

import (
	"strconv"
	"time"
)

// DrySummary is how a dry-run ended.
type DrySummary struct {
	// Entries are those that were tried.
	Entries int64
	// Live are the real streams that were read; nil for an input file. Elapsed is
	// how long that took, 0 where that is not to be told.
	Live    []LiveStream
	Elapsed time.Duration
}

// LiveStream is a real stream and how far it was read.
type LiveStream struct {
	// Stream is its key.
	Stream string
	// Read entries came from the server, Tried of them were run.
	Read, Tried int64
	// Last is the id of the last one that was run, "" without one.
	Last string
	// Done: it was read to the end of its range. Otherwise Next is the id to go on
	// from, "" for the beginning.
	Done bool
	Next string
}

// rate is how many of n there were a second.
func rate(n int64, elapsed time.Duration) int64 {
	if elapsed <= 0 {
		return 0
	}
	return int64(float64(n) / elapsed.Seconds())
}

// appendLive appends the members that a summary has of real streams.
func (s *DrySummary) appendLive(b []byte) []byte {
	if s.Live == nil {
		return b
	}
	b = append(b, `,"streams":[`...)
	for i := range s.Live {
		if i > 0 {
			b = append(b, ',')
		}
		l := &s.Live[i]
		b = appendString(append(b, `{"stream":`...), l.Stream)
		b = strconv.AppendInt(append(b, `,"read":`...), l.Read, 10)
		b = strconv.AppendInt(append(b, `,"tried":`...), l.Tried, 10)
		b = appendString(append(b, `,"last_id":`...), l.Last)
		b = strconv.AppendBool(append(b, `,"complete":`...), l.Done)
		b = appendString(append(b, `,"next_id":`...), l.Next)
		b = append(b, '}')
	}
	b = strconv.AppendInt(append(b, `],"elapsed_ms":`...), s.Elapsed.Milliseconds(), 10)
	return strconv.AppendInt(append(b, `,"per_second":`...), rate(s.Entries, s.Elapsed), 10)
}

// speed is how long a dry-run of real streams took.
func (s *DrySummary) speed() string {
	if s.Live == nil || s.Elapsed <= 0 {
		return ""
	}
	return "; " + Duration(s.Elapsed) + ", " + number(rate(s.Entries, s.Elapsed)) + " a second"
}

// text says of each real stream how far it was read.
func (s *DrySummary) text(b []byte) []byte {
	for i := range s.Live {
		l := &s.Live[i]
		b = append(b, clean(l.Stream)+": "+count(l.Read, "entry", "entries")+" read"...)
		if l.Tried != l.Read {
			b = append(b, ", "+number(l.Tried)+" tried"...)
		}
		if l.Last != "" {
			b = append(b, ", the last one "+l.Last...)
		}
		switch {
		case !l.Done && l.Next == "":
			b = append(b, "; not to its end"...)
		case !l.Done:
			b = append(b, "; not to its end: go on with --stream "+clean(l.Stream)+" --from "+l.Next...)
		}
		b = append(b, '\n')
	}
	return b
}
