package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/format"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shop", "a", "A1", "orders_2", "testing", "tests", strings.Repeat("x", maxName)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, suggestion := range map[string]string{
		"": "", "1a": "", "_a": "", "../x": "", "a/b": "", `a\b`: "", "/etc": "", ".": "", "..": "", ".hidden": "", "a\x00b": "a_b",
		"shop-orders": "shop_orders", "my shop": "my_shop", "shop.hcl": "shop_hcl", "größe": "gr_e", "日本": "", "-x": "", "--json": "json",
		"for": "my_for", "Group": "my_Group", "NOACK": "my_NOACK", "stream": "my_stream", "nul": "my_nul", "shop_test": "shop",
		strings.Repeat("x", maxName+1): "", "a\nb": "a_b", "${x}": "", "{{.}}": "",
	} {
		bad, ok := errors.AsType[*NameError](CheckName(name))
		if !ok {
			t.Errorf("%q is allowed", name)
			continue
		}
		if bad.Suggestion != suggestion || bad.Problem == "" || bad.Remedy == "" {
			t.Errorf("%q: suggests %q, want %q; %+v", name, bad.Suggestion, suggestion, bad)
		}
		if bad.Suggestion != "" && CheckName(bad.Suggestion) != nil {
			t.Errorf("%q: the suggestion %q cannot be used", name, bad.Suggestion)
		}
	}
}

// tree lists what is below a directory, with the content of files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			fmt.Fprintln(&b, name)
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(&b, "%s %q\n", name, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What cannot be created as a whole leaves everything as it was.
func TestCreateAllOrNothing(t *testing.T) {
	t.Parallel()
	files := []File{{"a.hcl", []byte("1")}, {"deep/er/b.lua", []byte("2")}, {"c_test.hcl", []byte("3")}}
	for name, c := range map[string]struct {
		prepare func(dir string) error
		exists  bool
	}{
		"the first exists":        {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.hcl"), []byte("x"), 0o600) }, true},
		"the last exists":         {func(dir string) error { return os.WriteFile(filepath.Join(dir, "c_test.hcl"), nil, 0o600) }, true},
		"a directory of the name": {func(dir string) error { return os.Mkdir(filepath.Join(dir, "c_test.hcl"), 0o700) }, true},
		"a link to nowhere":       {func(dir string) error { return os.Symlink("nowhere", filepath.Join(dir, "c_test.hcl")) }, true},
		"a file in the way":       {func(dir string) error { return os.WriteFile(filepath.Join(dir, "deep"), nil, 0o600) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			before := lsLinks(t, dir)
			created, err := Create(dir, files)
			_, exists := errors.AsType[*ExistsError](err)
			if err == nil || exists != c.exists || created != nil {
				t.Errorf("created %v, %v", created, err)
			}
			if after := lsLinks(t, dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// lsLinks is tree for directories that may hold a broken link.
func lsLinks(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		fmt.Fprintf(&b, "%s %q\n", e, text)
	}
	return b.String()
}

// A file that appears after the others were looked for is found by the system,
// and what was created before it is removed.
func TestCreateUndoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kept"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	// The same name twice: the second is there once the first is created.
	_, err := Create(filepath.Join(dir, "new"), []File{{"in/a", []byte("1")}, {"in/b", []byte("2")}, {"in/a", []byte("3")}})
	if _, exists := errors.AsType[*ExistsError](err); !exists {
		t.Errorf("error %v", err)
	}
	if after := tree(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// Of many that create the same at once, one succeeds, and its files are whole.
func TestCreateRace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shop")
	errs := make([]error, 16)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = Create(dir, []File{{"a", fmt.Append(nil, i)}, {"h/b", fmt.Append(nil, i)}, {"c", fmt.Append(nil, i)}})
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			continue
		}
		want := fmt.Sprintf(".\na %q\nc %q\nh\nh/b %q\n", fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(i))
		if got := tree(t, dir); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		return
	}
	t.Errorf("nobody succeeds: %v", errs)
}

// load loads a pipeline of files and wants nothing said about it.
func load(t *testing.T, dir string) *spec.Pipeline {
	t.Helper()
	p, report := lang.Load(lang.OS(), dir, lang.Options{Hostname: "h"})
	if all := report.All(); p == nil || len(all) > 0 {
		var b strings.Builder
		_ = report.WriteText(&b, diag.TextOptions{})
		t.Fatalf("%s", b.String())
	}
	return p
}

// A new pipeline and what is added to it are valid without a word, and laid
// out, whatever they are called.
func TestWholeLife(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shop", "a", "Z9_", strings.Repeat("long_", 12) + "name"} {
		dir := filepath.Join(t.TempDir(), name)
		create := func(files []File) {
			t.Helper()
			names, err := Create(dir, files)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range files {
				if filepath.Ext(f.Path) != ".hcl" {
					continue
				}
				out, report := format.Format(names[i], f.Text)
				if string(out) != string(f.Text) {
					t.Errorf("%s is not laid out: %v\n%s", names[i], report.All(), out)
				}
			}
		}
		create(Pipeline(name))
		p := load(t, dir)
		for _, more := range []string{"audit", "mail"} {
			files, paste, err := Handler(more, Lua, p)
			if err != nil {
				t.Fatal(err)
			}
			create(files)
			if paste.Into != filepath.Join(dir, name+".hcl") {
				t.Errorf("paste into %s", paste.Into)
			}
			text, err := os.ReadFile(paste.Into)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(paste.Into, append(text, "\n"+paste.Text...), 0o600); err != nil {
				t.Fatal(err)
			}
			p = load(t, dir)
		}
		files, err := Test("all", p)
		if err != nil {
			t.Fatal(err)
		}
		create(files)
		for _, group := range []string{name, "audit", "mail"} {
			if !strings.Contains(string(files[0].Text), "subscription."+group+".outcomes") {
				t.Errorf("the test leaves out %s:\n%s", group, files[0].Text)
			}
		}
	}
}

func TestHandlerNeeds(t *testing.T) {
	t.Parallel()
	s := &spec.Stream{Label: "in", Pos: spec.Pos{File: "p.hcl"}}
	g := &spec.Group{Label: "g", Stream: s, DeadLetter: &spec.Stream{Label: "default"}}
	g.Subscriptions = []*spec.Subscription{{Label: "sub"}}
	p := &spec.Pipeline{Streams: []*spec.Stream{s}, Groups: []*spec.Group{g}, Handlers: []*spec.Handler{{Label: "h"}}}
	for name, kind := range map[string]string{"h": "handler", "g": "group", "sub": "subscription"} {
		_, _, err := Handler(name, Lua, p)
		if taken, ok := errors.AsType[*TakenError](err); !ok || taken.Kind != kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, paste, err := Handler("x", Lua, p)
	if err != nil || !strings.Contains(paste.Text, `stream "x_dead" {`) || !strings.Contains(paste.Text, "to = stream.x_dead") {
		t.Errorf("%v\n%s", err, paste.Text)
	}
	if _, _, err := Handler("x", Lua, &spec.Pipeline{}); err == nil {
		t.Error("a handler for no stream")
	}
	if _, err := Test("x", &spec.Pipeline{}); err == nil {
		t.Error("a test of nothing")
	}
	g.Subscriptions[0].Claim = &spec.Claim{Only: true}
	if _, err := Test("x", p); err == nil {
		t.Error("a test of a subscription that sees no new entries")
	}
}

// A sample is of its type, whatever members are called, and can be read.
func TestSample(t *testing.T) {
	t.Parallel()
	kind := func(k spec.TypeKind) *spec.Type { return &spec.Type{Kind: k} }
	object := func(attrs ...spec.Attr) *spec.Type { return &spec.Type{Kind: spec.TypeObject, Attrs: attrs} }
	s := &spec.Stream{Label: "in", Entry: object(
		spec.Attr{Name: "any", Type: kind(spec.TypeAny)},
		spec.Attr{Name: "list", Type: &spec.Type{Kind: spec.TypeList, Elem: object(spec.Attr{Name: "n", Type: kind(spec.TypeNumber)})}},
		spec.Attr{Name: "map", Type: &spec.Type{Kind: spec.TypeMap, Elem: kind(spec.TypeBool)}},
		spec.Attr{Name: "none", Type: object()},
		spec.Attr{Name: "left out", Type: kind(spec.TypeString), Optional: true},
		spec.Attr{Name: "for", Type: kind(spec.TypeString)},
		spec.Attr{Name: "a b", Type: kind(spec.TypeString)},
		spec.Attr{Name: "${x}\"\\\n%{y}", Type: kind(spec.TypeString)},
	)}
	want := `      entry = {
        any = {}
        list = [{
          n = 1
        }]
        map                = { key = true }
        none               = {}
        "for"              = "text"
        "a b"              = "text"
        "$${x}\"\\\n%%{y}" = "text"
      }
`
	got := string(testFile("x", "y", []subject{{"s", s}}).Text)
	if !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for codec, want := range map[spec.Codec]string{
		spec.CodecText: `"text"`, spec.CodecBytes: `"text"`, spec.CodecFields: `{ field = "text" }`, spec.CodecJSON: "{}",
	} {
		if got := body(&spec.Stream{Codec: codec}, 0); got != want {
			t.Errorf("%s: %s, want %s", codec, got, want)
		}
	}
}

// A handler in another language comes with its SDK file and a script that
// builds what the pipeline names.
func TestHandlerInAnotherLanguage(t *testing.T) {
	t.Parallel()
	p := &spec.Pipeline{Streams: []*spec.Stream{{Label: "in", Pos: spec.Pos{File: "p.hcl"}}}}
	for lang, want := range map[string]string{
		"lua":            "handlers/audit.lua audit_test.hcl",
		"c":              "handlers/audit/audit.c handlers/audit/build.sh handlers/audit/pipeline.h audit_test.hcl",
		"rust":           "handlers/audit/audit.rs handlers/audit/build.sh handlers/audit/pipeline.rs audit_test.hcl",
		"assemblyscript": "handlers/audit/audit.ts handlers/audit/build.sh handlers/audit/pipeline.ts audit_test.hcl",
		"go":             "handlers/audit/audit.go handlers/audit/build.sh handlers/audit/go.mod handlers/audit/pipeline.go audit_test.hcl",
	} {
		files, paste, err := Handler("audit", lang, p)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Path)
			if lang != "lua" && strings.HasSuffix(f.Path, "build.sh") && (!strings.Contains(string(f.Text), "audit.wasm") || strings.Contains(string(f.Text), "payments")) {
				t.Errorf("%s: %s", lang, f.Text)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s\nwant %s", lang, got, want)
		}
		source := "handlers/audit/audit.wasm"
		if lang == "lua" {
			source = "handlers/audit.lua"
		}
		if !strings.Contains(paste.Text, `source = "`+source+`"`) {
			t.Errorf("%s: %s", lang, paste.Text)
		}
		if steps := HandlerSteps("d", "audit", lang); (lang == "lua") != (len(steps) == 2) {
			t.Errorf("%s: %v", lang, steps)
		}
	}
	if _, _, err := Handler("audit", "cobol", p); err == nil {
		t.Error("any language is taken")
	}
}
