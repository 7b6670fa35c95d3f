package deadletters

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"pipeline/engine/broker"
)

// Action is what a selection is for.
type Action string

// The actions.
const (
	Replay Action = "replay"
	Drop   Action = "drop"
)

// selectionFormat is the format of selection files. Another number is refused.
const selectionFormat = 1

// Selection is a choice of letters that was frozen to a file of JSON Lines: this
// head, a line for each letter, and a last line with their number, so that a file
// that was cut off is not taken for a whole one.
type Selection struct {
	Action   Action `json:"selection"`
	Format   int    `json:"format"`
	Pipeline string `json:"pipeline"`
	// Filter is what chose the letters, as it was asked for.
	Filter string    `json:"filter"`
	At     time.Time `json:"at"`
	// AllGroups: every group of the stream gets what is replayed.
	AllGroups bool `json:"all_groups"`
}

// Chosen is one letter of a selection. Reason, entry, stream and group are for
// who reads the file; what is done goes by the letter itself.
type Chosen struct {
	Letters string `json:"letters"`
	ID      string `json:"id"`
	Sum     string `json:"sum"`
	Reason  string `json:"reason"`
	Entry   string `json:"entry"`
	Stream  string `json:"stream"`
	Group   string `json:"group"`
}

// tail is the last line.
type tail struct {
	Total int64 `json:"total"`
}

// Writer writes a selection.
type Writer struct {
	file  *NewFile
	enc   *json.Encoder
	total int64
}

// Write begins a selection in a new file.
func (s Selection) Write(path string) (*Writer, error) {
	file, err := Create(path)
	if err != nil {
		return nil, err
	}
	s.Format = selectionFormat
	w := &Writer{file: file, enc: json.NewEncoder(file)}
	w.enc.SetEscapeHTML(false)
	if err := w.enc.Encode(s); err != nil {
		file.Abandon()
		return nil, err
	}
	return w, nil
}

// Add adds a letter.
func (w *Writer) Add(l *Letter) error {
	w.total++
	return w.enc.Encode(Chosen{
		Letters: l.Source.Stream.Name, ID: l.ID.String(), Sum: l.Sum(),
		Reason: l.Facts.Reason, Entry: l.Facts.ID, Stream: l.Facts.Stream, Group: l.Facts.Group,
	})
}

// Total is how many letters were added.
func (w *Writer) Total() int64 { return w.total }

// Commit ends the selection; the file is there then.
func (w *Writer) Commit() error {
	if err := w.enc.Encode(tail{w.total}); err != nil {
		w.file.Abandon()
		return err
	}
	return w.file.Commit()
}

// Abandon leaves nothing of the file.
func (w *Writer) Abandon() { w.file.Abandon() }

// Reader reads a selection that was checked to be whole.
type Reader struct {
	Selection
	// Preview is what it holds.
	Preview

	path  string
	file  *os.File
	scan  *bufio.Scanner
	line  int
	ended bool
}

// SelectionError is a file that is no selection, or not the whole of one.
type SelectionError struct{ Path, Problem string }

// Error is the problem with the file.
func (e *SelectionError) Error() string { return "the selection " + e.Path + " " + e.Problem }

// Open opens a selection and reads it once to its end. The error is a
// *SelectionError, or one of the file system.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, file: file}
	if err := r.check(); err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	return r, nil
}

func (r *Reader) check() error {
	if err := r.rewind(); err != nil {
		return err
	}
	var seen places
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.rewind()
		}
		if err != nil {
			return err
		}
		r.count(&seen, &c)
	}
}

// rewind goes back to the first letter.
func (r *Reader) rewind() error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return r.bad("cannot be read twice: it has to be a file")
	}
	r.scan, r.line, r.ended = bufio.NewScanner(r.file), 0, false
	const longest = 1 << 20
	r.scan.Buffer(make([]byte, 0, 64<<10), longest)
	if err := r.read(&r.Selection); err != nil {
		return err
	}
	switch {
	case r.Action != Replay && r.Action != Drop:
		return r.bad("begins with no head of a selection")
	case r.Format != selectionFormat:
		return r.bad(fmt.Sprintf("has the format %d; this version reads %d", r.Format, selectionFormat))
	}
	return nil
}

// read decodes the next line.
func (r *Reader) read(into any) error {
	if !r.scan.Scan() {
		if err := r.scan.Err(); err != nil {
			return r.bad("cannot be read: " + err.Error())
		}
		return r.bad("ends before its last line: it was cut off")
	}
	r.line++
	if err := json.Unmarshal(r.scan.Bytes(), into); err != nil {
		return r.bad(fmt.Sprintf("has no line of a selection at %d", r.line))
	}
	return nil
}

// chosenOrTail is a line after the head.
type chosenOrTail struct {
	Chosen
	Total *int64 `json:"total"`
}

// Next returns the next letter, io.EOF after the last.
func (r *Reader) Next() (Chosen, error) {
	if r.ended {
		return Chosen{}, io.EOF
	}
	var line chosenOrTail
	if err := r.read(&line); err != nil {
		return Chosen{}, err
	}
	if line.Total == nil {
		if _, err := broker.ParseID(line.ID); err != nil || line.Letters == "" || line.Sum == "" {
			return Chosen{}, r.bad(fmt.Sprintf("names no letter at line %d", r.line))
		}
		return line.Chosen, nil
	}
	if before := int64(r.line - 2); *line.Total != before {
		return Chosen{}, r.bad(fmt.Sprintf("has %d letters and says %d: it was changed", before, *line.Total))
	}
	if r.scan.Scan() {
		return Chosen{}, r.bad("goes on after its last line")
	}
	r.ended = true
	return Chosen{}, io.EOF
}

func (r *Reader) bad(problem string) error { return &SelectionError{r.path, problem} }

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
