package consumers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
)

// selectionFormat is the format of selection files. Another number is refused.
const selectionFormat = 1

// selectionFor is what a selection of consumers is for.
const selectionFor = "prune"

// Selection is a choice of consumers that was frozen to a file of JSON Lines: this
// head, a line for each consumer, and a last line with their number, so that a file
// that was cut off is not taken for a whole one.
type Selection struct {
	For      string `json:"selection"`
	Format   int    `json:"format"`
	Pipeline string `json:"pipeline"`
	// Filter is what chose them, as it was asked for.
	Filter string    `json:"filter"`
	At     time.Time `json:"at"`
	// Idle is how long each has not read or claimed, at least, when it is removed.
	Idle int64 `json:"idle_ms"`

	Chosen []Chosen `json:"-"`
}

// Chosen is one consumer of a selection.
type Chosen struct {
	Stream   string `json:"stream"`
	Group    string `json:"group"`
	Consumer string `json:"consumer"`
}

// line is a line behind the head: a consumer, or the last one.
type line struct {
	Chosen
	Total *int `json:"total,omitempty"`
}

// Write writes the selection to a new file. The error is one of the file system.
func (s *Selection) Write(path string) error {
	file, err := deadletters.Create(path)
	if err != nil {
		return err
	}
	s.For, s.Format = selectionFor, selectionFormat
	enc := json.NewEncoder(file)
	enc.SetEscapeHTML(false)
	err = enc.Encode(s)
	for i := 0; i < len(s.Chosen) && err == nil; i++ {
		err = enc.Encode(s.Chosen[i])
	}
	if err == nil {
		err = enc.Encode(struct {
			Total int `json:"total"`
		}{len(s.Chosen)})
	}
	if err != nil {
		file.Abandon()
		return err
	}
	return file.Commit()
}

// Open reads a selection. The error is a *deadletters.SelectionError, or one of the
// file system.
func Open(path string) (*Selection, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	bad := func(problem string) error { return &deadletters.SelectionError{Path: path, Problem: problem} }
	scan, s := bufio.NewScanner(file), &Selection{}
	if !scan.Scan() || json.Unmarshal(scan.Bytes(), s) != nil || s.For != selectionFor {
		return nil, bad("begins with no head of a selection of consumers")
	}
	if s.Format != selectionFormat {
		return nil, bad(fmt.Sprintf("has the format %d; this version reads %d", s.Format, selectionFormat))
	}
	for scan.Scan() {
		var l line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, bad(fmt.Sprintf("has no line of a selection at %d", len(s.Chosen)+2))
		}
		if l.Total == nil {
			if l.Stream == "" || l.Group == "" || l.Consumer == "" {
				return nil, bad(fmt.Sprintf("names no consumer at line %d", len(s.Chosen)+2))
			}
			s.Chosen = append(s.Chosen, l.Chosen)
			continue
		}
		switch {
		case *l.Total != len(s.Chosen):
			return nil, bad(fmt.Sprintf("has %d consumers and says %d: it was changed", len(s.Chosen), *l.Total))
		case scan.Scan():
			return nil, bad("goes on after its last line")
		}
		return s, nil
	}
	return nil, bad("ends before its last line: it was cut off")
}
