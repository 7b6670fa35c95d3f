package codec_test

import (
	"strings"
	"testing"

	"pipeline/engine/codec"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

func entryPath(name string) spec.Expr {
	return &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: name}}}
}

// What is an identity is one for equal things only, and what is none is an error.
func TestIdentity(t *testing.T) {
	id := entryPath("id")
	both := &spec.Template{Parts: []spec.Expr{entryPath("tenant"), &spec.Literal{JSON: `"/"`}, id}}
	chosen := &spec.Conditional{Cond: &spec.Binary{Op: spec.OpEqual, Left: id, Right: &spec.Literal{JSON: "null"}}, Then: entryPath("old"), Else: id}
	for _, c := range []struct {
		name, body string
		key        spec.Expr
		want, says string
	}{
		{"text", `{"id":"r-1"}`, id, "r-1", ""},
		{"the text true", `{"id":"true"}`, id, "true", ""},
		{"number", `{"id":7}`, id, "7", ""},
		{"the same number", `{"id":70e-1}`, id, "7", ""},
		{"large number", `{"id":18446744073709551615}`, id, "18446744073709551615", ""},
		{"zero", `{"id":0}`, id, "0", ""},
		{"space", `{"id":" "}`, id, " ", ""},
		{"missing", `{}`, id, "", "entry.id: expected a string or a number that tells the entry from all others, found nothing"},
		{"null", `{"id":null}`, id, "", "found nothing"},
		{"empty", `{"id":""}`, id, "", "found an empty string"},
		{"bool", `{"id":false}`, id, "", "entry.id: expected a string or a number, found a bool"},
		{"object", `{"id":{}}`, id, "", "found an object"},
		{"template", `{"tenant":"a","id":7}`, both, "a/7", ""},
		{"template without a part", `{"tenant":"a"}`, both, "", "entry.id: expected"},
		{"template with an empty part", `{"tenant":"","id":7}`, both, "", "entry.tenant: expected"},
		{"choice", `{"old":"o"}`, chosen, "o", ""},
		{"choice of nothing", `{}`, chosen, "", "found nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i, err := codec.CompileIdentity(c.key)
			if err != nil {
				t.Fatal(err)
			}
			body, err := value.ParseJSON(c.body, new(value.Arena))
			if err != nil {
				t.Fatal(err)
			}
			got, err := i.Eval(&codec.Env{Entry: &body})
			if got != c.want || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v; want %q, %q", got, err, c.want, c.says)
			}
		})
	}
}

// Expressions that differ have different memories; the same one has the same in
// every process, which this text of it keeps so.
func TestFingerprint(t *testing.T) {
	seen := map[string]string{}
	for _, e := range []spec.Expr{
		entryPath("id"), entryPath("account"), &spec.Path{Root: spec.RootHeaders, Steps: []spec.Step{{Name: "id"}}},
		&spec.Template{Parts: []spec.Expr{entryPath("id")}}, &spec.Template{Parts: []spec.Expr{entryPath("id"), entryPath("account")}},
	} {
		i, err := codec.CompileIdentity(e)
		if err != nil {
			t.Fatal(err)
		}
		f := i.Fingerprint()
		if other, taken := seen[f]; taken || len(f) != 8 {
			t.Errorf("%s and %s have the fingerprint %s", i, other, f)
		}
		seen[f] = i.String()
	}
	i, _ := codec.CompileIdentity(entryPath("id"))
	if got := i.Fingerprint(); got != "a229fb35" {
		t.Errorf("the fingerprint of %s became %s: what groups remember would be forgotten", i, got)
	}
}
