package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"pipeline/cmd/pipeline/internal/view"
)

// How often the server is examined. Everybody who looks is shown the last
// examination, with its age; a page that is kept up to date begins none.
const (
	// stale is the age from which opening the page begins another one.
	stale = time.Minute
	// again is how long after the begin of one somebody may ask for another.
	again = 10 * time.Second
	// mostExamined bounds an examination, mostWaited how long a page waits for one.
	mostExamined = 30 * time.Second
	mostWaited   = 2 * time.Second
)

// refreshHeader is sent by a page that asks for itself, and not by somebody who opens
// one.
const refreshHeader = "Pipeline-Refresh"

// exams are the last examination, and the one that goes on.
type exams struct {
	mu sync.Mutex
	// begun is when the last one began, zero before the first; done is closed when it
	// has ended, and nil while none goes on.
	begun time.Time
	done  chan struct{}
	last  *exam

	ctx     context.Context //nolint:containedctx // it lives as long as the site
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// exam is what was found, and when.
type exam struct {
	found []view.Finding
	at    time.Time
	took  time.Duration
	// cut: it took too long, and the rest was not looked at.
	cut bool
}

func (e *exams) begin() { e.ctx, e.cancel = context.WithCancel(context.Background()) }

func (e *exams) close() {
	e.cancel()
	e.running.Wait()
}

// examine begins an examination, unless one goes on or the last one began less than
// the given time ago. The channel is closed when the one that goes on has ended; it is
// nil where none does.
func (s *Site) examine(apart time.Duration) <-chan struct{} {
	e := &s.exams
	e.mu.Lock()
	defer e.mu.Unlock()
	now := s.Clock.Now()
	if s.Examine == nil || e.done != nil || e.ctx.Err() != nil || !e.begun.IsZero() && now.Sub(e.begun) < apart {
		return e.done
	}
	done := make(chan struct{})
	e.begun, e.done = now, done
	e.running.Go(func() {
		ctx, cancel := context.WithTimeout(e.ctx, mostExamined)
		defer cancel()
		found := s.Examine(ctx)
		end := s.Clock.Now()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.last, e.done = &exam{found: found, at: end, took: end.Sub(now), cut: ctx.Err() != nil}, nil
		close(done)
	})
	return done
}

// examineIfOld begins an examination where the last one is old, and waits a moment
// for the one that goes on.
func (s *Site) examineIfOld(ctx context.Context) {
	done := s.examine(stale)
	if done == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, mostWaited)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// examineAgain is asked for by a button.
func (s *Site) examineAgain(r *http.Request) (*content, error) {
	if s.Examine == nil {
		return nil, absent("There is no server to examine: this pipeline runs on a broker inside the process.")
	}
	s.examine(again)
	s.examineIfOld(r.Context())
	return nil, &redirect{"/health#exam"}
}

// examData is what the page says of the last examination.
type examData struct {
	// Possible: there is a server. Known: it was examined.
	Possible, Known, Running, Cut bool
	At                            time.Time
	Age, Took                     time.Duration
	Findings                      []findingOf
	Command                       string
}

// findingOf is a finding as it is shown.
type findingOf struct {
	Severity, Code, Found, Why, Do, Command string
	Stops                                   bool
}

func (s *Site) exam(now time.Time) examData {
	e := &s.exams
	e.mu.Lock()
	defer e.mu.Unlock()
	d := examData{Possible: s.Examine != nil, Running: e.done != nil, Findings: []findingOf{}, Command: s.Command("doctor")}
	if e.last == nil {
		return d
	}
	d.Known, d.Cut, d.At, d.Took, d.Age = true, e.last.cut, e.last.at, e.last.took, max(0, now.Sub(e.last.at))
	shown := func(text string) string { return told(view.Clean(text)) }
	for _, f := range e.last.found {
		d.Findings = append(d.Findings, findingOf{
			Severity: f.Severity.String(), Code: string(f.Code), Found: shown(f.Found), Why: shown(f.Why), Do: shown(f.Do), Command: shown(f.Command), Stops: f.Stops,
		})
	}
	return d
}

// apiExam is the last examination, for programs.
type apiExam struct {
	// Examined is null before the first one.
	Examined *time.Time   `json:"examined_at"`
	Age      *int64       `json:"age_ms"`
	Running  bool         `json:"running"`
	Complete bool         `json:"complete"`
	Findings []apiFinding `json:"findings"`
}

// apiFinding has the names that `pipeline doctor --json` gives.
type apiFinding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Found    string `json:"found"`
	Why      string `json:"why"`
	Do       string `json:"do"`
	Command  string `json:"command"`
	Stops    bool   `json:"stops_run"`
}

func (s *Site) apiExam() apiExam {
	d := s.exam(s.Clock.Now())
	a := apiExam{Running: d.Running, Complete: d.Known && !d.Cut, Findings: []apiFinding{}}
	if d.Known {
		a.Examined, a.Age = &d.At, milliseconds(d.Age)
	}
	for _, f := range d.Findings {
		a.Findings = append(a.Findings, apiFinding{f.Code, f.Severity, f.Found, f.Why, f.Do, f.Command, f.Stops})
	}
	return a
}
