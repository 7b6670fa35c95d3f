package lua

import (
	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
)

// ctxTable is the second argument of a handler. It is one table for all calls
// that holds nothing: each field is made when it is read.
type ctxTable struct {
	table           *glua.LTable
	headers, fields *glua.LTable
}

func (c *ctxTable) reset() { c.headers, c.fields = nil, nil }

// ctxFields are the names of the fields, in the order in which pairs shows
// them.
var ctxFields = []string{
	"id", "stream", "group", "subscription", "key", "headers", "deliveries",
	"attempt", "max_attempts", "idle_ms", "now_ms", "fields",
}

func (v *vm) openContext() {
	meta := v.l.CreateTable(0, 2)
	meta.RawSetString("__index", v.l.NewFunction(v.ctxGet))
	meta.RawSetString("__newindex", v.l.NewFunction(func(l *glua.LState) int {
		v.raise("ctx.%s cannot be set: ctx is read-only", v.keyText(l.Get(2)))
		return 0
	}))
	v.ctx.table = &glua.LTable{Metatable: meta}
}

func (v *vm) ctxGet(l *glua.LState) int {
	name, _ := l.Get(2).(glua.LString)
	l.Push(v.ctxField(string(name)))
	return 1
}

func (v *vm) ctxField(name string) glua.LValue {
	d := v.d
	switch name {
	case "id":
		return glua.LString(d.ID)
	case "stream":
		return glua.LString(d.Stream)
	case "group":
		return glua.LString(d.Group)
	case "subscription":
		return glua.LString(d.Subscription)
	case "key":
		return glua.LString(d.Key)
	case "deliveries":
		return glua.LNumber(d.Deliveries)
	case "attempt":
		return glua.LNumber(d.Attempt)
	case "max_attempts":
		return glua.LNumber(d.MaxAttempts)
	case "idle_ms":
		return glua.LNumber(d.Idle.Milliseconds())
	case "now_ms":
		return glua.LNumber(d.Now.UnixMilli())
	case "headers":
		return v.ctxHeaders()
	case "fields":
		return v.ctxRaw()
	}
	return glua.LNil
}

// ctxHeaders is a table of the headers by name; of one that repeats, the last.
func (v *vm) ctxHeaders() glua.LValue {
	if v.ctx.headers == nil {
		v.ctx.headers = v.l.CreateTable(0, len(v.d.Headers))
		for _, h := range v.d.Headers {
			v.ctx.headers.RawSetString(h.Name, glua.LString(h.Value))
		}
	}
	return v.ctx.headers
}

// ctxRaw is the list of the raw fields in their order, since names may repeat.
func (v *vm) ctxRaw() glua.LValue {
	if v.ctx.fields == nil {
		v.checkList(len(v.d.Fields))
		v.ctx.fields = v.l.CreateTable(len(v.d.Fields), 0)
		for i := range v.d.Fields {
			v.ctx.fields.Append(v.ctxPair(&v.d.Fields[i]))
		}
	}
	return v.ctx.fields
}

func (v *vm) ctxPair(h *outcome.Header) glua.LValue {
	t := v.l.CreateTable(0, 2)
	t.RawSetString("name", glua.LString(h.Name))
	t.RawSetString("value", glua.LString(h.Value))
	return t
}

// ctxCopy is ctx as an ordinary table, for what looks into a table.
func (v *vm) ctxCopy() *glua.LTable {
	t := v.l.CreateTable(0, len(ctxFields))
	for _, name := range ctxFields {
		t.RawSetString(name, v.ctxField(name))
	}
	return t
}
