package eval

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The loops of expressions that are evaluated later take their steps from what
// the evaluation at hand may spend: it stands in the context, out of reach of
// names in a file, because several goroutines may evaluate one expression.

const budgetName = "\x00budget"

var budgetType = cty.Capsule("budget", reflect.TypeFor[budget]())

// budget is what one evaluation may still spend.
type budget struct{ left int }

// metered is an expression of a loop that takes a step before each evaluation.
type metered struct{ hclsyntax.Expression }

// Value implements hclsyntax.Expression. Without steps it is unknown.
func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	for c := ctx; c != nil; c = c.Parent() {
		v, ok := c.Variables[budgetName]
		if !ok {
			continue
		}
		if b, isBudget := v.EncapsulatedValue().(*budget); isBudget {
			if b.left -= 4; b.left < 0 { // what an element costs at least
				return cty.DynamicVal, nil
			}
		}
		break
	}
	return m.Expression.Value(ctx)
}

// Unmetered is an expression as it was parsed.
func Unmetered(e hclsyntax.Expression) hclsyntax.Expression {
	if m, ok := e.(*metered); ok {
		return m.Expression
	}
	return e
}

// loopMeter meters all loops of an expression.
type loopMeter struct{}

// Enter implements hclsyntax.Walker.
func (loopMeter) Enter(n hclsyntax.Node) hcl.Diagnostics {
	if m, ok := n.(*metered); ok {
		n = m.Expression
	}
	x, ok := n.(*hclsyntax.ForExpr)
	if !ok {
		return nil
	}
	for _, part := range []*hclsyntax.Expression{&x.KeyExpr, &x.ValExpr, &x.CondExpr} {
		if _, already := (*part).(*metered); *part != nil && !already {
			*part = &metered{*part}
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (loopMeter) Exit(hclsyntax.Node) hcl.Diagnostics { return nil }
