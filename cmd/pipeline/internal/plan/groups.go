package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// group finds the state of a declared group, and what would be done about it.
func (k *collector) group(ctx context.Context, g *spec.Group) error {
	out := &Group{Name: g.Name, Stream: k.stream(g.Stream), Spec: g}
	k.plan.Groups = append(k.plan.Groups, out)
	needed := len(g.Subscriptions) > 0
	switch out.Stream.State {
	case Wrong:
		out.Action = Refuse
		return nil
	case Unknown:
		out.Action = Unseen
		return nil
	}
	for _, info := range out.Stream.infos {
		if info.Name == g.Name {
			out.Exists, out.Info = true, info
		}
	}
	switch {
	case out.Exists:
		out.Action, out.At = Keep, out.Info.LastDelivered
		if err := k.consumers(ctx, out); err != nil || needed {
			return err
		}
		out.Action = Idle
		k.holdsBack(out, fmt.Sprintf("group %s on %s exists, and all its subscriptions are disabled", g.Name, g.Stream.Name),
			"Enable one, or remove the group with XGROUP DESTROY if nobody reads it any more.")
		return nil
	case !needed:
		out.Action = Idle
		return nil
	}
	return k.absent(ctx, out)
}

// absent decides where a group that does not exist would be created, as the
// broker does it: at its floor, else at its start.
func (k *collector) absent(ctx context.Context, g *Group) error {
	g.Action = Create
	info := g.Stream.Info
	at, found, err := k.server.Floor(ctx, g.Stream.Spec.Name, g.Name)
	switch {
	case errors.Is(err, broker.ErrNoPermission): // told with the rights
	case err != nil && broker.Transient(err):
		return err
	case err != nil:
		g.Action = Refuse
		k.add(atPos(g.Spec.Pos, diag.Error, CodeFloor, err.Error(), "Remove the key {stream}:pipeline:GROUP:floor to have the group created at its start."), true)
		return nil
	}
	g.At = begins(g)
	if found {
		g.Action, g.At = Restore, at
		if info.LastID.Less(at) {
			g.At = broker.ID{} // it was written down for another stream of this name
		}
		k.add(atPos(g.Spec.Pos, diag.Warning, CodeLost,
			fmt.Sprintf("group %s on %s was there before and is gone", g.Name, g.Stream.Spec.Name),
			fmt.Sprintf("It is created again at %v, the position that was written down, not at its start; what lies behind is delivered again.", g.At)), false)
	}
	g.count(info)
	return nil
}

// count finds out how many entries lie before and after the position, where the
// ends of the stream tell.
func (g *Group) count(info broker.StreamInfo) {
	switch {
	case info.Length == 0:
		g.Counted = true
	case g.At.Less(info.FirstID):
		g.After, g.Counted = info.Length, true
	case !g.At.Less(info.LastID):
		g.Before, g.Counted = info.Length, true
	}
}

// consumers looks who reads in a group.
func (k *collector) consumers(ctx context.Context, g *Group) error {
	g.Consumers.Count = g.Info.Consumers
	infos, err := k.server.ConsumerInfos(ctx, g.Stream.Spec.Name, g.Name)
	if errors.Is(err, broker.ErrNoPermission) || errors.Is(err, broker.ErrNoGroup) {
		return nil
	}
	if err != nil {
		return err
	}
	g.Consumers.Count = int64(len(infos))
	for i, c := range infos {
		if i == 0 || c.Idle < g.Consumers.Seen {
			g.Consumers.Seen = c.Idle
		}
		if c.Idle < StaleAfter {
			continue
		}
		g.Consumers.Idle++
		if c.Pending > 0 {
			g.Consumers.Stale++
		}
	}
	return nil
}

// foreign finds the groups on a stream that nobody declares.
func (k *collector) foreign(ctx context.Context, s *Stream) error {
	for _, info := range s.infos {
		if k.declared(s, info.Name) {
			continue
		}
		g := &Group{Name: info.Name, Stream: s, Action: Foreign, Exists: true, Info: info, At: info.LastDelivered}
		k.plan.Groups = append(k.plan.Groups, g)
		if err := k.consumers(ctx, g); err != nil {
			return err
		}
		k.holdsBack(g, fmt.Sprintf("group %s on %s is declared by no file", g.Name, s.Spec.Name),
			"If nobody reads it any more, remove it with XGROUP DESTROY.")
	}
	return nil
}

func (k *collector) declared(s *Stream, name string) bool {
	for _, g := range k.plan.Groups {
		if g.Stream == s && g.Name == name {
			return true
		}
	}
	return false
}

// holdsBack tells of a group that nobody of this pipeline reads. Trimming that
// protects what is not acknowledged waits for it.
func (k *collector) holdsBack(g *Group, summary, remedy string) {
	severity, code := diag.Notice, CodeForeign
	if g.Spec != nil {
		code = CodeDisabled
	}
	text := fmt.Sprintf("%d pending", g.Info.Pending)
	if g.Info.LagKnown {
		text += fmt.Sprintf(", %d not yet delivered", g.Info.Lag)
	}
	switch c := g.Consumers; {
	case c.Count == 0:
		text += ", no consumer"
	case c.Idle == c.Count:
		text += fmt.Sprintf(", no consumer has read for %v", c.Seen.Round(time.Second))
	}
	if r := g.Stream.Spec.Retention; r != nil && r.ProtectUnacknowledged {
		severity = diag.Warning
		remedy = "Retention (protect = \"unacknowledged\") keeps every entry that it has not acknowledged. " + remedy
	}
	pos := g.Stream.Spec.Pos
	if g.Spec != nil {
		pos = g.Spec.Pos
	}
	k.add(atPos(pos, severity, code, summary+": "+text, remedy), false)
}
