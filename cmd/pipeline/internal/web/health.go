package web

import (
	"net/http"
	"runtime"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/poll"
)

// healthData is what the process says of itself.
type healthData struct {
	Checks  []checkOf
	Well    bool
	Facts   []setting
	Lookups int
	Chart   chart
	Exam    examData
}

// checkOf is a check and what is not well.
type checkOf struct {
	Name, Problem string
	Well          bool
}

func (s *Site) health(r *http.Request) (*content, error) {
	if r.Header.Get(refreshHeader) == "" {
		s.examineIfOld(r.Context())
	}
	l, now := s.look(), s.Clock.Now()
	d := &healthData{Well: true, Lookups: len(l.history), Exam: s.exam(now)}
	for _, c := range s.Checks {
		one := checkOf{Name: c.Name, Well: true}
		if err := c.Check(); err != nil {
			one.Well, one.Problem, d.Well = false, told(view.Clean(err.Error())), false
		}
		d.Checks = append(d.Checks, one)
	}
	server := "not asked yet"
	if !l.found.Answered.IsZero() {
		server = "answered " + view.Duration(now.Sub(l.found.Answered).Round(100*time.Millisecond)) + " ago"
	}
	d.Facts = []setting{{Name: "Redis", Value: server}}
	if s.Engine != nil {
		if snap := s.Engine.Snapshot(); snap.Version != "" {
			d.Facts = append(d.Facts, setting{Name: "server", Value: snap.Software + " " + snap.Version})
		}
	}
	if !l.found.Server.IsZero() && !l.found.Answered.IsZero() {
		skew := l.found.Answered.Sub(l.found.Server).Round(time.Millisecond)
		d.Facts = append(d.Facts, setting{Name: "its clock", Value: clockWords(skew)})
	}
	d.Facts = append(d.Facts,
		setting{Name: "program", Value: s.Build.Version + " " + s.Build.Revision}, setting{Name: "built with", Value: s.Build.Go + " for " + s.Build.Platform},
		setting{Name: "serving this page", Value: "for " + view.Duration(now.Sub(s.started).Round(time.Second))},
		setting{Name: "goroutines", Value: view.Number(int64(runtime.NumGoroutine()))},
		setting{Name: "looks at the server", Value: "every " + view.Duration(poll.Every) + ", kept for " + view.Duration(poll.Kept)},
	)
	d.Chart = l.answers().chart("Answered", func(f float64) string {
		if f > 0 {
			return "yes"
		}
		return "no"
	})
	c := &content{Name: "health", Title: "Health", Here: "health", Data: d, Live: true}
	if d.Exam.Running {
		c.Again = 2
	}
	return c, nil
}

// clockWords say how the clocks of server and process differ. What the answer took
// on its way is part of it.
func clockWords(skew time.Duration) string {
	switch {
	case skew.Abs() < 100*time.Millisecond:
		return "as this machine's"
	case skew > 0:
		return view.Duration(skew) + " behind this machine's"
	}
	return view.Duration(-skew) + " before this machine's"
}

// answers is 1 for each look that was answered, 0 for one that was not.
func (l *look) answers() series {
	s := series{make([]time.Time, len(l.history)), make([]float64, len(l.history)), l.span}
	for i, p := range l.history {
		if s.at[i] = p.At; p.Up {
			s.values[i] = 1
		}
	}
	return s
}
