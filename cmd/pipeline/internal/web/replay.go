package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
)

// replays are the selections that were frozen here and what became of them.
type replays struct {
	mu   sync.Mutex
	all  []*replayOf
	busy bool

	ctx     context.Context //nolint:containedctx // it lives as long as the site
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// maxReplays is how many selections are remembered; the file of an older one that
// was never acted on is removed.
const maxReplays = 20

// replayOf is one frozen selection. Its fields below mu change.
type replayOf struct {
	token, path, filter string
	preview             deadletters.Preview
	leftOut             []deadletters.Count
	at                  time.Time

	mu      sync.Mutex
	begun   bool
	ended   bool
	rate    int
	result  deadletters.Result
	err     error
	refused []string
}

func (r *replays) begin() { r.ctx, r.cancel = context.WithCancel(context.Background()) }

func (r *replays) close() {
	r.cancel()
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		one.forget()
	}
	r.all = nil
}

// forget removes the file of a selection that was never acted on.
func (r *replayOf) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		_ = os.Remove(r.path) // it may be gone
	}
}

func (r *replays) add(one *replayOf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	if len(r.all) > maxReplays {
		r.all[0].forget()
		r.all = slices.Delete(r.all, 0, 1)
	}
}

func (r *replays) find(token string) (*replayOf, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		if one.token == token {
			return one, nil
		}
	}
	return nil, absent("This selection is not known here any more. Choose the letters again.")
}

// readOnly is what a page that may not change anything says.
func (s *Site) readOnly() error {
	return &fault{
		http.StatusForbidden, "This page only shows",
		"Nothing is changed from here unless the process was started with --ui-write. `" + s.Command("dlq replay") + "` does it from a terminal.",
	}
}

// preview freezes what is chosen to a file and shows what it comes to.
func (s *Site) preview(r *http.Request) (*content, error) {
	if s.Writer == nil {
		return nil, s.readOnly()
	}
	c, err := s.choose(r)
	if err != nil {
		return nil, err
	}
	if c.filter.Empty() && r.FormValue("all") == "" {
		return nil, wrong("Nothing is chosen. Give a filter, or tick that every letter of the stream is meant.")
	}
	ctx, done, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	defer done()
	now := s.Clock.Now()
	one := &replayOf{token: rand.Text(), at: now, filter: strings.Join(c.words(), " ")}
	one.path = filepath.Join(os.TempDir(), fmt.Sprintf("pipeline-dlq-replay-%s-%s.jsonl", now.UTC().Format("20060102T150405.000"), one.token))
	scan := &deadletters.Scan{Broker: s.Reader, Filter: c.filter}
	n, leftOut, err := deadletters.Freeze(ctx, scan, []*deadletters.Source{c.source}, deadletters.Selection{
		Action: deadletters.Replay, Pipeline: s.Pipeline.Name, Filter: one.filter, At: now.UTC(),
	}, one.path)
	if err != nil {
		return nil, err
	}
	one.leftOut, _ = leftOut.Top(mostTop)
	if n == 0 {
		message := []string{"No letter is chosen that could go back."}
		for _, why := range one.leftOut {
			message = append(message, view.Count(why.Count, "letter is", "letters are")+" left out: "+why.Value+".")
		}
		return nil, &fault{http.StatusNotFound, "Nothing to replay", strings.Join(message, " ")}
	}
	read, err := deadletters.Open(one.path)
	if err != nil {
		return nil, err
	}
	one.preview = read.Preview
	if err := read.Close(); err != nil {
		return nil, err
	}
	s.replays.add(one)
	return nil, &redirect{"/dead-letters/replay/" + one.token}
}

// replayData is the page of a selection.
type replayData struct {
	Token, Filter, Path, Command, Back string
	At                                 time.Time
	Letters                            int64
	Oldest, Newest                     string
	Reasons, LeftOut                   []deadletters.Count
	Places                             []placeOf
	// Blocked is why it must not be done, "" for nothing.
	Blocked                string
	Begun, Ended, Complete bool
	Result                 deadletters.Result
	Part                   int64
	Left                   int64
	Err                    string
	Refused                []string
	Write                  bool
}

// placeOf is where letters of a selection go back to, and who runs them there.
type placeOf struct {
	Letters, Stream, Group string
	Count                  int64
	Readers                []string
}

func (s *Site) replay(r *http.Request) (*content, error) {
	one, err := s.replays.find(r.PathValue("token"))
	if err != nil {
		return nil, err
	}
	d := &replayData{
		Token: one.token, Filter: view.Clean(one.filter), Path: one.path, At: one.at, Letters: one.preview.Letters, LeftOut: one.leftOut,
		Oldest: one.preview.Oldest.String(), Newest: one.preview.Newest.String(), Back: "/dead-letters", Write: s.Writer != nil,
		Command: s.Command("dlq replay", "--selection", one.path, "--yes"),
	}
	d.Reasons, _ = one.preview.Reasons.Top(mostTop)
	for i := range d.Reasons {
		d.Reasons[i].Value = view.Clean(d.Reasons[i].Value)
	}
	one.mu.Lock()
	d.Begun, d.Ended, d.Result, d.Refused = one.begun, one.ended, one.result, slices.Clone(one.refused)
	if one.err != nil {
		d.Err = told(view.Clean(one.err.Error()))
	}
	one.mu.Unlock()
	if d.Left = d.Letters; d.Begun {
		d.Left = d.Result.Total - d.Result.Done - d.Result.Gone - d.Result.Changed - d.Result.Refused
	}
	d.Complete, d.Part = d.Ended && d.Left == 0, percent(d.Letters-d.Left, d.Letters)
	if !d.Begun {
		if d.Places, d.Blocked, err = s.places(r, one); err != nil {
			return nil, err
		}
	}
	c := &content{Name: "replay", Title: "Replay", Here: "letters", Data: d}
	if d.Begun && !d.Ended {
		c.Again = 2
	}
	return c, nil
}

// places are what a selection holds of each group, and who gets it; blocked is why
// it would be lost.
func (s *Site) places(r *http.Request, one *replayOf) (all []placeOf, blocked string, err error) {
	ctx, done, err := s.ask(r)
	if err != nil {
		return nil, "", err
	}
	defer done()
	words := map[deadletters.Gets]string{
		deadletters.Runs: "runs them", deadletters.Nobody: "is given them, and no enabled subscription reads them",
		deadletters.Unrun: "acknowledges them unrun", deadletters.Again: "is no group of this file: it gets them again",
		deadletters.Absent: "does not exist",
	}
	for _, p := range one.preview.Places {
		place := placeOf{Letters: view.Clean(p.Letters), Stream: view.Clean(p.Stream), Group: view.Clean(p.Group), Count: p.Count}
		if p.Stream != "" {
			readers, err := deadletters.Readers(ctx, s.Reader, s.Pipeline, p.Stream, p.Group, false)
			if err != nil && !errors.Is(err, broker.ErrNoPermission) {
				return nil, "", err
			}
			for _, reader := range readers {
				place.Readers = append(place.Readers, view.Clean(reader.Group)+" "+words[reader.Gets])
				if reader.Gets == deadletters.Absent {
					blocked = "The group " + view.Clean(reader.Group) + " does not exist on " + place.Stream +
						", and one that is created later may begin behind what is replayed. `pipeline apply` creates it."
				}
			}
		}
		all = append(all, place)
	}
	return all, blocked, nil
}

// mostRate is the most letters a second that may be asked for.
const mostRate = 100_000

// start acts on a selection. It goes on when the browser is gone.
func (s *Site) start(r *http.Request) (*content, error) {
	if s.Writer == nil {
		return nil, s.readOnly()
	}
	one, err := s.replays.find(r.PathValue("token"))
	if err != nil {
		return nil, err
	}
	rate, err := strconv.Atoi(strings.TrimSpace(r.FormValue("rate")))
	if err != nil || rate < 1 || rate > mostRate {
		return nil, wrong("Letters a second are a number from 1 to " + view.Number(mostRate) + ".")
	}
	_, blocked, err := s.places(r, one)
	if err != nil {
		return nil, err
	}
	if blocked != "" {
		return nil, &fault{http.StatusConflict, "Nothing was replayed", blocked}
	}
	if err := s.claim(one, rate); err != nil {
		return nil, err
	}
	by := asker{r.RemoteAddr, ops.User(r.Context())}
	s.replays.running.Go(func() { s.act(one, by) })
	return nil, &redirect{"/dead-letters/replay/" + one.token}
}

// asker is who has something done: from where, and, where people log in, who.
type asker struct{ address, user string }

// claim begins a replay, one at a time and each once unless it was broken off.
func (s *Site) claim(one *replayOf, rate int) error {
	s.replays.mu.Lock()
	defer s.replays.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	switch {
	case one.begun && (!one.ended || one.err == nil):
		return &redirect{"/dead-letters/replay/" + one.token}
	case s.replays.busy:
		return &fault{http.StatusConflict, "Nothing was replayed", "Another replay is running from this page. Wait until it has ended."}
	case s.replays.ctx.Err() != nil:
		return &fault{http.StatusServiceUnavailable, "Nothing was replayed", "The process is stopping."}
	}
	s.replays.busy, one.begun, one.ended, one.err, one.rate, one.refused = true, true, false, nil, rate, nil
	one.result = deadletters.Result{Total: one.preview.Letters}
	return nil
}

// mostRefused is how many letters that stay are named.
const mostRefused = 20

func (s *Site) act(one *replayOf, by asker) {
	var result deadletters.Result
	selection, err := deadletters.Open(one.path)
	if err == nil {
		apply := &deadletters.Apply{
			Broker: s.Writer, Pipeline: s.Pipeline, Clock: s.Clock, Rate: one.rate,
			Progress: func(so deadletters.Result) { one.set(func() { one.result = so }) },
			Problem: func(c deadletters.Chosen, why string) {
				one.set(func() {
					if len(one.refused) < mostRefused {
						one.refused = append(one.refused, view.Clean(c.ID+": "+why))
					}
				})
			},
		}
		result, err = apply.Run(s.replays.ctx, selection)
		err = errors.Join(err, selection.Close())
	}
	s.audit(one, result, by, err)
	s.replays.mu.Lock()
	s.replays.busy = false
	s.replays.mu.Unlock()
	one.set(func() {
		if one.ended, one.err = true, err; result.Total > 0 {
			one.result = result
		}
		if err == nil {
			_ = os.Remove(one.path) // it is done; what stays of it does no harm
		}
	})
}

func (r *replayOf) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// audit logs who did what to how many letters.
func (s *Site) audit(one *replayOf, result deadletters.Result, by asker, err error) {
	attrs := []any{
		slog.String("event", "dlq.replay"), slog.String("pipeline", s.Pipeline.Name), slog.String("via", "page"), slog.String("from", by.address),
		slog.String("selection", one.path), slog.String("filter", one.filter), slog.Time("selected_at", one.at.UTC()), slog.Int("rate", one.rate),
		slog.Int64("letters", result.Total), slog.Int64("done", result.Done), slog.Int64("gone", result.Gone),
		slog.Int64("changed", result.Changed), slog.Int64("refused", result.Refused), slog.Int64("unknown", result.Unknown),
		slog.Int64("left", result.Left()),
	}
	if by.user != "" {
		attrs = append(attrs, slog.String("user", by.user))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	s.Log.Info("dead letters: replay", attrs...)
}

// discard forgets a selection that was not acted on.
func (s *Site) discard(r *http.Request) (*content, error) {
	if s.Writer == nil {
		return nil, s.readOnly()
	}
	one, err := s.replays.find(r.PathValue("token"))
	if err != nil {
		return nil, err
	}
	one.forget()
	s.replays.mu.Lock()
	defer s.replays.mu.Unlock()
	s.replays.all = slices.DeleteFunc(s.replays.all, func(o *replayOf) bool { return o == one && !o.begun })
	return nil, &redirect{"/dead-letters"}
}
