package lua

import (
	"fmt"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/sandbox/capability"
	"pipeline/sandbox/lua/internal/pattern"
)

// vm is one Lua state with a script loaded, and what its library functions
// share. It belongs to one instance and dies with the first call that breaks
// it.
type vm struct {
	h *handler
	m *meter
	// l is the stack of what is running: the state's own, or, within protected
	// calls, one of stacks, of which depth are in use.
	l      *glua.LState
	stacks []*glua.LState
	depth  int

	fn      *glua.LFunction
	withCtx bool
	// broken is set when the engine panicked: the state cannot be trusted.
	broken bool

	globals globals
	frozen  map[*glua.LTable]*glua.LTable
	// arrayMark is the metatable of tables that stay arrays when empty.
	arrayMark   *glua.LTable
	intMeta     *glua.LTable
	verdictMeta *glua.LTable
	null        *glua.LUserData
	verdictAck  *glua.LUserData
	verdictWait *glua.LUserData

	// What follows lives for one call.
	d       *sandbox.Delivery
	ints    map[string]*glua.LUserData
	arena   value.Arena
	scratch []value.Value
	replies []outcome.Message
	random  random
	ctx     ctxTable
	lazy    lazyBody
	// recorded is the record that the function returns.
	recorded recorded
	grants   []capability.Session
	waiters  []capability.Waiter
	args     [8]value.Value
	matcher  pattern.Matcher
	buf      []byte
}

// Sizes of a state. The call stack has a fixed size because the growing one
// fails with a panic where this one raises an error.
const (
	callDepth       = 256
	registrySize    = 512
	registryMax     = 1 << 16
	registryGrowth  = 1024
	maxUnpack       = 1 << 14
	bytesPerValue   = 64
	bytesPerElement = 16
	bytesPerTable   = 128
)

// newVM makes a state with the libraries and nothing of the script.
func newVM(h *handler, m *meter) *vm {
	v := &vm{
		h: h, m: m,
		l: glua.NewState(glua.Options{
			SkipOpenLibs: true, CallStackSize: callDepth,
			RegistrySize: registrySize, RegistryMaxSize: registryMax, RegistryGrowStep: registryGrowth,
		}),
		frozen: make(map[*glua.LTable]*glua.LTable, 32),
		ints:   map[string]*glua.LUserData{},
	}
	v.l.SetContext(m)
	v.openGlobals()
	return v
}

// adopt gives a loaded state to another instance's meter.
func (v *vm) adopt(m *meter) {
	v.m, v.stacks = m, nil
	v.l.SetContext(m)
}

// begin makes the state forget the call before.
func (v *vm) begin(d *sandbox.Delivery) {
	v.d = d
	v.arena.Reset()
	v.replies = v.replies[:0]
	if len(v.ints) > 0 {
		clear(v.ints)
	}
	v.random.seeded = false
	v.ctx.reset()
	v.beginGrants(d)
}

// call runs the handler's function for d. The meter has begun.
func (v *vm) call(d *sandbox.Delivery) (out outcome.Outcome) {
	defer func() {
		v.endLazy()
		// Panics of the engine can pass through its own protection.
		if r := recover(); r != nil {
			out = v.crashed(r)
		}
	}()
	v.begin(d)
	body, err := v.body(d)
	if err != nil {
		return v.fail(outcome.FailError, "the body cannot be given to the script: "+err.Error())
	}
	v.l.Push(v.fn)
	v.l.Push(body)
	n := 1
	if v.withCtx {
		v.l.Push(v.ctx.table)
		n = 2
	}
	if err := v.l.PCall(n, glua.MultRet, nil); err != nil {
		return v.failed(err)
	}
	if v.m.err != nil {
		return v.failed(v.m.err)
	}
	out = v.result()
	v.l.SetTop(0)
	if v.m.err != nil {
		return v.failed(v.m.err)
	}
	return out
}

// use charges the meter and raises what stops the call.
func (v *vm) use(instructions, bytes int64) {
	if err := v.m.charge(instructions, bytes); err != nil {
		v.raise("%s", err.Error())
	}
}

// raise raises an error in the script, with the script's line before it.
func (v *vm) raise(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	v.l.RaiseError("%s", format)
}
