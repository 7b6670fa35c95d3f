package schema_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipeline/engine/spec"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// TestTable checks what everything made from the table relies on.
func TestTable(t *testing.T) {
	for name, table := range map[string]*schema.Block{"pipelines": schema.Pipeline, "tests": schema.Test} {
		t.Run(name, func(t *testing.T) { checkTable(t, table) })
	}
}

func checkTable(t *testing.T, table *schema.Block) {
	table.Walk(func(path []string, b *schema.Block) {
		where := strings.Join(path, ".")
		if !sentences(b.Doc) || b.Since == "" {
			t.Errorf("%s: not documented in sentences", where)
		}
		if b.Name != "" && (b.Example == "") != b.Later() {
			t.Errorf("%s: an example belongs to every block but those that come later", where)
		}
		if b.Min > 0 && b.Why == "" {
			t.Errorf("%s: required without a reason", where)
		}
		seen := map[string]bool{}
		for _, name := range append(b.ArgNames(), b.BlockNames()...) {
			if seen[name] {
				t.Errorf("%s: two of %s", where, name)
			}
			seen[name] = true
		}
		for _, a := range b.Args {
			checkArg(t, where+"."+a.Name, a)
			for _, s := range a.Synonyms {
				if b.Arg(s) != nil {
					t.Errorf("%s.%s: the synonym %s is an argument itself", where, a.Name, s)
				}
			}
		}
	})
}

func checkArg(t *testing.T, where string, a *schema.Arg) {
	if !sentences(a.Doc) || a.Since == "" {
		t.Errorf("%s: not documented in sentences", where)
	}
	if a.Example == "" || a.Example == a.Default && len(a.Allowed) != 1 || a.Example == strconv.Quote(a.Default) {
		t.Errorf("%s: the example %q shows nothing", where, a.Example)
	}
	if !a.Required && a.Default == "" && a.DefaultDoc == "" {
		t.Errorf("%s: nothing says what holds without it", where)
	}
	if (a.Kind == schema.Integer || a.Kind == schema.Duration || a.Kind == schema.Size) && a.Min == "" && a.Allowed == nil {
		t.Errorf("%s: a quantity without a lower bound", where)
	}
	for _, v := range a.UnavailableValues {
		if !slices.Contains(a.Allowed, v) || v == a.Default {
			t.Errorf("%s: the value %q cannot be the unavailable one", where, v)
		}
	}
	if a.Kind == schema.Reference && schema.Pipeline.Block(a.Target, "") == nil && schema.Pipeline.Block("group", "").Block(a.Target, "") == nil {
		t.Errorf("%s: refers to %q", where, a.Target)
	}
	if a.Required && (a.Default != "" || a.DefaultDoc != "") {
		t.Errorf("%s: required and has a default", where)
	}
	if a.Allowed != nil && a.Default != "" && !slices.Contains(a.Allowed, a.Default) {
		t.Errorf("%s: the default %q is not allowed", where, a.Default)
	}
	for _, text := range []string{a.Default, a.Min, a.Max} {
		if text != "" {
			readable(t, where, a.Kind, text)
		}
	}
}

// sentences reports whether a text is one, or several.
func sentences(text string) bool {
	return strings.HasSuffix(text, ".") && (text[0] == '`' || strings.ToLower(text[:1]) != text[:1])
}

// readable checks that a default or bound is written as its kind is.
func readable(t *testing.T, where string, k schema.Kind, text string) {
	var err error
	switch k {
	case schema.Duration:
		_, err = eval.ParseDuration(text)
	case schema.Size:
		_, err = eval.ParseSize(text)
	case schema.Integer:
		_, err = strconv.ParseInt(text, 10, 64)
	case schema.Number:
		_, err = strconv.ParseFloat(text, 64)
	case schema.Bool:
		_, err = strconv.ParseBool(text)
	}
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

// TestRetryDefaults: a retry block that sets nothing is the policy of a
// subscription without one.
func TestRetryDefaults(t *testing.T) {
	retry := schema.Pipeline.Block("retry", "")
	want := spec.DefaultRetry()
	for name, got := range map[string]string{
		"max_attempts": strconv.Itoa(want.MaxAttempts), "multiplier": strconv.FormatFloat(want.Multiplier, 'g', -1, 64), "jitter": strconv.FormatFloat(want.Jitter, 'g', -1, 64),
	} {
		if retry.Arg(name).Default != got {
			t.Errorf("%s: %s, the engine has %s", name, retry.Arg(name).Default, got)
		}
	}
	for name, d := range map[string]int64{"delay": int64(want.Delay), "max_delay": int64(want.MaxDelay)} {
		if got, err := eval.ParseDuration(retry.Arg(name).Default); err != nil || int64(got) != d {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

func TestLookup(t *testing.T) {
	if b := schema.Pipeline.Block("broker", "memory"); b == nil || b.Variant != "memory" || len(b.Args) != 0 {
		t.Errorf("broker memory: %+v", b)
	}
	if b := schema.Pipeline.Block("broker", "kafka"); b == nil || b.Variant != "redis" {
		t.Errorf("an unknown variant: %+v", b)
	}
	if schema.Pipeline.Block("nothing", "") != nil || schema.Pipeline.Arg("nothing") != nil {
		t.Error("found what is not there")
	}
	if g := schema.Pipeline.Block("handler", "").Block("grant", "http"); !g.Later() {
		t.Error("http is not marked as coming later")
	}
}
