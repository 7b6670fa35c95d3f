package web

import (
	"net/http"
	"strconv"
	"strings"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/trial"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/spec"
)

// handlerData is the page of a handler.
type handlerData struct {
	Label, Source, Function, Sum string
	Settings                     []setting
	Users                        []userOf
	// Report is nil where nothing works in this process.
	Report  *metrics.HandlerReport
	Calls   int64
	Failed  int64
	Command string
	Try     tryData
}

// userOf is a subscription that a handler runs for.
type userOf struct{ Subscription, Group, Link string }

func (s *Site) handlerPage(r *http.Request) (*content, error) {
	var h *spec.Handler
	for _, known := range s.Pipeline.Handlers {
		if known.Label == r.PathValue("label") {
			h = known
		}
	}
	if h == nil {
		return nil, absent("The pipeline has no handler of this label.")
	}
	d := &handlerData{
		Label: view.Clean(h.Label), Source: view.Clean(h.Source), Function: view.Clean(h.Function), Settings: handlerSettings(h),
		Command: s.Command("dry-run", "--live", "--count", "100"),
	}
	d.Try = tryData{Action: handlerLink(h.Label) + "/try", Subscriptions: s.runsFor(h), Most: min(h.Limits.Timeout, trial.MostTime)}
	if s.Sum != nil {
		d.Sum = s.Sum(h.Label)
	}
	for _, sub := range s.Pipeline.Subscriptions() {
		if sub.Handler == h {
			d.Users = append(d.Users, userOf{view.Clean(sub.Label), view.Clean(sub.Group.Label), groupLink(sub.Group.Label)})
		}
	}
	if s.Engine != nil {
		report := s.Metrics.HandlerReport(h.Label)
		d.Report, d.Calls = &report, int64(report.Calls) //nolint:gosec // no process calls that often
		for _, f := range report.Failures {
			d.Failed += f.Count
		}
	}
	return &content{Name: "handler", Title: "Handler " + d.Label, Here: "overview", Data: d, Live: d.Report != nil}, nil
}

func handlerSettings(h *spec.Handler) []setting {
	all := []setting{
		{Name: "timeout of a call", Value: view.Duration(h.Limits.Timeout)},
		{Name: "memory of a call", Value: view.Size(h.Limits.Memory)},
		{Name: "instructions of a call", Value: view.Number(h.Limits.Instructions)},
	}
	for _, m := range h.Modules {
		all = append(all, setting{Name: "module", Value: view.Clean(m.Source)})
	}
	var grants []string
	for _, g := range h.Grants {
		grants = append(grants, view.Clean(g.Kind))
	}
	if len(grants) == 0 {
		grants = []string{"none: a pure function of its entry"}
	}
	all = append(all, setting{Name: "grants", Value: strings.Join(grants, ", ")})
	if h.RawInput {
		all = append(all, setting{Name: "input", Value: "the bytes of the body"})
	}
	return append(all, setting{Name: "declared at", Value: view.Clean(h.Pos.File) + ":" + strconv.Itoa(h.Pos.Line)})
}
