package capability

import (
	"strings"
	"testing"

	"pipeline/engine/value"
	"pipeline/sandbox"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		grant sandbox.Grant
		want  string
	}{
		{sandbox.Grant{Kind: "log"}, ""},
		{sandbox.Grant{Kind: "http"}, `grant "http": there is no such capability; this version has log`},
		{sandbox.Grant{Kind: "log", Settings: map[string]value.Value{"level": value.NewString("x")}}, `grant "log": there is no argument "level"`},
	} {
		err := Check(c.grant)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: got %v, want %q", c.grant, err, c.want)
		}
	}
}

// TestCheckSettings uses a capability with arguments, which log has none of.
func TestCheckSettings(t *testing.T) {
	defer Replace(Log, &Capability{Kind: "test", Settings: []Setting{
		{Name: "hosts", Type: value.Array, Required: true}, {Name: "limit", Type: value.Number, Default: value.NewNumber("5")},
		{Name: "name", Type: value.String},
	}})()
	for want, settings := range map[string]map[string]value.Value{
		"hosts is required":       {"limit": value.NewNumber("1")},
		"limit must be a number":  {"hosts": value.NewArray(nil), "limit": value.NewString("1")},
		`there is no argument "x`: {"hosts": value.NewArray(nil), "x": value.NewString("1")},
		"":                        {"hosts": value.NewArray(nil)},
	} {
		err := Check(sandbox.Grant{Kind: "test", Settings: settings})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestResolve completes grants with defaults and leaves the given ones alone.
func TestResolve(t *testing.T) {
	defer Replace(&Capability{Kind: "test", Settings: []Setting{
		{Name: "limit", Type: value.Number, Default: value.NewNumber("5")}, {Name: "name", Type: value.String},
	}})()
	for want, settings := range map[string]map[string]value.Value{"5": nil, "7": {"limit": value.NewNumber("7")}} {
		g, err := Resolve(sandbox.Grant{Kind: "test", Settings: settings})
		limit := g.Settings["limit"]
		if _, named := g.Settings["name"]; err != nil || named || limit.Text() != want {
			t.Errorf("%+v, %v, want a limit of %s", g, err, want)
		}
		if _, added := settings["limit"]; added && want == "5" {
			t.Error("the given settings were changed")
		}
	}
	if _, err := Resolve(sandbox.Grant{Kind: "log"}); err == nil {
		t.Error("an unknown capability was resolved")
	}
}

func TestEveryCapabilityIsComplete(t *testing.T) {
	for _, c := range All() {
		if found, ok := Lookup(c.Kind); !ok || found != c {
			t.Errorf("%s is not found", c.Kind)
		}
		if c.Doc == "" || c.Open == nil || len(c.Functions) == 0 {
			t.Errorf("%s lacks a part", c.Kind)
		}
		for _, f := range c.Functions {
			if f.Doc == "" || !strings.HasPrefix(f.Usage, c.Kind+"."+f.Name+"(") {
				t.Errorf("%s.%s: usage %q, doc %q", c.Kind, f.Name, f.Usage, f.Doc)
			}
		}
	}
}

// lines is a host that keeps what it is given.
type lines []sandbox.LogLine

func (l *lines) Log(_ *sandbox.Delivery, line sandbox.LogLine) { *l = append(*l, line) }

func TestLogBounds(t *testing.T) {
	var host lines
	s := Log.Open(sandbox.Grant{Kind: "log"}, &host)
	for range 2 {
		host = nil
		s.Begin(nil)
		for range 3 * MaxLogLines {
			if _, err := s.Call(1, []value.Value{value.NewString("line")}); err != nil {
				t.Fatal(err)
			}
		}
		if len(host) != MaxLogLines+1 || !strings.Contains(host[MaxLogLines].Message, "are dropped") {
			t.Errorf("%d lines, last %q", len(host), host[len(host)-1].Message)
		}
	}
	host = nil
	s.Begin(nil)
	var many []value.Value
	for i := range 40 {
		many = append(many, value.NewString(strings.Repeat("é", 2000)).Named(string(rune('a'+i))))
	}
	if _, err := s.Call(3, []value.Value{value.NewString(strings.Repeat("x", 10000)), value.NewObject(many)}); err != nil {
		t.Fatal(err)
	}
	line := host[0]
	if line.Level != sandbox.Error || len(line.Message) > 4200 || len(line.Attrs) != 33 || line.Attrs[32].Name != "more_fields" || line.Attrs[32].Value != "8" {
		t.Errorf("message of %d bytes, %d fields", len(line.Message), len(line.Attrs))
	}
	if v := line.Attrs[0].Value; len(v) > 1100 || !strings.HasSuffix(v, "…") || strings.ContainsRune(v, '\uFFFD') {
		t.Errorf("field of %d bytes", len(v))
	}
}

func TestLogArguments(t *testing.T) {
	s := Log.Open(sandbox.Grant{Kind: "log"}, nil)
	for _, args := range [][]value.Value{nil, make([]value.Value, 3), {value.NewString("x"), value.NewString("fields")}, {value.NewString("x"), value.NewArray(make([]value.Value, 1))}} {
		if _, err := s.Call(0, args); err == nil || !strings.Contains(err.Error(), "write log.debug(message, fields)") {
			t.Errorf("%d arguments: %v", len(args), err)
		}
	}
	if _, err := s.Call(0, []value.Value{value.NewString("x"), value.NewArray(nil)}); err != nil {
		t.Error("an empty table is no fields:", err)
	}
}
