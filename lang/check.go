package lang

import (
	"fmt"
	"regexp"
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// crossCheck checks what no block can tell alone. It looks at enabled
// subscriptions only, and trusts nothing that has a problem already.
func (l *loader) crossCheck(p *spec.Pipeline) {
	l.checkStreams()
	for _, g := range l.built.groups {
		l.checkGroup(p, g)
	}
	l.checkGroupNames()
	if l.report.HasErrors() {
		return // what is unused or missing may be what could not be read
	}
	l.checkDetails(p)
	l.checkAttempts()
	if len(p.Subscriptions()) > 0 {
		l.checkRetentions()
	}
	l.checkBacklogs()
	l.checkCycles()
	l.checkEnabled(p)
	l.checkUnused()
}

// nameRange is where a block's name on the server stands.
func (l *loader) nameRange(n *node) diag.Range {
	if v := n.val("name"); v.set {
		return v.rng
	}
	return l.header(n)
}

// keepsBeside matches what the runner calls its own keys: a stream's key with
// its hash tag, and :pipeline: behind it.
var keepsBeside = regexp.MustCompile(`^[^{]*\{[^}]+\}.*:pipeline:`)

// checkStreams reports two stream blocks with one name on the server.
func (l *loader) checkStreams() {
	seen := map[string]*node{}
	for _, n := range l.root.all("stream") {
		s := l.built.streams[n]
		v := n.val("name")
		if n.label == "" || n.bad || !v.ok {
			continue
		}
		if keepsBeside.MatchString(s.Name) {
			l.fail(diag.ReservedKey, l.nameRange(n), fmt.Sprintf("%q is a name that the runner gives to its own keys", s.Name),
				"Beside a stream it keeps a few keys called {stream}:pipeline:…, which this stream could overwrite. Choose another name.")
		}
		if first := seen[s.Name]; first != nil {
			l.fail(diag.DuplicateName, l.nameRange(n), fmt.Sprintf("two streams are called %q on the server", s.Name), "One stream is declared once. Rename one, or use one block for both.").
				Relate(l.nameRange(first), "the first is here")
			continue
		}
		seen[s.Name] = n
	}
}

// checkGroupNames reports two groups of a stream with one name, and names that
// the server would read as an option.
func (l *loader) checkGroupNames() {
	type key struct {
		stream *spec.Stream
		name   string
	}
	seen := map[key]*node{}
	for _, g := range l.built.groups {
		if g.spec.Name == "" || !g.enabled() && len(g.subs) > 0 {
			continue
		}
		l.checkReserved(g.spec.Name, "group", l.nameRange(g.node))
		for _, s := range g.subs {
			if v := s.node.val("consumer"); v.set && v.ok && s.enabled {
				l.checkReserved(v.text, "consumer", v.rng)
			}
		}
		k := key{g.spec.Stream, g.spec.Name}
		if first := seen[k]; first != nil && k.stream != nil && first.label != g.node.label {
			l.fail(diag.DuplicateName, l.nameRange(g.node), fmt.Sprintf("two groups of one stream are called %q on the server", g.spec.Name), "They would share its entries. Rename one.").
				Relate(l.nameRange(first), "the first is here")
			continue
		}
		seen[k] = g.node
	}
}

// checkEnabled warns of a pipeline in which nothing runs.
func (l *loader) checkEnabled(p *spec.Pipeline) {
	if len(p.Subscriptions()) > 0 {
		return
	}
	n := l.root.one("pipeline")
	detail := "Every subscription has enabled = false."
	if len(p.Groups) == 0 {
		detail = "There is no group: add group \"name\" { … } with a subscription."
	}
	d := l.add(diag.Warning, diag.NothingEnabled, l.header(n), "no subscription of this pipeline is enabled", detail)
	if len(p.Groups) > 0 {
		d.Relate(l.built.groups[0].subs[0].node.val("enabled").rng, "the first one is disabled here")
	}
}

// checkUnused warns of blocks that nothing refers to. A disabled subscription
// uses what it names.
func (l *loader) checkUnused() {
	used := map[*node]bool{}
	var mark func(n *node)
	mark = func(n *node) {
		for _, v := range n.vals {
			if v.ref != nil {
				used[v.ref] = true
			}
		}
		for _, c := range n.blocks {
			mark(c)
		}
	}
	mark(l.root)
	for _, kind := range []string{"stream", "handler", "retry"} {
		for _, n := range l.root.all(kind) {
			if !used[n] && !l.isDefaultDeadLetter(n) {
				l.add(diag.Warning, diag.Unused, l.header(n), fmt.Sprintf("%s %q is not used", kind, n.label), unusedHelp[kind])
			}
		}
	}
	for _, s := range l.scope.Unused() {
		kind, name, _ := strings.Cut(s.Name, ".")
		if kind == "var" {
			kind = "variable"
		}
		l.add(diag.Warning, diag.Unused, s.Range, fmt.Sprintf("%s %q is not used", kind, name), fmt.Sprintf("No expression names %s. Remove it, or use it.", s.Name))
	}
}

// isDefaultDeadLetter reports whether a declared stream is where a group
// without a dead_letter block sends its letters.
func (l *loader) isDefaultDeadLetter(n *node) bool {
	s := l.built.streams[n]
	for _, g := range l.built.groups {
		if s != nil && g.spec.DeadLetter == s {
			return true
		}
	}
	return false
}

var unusedHelp = map[string]string{
	"stream":  "No group reads it, and nothing is sent to it. Remove it, or use it.",
	"handler": "No subscription runs it. Remove it, or use it.",
	"retry":   "No subscription follows it. Remove it, or use it.",
}
