package lua

import (
	"context"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/sandbox/capability"
)

// openGrants defines the functions of what the handler was granted, and in the
// place of what it was not, tables that say how to grant it.
func (v *vm) openGrants() {
	for _, c := range capability.All() {
		if g, ok := v.h.granted[c.Kind]; ok {
			v.openGrant(c, c.Open(g, v.h.spec.Host))
		} else {
			v.refuseGrant(c.Kind)
		}
	}
}

func (v *vm) openGrant(c *capability.Capability, s capability.Session) {
	v.grants = append(v.grants, s)
	if w, ok := s.(capability.Waiter); ok {
		v.waiters = append(v.waiters, w)
	}
	list := make([]entry, len(c.Functions))
	for i, f := range c.Functions {
		list[i] = entry{f.Name, func(l *glua.LState) int { return v.callGrant(s, c, i) }}
	}
	v.library(c.Kind, list)
}

// callGrant runs a granted function on the arguments of the current call.
func (v *vm) callGrant(s capability.Session, c *capability.Capability, fn int) int {
	n := min(v.l.GetTop(), len(v.args))
	for i := range n {
		arg, err := v.fromLua(v.l.Get(i + 1))
		if err != nil {
			v.raise("argument %d of %s.%s: %s", i+1, c.Kind, c.Functions[fn].Name, err.Error())
		}
		v.args[i] = arg
	}
	v.use(10, 0)
	result, err := s.Call(fn, v.args[:n])
	if err != nil && v.m.ctx.Err() != nil {
		v.m.stop(outcome.FailCanceled, errCanceled)
	}
	// A call that was stopped while it waited has not failed by itself.
	v.use(0, 0)
	if err != nil {
		v.raise("%s", err.Error())
	}
	out, convertErr := v.toLua(&result)
	if convertErr != nil {
		v.raise("%s", convertErr.Error())
	}
	v.l.Push(out)
	return 1
}

func (v *vm) refuseGrant(kind string) {
	t := &glua.LTable{}
	meta := v.l.CreateTable(0, 2)
	refuse := v.l.NewFunction(func(l *glua.LState) int {
		use := kind
		if name, ok := l.Get(2).(glua.LString); ok {
			use += "." + short(string(name))
		}
		v.raise("%s", capability.Missing(kind, use, v.h.spec.Label))
		return 0
	})
	meta.RawSetString("__index", refuse)
	meta.RawSetString("__newindex", refuse)
	t.Metatable = meta
	v.frozen[t] = &glua.LTable{Metatable: glua.LNil}
	v.globals.table.RawSetString(kind, t)
}

// beginGrants starts a call of every capability.
func (v *vm) beginGrants(d *sandbox.Delivery) {
	if len(v.waiters) > 0 {
		// Whoever stops the call ends the waiting as well.
		ctx, cancel := context.WithCancel(v.m.ctx)
		v.m.waiting.Store(&waiting{v.m.seq.Load(), cancel})
		for _, w := range v.waiters {
			w.Within(ctx)
		}
	}
	for _, g := range v.grants {
		g.Begin(d)
	}
}

// close gives up what the capabilities hold. A nil vm has nothing.
func (v *vm) close() {
	if v == nil {
		return
	}
	for _, g := range v.grants {
		if c, ok := g.(capability.Closer); ok {
			c.Close()
		}
	}
	v.grants, v.waiters = nil, nil
}
