package lua

import (
	"slices"
	"strings"
	"time"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
)

// verdict is what ack(), retry(), dead(), drop() and reply() return. It counts
// only when the handler's function returns it.
type verdict struct {
	kind     outcome.Kind
	after    time.Duration
	hasAfter bool
	reason   string
	message  outcome.Message
}

const (
	maxReason  = 1 << 10
	maxHeaders = 64
)

func (v *vm) openVerdicts() {
	v.verdictMeta = v.opaque("a result")
	copyEvents(v.verdictMeta, v.intMeta, arithmeticEvents)
	v.verdictAck = v.newVerdict(&verdict{kind: outcome.Ack})
	v.verdictWait = v.newVerdict(&verdict{kind: outcome.Retry})
	v.functions([]entry{
		{"ack", v.luaAck}, {"retry", v.luaRetry}, {"dead", v.luaDead}, {"drop", v.luaDrop}, {"reply", v.luaReply},
	})
}

func (v *vm) newVerdict(x *verdict) *glua.LUserData {
	return &glua.LUserData{Value: x, Metatable: v.verdictMeta}
}

// opaque is a metatable for values that have no fields.
func (v *vm) opaque(what string) *glua.LTable {
	meta := v.l.CreateTable(0, 4)
	meta.RawSetString("__index", v.l.NewFunction(func(l *glua.LState) int {
		v.raise("attempt to index %s with key '%s'", what, v.keyText(l.Get(2)))
		return 0
	}))
	meta.RawSetString("__newindex", v.l.NewFunction(func(l *glua.LState) int {
		v.raise("attempt to set the field '%s' of %s", v.keyText(l.Get(2)), what)
		return 0
	}))
	return meta
}

func (v *vm) luaAck(l *glua.LState) int {
	if l.GetTop() > 0 {
		v.raise("ack() takes no argument")
	}
	l.Push(v.verdictAck)
	return 1
}

func (v *vm) luaRetry(l *glua.LState) int {
	if l.GetTop() == 0 || l.Get(1) == glua.LNil {
		l.Push(v.verdictWait)
		return 1
	}
	const usage = `write retry(), or retry{after = "5s", reason = "..."}`
	t, ok := l.Get(1).(*glua.LTable)
	if !ok {
		v.raise("retry takes a table, not a %s: %s", v.typeName(l.Get(1)), usage)
	}
	x := &verdict{kind: outcome.Retry}
	v.options(t, "retry", usage, func(name string, value glua.LValue) bool {
		switch name {
		case "after":
			x.after, x.hasAfter = v.duration(value), true
		case "reason":
			x.reason = v.reason(value, "retry")
		default:
			return false
		}
		return true
	})
	l.Push(v.newVerdict(x))
	return 1
}

func (v *vm) luaDead(l *glua.LState) int { return v.settled(outcome.Dead, "dead") }
func (v *vm) luaDrop(l *glua.LState) int { return v.settled(outcome.Drop, "drop") }

func (v *vm) settled(kind outcome.Kind, name string) int {
	x := &verdict{kind: kind}
	if v.l.Get(1) != glua.LNil {
		x.reason = v.reason(v.l.Get(1), name)
	}
	v.l.Push(v.newVerdict(x))
	return 1
}

// reason is the text of a reason, which is kept beside the entry.
func (v *vm) reason(value glua.LValue, name string) string {
	text, ok := v.text(value)
	if !ok {
		v.raise("the reason of %s is a text, not a %s", name, v.typeName(value))
	}
	if len(text) > maxReason {
		text = text[:maxReason] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

// duration reads a wait, "5s" or "1m30s".
func (v *vm) duration(value glua.LValue) time.Duration {
	const usage = `write a duration with its unit, such as "500ms", "5s", "10m", "2h" or "1d"`
	text, ok := value.(glua.LString)
	if !ok {
		v.raise("`after` is a %s: %s", v.typeName(value), usage)
	}
	d, err := parseDuration(string(text))
	if err != nil || d < 0 {
		v.raise("`after` is %q: %s", short(string(text)), usage)
	}
	return d
}

// parseDuration is time.ParseDuration with days in front.
func parseDuration(s string) (time.Duration, error) {
	var days time.Duration
	if head, rest, ok := strings.Cut(s, "d"); ok {
		n, err := time.ParseDuration(head + "h")
		if err != nil || n > 1<<62/24 {
			return 0, errDuration
		}
		if days = 24 * n; rest == "" {
			return days, nil
		}
		s = rest
	}
	d, err := time.ParseDuration(s)
	if err != nil || days > 1<<62 || d > 1<<62 {
		return 0, errDuration
	}
	return days + d, nil
}

// luaReply takes a snapshot of the value at once: what a script changes in it
// afterwards is not in the reply.
func (v *vm) luaReply(l *glua.LState) int {
	if l.GetTop() == 0 || l.Get(1) == glua.LNil {
		v.raise("reply needs a value: write reply(value), or reply(json.null) for a null")
	}
	body, err := v.fromLua(l.Get(1))
	if err != nil {
		v.raise("the value of reply: %s", err.Error())
	}
	x := &verdict{kind: outcome.Reply, message: outcome.Message{Body: body}}
	if l.Get(2) != glua.LNil {
		v.replyOptions(l.Get(2), &x.message)
	}
	l.Push(v.newVerdict(x))
	return 1
}

func (v *vm) replyOptions(value glua.LValue, m *outcome.Message) {
	const usage = `write reply(value, {to = "route", key = "...", headers = {name = "value"}})`
	t, ok := value.(*glua.LTable)
	if !ok {
		v.raise("the second argument of reply is a %s: %s", v.typeName(value), usage)
	}
	v.options(t, "reply", usage, func(name string, value glua.LValue) bool {
		switch name {
		case "to":
			to, ok := value.(glua.LString)
			if !ok || to == "" {
				v.raise("`to` of reply is the name of a route")
			}
			m.To = string(to)
		case "key":
			if m.Key, m.HasKey = v.text(value); !m.HasKey {
				v.raise("`key` of reply is a text, not a %s", v.typeName(value))
			}
		case "headers":
			m.Headers = v.headers(value)
		default:
			return false
		}
		return true
	})
}

// options reads a table of named options.
func (v *vm) options(t *glua.LTable, function, usage string, set func(name string, value glua.LValue) bool) {
	t = v.view(t)
	for key, value := t.Next(glua.LNil); key != glua.LNil; key, value = t.Next(key) {
		name, ok := key.(glua.LString)
		if !ok || !set(string(name), value) {
			v.raise("%s has no option '%s': %s", function, v.keyText(key), usage)
		}
	}
}

// headers reads the headers of a reply, in the byte order of their names so
// that the same script writes the same bytes.
func (v *vm) headers(value glua.LValue) []outcome.Header {
	t, ok := value.(*glua.LTable)
	if !ok {
		v.raise("`headers` of reply is a table of names and values, not a %s", v.typeName(value))
	}
	var out []outcome.Header
	t = v.view(t)
	for key, value := t.Next(glua.LNil); key != glua.LNil; key, value = t.Next(key) {
		name, ok := key.(glua.LString)
		if !ok || name == "" {
			v.raise("the names of headers are texts, not a %s", v.typeName(key))
		}
		text, ok := v.text(value)
		if b, isBool := value.(glua.LBool); isBool {
			text, ok = b.String(), true
		}
		if !ok {
			v.raise("the header '%s' is a %s: it has to be a text", short(string(name)), v.typeName(value))
		}
		if out = append(out, outcome.Header{Name: string(name), Value: text}); len(out) > maxHeaders {
			v.raise("a reply can have %d headers", maxHeaders)
		}
	}
	slices.SortFunc(out, func(a, b outcome.Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}
