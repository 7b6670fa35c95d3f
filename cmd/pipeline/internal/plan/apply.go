package plan

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// Applied is what became of one declared group.
type Applied struct {
	Spec *spec.Group
	// Done is what was done: Create, Restore, Keep, or Idle for a group that is
	// not needed.
	Done Action
	// At is where it stands now.
	At broker.ID
	// Moved: it existed, and stands elsewhere than a new one would begin.
	Moved bool
}

// Apply creates the groups that the plan found absent, and their streams. A
// group that another process creates meanwhile is found to exist. On an error,
// what is returned was done.
func Apply(ctx context.Context, p *Plan, b broker.Broker) ([]Applied, error) {
	var done []Applied
	for _, g := range p.Groups {
		if g.Spec == nil {
			continue
		}
		a := Applied{Spec: g.Spec, Done: g.Action, At: g.At}
		unseen := g.Action == Unseen
		switch {
		case unseen && len(g.Spec.Subscriptions) > 0:
			a.Done = Create // whether it exists, the server finds out, or says what the login lacks
		case unseen:
			a.Done = Idle
		}
		if a.Done == Create || a.Done == Restore {
			created, err := b.CreateGroup(ctx, g.Stream.Spec.Name, g.Name, g.Spec.Start)
			if err != nil {
				return done, err
			}
			if !created {
				a.Done = Keep
			}
		}
		if a.Done != Idle {
			at, err := position(ctx, b, g)
			if err != nil {
				return done, err
			}
			a.At = at
		}
		a.Moved = !unseen && a.Done == Keep && a.At != begins(g)
		done = append(done, a)
	}
	return done, nil
}

// position is where a group stands.
func position(ctx context.Context, b broker.Broker, g *Group) (broker.ID, error) {
	infos, err := b.GroupInfos(ctx, g.Stream.Spec.Name)
	if err != nil {
		return broker.ID{}, err
	}
	for _, info := range infos {
		if info.Name == g.Name {
			return info.LastDelivered, nil
		}
	}
	return broker.ID{}, &broker.Error{
		Op: "look at", Stream: g.Stream.Spec.Name, Group: g.Name, Kind: broker.ErrNoGroup, Detail: "it is gone again",
	}
}

// begins is where a group would be created now, had it not been there.
func begins(g *Group) broker.ID {
	if g.Spec.Start == "$" {
		return g.Stream.Info.LastID
	}
	id, _ := broker.ParseID(g.Spec.Start) // the language has checked it
	return id
}
