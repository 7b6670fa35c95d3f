package topology

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pipeline/engine/spec"
)

// drawings are all of a graph, by the name of a file.
func drawings(t *testing.T, g *Graph) map[string]string {
	t.Helper()
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetIndent("", "  ")
	if err := enc.Encode(g.Document()); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"txt": g.Text(), "mmd": g.Mermaid(), "dot": g.Dot(), "svg": g.SVG(), "json": data.String()}
}

func TestDrawings(t *testing.T) {
	g := odd()
	for ending, text := range drawings(t, g) {
		golden(t, "odd."+ending, text)
	}
	for ending, text := range drawings(t, odd()) {
		if again := drawings(t, g)[ending]; again != text {
			t.Errorf("%s is not always drawn the same", ending)
		}
	}
}

func TestDrawingsOfAServer(t *testing.T) {
	m := &maker{spec.Pipeline{Name: "live"}}
	in, dead := m.stream("in"), m.stream("dead")
	m.group("g", in, dead, sub("s"))
	m.group("unknown", in, dead, sub("u"))
	m.group("absent", in, dead, sub("a"))
	g := New(&m.Pipeline)
	n := func(v int64) *int64 { return &v }
	old := func(d time.Duration) *Age { a := Age(d); return &a }
	for _, node := range g.Nodes {
		node.Live = map[string]*Live{
			"in":      {Exists: true, Length: n(1234567)},
			"dead":    {Exists: true, Length: n(1), OldestUndelivered: old(50 * time.Hour)},
			"g":       {Exists: true, Lag: n(12), Pending: n(3400), Consumers: n(2), OldestPending: old(90 * time.Second), OldestUndelivered: old(1500 * time.Millisecond)},
			"unknown": {Exists: true, Pending: n(0), Consumers: n(0)},
			"absent":  {},
		}[node.Name]
	}
	for ending, text := range drawings(t, g) {
		golden(t, "live."+ending, text)
	}
}

// Graphviz takes what is written for it, and draws every name.
func TestGraphvizTakesIt(t *testing.T) {
	if _, err := exec.LookPath("dot"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI needs the dot command: ", err)
		}
		t.Skip("there is no dot on this machine")
	}
	cmd := exec.Command("dot", "-Tsvg")
	cmd.Stdin = strings.NewReader(odd().Dot())
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	texts := svgTexts(t, string(out))
	for _, n := range odd().Nodes {
		if want := short(n.Name, longest); !strings.Contains(texts, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("it does not draw %q but\n%s", want, texts)
		}
	}
}

// svgTexts are the texts of a drawing, one a line, in which white space is single
// spaces.
func svgTexts(t testing.TB, svg string) string {
	t.Helper()
	var all strings.Builder
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if text, ok := token.(xml.CharData); ok {
			all.WriteString(strings.Join(strings.Fields(string(text)), " ") + "\n")
		}
	}
}

// The lines that Mermaid and dot may have, whatever the names are.
var (
	mermaidLabel = `"(?:<br>|[^\x00-\x7f]|[a-zA-Z0-9 ,._/-]|#[0-9]+;)*"`
	mermaidLine  = regexp.MustCompile(`^(?:flowchart LR|  [sgu]\d+(?:\(\[` + mermaidLabel + `\]\)|\[\(` + mermaidLabel + `\)\]|\[` + mermaidLabel + `\]|\(` +
		mermaidLabel + `\))|  [sgu]\d+ (?:-->|-\.->)(?:\|` + mermaidLabel + `\|)? [sgu]\d+)$`)
	dotLine = regexp.MustCompile(`^(?:digraph "(?:[^"\\]|\\["\\])*" \{|\}|  rankdir=LR;|  (?:node|edge) \[[a-z0-9=", ]*\];|` +
		`  [sgu]\d+ \[label="(?:[^"\\]|\\["\\n])*"[^"]*(?:"[a-z0-9#,]*"[^"]*)*\];|  [sgu]\d+ -> [sgu]\d+(?: \[(?:label="(?:[^"\\]|\\["\\])*")?[a-z=, ]*(?:"#[0-9a-f]+")?\])?;)$`)
)

// FuzzNames: no name breaks out of its place in any drawing.
func FuzzNames(f *testing.F) {
	for _, n := range odd().Nodes {
		f.Add(n.Name)
	}
	f.Add("]]>")
	f.Add("\ufffe\uffff\u2028")
	f.Add(strings.Repeat("x", 5000))
	f.Fuzz(func(t *testing.T, name string) {
		m := &maker{spec.Pipeline{Name: name, Version: name}}
		in, out := m.stream(name), m.stream(name+"2")
		s := sub(name, in, out)
		s.Handler = &spec.Handler{Label: name, Source: name, Function: name}
		m.group(name, in, out, s)
		g := New(&m.Pipeline)
		texts := svgTexts(t, g.SVG())
		if want := strings.Join(strings.Fields(strings.Map(xmlRune, short(name, longest))), " "); !strings.Contains(texts, want) {
			t.Errorf("the picture does not show %q but\n%s", want, texts)
		}
		for line := range strings.Lines(g.Mermaid()) {
			if !mermaidLine.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("a line of Mermaid is %q", line)
			}
		}
		for line := range strings.Lines(g.Dot()) {
			if !dotLine.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("a line of dot is %q", line)
			}
		}
		text := g.Text()
		if lines := strings.Count(text, "\n"); lines != 11 {
			t.Errorf("the tree has %d lines:\n%s", lines, text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 || !utf8.ValidString(text) {
			t.Errorf("the tree holds what is no text: %q", text)
		}
	})
}

// xmlRune is a rune as XML has it.
func xmlRune(r rune) rune {
	if r == 0xfffe || r == 0xffff {
		return utf8.RuneError
	}
	return r
}
