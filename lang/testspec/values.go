package testspec

import (
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/value"
	"pipeline/lang/eval"
)

// The state as expressions see it: tuples and objects, never lists, so that it
// equals what is written out. It has the members of Roots, all of them always.

type members = map[string]cty.Value

// state is the state of one block.
func (s *State) state(root, label string) cty.Value {
	switch root {
	case "subscription":
		return subscriptionValue(s.Subscriptions[label])
	case "stream":
		return streamValue(s.Streams[label])
	default:
		return groupValue(s.Groups[label])
	}
}

func subscriptionValue(s Subscription) cty.Value {
	return cty.ObjectVal(members{
		"outcomes": tuple(s.Calls, func(c Call) cty.Value { return text(c.Outcome) }),
		"calls":    tuple(s.Calls, callValue),
	})
}

func streamValue(s Stream) cty.Value {
	return cty.ObjectVal(members{
		"values":  tuple(s.Entries, func(e Entry) cty.Value { return body(e.Value, e.Decoded) }),
		"entries": tuple(s.Entries, entryValue),
	})
}

func groupValue(g Group) cty.Value {
	return cty.ObjectVal(members{
		"pending": tuple(g.Pending, func(p Pending) cty.Value {
			return cty.ObjectVal(members{
				"id": text(p.ID), "consumer": text(p.Consumer), "deliveries": cty.NumberIntVal(p.Deliveries), "idle": duration(p.Idle),
			})
		}),
		"dead_letters": tuple(g.DeadLetters, entryValue),
	})
}

func callValue(c Call) cty.Value {
	reply, after := cty.NullVal(cty.DynamicPseudoType), cty.NullVal(cty.String)
	if len(c.Replies) > 0 {
		reply = body(c.Replies[0].Body, true)
	}
	if c.HasAfter {
		after = duration(c.After)
	}
	return cty.ObjectVal(members{
		"id": text(c.ID), "consumer": text(c.Consumer), "deliveries": cty.NumberIntVal(c.Deliveries), "attempt": cty.NumberIntVal(int64(c.Attempt)),
		"entry": body(c.Entry, c.Decoded), "headers": headers(c.Headers), "key": text(c.Key), "outcome": text(c.Outcome), "dead": cty.BoolVal(c.Dead),
		"reply": reply, "replies": tuple(c.Replies, replyValue), "after": after,
		"reason": text(c.Reason), "error": text(c.Error), "kind": text(c.Kind), "logs": tuple(c.Logs, logValue),
		"at": duration(c.At), "elapsed": duration(c.Elapsed),
	})
}

func replyValue(r Reply) cty.Value {
	return cty.ObjectVal(members{"stream": text(r.Stream), "body": body(r.Body, true), "key": text(r.Key), "headers": headers(r.Headers)})
}

func logValue(l LogLine) cty.Value {
	return cty.ObjectVal(members{"level": text(l.Level), "message": text(l.Message), "fields": headers(l.Fields)})
}

func entryValue(e Entry) cty.Value {
	letter := cty.NullVal(cty.DynamicPseudoType)
	if l := e.Letter; l != nil {
		letter = cty.ObjectVal(members{
			"reason": text(l.Reason), "error": text(l.Error), "stream": text(l.Stream), "id": text(l.ID), "group": text(l.Group),
			"subscription": text(l.Subscription), "consumer": text(l.Consumer), "attempts": cty.NumberIntVal(int64(l.Attempts)),
		})
	}
	return cty.ObjectVal(members{
		"id": text(e.ID), "value": body(e.Value, e.Decoded), "headers": headers(e.Headers), "key": text(e.Key), "dead_letter": letter,
	})
}

func tuple[T any](items []T, convert func(T) cty.Value) cty.Value {
	out := make([]cty.Value, len(items))
	for i := range items {
		out[i] = convert(items[i])
	}
	return cty.TupleVal(out)
}

// text is a string; bytes that are no UTF-8 cannot stand in one, and are shown
// as the character for that.
func text(s string) cty.Value {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	return cty.StringVal(s)
}

func headers(fields []Field) cty.Value {
	out := members{}
	for _, f := range fields {
		if _, seen := out[f.Name]; !seen {
			out[f.Name] = text(f.Value)
		}
	}
	return cty.ObjectVal(out)
}

func duration(d time.Duration) cty.Value { return cty.StringVal(eval.FormatDuration(d)) }

// body is a decoded body, null where there is none.
func body(v value.Value, decoded bool) cty.Value {
	if !decoded {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return FromBody(&v)
}

// FromBody is a body as expressions see it. A number that no expression could
// hold is a string of its digits.
func FromBody(v *value.Value) cty.Value {
	switch v.Kind() {
	case value.Bool:
		return cty.BoolVal(v.Bool())
	case value.String:
		return text(v.Text())
	case value.Number:
		if !eval.PlainNumber(v.Text()) {
			return cty.StringVal(v.Text())
		}
		n, err := cty.ParseNumberVal(v.Text())
		if err != nil {
			return cty.StringVal(v.Text())
		}
		return n
	case value.Array:
		items := make([]cty.Value, v.Len())
		for i := range items {
			items[i] = FromBody(&v.Items()[i])
		}
		return cty.TupleVal(items)
	case value.Object:
		out := make(members, v.Len())
		for i := range v.Items() {
			m := &v.Items()[i]
			out[m.Name()] = FromBody(m)
		}
		return cty.ObjectVal(out)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// ToBody is the value of an expression as a body: numbers keep the digits that
// they have, members come in the order of their names. Sets have no order: they
// come as they come.
func ToBody(v cty.Value) value.Value {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull():
		return value.Value{}
	case ty == cty.Bool:
		return value.NewBool(v.True())
	case ty == cty.String:
		return value.NewString(v.AsString())
	case ty == cty.Number:
		if n, accuracy := v.AsBigFloat().Int64(); accuracy == big.Exact {
			return value.FromInt(n)
		}
		return value.NewNumber(eval.Number(v))
	case ty.IsObjectType() || ty.IsMapType():
		var out []value.Value
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			k, _ = k.Unmark()
			out = append(out, ToBody(e).Named(k.AsString()))
		}
		return value.NewObject(out)
	case v.CanIterateElements():
		var out []value.Value
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			out = append(out, ToBody(e))
		}
		return value.NewArray(out)
	}
	return value.Value{}
}
