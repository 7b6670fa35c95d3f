package deadletters

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// Gets is what a group does with an entry that is replayed.
type Gets string

// What groups do.
const (
	// Runs: it runs the entry.
	Runs Gets = "runs"
	// Nobody: it is given the entry, and no enabled subscription reads it.
	Nobody Gets = "nobody"
	// Unrun: it acknowledges the entry without running it, because the entry says
	// that it is for another group.
	Unrun Gets = "unrun"
	// Again: no file declares the group. It gets the entry again, unless it heeds
	// the header x-retry-group.
	Again Gets = "again"
	// Absent: the server has no such group. One that is created later may begin
	// behind the entry and never read it.
	Absent Gets = "absent"
)

// GroupGets is one group of a stream and what it does.
type GroupGets struct {
	Group string `json:"group"`
	Gets  Gets   `json:"gets"`
}

// Readers are the groups that read a stream, and what each does with an entry
// that is replayed for one of them, or for all. The one that it is for comes first.
func Readers(ctx context.Context, b broker.Broker, p *spec.Pipeline, stream, group string, allGroups bool) ([]GroupGets, error) {
	infos, err := b.GroupInfos(ctx, stream)
	if err != nil {
		return nil, err
	}
	declared := map[string]*spec.Group{}
	for _, g := range p.Groups {
		if g.Stream.Name == stream {
			declared[g.Name] = g
		}
	}
	runs := func(g *spec.Group) Gets {
		if len(g.Subscriptions) == 0 {
			return Nobody
		}
		return Runs
	}
	first := GroupGets{group, Absent}
	var others []GroupGets
	for _, info := range infos {
		g := declared[info.Name]
		switch {
		case info.Name == group && g != nil:
			first.Gets = runs(g)
		case g == nil:
			others = append(others, GroupGets{info.Name, Again})
		case allGroups:
			others = append(others, GroupGets{info.Name, runs(g)})
		default:
			others = append(others, GroupGets{info.Name, Unrun})
		}
	}
	if declared[group] == nil && allGroups {
		return others, nil
	}
	return append([]GroupGets{first}, others...), nil
}
