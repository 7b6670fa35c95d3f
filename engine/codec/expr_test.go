package codec

import (
	"errors"
	"strings"
	"testing"

	"pipeline/engine/spec"
)

// entry is a path of names into the entry.
func entry(names ...string) *spec.Path {
	p := &spec.Path{Root: spec.RootEntry}
	for _, name := range names {
		p.Steps = append(p.Steps, spec.Step{Name: name})
	}
	return p
}

func index(p *spec.Path, i int) *spec.Path {
	p.Steps = append(p.Steps, spec.Step{Index: i, IsIndex: true})
	return p
}

func headerPath(name string) *spec.Path {
	return &spec.Path{Root: spec.RootHeaders, Steps: []spec.Step{{Name: name}}}
}

func reply(name string) *spec.Path {
	return &spec.Path{Root: spec.RootReply, Steps: []spec.Step{{Name: name}}}
}

func lit(json string) *spec.Literal { return &spec.Literal{JSON: json} }

func op(left spec.Expr, op spec.Op, right spec.Expr) *spec.Binary {
	return &spec.Binary{Op: op, Left: left, Right: right}
}

func negate(op spec.Op, e spec.Expr) *spec.Unary { return &spec.Unary{Op: op, Operand: e} }

func join(parts ...spec.Expr) *spec.Template { return &spec.Template{Parts: parts} }

func testEnv(t testing.TB) *Env {
	return &Env{
		Entry: parse(t, `{"id":7,"big":18446744073709551615,"one":1.0,"huge":1e999999999,"neg":-5,"account":"acct-1","empty":"","yes":true,"no":false,
			"null":null,"list":[1,{"name":"x"}],"object":{"a b":"y","deep":{"n":0.10}}}`),
		Reply:   parse(t, `{"suspicious":true,"id":7.0}`),
		Headers: fields("tenant", "t1", "tenant", "t2", "n", "5"),
	}
}

func TestKeyAndText(t *testing.T) {
	cases := map[string]struct {
		expr      spec.Expr
		key, text string
	}{
		"string":             {entry("account"), "acct-1", "acct-1"},
		"integer":            {entry("id"), "7", "7"},
		"big integer":        {entry("big"), "18446744073709551615", "18446744073709551615"},
		"equal numbers":      {entry("one"), "1", "1.0"},
		"reply":              {reply("id"), "7", "7.0"},
		"huge":               {entry("huge"), "1e999999999", "1e999999999"},
		"bool":               {entry("yes"), "true", "true"},
		"null":               {entry("null"), "", ""},
		"missing":            {entry("nothing"), "", ""},
		"empty":              {entry("empty"), "", ""},
		"below a string":     {entry("account", "x"), "", ""},
		"below nothing":      {entry("nothing", "x", "y"), "", ""},
		"element":            {index(entry("list"), 0), "1", "1"},
		"member of element":  {&spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "list"}, {Index: 1, IsIndex: true}, {Name: "name"}}}, "x", "x"},
		"no such element":    {index(entry("list"), 2), "", ""},
		"element of no list": {index(entry("object"), 0), "", ""},
		"name of no object":  {entry("list", "0"), "", ""},
		"odd name":           {entry("object", "a b"), "y", "y"},
		"deep":               {entry("object", "deep", "n"), "0.1", "0.10"},
		"header":             {headerPath("tenant"), "t1", "t1"},
		"no such header":     {headerPath("Tenant"), "", ""},
		"literal":            {lit(`"a\nb"`), "a\nb", "a\nb"},
		"literal number":     {lit(`1.50`), "1.5", "1.50"},
		"template":           {join(lit(`"a-"`), entry("one"), lit(`"-"`), headerPath("tenant"), entry("null"), entry("yes")), "a-1-t1true", "a-1.0-t1true"},
		"empty template":     {join(), "", ""},
		"conditional":        {&spec.Conditional{Cond: entry("yes"), Then: entry("one"), Else: lit(`"b"`)}, "1", "1.0"},
		"other branch":       {&spec.Conditional{Cond: entry("no"), Then: entry("list"), Else: lit(`"b"`)}, "b", "b"},
		"minus":              {negate(spec.OpNeg, entry("one")), "-1", "-1.0"},
		"minus minus":        {negate(spec.OpNeg, entry("neg")), "5", "5"},
		"minus zero":         {negate(spec.OpNeg, lit("0")), "0", "-0"},
		"comparison":         {op(entry("id"), spec.OpLess, lit("8")), "true", "true"},
		"template in a test": {&spec.Conditional{Cond: op(join(entry("one")), spec.OpEqual, lit(`"1"`)), Then: lit(`"canonical"`), Else: lit(`"written"`)}, "canonical", "written"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			key, err := CompileKey(c.expr)
			if err != nil {
				t.Fatal(err)
			}
			text, err := CompileText(c.expr)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := key.Eval(testEnv(t)); got != c.key || err != nil {
				t.Errorf("key: got %q, %v, want %q", got, err, c.key)
			}
			if got, err := text.Eval(testEnv(t)); got != c.text || err != nil {
				t.Errorf("text: got %q, %v, want %q", got, err, c.text)
			}
		})
	}
}

func TestBool(t *testing.T) {
	isTrue := []spec.Expr{
		entry("yes"), reply("suspicious"), lit("true"),
		negate(spec.OpNot, entry("no")),
		op(entry("id"), spec.OpEqual, lit("7.00")),
		op(entry("id"), spec.OpEqual, reply("id")),
		op(entry("id"), spec.OpNotEqual, lit("8")),
		op(entry("big"), spec.OpGreater, lit("18446744073709551614")),
		op(entry("big"), spec.OpLess, lit("18446744073709551616")),
		op(entry("huge"), spec.OpGreaterEqual, entry("big")),
		op(entry("huge"), spec.OpLessEqual, lit("10e999999998")),
		op(entry("neg"), spec.OpLess, lit("0")),
		op(entry("account"), spec.OpEqual, lit(`"acct-1"`)),
		op(entry("account"), spec.OpNotEqual, lit(`"acct-2"`)),
		op(entry("yes"), spec.OpNotEqual, entry("no")),
		op(entry("nothing"), spec.OpEqual, lit("null")),
		op(entry("nothing"), spec.OpEqual, entry("null")),
		op(entry("list"), spec.OpNotEqual, lit("null")),
		op(entry("nothing"), spec.OpNotEqual, lit(`""`)),
		op(headerPath("n"), spec.OpEqual, lit(`"5"`)),
		op(entry("yes"), spec.OpAnd, reply("suspicious")),
		op(entry("yes"), spec.OpOr, entry("list")),
		op(entry("no"), spec.OpOr, entry("yes")),
		negate(spec.OpNot, op(entry("no"), spec.OpAnd, entry("list"))),
		negate(spec.OpNot, op(entry("nothing"), spec.OpEqual, lit("true"))),
		&spec.Conditional{Cond: entry("no"), Then: lit("1"), Else: lit("true")},
	}
	for _, e := range isTrue {
		b, err := CompileBool(e)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Eval(testEnv(t)); !got || err != nil {
			t.Errorf("%s: got %v, %v", b.root, got, err)
		}
		b, err = CompileBool(negate(spec.OpNot, e))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Eval(testEnv(t)); got || err != nil {
			t.Errorf("%s: got %v, %v", b.root, got, err)
		}
	}
}

func TestEvalRefuses(t *testing.T) {
	cases := []struct {
		expr spec.Expr
		want string
	}{
		{entry("nothing"), `entry.nothing: expected true or false, found null`},
		{entry("id"), `entry.id: expected true or false, found a number`},
		{headerPath("n"), `headers["n"]: expected true or false, found a string`},
		{op(entry("id"), spec.OpEqual, lit(`"7"`)), `entry.id == "7": expected two strings, two numbers or two bools, found a number and a string`},
		{op(headerPath("n"), spec.OpNotEqual, lit(`5`)), `headers["n"] != 5: expected two strings, two numbers or two bools, found a string and a number`},
		{op(entry("list"), spec.OpEqual, entry("list")), `entry.list == entry.list: expected two strings, two numbers or two bools, found a list and a list`},
		{op(entry("object"), spec.OpEqual, entry("object")), `entry.object == entry.object: expected two strings, two numbers or two bools, found an object and an object`},
		{op(entry("nothing"), spec.OpLess, lit("1")), `entry.nothing < 1: expected two numbers, found null and a number`},
		{op(entry("account"), spec.OpGreater, entry("account")), `entry.account > entry.account: expected two numbers, found a string and a string`},
		{op(entry("yes"), spec.OpAnd, entry("null")), `entry.null: expected true or false, found null`},
		{op(entry("id"), spec.OpOr, entry("yes")), `entry.id: expected true or false, found a number`},
		{negate(spec.OpNot, entry("account")), `entry.account: expected true or false, found a string`},
		{negate(spec.OpNeg, index(entry("list"), 1)), `entry.list[1]: expected a number, found an object`},
		{&spec.Conditional{Cond: entry("null"), Then: lit("true"), Else: lit("true")}, `entry.null: expected true or false, found null`},
		{op(join(entry("list")), spec.OpEqual, lit(`"x"`)), `entry.list: expected a string, number or bool, found a list`},
		{negate(spec.OpNot, &spec.Conditional{Cond: op(entry("id"), spec.OpLess, lit("9")), Then: entry("object", "a b"), Else: lit("true")}),
			`(entry.id < 9) ? entry.object["a b"] : true: expected true or false, found a string`},
		{negate(spec.OpNot, op(negate(spec.OpNeg, entry("id")), spec.OpLess, join(lit(`"a"`), headerPath("n")))),
			`-entry.id < "a${headers["n"]}": expected two numbers, found a number and a string`},
	}
	for _, c := range cases {
		b, err := CompileBool(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Eval(testEnv(t))
		if _, ok := errors.AsType[*InvalidError](err); !ok || got || err.Error() != c.want {
			t.Errorf("got  %v, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestEvalWithoutBodies(t *testing.T) {
	for _, e := range []spec.Expr{entry("a"), entry("a", "b"), entry(), reply("a"), headerPath("a"), index(entry(), 0)} {
		k, err := CompileKey(e)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := k.Eval(&Env{}); got != "" || err != nil {
			t.Errorf("%s: got %q, %v", k.root, got, err)
		}
	}
}

func TestWholeBodyAsKey(t *testing.T) {
	k, err := CompileKey(entry())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Eval(&Env{Entry: parse(t, `"text"`)}); got != "text" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := k.Eval(&Env{Entry: parse(t, `{}`)}); err == nil || err.Error() != "entry: expected a string, number or bool, found an object" {
		t.Errorf("got %v", err)
	}
}

func TestCompileRefuses(t *testing.T) {
	cases := map[string]spec.Expr{
		"no expression":       nil,
		"a path cannot begin": &spec.Path{Root: "var"},
		"has one name":        &spec.Path{Root: spec.RootHeaders},
		"constant: json":      lit("{"),
		"cannot be a list":    lit("[]"),
		"between two":         op(lit("1"), "+", lit("1")),
		"before an operand":   negate(spec.OpLess, lit("1")),
	}
	for want, e := range cases {
		for _, e := range []spec.Expr{e, negate(spec.OpNot, e), op(e, spec.OpAnd, lit("true")), join(e), &spec.Conditional{Cond: lit("true"), Then: lit("1"), Else: e}} {
			_, err := CompileBool(e)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}
