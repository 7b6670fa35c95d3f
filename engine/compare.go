package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// Comparison runs the same entries through two versions of a pipeline, the old
// and the new one, and says where they come to something else. Like a DryRun it
// writes nothing and needs no broker.
//
// Both versions see the same moment: their clock stands still, and what spreads
// retries is not left to chance. A handler that reads the time or draws random
// numbers, which are seeded from the entry, then gives the same in both. One
// that still differs from itself is found out by running again what differed.
type Comparison struct {
	old, new *DryRun
	pairs    []comparedPair
	changes  []SubscriptionChange
}

// comparedPair is a subscription that both versions have, reading one stream.
type comparedPair struct{ old, new *spec.Subscription }

// SubscriptionChange is a subscription that is not the same in both versions as
// a whole, so that its entries are not compared.
type SubscriptionChange struct {
	Change ChangeKind
	// Old and New are the two versions, nil where there is none.
	Old, New *spec.Subscription
	// Detail says more for a person; it may be empty.
	Detail string
}

// Label is the subscription's name.
func (c *SubscriptionChange) Label() string {
	if c.New != nil {
		return c.New.Label
	}
	return c.Old.Label
}

// ChangeKind is how a subscription differs as a whole.
type ChangeKind string

// The kinds of changes. A subscription under another label is one removed and
// one added: nobody can know that it is the same.
const (
	// Added: only the new version has it, enabled.
	Added ChangeKind = "added"
	// Removed: only the old version has it, enabled.
	Removed ChangeKind = "removed"
	// Moved: it reads another stream.
	Moved ChangeKind = "moved"
	// Role: in one version it reads new entries, in the other it only takes over.
	Role ChangeKind = "role"
)

// Compared is an entry in a subscription that both versions have. It is valid
// only during the call that it is given to.
type Compared struct {
	Old, New DryOutcome
	Stream   *spec.Stream
	// Same: both come to the same.
	Same bool
	// OldVaries and NewVaries: run twice, the entry gave two results in that
	// version, so that a difference between the versions says nothing.
	OldVaries, NewVaries bool
}

// NewComparison compiles both versions. Of the configurations only Pipeline,
// Handlers and the Clock of the new one are used; logs are not kept.
func NewComparison(old, recent Config) (*Comparison, error) {
	if recent.Clock == nil {
		recent.Clock = clock.Real()
	}
	still := clock.NewVirtual(recent.Clock.Now())
	for _, cfg := range []*Config{&old, &recent} {
		cfg.Clock, cfg.KeepLogs = still, nil
		cfg.Chance.Random = func() float64 { return 0.5 }
	}
	c := &Comparison{}
	var err error
	if c.old, err = NewDryRun(old); err != nil {
		return nil, fmt.Errorf("the old version: %w", err)
	}
	if c.new, err = NewDryRun(recent); err != nil {
		return nil, err
	}
	c.match()
	return c, nil
}

// match finds what both versions have.
func (c *Comparison) match() {
	was := map[string]*spec.Subscription{}
	for _, s := range c.old.cfg.Pipeline.Subscriptions() {
		was[s.Label] = s
	}
	for _, s := range c.new.cfg.Pipeline.Subscriptions() {
		o := was[s.Label]
		delete(was, s.Label)
		oldRuns, newRuns := slices.Contains(c.old.subs, o), slices.Contains(c.new.subs, s)
		switch {
		case o == nil:
			c.changes = append(c.changes, SubscriptionChange{Change: Added, New: s})
		case o.Group.Stream.Name != s.Group.Stream.Name:
			c.changes = append(c.changes, SubscriptionChange{
				Change: Moved, Old: o, New: s, Detail: "from " + o.Group.Stream.Name + " to " + s.Group.Stream.Name,
			})
		case oldRuns != newRuns:
			version := "new"
			if newRuns {
				version = "old"
			}
			c.changes = append(c.changes, SubscriptionChange{
				Change: Role, Old: o, New: s, Detail: "the " + version + " version only takes over pending entries",
			})
		case newRuns:
			c.pairs = append(c.pairs, comparedPair{o, s})
		}
	}
	for _, o := range c.old.cfg.Pipeline.Subscriptions() {
		if was[o.Label] != nil {
			c.changes = append(c.changes, SubscriptionChange{Change: Removed, Old: o})
		}
	}
}

// Changes are the subscriptions that differ as a whole: those of the new version
// in file order, then those that it lacks.
func (c *Comparison) Changes() []SubscriptionChange { return c.changes }

// NotRun are the subscriptions that a dry-run leaves out in both versions.
func (c *Comparison) NotRun() []NotRun {
	return slices.DeleteFunc(slices.Clone(c.new.notRun), func(n NotRun) bool {
		return !slices.ContainsFunc(c.old.notRun, func(o NotRun) bool { return o.Subscription.Label == n.Subscription.Label })
	})
}

// Streams are the streams whose entries are compared, as the new version
// declares them.
func (c *Comparison) Streams() []*spec.Stream {
	var subs []*spec.Subscription
	for _, p := range c.pairs {
		subs = append(subs, p.new)
	}
	return streamsOf(subs)
}

// Run runs each entry once through both versions of every subscription of its
// stream that both have, once more where they differ, and emits every result,
// in the order of the entries and of the new version's file. emit is called from
// one goroutine; an error of it ends the run and is returned. Memory is that of
// DryRun.Run.
func (c *Comparison) Run(ctx context.Context, in iter.Seq[DryEntry], emit func(*Compared) error) error {
	var out Compared
	var told [2]observe.Outcome
	was, is := dryMarks{}, dryMarks{}
	return inOrder(ctx, in, c.worker, func(job *dryJob) error {
		for j := range job.entries {
			for i, p := range c.pairs {
				first, second := job.columns[2*i:2*i+2], job.repeats[2*i:2*i+2]
				if first[0][j] == nil {
					continue
				}
				was.judge(p.old, c.old.plans[p.old], first[0][j])
				is.judge(p.new, c.new.plans[p.new], first[1][j])
				out = Compared{
					Old: dryOutcome(p.old, first[0][j], &told[0]), New: dryOutcome(p.new, first[1][j], &told[1]), Stream: p.new.Group.Stream,
				}
				out.Same = second[0] == nil || second[0][j] == nil
				if oldRan, newRan := !duplicate(first[0][j]), !duplicate(first[1][j]); !oldRan || !newRan {
					out.Same = oldRan == newRan // whatever a handler would have said of a duplicate
				} else if !out.Same {
					out.OldVaries = !same(p.old, first[0][j], p.old, second[0][j])
					out.NewVaries = !same(p.new, first[1][j], p.new, second[1][j])
				}
				if err := emit(&out); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func duplicate(it *batch.Item) bool { return it.Outcome.Result == observe.ResultDuplicate }

// worker is one goroutine's, with handlers of its own of both versions.
func (c *Comparison) worker() (do func(context.Context, *dryJob), end func()) {
	oldRunners, oldEnd := c.old.runners()
	newRunners, newEnd := c.new.runners()
	return func(ctx context.Context, job *dryJob) {
			for _, p := range c.pairs {
				was := c.old.column(ctx, job, p.old, oldRunners[p.old], everyEntry)
				is := c.new.column(ctx, job, p.new, newRunners[p.new], everyEntry)
				job.columns = append(job.columns, was, is)
				differs := make([]bool, len(was))
				some := false
				for j := range was {
					differs[j] = was[j] != nil && !same(p.old, was[j], p.new, is[j])
					some = some || differs[j]
				}
				if !some {
					job.repeats = append(job.repeats, nil, nil)
					continue
				}
				take := func(entry int) bool { return differs[entry] }
				job.repeats = append(job.repeats, c.old.column(ctx, job, p.old, oldRunners[p.old], take),
					c.new.column(ctx, job, p.new, newRunners[p.new], take))
			}
		}, func() {
			oldEnd()
			newEnd()
		}
}

// same reports whether two runs of one entry come to the same. What a handler
// logs, and how long it takes, does not matter.
func same(xs *spec.Subscription, x *batch.Item, ys *spec.Subscription, y *batch.Item) bool {
	a, b := x.Told(), y.Told()
	return a.Result == b.Result && a.Dead == b.Dead && a.After == b.After && a.HasAfter == b.HasAfter &&
		a.Reason == b.Reason && a.Key == b.Key && SameError(a.Error, b.Error) &&
		slices.EqualFunc(a.Replies, b.Replies, sameReply) &&
		(!a.Dead || xs.Group.DeadLetter.Name == ys.Group.DeadLetter.Name)
}

func sameReply(a, b observe.Reply) bool {
	return a.Stream == b.Stream && a.Body == b.Body && a.Key == b.Key && slices.Equal(a.Headers, b.Headers)
}

// SameError reports whether two error texts say the same but for the lines of
// scripts in them: a line that is added above changes no behaviour.
func SameError(a, b string) bool {
	return a == b || withoutLines(a) == withoutLines(b)
}

// withoutLines takes the numbers of lines out of an error text: "a.lua:12: "
// becomes "a.lua: ".
func withoutLines(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, ".lua:")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(".lua")
		text = strings.TrimLeft(after, "0123456789")
	}
}
