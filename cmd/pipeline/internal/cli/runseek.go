package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/seek"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// seeking moves groups before a service reads.
type seeking struct {
	a        *app
	pipeline *spec.Pipeline
	server   broker.Broker
	log      *slog.Logger
	targets  []target
	// skip: entries that nobody was given may be passed over.
	skip bool
}

// parseTargets reads the values of --seek.
func (a *app) parseTargets(cmd *cobra.Command, p *spec.Pipeline, flags runFlags) ([]target, error) {
	if flags.yes && len(flags.seek) == 0 {
		return nil, usage(cmd, "--yes belongs to --seek")
	}
	var all []target
	for _, text := range flags.seek {
		t, err := a.parseTarget(cmd, p, "--seek", text)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if other.group == t.group {
				return nil, usage(cmd, "--seek names the group %s twice", t.group.Label)
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// move moves the groups, each once: after an error that passes it is called again.
func (s *seeking) move(ctx context.Context) error {
	for len(s.targets) > 0 {
		t := s.targets[0]
		preview, sought, err := seek.Move(ctx, s.server, t.group, t.to, broker.MaxID, func(p *seek.Preview) error { return s.allow(t, p) })
		switch {
		case broker.Transient(err):
			return err
		case err != nil:
			return s.failed(t, err)
		}
		if err := notSought(t, &preview, sought); err != nil {
			return err
		}
		s.a.auditSeek(s.log, s.pipeline, t, &preview, sought)
		s.targets = s.targets[1:]
	}
	return nil
}

func (s *seeking) failed(t target, err error) error {
	if f, ok := err.(*failure); ok { //nolint:errorlint // it is ours, as it was made
		return f
	}
	return seekError(false, t, err)
}

// allow refuses to pass over entries that nobody was given, unless that was asked for.
func (s *seeking) allow(t target, p *seek.Preview) error {
	switch {
	case p.Beyond():
		return beyond(t, p)
	case p.Skipped.Entries > 0 && !s.skip:
		return fail(exitUsage, string(codeSeekSkips), fmt.Sprintf(
			"run --seek: to move the group %s of %s to %s passes over %s that nobody was given, %s to %s: they would never be run. "+
				"Nothing was changed and nothing runs; with --yes they are passed over",
			t.group.Name, t.group.Stream.Name, t.given, view.Entries(p.Skipped), p.Skipped.First, p.Skipped.Last))
	}
	return nil
}
