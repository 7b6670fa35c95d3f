package mend

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// flush is how many list items of a constructor the compiler stores at once.
const flush = 50

// table is a table constructor. After each full load of items the compiler
// stores that load again for every field with a key that follows, from
// registers that hold other things by then, and takes a call at the end for the
// beginning of the list.
func (m *mender) table(x *ast.TableExpr) ast.Expr {
	items, spoilt := 0, false
	for _, f := range x.Fields {
		f.Key, f.Value = m.expr(f.Key), m.expr(f.Value)
		if f.Key != nil {
			spoilt = spoilt || items > 0 && items%flush == 0
		} else {
			items++
		}
	}
	if spoilt || items > maxItems {
		keysFirst(x)
	}
	if last := len(x.Fields) - 1; last > 0 && x.Fields[last].Key == nil && multiple(x.Fields[last].Value) && items > 1 && (items-1)%flush == 0 {
		return m.joined(x, items-1)
	}
	if items > maxItems {
		return m.joined(x, maxItems)
	}
	return x
}

// keysFirst puts the fields with keys before the list. The manual leaves the
// order open.
func keysFirst(x *ast.TableExpr) {
	var keyed, list []*ast.Field
	for _, f := range x.Fields {
		if f.Key != nil {
			keyed = append(keyed, f)
		} else {
			list = append(list, f)
		}
	}
	// A call that was in the list, before a field with a key, gave one value.
	if n := len(x.Fields); x.Fields[n-1].Key != nil {
		last := list[len(list)-1]
		last.Value = single(last.Value)
	}
	x.Fields = append(keyed, list...)
}

// joined makes several lists of one, the first of n items or fewer, and has
// them joined by a function.
func (m *mender) joined(x *ast.TableExpr, n int) ast.Expr {
	m.mention(Join, x.Line())
	call := place(&ast.FuncCallExpr{Func: ident(Join, x), AdjustRet: true}, x)
	rest, part, items := x.Fields, place(&ast.TableExpr{}, x), 0
	for i, f := range rest {
		if f.Key == nil {
			items++
		}
		part.Fields = append(part.Fields, f)
		if i == len(rest)-1 {
			call.Args = append(call.Args, part)
		} else if items == min(n, maxItems-maxItems%flush) {
			count := place(&ast.NumberExpr{Value: strconv.Itoa(items)}, x)
			call.Args = append(call.Args, part, count)
			part, items = place(&ast.TableExpr{}, x), 0
			// A call that is not the last of the whole list gives one value,
			// though it comes last in its part.
			f.Value = single(f.Value)
		}
	}
	return call
}
