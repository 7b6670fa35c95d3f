package format_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/format"
)

// examples are whole files that load, relative to this folder.
var examples = []string{"../testdata/base.hcl", "../../examples/payments.hcl", "../../examples/orders/orders.hcl"}

// seeds are the examples and every text of this package's and the language's
// own cases.
func seeds(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, string(text))
	}
	for _, pattern := range []string{"testdata/*.txtar", "../testdata/valid/*.txtar", "../testdata/invalid/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			tb.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			for _, f := range archive.Files {
				out = append(out, string(f.Data))
			}
		}
	}
	return out
}

// addSeeds adds the seeds, and texts in which spaces matter.
func addSeeds(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	for _, text := range []string{"a = 1 .5\n", "a = b . 0 .1\n", "a = - /* x */ 1\n", "a = \"${<<E\nx\nE\n}\"\n", "a=<<E\r\n${\r\n1}\r\nE\r\n", "a { b = 1 }\n"} {
		f.Add(text)
	}
}

// FuzzFormat checks that a text which is laid out is so once and for all, and
// has the same content.
func FuzzFormat(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		out, report := format.Format("p.hcl", []byte(src))
		if report.HasErrors() {
			if out != nil {
				t.Fatalf("laid out in spite of %v", report.All())
			}
			for _, d := range report.All() {
				if strings.Contains(d.Detail, "fault of the program") {
					t.Fatal(d)
				}
			}
			return
		}
		again, report := format.Format("p.hcl", out)
		if !bytes.Equal(again, out) {
			t.Fatalf("formatting again changes the text, %v:\n%s\nto:\n%s", report.All(), out, again)
		}
		if a, b := bare(src), bare(string(out)); a != b {
			t.Fatalf("more than white space has changed:\n%q\n%q", a, b)
		}
	})
}

// FuzzMeaning checks that the loader makes the same of a text before and after.
func FuzzMeaning(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		if out, report := format.Format("p.hcl", []byte(src)); !report.HasErrors() {
			sameMeaning(t, src, string(out))
		}
	})
}

// bare is a text without any white space, quoted or not, and without a mark.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, strings.TrimPrefix(text, "\ufeff"))
}

// sameMeaning loads a text before and after.
func sameMeaning(t *testing.T, before, after string) {
	t.Helper()
	load := func(text string) (*spec.Pipeline, []string) {
		files := fstest.MapFS{"p.hcl": {Data: []byte(text)}, "h.lua": {Data: []byte("x")}}
		p, report := lang.Load(files, "p.hcl", lang.Options{Hostname: "h"})
		var said []string
		for _, d := range report.All() {
			if d.Code != diag.ByteOrderMark {
				said = append(said, fmt.Sprint(d.Severity, d.Code, d.Summary, d.Suggestion))
			}
		}
		slices.Sort(said)
		if p != nil {
			unplaced(reflect.ValueOf(p), map[any]bool{})
		}
		return p, said
	}
	p, said := load(before)
	q, alsoSaid := load(after)
	if !slices.Equal(said, alsoSaid) {
		t.Fatalf("the loader says\n%s\nbefore, and after\n%s\nof\n%s\nlaid out as\n%s", strings.Join(said, "\n"), strings.Join(alsoSaid, "\n"), before, after)
	}
	if !reflect.DeepEqual(p, q) {
		t.Fatalf("another pipeline:\n%+v\n%+v\nof\n%s", p, q, before)
	}
}

// unplaced takes the positions in a file out of a pipeline.
func unplaced(v reflect.Value, seen map[any]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Interface()] {
			return
		}
		seen[v.Interface()] = true
		unplaced(v.Elem(), seen)
	case reflect.Interface:
		unplaced(v.Elem(), seen)
	case reflect.Slice:
		for i := range v.Len() {
			unplaced(v.Index(i), seen)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[spec.Pos]() {
			if v.CanSet() {
				v.SetZero()
			}
			return
		}
		for _, field := range v.Fields() {
			unplaced(field, seen)
		}
	}
}

// The examples mean the same however they are laid out, and there is one layout
// for all of their layouts.
func TestAnyWhiteSpace(t *testing.T) {
	t.Parallel()
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := formatted(t, string(text))
		sameMeaning(t, string(text), want)
		rapid.Check(t, func(t *rapid.T) {
			src := respaced(t, text)
			out, report := format.Format("p.hcl", []byte(src))
			if report.HasErrors() {
				t.Fatalf("%v\n%s", report.All(), src)
			}
			if string(out) != want {
				t.Fatalf("got\n%s\nof\n%s\nwant\n%s", out, src, want)
			}
		})
	}
}

// respaced draws other white space for a text.
func respaced(t *rapid.T, text []byte) string {
	tokens, _ := hclsyntax.LexConfig(text, "", hcl.Pos{Line: 1, Column: 1})
	spaces := rapid.SampledFrom([]string{" ", "  ", "\t", "       "})
	ends := rapid.SampledFrom([]string{"\n", "\r\n", " \n", "\t\r\n"})
	var b strings.Builder
	end, quoted, begun := 0, 0, false
	for _, token := range tokens {
		gap := text[end:token.Range.Start.Byte]
		end = token.Range.End.Byte
		comment := token.Type == hclsyntax.TokenComment
		switch {
		case quoted > 0:
			b.Write(gap)
		case begun && len(gap) > 0, !begun && !comment && rapid.Bool().Draw(t, "indented"):
			b.WriteString(spaces.Draw(t, "gap"))
		}
		switch token.Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			quoted++
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			quoted--
		}
		begun = true
		switch body, ended := bytes.CutSuffix(token.Bytes, []byte("\n")); {
		case ended && quoted == 0:
			b.Write(body)
			b.WriteString(ends.Draw(t, "end"))
			begun = false
		default:
			b.Write(token.Bytes)
		}
	}
	return b.String()
}
