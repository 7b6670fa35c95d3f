package web

import (
	"encoding/json"
	"net/http"
	"time"

	"pipeline/engine/poll"
)

// apiGroup is a group, for programs. What is not known is null.
type apiGroup struct {
	Group         string   `json:"group"`
	Name          string   `json:"name"`
	Stream        string   `json:"stream"`
	Exists        bool     `json:"exists"`
	Added         *float64 `json:"added_per_s"`
	Read          *float64 `json:"read_per_s"`
	Lag           *int64   `json:"lag"`
	Undelivered   *int64   `json:"oldest_undelivered_ms"`
	Pending       *int64   `json:"pending"`
	OldestPending *int64   `json:"oldest_pending_ms"`
	TrimGap       *int64   `json:"trim_gap"`
	Consumers     *int64   `json:"consumers"`
	Error         string   `json:"error"`
}

// apiLetters is a dead-letter stream.
type apiLetters struct {
	Stream string `json:"stream"`
	Length *int64 `json:"entries"`
	Oldest *int64 `json:"oldest_ms"`
}

// apiProblem is something that is wrong.
type apiProblem struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Page     string `json:"page"`
	Command  string `json:"command"`
	Group    string `json:"group"`
}

// apiOverview is all of it.
type apiOverview struct {
	Pipeline string       `json:"pipeline"`
	Version  string       `json:"version"`
	State    string       `json:"state"`
	Up       bool         `json:"redis_up"`
	Answered *time.Time   `json:"answered_at"`
	Groups   []apiGroup   `json:"groups"`
	Letters  []apiLetters `json:"dead_letters"`
	Problems []apiProblem `json:"problems"`
}

// api serves the same as the pages, as JSON.
func (s *Site) api(mux *http.ServeMux) {
	serve := func(path string, of func(l *look) any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(of(s.look())) // who asked is gone
		})
	}
	serve("/api/overview", func(l *look) any {
		o := apiOverview{
			Pipeline: s.Pipeline.Name, Version: s.Pipeline.Version, State: string(s.Metrics.State()), Up: l.found.Up(),
			Groups: l.apiGroups(), Letters: l.apiLetters(), Problems: s.apiProblems(l),
		}
		if !l.found.Answered.IsZero() {
			o.Answered = &l.found.Answered
		}
		return o
	})
	serve("/api/groups", func(l *look) any { return l.apiGroups() })
	serve("/api/dead-letters", func(l *look) any { return l.apiLetters() })
	serve("/api/problems", func(l *look) any { return s.apiProblems(l) })
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) { apiRefused(mux, w, r) })
	mux.HandleFunc("GET /api/doctor", func(w http.ResponseWriter, r *http.Request) {
		s.examineIfOld(r.Context())
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.apiExam()) // who asked is gone
	})
}

// apiRefused tells a program that there is nothing of the path, or not by its method.
func apiRefused(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	refused := struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}{"not_found", "There is nothing of this path; /api/overview has all, and /api/groups, /api/dead-letters, /api/problems and /api/doctor parts of it."}
	status := http.StatusNotFound
	get := r.Clone(r.Context())
	get.Method = http.MethodGet
	if _, pattern := mux.Handler(get); pattern != "/api/" {
		status = http.StatusMethodNotAllowed
		refused.Error, refused.Message = "method_not_allowed", "It can only be read: GET and HEAD."
		w.Header().Set("Allow", "GET, HEAD")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refused) // who asked is gone
}

func (l *look) apiGroups() []apiGroup {
	all := []apiGroup{}
	for i := range l.found.Streams {
		stream := &l.found.Streams[i]
		for j := range stream.Groups {
			g := &stream.Groups[j]
			one := apiGroup{
				Group: g.Spec.Label, Name: g.Spec.Name, Stream: stream.Spec.Name, Exists: g.Known,
				Added: valueOf(l.rates.added, stream.Spec.Name), Read: valueOf(l.rates.read, g.Spec),
			}
			if g.Err != nil {
				one.Error = told(g.Err.Error())
			}
			if g.Known {
				one.fill(g)
			}
			all = append(all, one)
		}
	}
	return all
}

func (a *apiGroup) fill(g *poll.Group) {
	if g.LagKnown {
		a.Lag = &g.Lag
	}
	consumers := int64(len(g.Consumers))
	a.Pending, a.TrimGap, a.Consumers = &g.Pending, &g.TrimGap, &consumers
	a.Undelivered, a.OldestPending = milliseconds(g.OldestUndelivered), milliseconds(g.OldestPending)
}

func milliseconds(d time.Duration) *int64 {
	ms := d.Milliseconds()
	return &ms
}

func (l *look) apiLetters() []apiLetters {
	all := []apiLetters{}
	for i := range l.found.Streams {
		if stream := &l.found.Streams[i]; stream.DeadLetters {
			one := apiLetters{Stream: stream.Spec.Name}
			if stream.Known {
				one.Length, one.Oldest = &stream.Length, milliseconds(stream.Oldest)
			}
			all = append(all, one)
		}
	}
	return all
}

func (s *Site) apiProblems(l *look) []apiProblem {
	all := []apiProblem{}
	for _, p := range s.problems(l) {
		all = append(all, apiProblem{p.Severity, p.Code, p.Summary, p.Detail, p.Link, p.Command, p.Group})
	}
	return all
}
