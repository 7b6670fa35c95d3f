package plan

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// demand is what is asked of the login: each need once, in order.
type demand struct {
	needs []redis.Need
	about map[redis.Need]*about
}

// about is where a need comes from: whether apply has it too, the block in the
// file, and the pattern of a rule that grants the key.
type about struct {
	apply   bool
	pos     spec.Pos
	pattern string
}

func (d *demand) add(a about, needs ...redis.Need) {
	for _, need := range needs {
		known := d.about[need]
		if known == nil {
			known = &about{pos: a.pos, pattern: a.pattern}
			d.about[need] = known
			d.needs = append(d.needs, need)
		}
		known.apply = known.apply || a.apply
	}
}

// demand is what run needs on this server now: the right to create groups only
// where one is absent.
func (k *collector) demand() *demand {
	d := &demand{about: map[redis.Need]*about{}}
	d.add(about{}, redis.Keyless()...)
	for _, s := range k.plan.Streams {
		own, _ := redis.Patterns(s.Spec.Name)
		for _, use := range []redis.Use{redis.Consume, redis.Publish, redis.Trim, redis.TrimProtected, redis.Measure, redis.PublishApart, redis.PublishOnce} {
			if s.uses[use] {
				d.add(about{pos: s.Spec.Pos, pattern: own}, use.Needs(s.Spec.Name, "")...)
			}
		}
	}
	for _, g := range k.plan.Groups {
		if g.Spec == nil || len(g.Spec.Subscriptions) == 0 {
			continue
		}
		_, beside := redis.Patterns(g.Stream.Spec.Name)
		from := about{pos: g.Spec.Pos, pattern: beside}
		uses := []redis.Use{redis.Records, redis.Floors, redis.Slots}
		if deduplicates(g.Spec) {
			uses = append(uses, redis.Marks)
		}
		for _, use := range uses {
			d.add(from, use.Needs(g.Stream.Spec.Name, g.Name)...)
		}
		if g.Action == Create || g.Action == Restore {
			from.apply = true
			d.add(from, redis.Create.Needs(g.Stream.Spec.Name, g.Name)...)
		}
	}
	return d
}

// deduplicates reports whether a group remembers the keys of its entries.
func deduplicates(g *spec.Group) bool {
	return slices.ContainsFunc(g.Subscriptions, func(s *spec.Subscription) bool { return s.Idempotency != nil })
}

// groups reports whether a need is to change the groups of a stream.
func groups(need redis.Need) bool { return strings.HasPrefix(need.Command, "xgroup|") }

// rights finds out what the login may do, and writes down what a worker's has to
// be allowed.
func (k *collector) rights(ctx context.Context) error {
	d := k.demand()
	r := &k.plan.Rights
	r.Rule, r.Optional = k.rule(d), redis.OptionalRights()
	denied, err := k.server.Denied(ctx, slices.Concat(d.needs, optional(r.Optional, d.needs)))
	if errors.Is(err, broker.ErrNoPermission) {
		k.add(diag.Diagnostic{
			Severity: diag.Error, Code: CodeRightsUnknown,
			Summary: "the login may not run multi, so that what else it may do cannot be found out",
			Detail:  "run needs multi too. The user needs the rule +multi.",
		}, false, "+multi")
		return nil
	}
	if err != nil {
		return err
	}
	r.Known = true
	hidden, err := k.hiddenKeys(ctx, d, denied)
	if err != nil {
		return err
	}
	for _, x := range slices.Concat(denied, hidden) {
		switch {
		case d.about[x.Need] != nil:
			r.Denied = append(r.Denied, x)
		case !x.ByKey:
			r.Lacking = append(r.Lacking, x.Command)
		}
	}
	k.missingCommands(d, true)
	k.missingCommands(d, false)
	k.missingKeys(d)
	k.missingCreation()
	return nil
}

// hiddenKeys finds the keys that the login may not touch although the server did
// not come to say so, because it refuses all that is needed on them by the
// command. They are tried with commands that it does not refuse.
func (k *collector) hiddenKeys(ctx context.Context, d *demand, denied []redis.Denied) ([]redis.Denied, error) {
	refused := map[redis.Need]bool{}
	for _, x := range denied {
		refused[x.Need] = !x.ByKey
	}
	usable, hidden := map[string]bool{}, map[string]redis.Need{}
	var keys []string
	for _, need := range d.needs {
		if !refused[need] {
			usable[need.Command] = true
			delete(hidden, need.Key)
		} else if !slices.Contains(keys, need.Key) {
			hidden[need.Key] = need
		}
		keys = append(keys, need.Key)
	}
	var found []redis.Denied
	for _, key := range slices.Sorted(maps.Keys(hidden)) {
		var tries []redis.Need
		for command := range usable {
			if need := (redis.Need{Command: command, Key: key}); key != "" && need.OnKey() {
				tries = append(tries, need)
			}
		}
		answers, err := k.server.Denied(ctx, tries)
		if err != nil {
			return nil, err
		}
		if len(tries) > 0 && len(answers) == len(tries) {
			found = append(found, redis.Denied{Need: hidden[key], ByKey: true})
		}
	}
	return found, nil
}

// optional are the optional commands as needs; one that has a key is asked for
// on any of ours.
func optional(commands []string, needs []redis.Need) []redis.Need {
	out := make([]redis.Need, len(commands))
	for i, command := range commands {
		out[i].Command = command
		if !groups(out[i]) {
			continue
		}
		for _, need := range needs {
			out[i].Key = cmp.Or(out[i].Key, need.Key)
		}
	}
	return out
}

// missingCommands tells of commands that the login may not run on any key: those
// that apply needs too, or the rest.
func (k *collector) missingCommands(d *demand, apply bool) {
	var commands []string
	for _, x := range k.plan.Rights.Denied {
		if !x.ByKey && !groups(x.Need) && d.applies(x.Command) == apply && !slices.Contains(commands, x.Command) {
			commands = append(commands, x.Command)
		}
	}
	if len(commands) == 0 {
		return
	}
	rules := make([]string, len(commands))
	for i, command := range commands {
		rules[i] = "+" + command
	}
	k.add(diag.Diagnostic{
		Severity: diag.Error, Code: CodeRights, Summary: "the login may not run " + strings.Join(commands, ", "),
		Detail: "The user needs the rules " + strings.Join(rules, " ") + ".",
	}, apply, rules...)
}

// applies reports whether apply needs a command on any key.
func (d *demand) applies(command string) bool {
	return slices.ContainsFunc(d.needs, func(n redis.Need) bool { return n.Command == command && d.about[n].apply })
}

// missingKeys tells of keys that the login may not touch, once for each pattern
// that would grant them.
func (k *collector) missingKeys(d *demand) {
	type missing struct {
		about
		keys, commands []string
	}
	var all []*missing
	for _, x := range k.plan.Rights.Denied {
		if !x.ByKey {
			continue
		}
		a := d.about[x.Need]
		i := slices.IndexFunc(all, func(m *missing) bool { return m.pattern == a.pattern })
		if i < 0 {
			i = len(all)
			all = append(all, &missing{about: *a})
		}
		m := all[i]
		m.apply = m.apply || a.apply
		if !slices.Contains(m.keys, x.Key) {
			m.keys = append(m.keys, x.Key)
		}
		if !slices.Contains(m.commands, x.Command) {
			m.commands = append(m.commands, x.Command)
		}
	}
	for _, m := range all {
		k.add(atPos(m.pos, diag.Error, CodeRights,
			"the login may not use the key "+strings.Join(m.keys, ", ")+" with "+strings.Join(m.commands, ", "),
			"The user needs the rule ~"+m.pattern+"."), m.apply, "~"+m.pattern)
	}
}

// missingCreation tells of groups that are absent and that the login may not
// create.
func (k *collector) missingCreation() {
	for _, g := range k.plan.Groups {
		if g.Action != Create && g.Action != Restore {
			continue
		}
		stream := g.Stream.Spec.Name
		if slices.ContainsFunc(k.plan.Rights.Denied, func(x redis.Denied) bool { return groups(x.Need) && x.Key == stream }) {
			g.Action = Refuse
			k.add(atPos(g.Spec.Pos, diag.Error, CodeCreateRight, "group "+g.Name+" on "+stream+" is absent, and the login may not create it",
				"`pipeline apply` creates it, with a login that may; or the user needs the rule +xgroup|create."), true, "+xgroup|create")
		}
	}
}

// Rules are the rules of logins for a pipeline, each word an argument of ACL
// SETUSER behind the user's name and password.
type Rules struct {
	// Worker is what a worker needs once its groups exist, Optional are commands
	// that it can do without; Viewer is what looking on needs.
	Worker, Optional, Viewer []string
}

// RulesOf are the rules for a server with these features, without asking it: they
// are what Collect finds there.
func RulesOf(p *spec.Pipeline, f broker.Features) Rules {
	k := &collector{pipeline: p, plan: &Plan{Server: broker.Server{Features: f}}}
	k.declareStreams()
	k.slots()
	for _, g := range p.Groups {
		k.plan.Groups = append(k.plan.Groups, &Group{Name: g.Name, Stream: k.stream(g.Stream), Spec: g, Action: Keep})
	}
	return Rules{Worker: k.rule(k.demand()), Optional: redis.OptionalRights(), Viewer: k.viewer()}
}

// viewer is the rule of a login that looks on: it may read every stream, and no
// key beside one.
func (k *collector) viewer() []string {
	rule := []string{"on", "resetkeys", "resetchannels", "-@all"}
	for _, command := range redis.ViewerRights() {
		rule = append(rule, "+"+command)
	}
	for _, s := range k.plan.Streams {
		own, _ := redis.Patterns(s.Spec.Name)
		rule = append(rule, "%R~"+own)
	}
	return rule
}

// rule is the rule of a worker whose groups exist.
func (k *collector) rule(d *demand) []string {
	var commands []string
	for _, need := range d.needs {
		if !groups(need) && !slices.Contains(commands, need.Command) {
			commands = append(commands, need.Command)
		}
	}
	slices.Sort(commands)
	rule := []string{"on", "resetkeys", "resetchannels", "-@all"}
	for _, command := range commands {
		rule = append(rule, "+"+command)
	}
	for _, s := range k.plan.Streams {
		if len(s.uses) == 0 {
			continue
		}
		own, beside := redis.Patterns(s.Spec.Name)
		rule = append(rule, "~"+own)
		if s.uses[redis.Consume] {
			rule = append(rule, "~"+beside)
		}
	}
	return rule
}
