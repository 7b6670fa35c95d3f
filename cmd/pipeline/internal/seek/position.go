// Package seek finds out what it comes to when a group is moved to another position of
// its stream, before it is.
package seek

import (
	"fmt"
	"time"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/engine/broker"
)

// Position is where a group is to be moved, as it is asked for.
type Position struct {
	id  broker.ID
	end bool
}

// ParsePosition reads a position: $ or new is the end of the stream as it is when it
// is looked at, 0 or beginning its beginning, an entry id the place behind that entry,
// as in a group's start; a time, or one back from now, the place before the first
// entry of then or later.
func ParsePosition(text string, now time.Time) (Position, error) {
	switch text {
	case "$", "new":
		return Position{end: true}, nil
	case "0", "beginning":
		return Position{}, nil
	}
	if id, err := broker.ParseID(text); err == nil {
		return Position{id: id}, nil
	}
	id, err := live.ParseFrom(text, now)
	if err != nil {
		return Position{}, fmt.Errorf(`%w, "$" for the end or "0" for the beginning`, err)
	}
	if !id.IsZero() {
		id = id.Prev()
	}
	return Position{id: id}, nil
}

// of is the position in a stream whose last id that is.
func (p Position) of(last broker.ID) broker.ID {
	if p.end {
		return last
	}
	return p.id
}
