package sim

import (
	"context"
	"maps"
	"time"

	"pipeline/engine/broker"
)

// floors checks from where a group that was lost is read again: the last floor that
// was written, neither before it, so that what was settled long ago is not settled
// once more, nor behind it.
type floors struct {
	sim *sim
	// at is the floor of each group, written when that was done last.
	at      map[string]broker.ID
	written map[string]time.Time
	// since is when each group was made last.
	since map[string]time.Time
}

func (f *floors) init(s *sim) {
	f.sim, f.at, f.written, f.since = s, map[string]broker.ID{}, map[string]time.Time{}, map[string]time.Time{}
}

// floor is from where a group would have to be read again now.
func (f *floors) floor(group string) (broker.ID, bool) {
	ctx := context.Background()
	p, err := f.sim.memory.Pending(ctx, "in", group, "", broker.ID{}, 1)
	if err != nil {
		return broker.ID{}, false // there is no group
	}
	if len(p) > 0 {
		return p[0].ID.Prev(), true
	}
	return f.cursor(group)
}

// cursor is what a group was delivered last.
func (f *floors) cursor(group string) (broker.ID, bool) {
	infos, err := f.sim.memory.GroupInfos(context.Background(), "in")
	f.sim.do("look at groups", err)
	for i := range infos {
		if infos[i].Name == group {
			return infos[i].LastDelivered, true
		}
	}
	return broker.ID{}, false
}

// saved is told that a floor was written, which was to be at a place.
func (f *floors) saved(group string, at broker.ID) {
	if f.at[group].Less(at) {
		f.at[group] = at
	}
	f.written[group] = f.sim.Now()
}

// made is told that a group was made, for the first time or because it was lost.
func (f *floors) made(group string) {
	info, err := f.sim.memory.StreamInfo(context.Background(), "in")
	f.sim.do("look at the stream", err)
	want := f.at[group]
	if info.LastID.Less(want) {
		want = broker.ID{} // the stream began anew
	}
	got, ok := f.cursor(group)
	if !ok || got != want {
		f.sim.model.wrong("floor: group %s is read again from %v; its floor is %v", group, got, want)
	}
	f.at[group], f.since[group] = got, f.sim.Now()
}

// floorEvery is how often floors are written.
const floorEvery = 5 * time.Second

// lost checks, as a group is lost, that somebody who could has written its floor.
func (f *floors) lost(group string) {
	m, now := &f.sim.model, f.sim.Now()
	if _, there := f.cursor(group); !there || now.Sub(f.since[group]) <= 2*floorEvery {
		return // it was lost before
	}
	for _, w := range f.sim.alive() {
		_, stopping := m.stopping[w.Name()]
		quiet := now.Sub(m.reach.failed[w.Name()]) > 2*floorEvery && now.Sub(f.sim.begun[w.Name()]) > 2*floorEvery
		if stopping || w.Stalled() || !quiet || m.excused(w.Name(), now) {
			continue
		}
		f.sim.plan.tally.add("floors that had to be written", 1)
		if ago := now.Sub(f.written[group]); ago > floorEvery+time.Second {
			m.wrong("floor: that of group %s was last written %v ago, while %s ran", group, ago, w.Name())
		}
	}
}

// copy is what is known of the floors now, for a server that is to forget what
// comes after.
func (f *floors) copy() map[string]broker.ID { return maps.Clone(f.at) }

func (v server) SaveFloor(ctx context.Context, stream, group string) error {
	f := &v.sim.model.floors
	at, ok := f.floor(group)
	err := v.Broker.SaveFloor(ctx, stream, group)
	if err == nil && ok {
		f.saved(group, at)
	}
	return err
}

func (v server) CreateGroup(ctx context.Context, stream, group, start string) (bool, error) {
	created, err := v.Broker.CreateGroup(ctx, stream, group, start)
	if created {
		v.sim.model.floors.made(group)
	}
	return created, err
}

func (v server) RestoreGroup(ctx context.Context, stream, group string) (broker.ID, bool, error) {
	at, restored, err := v.Broker.RestoreGroup(ctx, stream, group)
	if restored {
		v.sim.model.floors.made(group)
	}
	return at, restored, err
}
