package bench

import "context"

// ack measures acknowledging alone.
func ack(ctx context.Context, r *Runner) error {
	return r.settling(ctx, "ack", []string{r.Handler}, "")
}

// reply measures a reply to each entry.
func reply(ctx context.Context, r *Runner) error {
	return r.settling(ctx, "reply", []string{r.Handler}, r.key("replies"))
}

// engines measures the same with handlers in several languages.
func engines(ctx context.Context, r *Runner) error {
	return r.settling(ctx, "engines", []string{Native, "lua", "c", "go"}, r.key("replies"))
}

// settling measures how a stream is settled, with replies or without, by each of
// some handlers. Where there are several, each is a case.
func (r *Runner) settling(ctx context.Context, scenario string, handlers []string, replyTo string) error {
	s, err := r.source(ctx, r.Entries)
	if err != nil {
		return err
	}
	for _, handler := range handlers {
		name := ""
		if len(handlers) > 1 {
			name = handler
		}
		products := 0
		err := r.series(ctx, scenario, name, throughput, func(ctx context.Context, side Side) (Sample, error) {
			job := r.job(side)
			job.Handler, job.Reply = handler, replyTo
			if scenario == "reply" {
				r.profile(&job, side, &products)
			}
			return s.drain(ctx, job)
		})
		if err != nil {
			return err
		}
	}
	return s.clear(ctx)
}
