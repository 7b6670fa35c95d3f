package lang

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// raw is a value given from outside: a text to be read by the declared type,
// or a value of a file.
type raw struct {
	name, from string
	rng        diag.Range
	text       string
	isText     bool
	value      cty.Value
	ok         bool
}

// givenValues are the values given from outside, by source.
type givenValues struct {
	flags, files map[string]raw
	// test are those of a test, which come first and are checked there.
	test   map[string]raw
	lookup func(string) (string, bool)
}

// of is the value in force for a variable.
func (g givenValues) of(name string) (raw, bool) {
	if r, ok := g.test[name]; ok {
		return r, true
	}
	if r, ok := g.flags[name]; ok {
		return r, true
	}
	if r, ok := g.files[name]; ok {
		return r, true
	}
	if g.lookup != nil {
		if text, ok := g.lookup("PIPELINE_VAR_" + name); ok {
			return raw{name: name, from: "PIPELINE_VAR_" + name, text: text, isText: true, ok: true}, true
		}
	}
	return raw{}, false
}

func (g givenValues) has(name string) bool { _, ok := g.of(name); return ok }

// all are the values that name their variable themselves, sorted.
func (g givenValues) all() []raw {
	var out []raw
	for _, table := range []map[string]raw{g.flags, g.files} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			out = append(out, table[name])
		}
	}
	return out
}

// givenValues reads --var and --var-file.
func (l *loader) givenValues() givenValues {
	g := givenValues{flags: map[string]raw{}, files: map[string]raw{}, test: l.given, lookup: l.opts.LookupEnv}
	for name, text := range l.opts.Vars {
		g.flags[name] = raw{name: name, from: "--var", text: text, isText: true, ok: true}
	}
	for _, name := range l.opts.VarFiles {
		for _, r := range l.varFile(name) {
			g.files[r.name] = r
		}
	}
	return g
}

// varFile reads one --var-file.
func (l *loader) varFile(name string) []raw {
	text, err := l.slurp(name, maxFile)
	at := diag.Range{File: name}
	switch {
	case errors.Is(err, errTooLarge):
		l.fail(diag.FileTooLarge, at, name+" is over 1 MiB", "")
		return nil
	case err != nil:
		l.unreadable(at, name, "It is named by --var-file.", err)
		return nil
	}
	src := diag.NewSource(name, text)
	l.report.AddSource(src)
	if path.Ext(name) == ".json" {
		return l.jsonVars(src)
	}
	f, ok := l.parse(src)
	if !ok {
		return nil
	}
	for _, b := range f.body.Blocks {
		d := l.fail(diag.VarFileInvalid, eval.Range(l.report, b.TypeRange), "a file of variables holds no blocks", "Write name = value.")
		if def := b.Body.Attributes["default"]; b.Type == "variable" && len(b.Labels) == 1 && def != nil {
			d.Suggest(b.Labels[0] + " = " + l.sourceOf(def.Expr.Range()))
		}
	}
	var out []raw
	for _, attr := range sortedAttributes(f.body) {
		r := raw{name: attr.Name, from: name, rng: eval.Range(l.report, attr.NameRange)}
		if !f.isPoisoned(attr.Expr.Range().Start.Byte, attr.Expr.Range().End.Byte) {
			r.value, r.ok = l.fileValue(attr)
		}
		l.report.Hide(eval.Range(l.report, attr.Expr.Range()))
		out = append(out, r)
	}
	return out
}

// fileValue evaluates a value of a file of variables, which names nothing.
func (l *loader) fileValue(attr *hclsyntax.Attribute) (cty.Value, bool) {
	if len(attr.Expr.Variables()) > 0 {
		l.fail(diag.VarFileInvalid, eval.Range(l.report, attr.Expr.Range()), fmt.Sprintf("the value of %s is not a constant", attr.Name), "A file of variables holds constants; strings stand in double quotes.")
		return cty.DynamicVal, false
	}
	return l.scope.Eval(attr.Expr, eval.Use{})
}

// jsonVars reads a JSON object of values.
func (l *loader) jsonVars(src *diag.Source) []raw {
	if l.jsonSyntax(src) {
		return nil
	}
	ty, err := ctyjson.ImpliedType(src.Text)
	if err != nil || !ty.IsObjectType() {
		l.fail(diag.VarFileInvalid, src.Range(0, 0), src.Name+" is not a JSON object", "Write { \"name\": value }.")
		return nil
	}
	v, err := ctyjson.Unmarshal(src.Text, ty)
	if err != nil {
		l.fail(diag.VarFileInvalid, src.Range(0, 0), src.Name+" is not a JSON object", "Write { \"name\": value }.")
		return nil
	}
	l.report.Hide(src.Range(0, len(src.Text)))
	var out []raw
	for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
		out = append(out, raw{name: name, from: src.Name, rng: diag.Range{File: src.Name}, value: v.GetAttr(name), ok: true})
	}
	return out
}

// jsonSyntax reports the place where a file is no JSON.
func (l *loader) jsonSyntax(src *diag.Source) bool {
	var text json.RawMessage
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(src.Text, &text))
	if !ok {
		return false
	}
	at := min(max(int(syntax.Offset)-1, 0), len(src.Text))
	before := bytes.TrimRight(src.Text[:at], " \t\r\n")
	if at < len(src.Text) && (src.Text[at] == '}' || src.Text[at] == ']') && bytes.HasSuffix(before, []byte(",")) {
		comma := src.Range(len(before)-1, len(before))
		l.fail(diag.VarFileInvalid, comma, "a comma stands before the closing bracket", "JSON has none behind the last member.").Edit(comma, "")
		return true
	}
	l.fail(diag.VarFileInvalid, src.Range(at, min(at+1, len(src.Text))), src.Name+" is no JSON", "Write { \"name\": value }; the mistake is here or just before.")
	return true
}

// readGiven converts a given value to the declared type.
func (l *loader) readGiven(v *variable, r raw) (cty.Value, bool) {
	if !v.typed || !r.isText && !r.ok {
		return cty.DynamicVal, false
	}
	got, err := r.value, error(nil)
	if r.isText {
		got, err = l.parseText(r.text, v.typ)
	}
	if err == nil {
		got, err = eval.Convert(got, v.typ)
	}
	if err == nil {
		return got, true
	}
	at := l.header(v.node)
	if !r.rng.IsZero() {
		at = r.rng
	}
	d := l.fail(diag.VariableInvalid, at, fmt.Sprintf("%s gives %q no %s", r.from, v.name, v.typ.Kind), upperFirst(err.Error())+".")
	d.Suggest(eval.Meant(err))
	if text, ok := errors.AsType[*textError](err); ok {
		d.Suggest(text.meant)
	}
	if r.isText && !v.sensitive {
		d.Values = append(d.Values, diag.Value{Name: "var." + v.name, Value: eval.Show(cty.StringVal(r.text))})
	}
	if attr := v.node.args["type"]; attr != nil {
		d.Relate(eval.Range(l.report, attr.Expr.Range()), "the type is declared here")
	}
	return cty.DynamicVal, false
}

// textError is a text that is not of the declared type, and what was probably
// meant.
type textError struct{ reason, meant string }

func (e *textError) Error() string { return e.reason }

// boolWord is what other languages' words for true and false stand for, or "".
func boolWord(text string) string {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y", "on", "1", "t", "true", "enabled":
		return "true"
	case "no", "n", "off", "0", "f", "false", "disabled":
		return "false"
	}
	return ""
}

// parseText reads a text by the declared type: a string and any take it as it
// is, numbers and bools are parsed, and other types are written as in a file.
func (l *loader) parseText(text string, t *spec.Type) (cty.Value, error) {
	switch t.Kind {
	case spec.TypeString, spec.TypeAny:
		return cty.StringVal(text), nil
	case spec.TypeBool:
		switch strings.ToLower(text) {
		case "true":
			return cty.True, nil
		case "false":
			return cty.False, nil
		}
		return cty.NilVal, &textError{"it is true or false", boolWord(text)}
	case spec.TypeNumber:
		if !eval.PlainNumber(strings.TrimSpace(text)) {
			return cty.NilVal, errors.New("a number is needed, such as 8 or 0.5")
		}
		n, err := cty.ParseNumberVal(strings.TrimSpace(text))
		if err != nil {
			return cty.NilVal, errors.New("a number is needed, such as 8 or 0.5")
		}
		return n, nil
	}
	return l.parseComposite(text, t)
}

// parseComposite reads a list, a map or an object.
func (l *loader) parseComposite(text string, t *spec.Type) (cty.Value, error) {
	example := `["a", "b"]`
	if t.Kind != spec.TypeList {
		example = `{ name = "a" }`
	}
	bad := fmt.Errorf("%s is needed, such as %s", eval.A(string(t.Kind)), example)
	if len(text) > maxFile {
		return cty.NilVal, bad
	}
	g := guardian{}
	for _, tok := range lex([]byte(text), "") {
		if _, problem := g.next(tok); problem != "" {
			return cty.NilVal, bad
		}
	}
	e, diags := hclsyntax.ParseExpression([]byte(text), "", start)
	if diags.HasErrors() {
		return cty.NilVal, bad
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		return cty.NilVal, bad
	}
	return v, nil
}

// upperFirst is a text as the beginning of a sentence.
func upperFirst(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}
