package lang

import (
	"fmt"
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// constantKey reports a key that is the same for every entry: a field's name in
// quotes, most often. What it does to idempotency loses entries: within the
// window all but the first are taken for its copies.
func (l *loader) constantKey(n *node, v *value, e spec.Expr, b eval.Bodies) {
	lit, ok := e.(*spec.Literal)
	if !ok {
		return
	}
	severity, what := diag.Warning, "All entries have one key then, and run one after the other."
	switch n.schema.Name {
	case "idempotency":
		severity, what = diag.Error, "All entries within the window would be taken for copies of the first, and none of them would run."
	case "reply", "route", "stream":
		what = "All entries get one partition key then, and whoever reads them by key handles them one after the other."
	}
	d := l.add(severity, diag.ConstantKey, v.rng, fmt.Sprintf("key is %s for every entry", lit.JSON), what+" Name a field of the entry: key = entry.id.")
	if path := quotedPath(strings.Trim(lit.JSON, `"`), b.Entry); path != "" {
		d.Suggest(path)
		if isConstant(v.expr) {
			d.Edit(v.rng, path)
		}
	}
}

// quotedPath is the path that a text names: a declared field, or entry.field
// in whatever marks other tools put around it.
func quotedPath(text string, t *spec.Type) string {
	text = strings.TrimSpace(strings.Trim(strings.TrimPrefix(text, "$"), "{}<>%=$ "))
	field := strings.TrimPrefix(strings.TrimPrefix(text, "entry"), ".")
	first, _, _ := strings.Cut(field, ".")
	if t == nil || t.Kind != spec.TypeObject || t.Attr(first) == nil {
		return ""
	}
	return "entry." + field
}
