package cli

import (
	"errors"
	"log/slog"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/lang/diag"
)

// audit logs who did what to how many letters: one line for every run that acts.
func (r *acting) audit(path string, selection *deadletters.Reader, result deadletters.Result, err error) {
	attrs := append(r.a.auditAttrs("dlq."+string(r.action), r.of.pipeline),
		slog.String("selection", path), slog.String("filter", selection.Filter),
		slog.Time("selected_at", selection.At), slog.Bool("all_groups", selection.AllGroups),
		slog.Int64("letters", result.Total), slog.Int64("done", result.Done), slog.Int64("gone", result.Gone),
		slog.Int64("changed", result.Changed), slog.Int64("refused", result.Refused), slog.Int64("unknown", result.Unknown),
		slog.Int64("left", result.Left()))
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	r.a.view.Logger(slog.LevelInfo).Info("dead letters: "+string(r.action), attrs...)
}

// places are what a selection holds of each group, and who will see what is
// replayed. The error says why replaying it would lose entries.
func (r *acting) places(p *deadletters.Preview, allGroups bool) ([]view.SelectedPlace, error) {
	var out []view.SelectedPlace
	var problem error
	for _, place := range p.Places {
		shown := view.SelectedPlace{Letters: place.Letters, Stream: place.Stream, Group: place.Group, Count: place.Count}
		if r.action == deadletters.Replay && place.Stream != "" {
			readers, err := deadletters.Readers(r.ctx, r.server, r.of.pipeline, place.Stream, place.Group, allGroups)
			switch {
			case errors.Is(err, broker.ErrNoPermission):
				r.warn(codeGroupUnread, "who else reads "+place.Stream+" is not known: "+err.Error())
			case err != nil:
				return nil, dlqError(r.ctx, r.name(), err)
			}
			shown.Readers = readers
			if why := r.nobodyRuns(place, readers); why != nil && problem == nil {
				problem = why
			}
		}
		out = append(out, shown)
	}
	return out, problem
}

// nobodyRuns warns of groups of whose subscriptions none is enabled, and refuses
// one that is absent.
func (r *acting) nobodyRuns(place *deadletters.Place, readers []deadletters.GroupGets) error {
	for _, reader := range readers {
		switch reader.Gets {
		case deadletters.Absent:
			return fail(exitServer, string(codeGroupAbsent), "dlq replay: the group "+reader.Group+" does not exist on "+place.Stream+
				", and one that is created later may begin behind what is replayed; `pipeline apply` creates it")
		case deadletters.Nobody:
			r.warn(codeGroupUnread, "no subscription of the group "+reader.Group+" is enabled: what is replayed waits until one is")
		}
	}
	return nil
}

func (r *acting) warn(code diag.Code, text string) {
	r.a.view.Diagnostic(diag.Diagnostic{Severity: diag.Warning, Code: code, Summary: text})
}
