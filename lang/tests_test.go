package lang_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pipeline/engine/value"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/testspec"
)

// TestPaymentsTests: the tests of the worked example load, and nothing is said
// of them.
func TestPaymentsTests(t *testing.T) {
	for _, path := range []string{"../examples/payments.hcl", "../examples", "../examples/payments_test.hcl"} {
		suite, report := lang.LoadTests(lang.OS(), path, lang.Options{})
		if text := render(t, report); text != "" || suite == nil {
			t.Fatalf("%s:\n%s", path, text)
		}
		if len(suite.Tests) != 22 || !slices.Equal(suite.Files, []string{"../examples/payments_test.hcl"}) {
			t.Errorf("%s: %d tests in %v", path, len(suite.Tests), suite.Files)
		}
	}
}

// loadSuite loads test files beside base.hcl, which is p.hcl.
func loadSuite(t *testing.T, path string, o lang.Options, files map[string]string) (*testspec.Suite, *diag.Report) {
	t.Helper()
	pipeline, _ := testBase(t)
	all := fstest.MapFS{"h.lua": {Data: []byte("x")}}
	for name, text := range files {
		if text == "" {
			text = pipeline
		}
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return lang.LoadTests(all, path, o)
}

// one is a test file with one test of these lines.
func one(lines string) string { return "test \"t\" {\n" + lines + "\n}\n" }

const asserted = "step \"s\" {\n assert {\n condition = stream.dead.values == []\n }\n}\n"

// TestFilesBelong: which test files belong to which path.
func TestFilesBelong(t *testing.T) {
	named := func(name string) string { return "test \"" + name + "\" {\n" + asserted + "}\n" }
	files := map[string]string{
		"p.hcl": "", "p_eu.hcl": "",
		"p_test.hcl": named("p"), "p_crash_test.hcl": named("crash"), "p_eu_test.hcl": named("eu"), "p_eu_crash_test.hcl": named("eu crash"),
		"px_test.hcl": named("px"), "notes.txt": "x", "sub/p_test.hcl": named("sub"),
	}
	for path, want := range map[string][]string{
		"p.hcl":            {"crash", "p"},
		"p_eu.hcl":         {"eu crash", "eu"},
		"p_test.hcl":       {"p"},
		"p_eu_test.hcl":    {"eu"},
		"p_crash_test.hcl": {"crash"},
	} {
		suite, r := loadSuite(t, path, lang.Options{}, files)
		if suite == nil {
			t.Errorf("%s:\n%s", path, render(t, r))
			continue
		}
		var got []string
		for _, test := range suite.Tests {
			got = append(got, test.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if suite, r := loadSuite(t, "d", lang.Options{}, map[string]string{"d/p.hcl": "", "d/a_test.hcl": named("a"), "d/b_test.hcl": named("b"), "d/h.lua": "x"}); suite == nil || len(suite.Tests) != 2 || suite.Pipeline != "d" {
		t.Errorf("a directory: %+v\n%s", suite, render(t, r))
	}
	if suite, r := loadSuite(t, "d/a_test.hcl", lang.Options{}, map[string]string{"d/p.hcl": "", "d/a.hcl": "locals {\n}\n", "d/a_test.hcl": named("a"), "d/h.lua": "x"}); suite == nil || suite.Pipeline != "d" {
		t.Errorf("a part of a directory: %+v\n%s", suite, render(t, r))
	}
}

// TestNoTests: a path without tests is an error that says where they belong.
func TestNoTests(t *testing.T) {
	for name, c := range map[string]struct {
		path  string
		files map[string]string
		code  diag.Code
		says  string
	}{
		"a file":       {"p.hcl", map[string]string{"p.hcl": ""}, diag.FileNotFound, "p_test.hcl"},
		"a directory":  {"d", map[string]string{"d/p.hcl": ""}, diag.FileNotFound, "*_test.hcl"},
		"nowhere":      {"q.hcl", map[string]string{"p.hcl": ""}, diag.FileNotFound, "there is no q.hcl"},
		"misnamed":     {"orders.hcl", map[string]string{"orders.hcl": "", "order_test.hcl": "x"}, diag.FileNotFound, "order_test.hcl belongs to another file"},
		"empty":        {"p.hcl", map[string]string{"p.hcl": "", "p_test.hcl": "locals {\n}\n"}, diag.MissingBlock, "there is no test in p_test.hcl"},
		"the pipeline": {"p.hcl", map[string]string{"p.hcl": "stream \"a\" {\n", "p_test.hcl": one(asserted)}, diag.UnclosedBlock, "p.hcl:1"},
		"no pipeline":  {"p.hcl", map[string]string{"p.hcl": "stream \"dead\" {\n}\n", "p_test.hcl": one(asserted)}, diag.NoPipeline, "p.hcl"},
	} {
		t.Run(name, func(t *testing.T) {
			suite, r := loadSuite(t, c.path, lang.Options{}, c.files)
			if all := r.All(); suite != nil || len(all) != 1 || all[0].Code != c.code || !strings.Contains(render(t, r), c.says) {
				t.Errorf("%v\n%s", suite, render(t, r))
			}
		})
	}
}

// TestSuite: everything that a test can say comes to the runner.
func TestSuite(t *testing.T) {
	_, base := testBase(t)
	suite, r := loadSuite(t, "p.hcl", lang.Options{}, map[string]string{"p.hcl": "", "p_test.hcl": base})
	if suite == nil {
		t.Fatal(render(t, r))
	}
	var names []string
	for _, test := range suite.Tests {
		names = append(names, test.Name)
	}
	if want := []string{"an order is billed", "cases/small", "cases/large", "it refuses"}; !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	test := suite.Tests[0]
	order := bodyText(t, test.Existing[0].Entry)
	if test.Server != "8.4.0" || len(test.Existing) != 1 || test.Existing[0].Stream != "orders" || order != `{"account":"a","id":1}` {
		t.Errorf("%+v %s", test, order)
	}
	if n := test.Pipeline.Subscriptions()[0].Workers.Count; n != 1 || suite.Tests[1].Pipeline.Subscriptions()[0].Workers.Count != 4 {
		t.Errorf("%d workers", n)
	}
	if suite.Tests[1].Pipeline != suite.Tests[2].Pipeline {
		t.Error("tests of the same variables do not share their pipeline")
	}
	if m := test.Mocks[0]; m.Handler != "bill" || m.Times != 1 || m.Outcome != testspec.SaysFailed || m.Error != "no ledger" {
		t.Errorf("%+v", m)
	}
	step := test.Steps[0]
	if f := step.Faults[0]; f.Kind != testspec.FaultCrash || f.Subscription != "bill_order" || f.At != "before_ack" || f.Nth != 1 || f.Pos.Line == 0 {
		t.Errorf("%+v", f)
	}
	p := step.Publishes[0]
	if p.Stream != "orders" || p.Key != "k" || !p.HasKey || !slices.Equal(p.Headers, []testspec.Field{{Name: "trace", Value: "t-1"}}) || p.Raw != nil {
		t.Errorf("%+v", p)
	}
	if step.Name != "it arrives" || step.Advance != 30*time.Second || len(step.Asserts) != 2 || step.Asserts[0].Message != "it is billed" || step.Asserts[0].Range.Start.Line == 0 {
		t.Errorf("%+v", step)
	}
	refuses := suite.Tests[3]
	if e := refuses.Expect; e == nil || e.Code != "claiming_read_unsupported" || !slices.Equal(e.Mentions, []string{"bill_order"}) || refuses.Pipeline == nil {
		t.Errorf("%+v", refuses)
	}
}

func bodyText(t *testing.T, v value.Value) string {
	t.Helper()
	text, err := value.AppendJSON(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// published loads one publish block and returns what it publishes.
func published(t *testing.T, lines string) []testspec.Publish {
	t.Helper()
	suite, r := loadSuite(t, "p.hcl", lang.Options{}, map[string]string{"p.hcl": "", "p_test.hcl": one("step \"s\" {\n publish {\n to = stream.dead\n " + lines + "\n }\n}\n" + asserted)})
	if suite == nil {
		t.Fatalf("%s:\n%s", lines, render(t, r))
	}
	return suite.Tests[0].Steps[0].Publishes
}

func TestEntriesKeepTheirDigits(t *testing.T) {
	for text, want := range map[string]string{
		"entry = 18446744073709551615":                     "18446744073709551615",
		"entry = -9007199254740993":                        "-9007199254740993",
		"entry = 123456789012345678901234567890.123456789": "123456789012345678901234567890.123456789",
		"entry = 0.1": "0.1",
		"entry = { b = [1, true, null], a = \"x\" }":                `{"a":"x","b":[1,true,null]}`,
		"entry = jsondecode(\"{\\\"n\\\": 12345678901234567890}\")": `{"n":12345678901234567890}`,
		"entry = null": "null",
		"entry = [for n in range(3) : { id = n }]": `[{"id":0},{"id":1},{"id":2}]`,
	} {
		p := published(t, text)
		if len(p) != 1 || bodyText(t, p[0].Entry) != want {
			t.Errorf("%s: %s", text, bodyText(t, p[0].Entry))
		}
	}
}

func TestRawKeepsItsBytes(t *testing.T) {
	p := published(t, `raw = { b = { base64 = "AP+A" }, a = "x", "h:trace" = "t" }`)
	want := []testspec.Field{{Name: "a", Value: "x"}, {Name: "b", Value: "\x00\xff\x80"}, {Name: "h:trace", Value: "t"}}
	if len(p) != 1 || !slices.Equal(p[0].Raw, want) {
		t.Errorf("%+v", p)
	}
	if p = published(t, `entries = []`); len(p) != 0 {
		t.Errorf("%+v", p)
	}
}

func TestMocks(t *testing.T) {
	for text, want := range map[string]testspec.Mock{
		"error = \"x\"":         {Outcome: testspec.SaysFailed, Error: "x"},
		"returns = ack()":       {Outcome: testspec.SaysAck},
		"returns = (ack())":     {Outcome: testspec.SaysAck},
		"returns = retry()":     {Outcome: testspec.SaysRetry},
		"returns = dead()":      {Outcome: testspec.SaysDead},
		"returns = dead(\"r\")": {Outcome: testspec.SaysDead, Reason: "r"},
		"returns = drop(\"r\")": {Outcome: testspec.SaysDrop, Reason: "r"},
		"returns = retry({ after = \"5s\", reason = \"r\" })": {Outcome: testspec.SaysRetry, After: 5 * time.Second, HasAfter: true, Reason: "r"},
		"returns = { a = 1 }\ntimes = 3":                      {Outcome: testspec.SaysReply, Times: 3, Reply: &testspec.MockReply{}},
		"returns = reply(1, { to = \"r\", key = \"k\", headers = { h = \"v\" } })": {
			Outcome: testspec.SaysReply, Reply: &testspec.MockReply{To: "r", Key: "k", HasKey: true, Headers: []testspec.Field{{Name: "h", Value: "v"}}},
		},
	} {
		suite, r := loadSuite(t, "p.hcl", lang.Options{}, map[string]string{"p.hcl": "", "p_test.hcl": one("mock \"bill\" {\n" + text + "\n}\n" + asserted)})
		if suite == nil {
			t.Fatalf("%s:\n%s", text, render(t, r))
		}
		got := suite.Tests[0].Mocks[0]
		want.Handler, want.Pos = "bill", got.Pos
		if got.Reply != nil && want.Reply != nil {
			want.Reply.Body = got.Reply.Body
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestForEach(t *testing.T) {
	for text, want := range map[string][]string{
		`{ b = 1, a = 2 }`:                        {"t/b", "t/a"},
		`["x", "y"]`:                              {"t/x", "t/y"},
		`[{ n = 1 }, { n = 2 }]`:                  {"t/0", "t/1"},
		`range(3)`:                                {"t/0", "t/1", "t/2"},
		`merge({ b = 1 }, { a = 2 })`:             {"t/a", "t/b"},
		`{ for k in ["q", "p"] : k => upper(k) }`: {"t/p", "t/q"},
		`[var.min_idle]`:                          {"t/30s"},
	} {
		suite, r := loadSuite(t, "p.hcl", lang.Options{}, map[string]string{"p.hcl": "", "p_test.hcl": one("for_each = " + text + "\n" + asserted)})
		if suite == nil {
			t.Errorf("%s:\n%s", text, render(t, r))
			continue
		}
		var got []string
		for _, test := range suite.Tests {
			got = append(got, test.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestVariables: values of tests come before all others, for each test alone, and
// locals see them.
func TestVariables(t *testing.T) {
	text := "locals {\n wait = var.min_idle\n}\n"
	for i, idle := range []string{"40s", "50s"} {
		text += fmt.Sprintf("test \"t%d\" {\n variables {\n min_idle = %q\n }\n step \"s\" {\n advance = local.wait\n assert {\n condition = stream.dead.values == []\n }\n }\n}\n", i, idle)
	}
	text += "test \"each\" {\n for_each = [\"1s\", \"2s\"]\n variables {\n min_idle = each.value\n }\n step \"s\" {\n advance = var.min_idle\n assert {\n condition = stream.dead.values == []\n }\n }\n}\n"
	suite, r := loadSuite(t, "p.hcl", lang.Options{Vars: map[string]string{"min_idle": "20s"}}, map[string]string{"p.hcl": "", "p_test.hcl": text})
	if suite == nil {
		t.Fatal(render(t, r))
	}
	for i, want := range []time.Duration{40 * time.Second, 50 * time.Second, time.Second, 2 * time.Second} {
		test := suite.Tests[i]
		if test.Steps[0].Advance != want || test.Pipeline.Subscriptions()[0].Claim.MinIdle != want {
			t.Errorf("%s: %v %v", test.Name, test.Steps[0].Advance, test.Pipeline.Subscriptions()[0].Claim.MinIdle)
		}
	}
}

// TestRefusedPipelines: a test may expect that the pipeline itself is refused; for
// others that is an error.
func TestRefusedPipelines(t *testing.T) {
	refused := "variables {\n min_idle = \"soon\"\n}\n"
	suite, r := loadSuite(t, "p.hcl", lang.Options{}, map[string]string{"p.hcl": "", "p_test.hcl": one(refused + "expect_error {\n code = \"invalid_duration\"\n mentions = [\"soon\"]\n}")})
	if suite == nil || suite.Tests[0].Pipeline != nil || suite.Tests[0].Problems == nil {
		t.Fatalf("%+v\n%s", suite, render(t, r))
	}
	if unmet := suite.Tests[0].CheckProblems(); unmet != nil {
		t.Errorf("%q", unmet)
	}
	suite.Tests[0].Expect.Code = "out_of_range"
	if unmet := suite.Tests[0].CheckProblems(); len(unmet) < 2 || !strings.Contains(unmet[0], "invalid_duration; out_of_range was expected") {
		t.Errorf("%q", unmet)
	}
	if suite, r = loadSuite(t, "p.hcl", lang.Options{}, map[string]string{"p.hcl": "", "p_test.hcl": one(refused + asserted)}); suite != nil || r.All()[0].Code != diag.InvalidDuration {
		t.Errorf("%+v\n%s", suite, render(t, r))
	}
	needs := "variable \"must\" {\n}\nlocals {\n used = var.must\n}\n"
	pipeline, _ := testBase(t)
	files := map[string]string{"p.hcl": pipeline + needs, "p_test.hcl": one("variables {\n must = 1\n}\n" + asserted)}
	if suite, r = loadSuite(t, "p.hcl", lang.Options{}, files); suite == nil {
		t.Errorf("a variable that every test sets:\n%s", render(t, r))
	}
	files["p_test.hcl"] = one(asserted)
	if suite, r = loadSuite(t, "p.hcl", lang.Options{}, files); suite != nil || r.All()[0].Code != diag.VariableNotSet {
		t.Errorf("a variable that no test sets: %v\n%s", suite, render(t, r))
	}
}

func TestUnmet(t *testing.T) {
	e := testspec.ExpectError{Code: "a", Mentions: []string{"x", "y"}}
	for _, c := range []struct {
		code, message string
		lines         int
	}{{"a", "x y", 0}, {"b", "x y", 2}, {"a", "x", 2}, {"", "", 1}} {
		if got := e.Unmet(c.code, c.message); len(got) != c.lines {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestHostileTests: what would harm the parser or never end is refused fast.
func TestHostileTests(t *testing.T) {
	cases := map[string]string{
		"too much": one("for_each = range(1000)\nstep \"s\" {\n publish {\n to = stream.dead\n entries = range(1024)\n }\n}\n" + asserted),
	}
	for name, h := range hostile() {
		cases[name] = h.text + one(asserted)
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			begin := processTime()
			suite, r := loadSuite(t, "p.hcl", lang.Options{}, map[string]string{"p.hcl": "", "p_test.hcl": text})
			if took := processTime() - begin; took > 2*maxLoadTime*slower {
				t.Errorf("took %s", took)
			}
			if suite != nil || !r.HasErrors() {
				t.Error("no error")
			}
		})
	}
}

func FuzzLoadTests(f *testing.F) {
	for _, name := range []string{"testdata/tests/base_test.hcl", "../examples/payments_test.hcl"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	pipeline, err := os.ReadFile("testdata/tests/base.hcl")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := fstest.MapFS{"p.hcl": {Data: pipeline}, "p_test.hcl": {Data: []byte(text)}, "h.lua": {Data: []byte("x")}}
		suite, r := lang.LoadTests(files, "p.hcl", lang.Options{})
		if (suite == nil) != r.HasErrors() {
			t.Errorf("suite %v, errors %v", suite != nil, r.HasErrors())
		}
		checkReport(t, files, r)
		if suite == nil {
			return
		}
		for _, test := range suite.Tests {
			for _, step := range test.Steps {
				for _, a := range step.Asserts {
					if result := a.Check(nil); !result.Passed && len(result.Lines()) == 0 {
						t.Errorf("%s fails without a word", a.Condition)
					}
				}
			}
		}
	})
}
