package cli

import (
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/clock"
)

// progress shows how far entries have been read, now and then.
type progress struct {
	a    *app
	what string
	// look fills in how far it is.
	look  func(*view.Progress)
	start time.Time
	next  time.Time
	steps int
}

// progressEvery is how often progress is shown, and progressLook after how
// many entries the clock is asked whether it is time.
const (
	progressEvery = 200 * time.Millisecond
	progressLook  = 256
)

// newProgress is the progress of an input file.
func (a *app) newProgress(what string, in *inputFile) *progress {
	return a.newProgressOf(what, func(p *view.Progress) {
		p.Entries, p.Bytes, p.Total = in.entries.Load(), in.offset.Load(), in.size
	})
}

func (a *app) newProgressOf(what string, look func(*view.Progress)) *progress {
	now := a.clock.Now()
	return &progress{a: a, what: what, look: look, start: now, next: now.Add(progressEvery)}
}

// step is called for each entry.
func (p *progress) step() {
	if p.steps++; p.steps%progressLook == 0 {
		p.show()
	}
}

func (p *progress) show() {
	now := p.a.clock.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	shown := view.Progress{What: p.what, Elapsed: clock.Since(p.a.clock, p.start)}
	p.look(&shown)
	p.a.view.Progress(shown)
}
