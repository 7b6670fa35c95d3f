package deadletters

import (
	"context"
	"errors"
	"io"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// Batches are bounded in letters and in bytes; one that waits for its turn by the
// rate is a tenth of a second's.
const (
	batchLetters   = 250
	batchBytes     = 4 << 20
	batchesASecond = 10
)

// Apply does what a selection was made for. Letter by letter, in its order, the
// entry is added first and the letter deleted after, in one step. It may be broken
// off at any point and done again: what was done is found gone.
type Apply struct {
	Broker   broker.Broker
	Pipeline *spec.Pipeline
	Clock    clock.Clock
	// Rate bounds the letters a second; 0 does not.
	Rate int
	// Progress is called after every batch, Problem for every letter that stays
	// where it is. Either may be nil.
	Progress func(Result)
	Problem  func(c Chosen, why string)

	selection *Reader
	sources   map[string]*Source
	result    Result
	start     time.Time
	// moves and drops wait to be sent; chosen are the letters of moves.
	moves  []broker.Move
	chosen []Chosen
	drops  []broker.ID
	bytes  int
}

// Result is what became of a selection so far.
type Result struct {
	// Total is the number of its letters.
	Total int64
	// Done were replayed or dropped.
	Done int64
	// Gone were not there any more: an earlier run did them, or somebody else
	// removed them. Changed are other letters under the same id. Refused could not
	// be replayed. All three were left as they are.
	Gone, Changed, Refused int64
	// Unknown were sent when the answer was lost: they are done or not, and doing
	// the selection again does the rest.
	Unknown int64
}

// Left is how many letters were not come to.
func (r Result) Left() int64 { return r.Total - r.Done - r.Gone - r.Changed - r.Refused - r.Unknown }

// Run does it. A canceled ctx ends it between two batches. The error is the one
// of the server, or of the selection, that ended it early, or that of ctx.
func (a *Apply) Run(ctx context.Context, r *Reader) (Result, error) {
	a.selection, a.result, a.start = r, Result{Total: r.Letters}, a.Clock.Now()
	a.sources = map[string]*Source{}
	for _, s := range Sources(a.Pipeline) {
		a.sources[s.Stream.Name] = s
	}
	// What is sent is waited for, so that what was done is known.
	through := context.WithoutCancel(ctx)
	next := batches{r: r, size: a.batchSize()}
	for {
		if err := a.wait(ctx); err != nil {
			return a.result, err
		}
		b, err := next.next()
		if errors.Is(err, io.EOF) {
			return a.result, nil
		}
		if err != nil {
			return a.result, err
		}
		if err := a.batch(through, b); err != nil {
			return a.result, err
		}
		if a.Progress != nil {
			a.Progress(a.result)
		}
	}
}

func (a *Apply) batchSize() int {
	if a.Rate > 0 {
		return max(1, min(batchLetters, a.Rate/batchesASecond))
	}
	return batchLetters
}

// wait keeps the rate.
func (a *Apply) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil || a.Rate <= 0 {
		return err
	}
	due := a.start.Add(time.Duration(float64(a.result.Done) / float64(a.Rate) * float64(time.Second)))
	left := due.Sub(a.Clock.Now())
	if left <= 0 {
		return nil
	}
	timer := a.Clock.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batches reads a selection in parts: letters of one stream, with rising ids.
type batches struct {
	r     *Reader
	size  int
	ahead *Chosen
}

func (b *batches) next() ([]Chosen, error) {
	var part []Chosen
	var last broker.ID
	for len(part) < b.size {
		c := b.ahead
		if b.ahead = nil; c == nil {
			read, err := b.r.Next()
			if errors.Is(err, io.EOF) && len(part) > 0 {
				return part, nil
			}
			if err != nil {
				return nil, err
			}
			c = &read
		}
		id, err := broker.ParseID(c.ID)
		if err != nil {
			return nil, err
		}
		if len(part) > 0 && (c.Letters != part[0].Letters || !last.Less(id)) {
			b.ahead = c
			return part, nil
		}
		part, last = append(part, *c), id
	}
	return part, nil
}

// batch does letters of one stream.
func (a *Apply) batch(ctx context.Context, part []Chosen) error {
	source := a.sources[part[0].Letters]
	if source == nil {
		for _, c := range part {
			a.refuse(c, "this pipeline has no such dead-letter stream")
		}
		return nil
	}
	ids := make([]broker.ID, len(part))
	for i, c := range part {
		ids[i], _ = broker.ParseID(c.ID) // it was parsed before
	}
	err := newFetcher(a.Broker, source.Stream.Name).fetch(ctx, ids, func(at int, e *broker.Entry) error {
		a.take(source, part[at], e)
		if a.bytes < batchBytes {
			return nil
		}
		return a.flush(ctx, source)
	})
	if err != nil {
		return err
	}
	return a.flush(ctx, source)
}

// take looks at one letter, nil where it is gone, and puts it to what is sent.
func (a *Apply) take(source *Source, c Chosen, e *broker.Entry) {
	if e == nil {
		a.result.Gone++
		return
	}
	l := newLetter(source, *e)
	if l.Sum() != c.Sum {
		a.result.Changed++
		a.problem(c, "another letter stands under its id: the selection is of another server, or the stream was made anew")
		return
	}
	if a.selection.Action == Drop {
		a.drops = append(a.drops, l.ID)
		return
	}
	stream, _, why := l.Target(a.selection.AllGroups)
	if why != "" {
		a.refuse(c, why)
		return
	}
	fields := l.Replayed(a.selection.AllGroups)
	for _, f := range fields {
		a.bytes += len(f.Name) + len(f.Value)
	}
	a.moves = append(a.moves, broker.Move{ID: l.ID, Publish: broker.Add{Stream: stream.Name, Fields: fields}})
	a.chosen = append(a.chosen, c)
}

func (a *Apply) refuse(c Chosen, why string) {
	a.result.Refused++
	a.problem(c, why)
}

func (a *Apply) problem(c Chosen, why string) {
	if a.Problem != nil {
		a.Problem(c, why)
	}
}

// flush sends what was taken.
func (a *Apply) flush(ctx context.Context, source *Source) error {
	defer func() { a.moves, a.chosen, a.drops, a.bytes = a.moves[:0], a.chosen[:0], a.drops[:0], 0 }()
	if a.selection.Action == Drop {
		return a.drop(ctx, source)
	}
	moves, chosen := a.moves, a.chosen
	for len(moves) > 0 {
		done, err := a.Broker.Move(ctx, broker.MoveRequest{From: source.Stream.Name, Moves: moves})
		for _, m := range done {
			if m.Found {
				a.result.Done++
			} else {
				a.result.Gone++
			}
		}
		moves, chosen = moves[len(done):], chosen[len(done):]
		switch {
		case err == nil:
		case len(moves) > 0 && ofOneLetter(err):
			a.refuse(chosen[0], err.Error())
			moves, chosen = moves[1:], chosen[1:]
		default:
			if errors.Is(err, broker.ErrUnavailable) {
				a.result.Unknown = int64(len(moves))
			}
			return err
		}
	}
	return nil
}

// ofOneLetter reports whether an error is about one letter or its stream, so that others can go on.
func ofOneLetter(err error) bool {
	e, ok := errors.AsType[*broker.Error](err)
	return ok && e.Op == "publish" && (errors.Is(err, broker.ErrWrongType) || errors.Is(err, broker.ErrTooWide))
}

func (a *Apply) drop(ctx context.Context, source *Source) error {
	if len(a.drops) == 0 {
		return nil
	}
	n, err := a.Broker.Remove(ctx, source.Stream.Name, a.drops)
	a.result.Done += n
	if err != nil {
		if errors.Is(err, broker.ErrUnavailable) {
			a.result.Unknown = int64(len(a.drops)) - n
		}
		return err
	}
	a.result.Gone += int64(len(a.drops)) - n
	return nil
}
