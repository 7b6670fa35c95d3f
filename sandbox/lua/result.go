package lua

import (
	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// result is the outcome of what the function has returned, which is on the
// stack.
func (v *vm) result() outcome.Outcome {
	n := v.l.GetTop()
	for n > 1 && v.l.Get(n) == glua.LNil {
		n--
	}
	if n > 1 {
		return v.several(n)
	}
	first := v.l.Get(1)
	switch x := first.(type) {
	case *glua.LNilType:
		return v.fail(outcome.FailResult, v.place()+v.h.spec.Function+" returned nothing: return ack(), retry(), dead(), drop() or a value")
	case *glua.LFunction:
		return v.fail(outcome.FailResult, v.place()+v.h.spec.Function+" returned a function: call it, as in `return ack()`")
	case *glua.LUserData:
		if d, ok := x.Value.(*verdict); ok {
			return v.single(d)
		}
	}
	if !v.d.Replies {
		return v.noReply(v.d)
	}
	body, err := v.replied(first)
	if err != nil {
		return v.fail(outcome.FailResult, v.place()+"the value that "+v.h.spec.Function+" returned: "+err.Error())
	}
	v.replies = append(v.replies, outcome.Message{Body: body})
	return outcome.Outcome{Kind: outcome.Reply, Replies: v.replies}
}

// replied is the value of a reply.
func (v *vm) replied(lv glua.LValue) (value.Value, error) {
	if lv == v.recorded.mark {
		return v.fromRecord()
	}
	return v.fromLua(lv)
}

func (v *vm) single(x *verdict) outcome.Outcome {
	if x.kind != outcome.Reply {
		return outcome.Outcome{Kind: x.kind, After: x.after, HasAfter: x.hasAfter, Reason: x.reason}
	}
	if !v.d.Replies {
		return v.noReply(v.d)
	}
	v.replies = append(v.replies, x.message)
	return outcome.Outcome{Kind: outcome.Reply, Replies: v.replies}
}

// several is the outcome of more than one returned value: all are replies.
func (v *vm) several(n int) outcome.Outcome {
	for i := 1; i <= n; i++ {
		ud, _ := v.l.Get(i).(*glua.LUserData)
		var x *verdict
		if ud != nil {
			x, _ = ud.Value.(*verdict)
		}
		if x == nil || x.kind != outcome.Reply {
			return v.fail(outcome.FailResult, v.place()+v.h.spec.Function+" returned several values: return one, or only reply(...) several times")
		}
		v.replies = append(v.replies, x.message)
	}
	if !v.d.Replies {
		return v.noReply(v.d)
	}
	return outcome.Outcome{Kind: outcome.Reply, Replies: v.replies}
}

func (v *vm) noReply(d *sandbox.Delivery) outcome.Outcome {
	return v.fail(outcome.FailResult, v.place()+v.h.spec.Function+" returned a value, and subscription \""+d.Subscription+
		"\" has nowhere to send it: add a `reply { to = stream.… }` block to it, or a route, or return ack()")
}

// place is where the handler's function begins.
func (v *vm) place() string {
	if v.fn.IsG {
		return v.h.script().name + ": "
	}
	return v.fn.Proto.SourceName + ":" + numberText(float64(v.fn.Proto.LineDefined)) + ": "
}
