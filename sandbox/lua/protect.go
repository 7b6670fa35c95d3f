package lua

import (
	"errors"
	"strings"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
)

// maxProtected is how many protected calls may be nested. Each has a stack of
// its own.
const maxProtected = 48

// protected is a stack for protected calls at one depth. When an error is
// raised, the engine cuts every function on the stack off from the locals that
// it shares with others, those that go on after the error as well: a counter
// that a function counts up would stand still for the rest. On a stack of its
// own a protected call has no such functions below it.
func (v *vm) protected() *glua.LState {
	if v.depth == maxProtected {
		v.raise("protected calls are nested too deeply: more than %d", maxProtected)
	}
	if v.depth == len(v.stacks) {
		// The context that comes with it is replaced: nothing is to be called off.
		l, _ := v.l.NewThread()
		l.SetContext(v.m)
		v.stacks = append(v.stacks, l)
	}
	return v.stacks[v.depth]
}

// protect calls fn with the arguments first to last of l. The results are
// pushed; with ok false, object is what was raised. A reason to stop the call
// cannot be caught, nor can a panic of the engine, after which nothing of the
// state is sure.
func (v *vm) protect(l *glua.LState, fn glua.LValue, first, last int) (object glua.LValue, ok bool) {
	if fn.Type() != glua.LTFunction && l.GetMetaField(fn, "__call").Type() != glua.LTFunction {
		place := l.Where(1) + " "
		return glua.LString(place + v.calledNothing(place)), false
	}
	inner := v.protected()
	inner.Push(fn)
	for i := first; i <= last; i++ {
		inner.Push(l.Get(i))
	}
	v.use(4, 0)
	if err := v.callOn(inner, l, max(0, last-first+1)); err != nil {
		return v.caught(l, err), false
	}
	n := inner.GetTop()
	for i := 1; i <= n; i++ {
		l.Push(inner.Get(i))
	}
	inner.SetTop(0)
	return nil, true
}

// callOn makes a protected call on another stack.
func (v *vm) callOn(inner, outer *glua.LState, nargs int) error {
	v.l, v.depth = inner, v.depth+1
	defer func() { v.l, v.depth = outer, v.depth-1 }()
	return inner.PCall(nargs, glua.MultRet, nil)
}

// caught is what a script is given of an error.
func (v *vm) caught(l *glua.LState, err error) glua.LValue {
	v.use(50, 1<<10)
	e, ok := errors.AsType[*glua.ApiError](err)
	if !ok || e.Type == glua.ApiErrorPanic {
		v.broken = true
		v.m.stop(outcome.FailCrash, errCrash)
		v.use(0, 0)
	}
	text, ok := e.Object.(glua.LString)
	if !ok {
		return e.Object
	}
	if strings.HasSuffix(string(text), "registry overflow") {
		v.broken = true
		v.m.stop(outcome.FailMemory, errCrash)
		v.use(0, 0)
	}
	place, words := v.splitPlace(string(text))
	if rest, nowhere := strings.CutPrefix(words, " "); nowhere && place == "" {
		// Nothing of the script was on the inner stack.
		place, words = l.Where(1)+" ", rest
	}
	return glua.LString(place + v.plainWords(place, words))
}

func (v *vm) luaPCall(l *glua.LState) int {
	fn, n := v.argAny(1), l.GetTop()
	l.Push(glua.LTrue)
	if object, ok := v.protect(l, fn, 2, n); !ok {
		l.SetTop(0)
		l.Push(glua.LFalse)
		l.Push(object)
		return 2
	}
	return l.GetTop() - n
}

// luaXPCall calls its handler after the stack has been unwound: there is no
// debug library that could look at it before.
func (v *vm) luaXPCall(l *glua.LState) int {
	fn, handler, n := v.argAny(1), v.argFunction(2), l.GetTop()
	l.Push(glua.LTrue)
	if object, ok := v.protect(l, fn, 3, n); !ok {
		l.SetTop(0)
		l.Push(glua.LFalse)
		l.Push(v.callBack(handler, object))
		return 2
	}
	return l.GetTop() - n
}
