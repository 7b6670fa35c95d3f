package deadletters

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
)

// Letter is one entry of a dead-letter stream.
type Letter struct {
	Source *Source
	broker.Entry
	// Facts are what its headers say; Known is false for an entry that somebody
	// else put there, which says nothing.
	Facts codec.DeadLetter
	Known bool
}

func newLetter(s *Source, e broker.Entry) Letter {
	l := Letter{Source: s, Entry: e}
	l.Facts, l.Known = codec.ParseDeadLetter(e.Fields)
	return l
}

// Waiting is an entry that is pending in a group, as a letter that the group would
// make of it, for showing it in the same way.
func Waiting(g *spec.Group, e broker.Entry) Letter {
	return Letter{
		Source: &Source{Stream: g.DeadLetter, Groups: []*spec.Group{g}}, Entry: e, Known: true,
		Facts: codec.DeadLetter{Stream: g.Stream.Name, Group: g.Name, ID: e.ID.String()},
	}
}

// Original are the fields of the entry as they were, without what dead letters
// and retries add.
func (l *Letter) Original() []broker.Field { return codec.Replay(l.Fields) }

// Group is the group that buried it, nil for one that the pipeline does not
// declare.
func (l *Letter) Group() *spec.Group { return l.Source.group(l.Facts.Stream, l.Facts.Group) }

// Stream is the stream that its entry stood in, nil for one that no group which
// buries here reads.
func (l *Letter) Stream() *spec.Stream { return l.Source.stream(l.Facts.Stream) }

// Header returns a header of the entry by its name, without prefix.
func (l *Letter) Header(name string) string {
	for _, f := range l.Fields {
		if f.Name == codec.HeaderPrefix+name {
			return f.Value
		}
	}
	return ""
}

// Key is the entry's partition key, "" without one.
func (l *Letter) Key() string { return l.Header(codec.HeaderPartitionKey) }

// Sum tells the content of letters apart: one under the same id on another
// server, or in a stream that was made anew, has another sum.
func (l *Letter) Sum() string {
	h := sha256.New()
	var size [8]byte
	part := func(s string) {
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		_, _ = h.Write(size[:]) // a hash takes every byte
		_, _ = h.Write([]byte(s))
	}
	for _, f := range l.Fields {
		part(f.Name)
		part(f.Value)
	}
	const enough = 8
	return hex.EncodeToString(h.Sum(nil)[:enough])
}

// Read is an entry of a dead-letter stream as a letter.
func Read(s *Source, e broker.Entry) Letter { return newLetter(s, e) }
