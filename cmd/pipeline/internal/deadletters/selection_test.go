package deadletters

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine/broker"
)

func TestSelectionFiles(t *testing.T) {
	f := newFixture(t)
	for i := range 300 {
		f.bury(i, "ledger", []string{"failed", "invalid"}[i%2], "")
	}
	r := f.frozen(Replay, Filter{Group: "ledger", GroupStream: "payments"})
	reasons, _ := r.Reasons.Top(5)
	if r.Letters != 300 || len(reasons) != 2 || reasons[0].Count != 150 || len(r.Places) != 1 || *r.Places[0] != (Place{"payments.dead", "payments", "ledger", 300}) {
		t.Fatalf("%+v", r.Preview)
	}
	whole, err := os.ReadFile(r.path)
	f.ok(err)
	if info, err := os.Stat(r.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	lines := slices.Collect(strings.Lines(string(whole)))
	join := func(lines ...string) string { return strings.Join(lines, "") }
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "ends before its last line"},
		"cut at a line":  {join(lines[:100]...), "ends before its last line"},
		"cut in a line":  {string(whole[:len(whole)/2]), "has no line of a selection at"},
		"a line less":    {join(append(slices.Clone(lines[:5]), lines[6:]...)...), "has 299 letters and says 300"},
		"more behind":    {string(whole) + "\n{}", "goes on after its last line"},
		"no head":        {join(lines[1:]...), "begins with no head"},
		"another format": {strings.Replace(string(whole), `"format":1`, `"format":2`, 1), "has the format 2; this version reads 1"},
		"no id":          {strings.Replace(string(whole), `"id":"`, `"id":"x`, 1), "names no letter at line 2"},
		"a long line":    {lines[0] + strings.Repeat("x", 2<<20), "cannot be read: bufio.Scanner: token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			f.ok(os.WriteFile(path, []byte(c.text), 0o600))
			_, err := Open(path)
			if bad, ok := errors.AsType[*SelectionError](err); !ok || !strings.Contains(bad.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzSelection(f *testing.F) {
	f.Add([]byte(`{"selection":"replay","format":1}` + "\n" + `{"letters":"d","id":"1-0","sum":"a"}` + "\n" + `{"total":1}`))
	f.Add([]byte(`{"selection":"drop","format":1}` + "\n" + `{"total":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			return
		}
		defer func() { _ = r.Close() }()
		for range r.Letters {
			if c, err := r.Next(); err != nil || c.ID == "" {
				t.Fatalf("%+v, %v", c, err)
			}
		}
	})
}

func TestNewFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	names := func() string {
		entries, _ := os.ReadDir(dir)
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	abandoned, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	abandoned.Abandon()
	first, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = first.Write([]byte("first"))
	_, _ = second.Write([]byte("second"))
	if strings.Contains(" "+names()+" ", " f ") {
		t.Errorf("it is there before it is complete: %s", names())
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := second.Commit(); !errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), ".pipeline-") {
		t.Errorf("the second: %v", err)
	}
	if _, err := Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the third: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "first" || names() != "f" {
		t.Errorf("%q in %s", text, names())
	}
	if _, err := Create(filepath.Join(dir, "no", "f")); err == nil || !strings.HasPrefix(err.Error(), "write "+dir) {
		t.Error(err)
	}
}

// What is exported reads back as the fields of the entry, byte for byte.
func TestExportIsReadBack(t *testing.T) {
	f := newFixture(t)
	text := rapid.SampledFrom([]string{"", "a", "é", "\x00\xff", "<script>&\u2028", "\"\\\n", "h:x", "_payload", "{\"a\":1}", strings.Repeat("x", 9000)})
	rapid.Check(t, func(rt *rapid.T) {
		var fields []broker.Field
		for range rapid.IntRange(1, 6).Draw(rt, "fields") {
			fields = append(fields, broker.Field{Name: text.Draw(rt, "name"), Value: text.Draw(rt, "value")})
		}
		f.broker.Delete("payments.dead")
		f.bury(1, "ledger", "failed", "no <account>", fields...)
		want := append([]broker.Field{{Name: "_payload", Value: "1"}}, fields...)
		var out bytes.Buffer
		x := NewExporter(&out)
		for l, err := range (&Scan{Broker: f.broker}).Letters(t.Context(), f.dead) {
			f.ok(err)
			f.ok(x.Write(&l))
			var line struct {
				Letter struct{ Removed [][2]any } `json:"dead_letter"`
			}
			f.ok(json.Unmarshal(out.Bytes(), &line))
			if len(line.Letter.Removed)+len(want) != len(l.Fields) {
				rt.Fatalf("%d fields and %d removed of %d", len(want), len(line.Letter.Removed), len(l.Fields))
			}
		}
		var rec input.Record
		if err := input.NewReader(&out, f.pipeline, nil).Next(&rec); err != nil || !slices.Equal(rec.Fields, want) || rec.Stream.Name != "payments" {
			rt.Fatalf("%v: %q, want %q", err, rec.Fields, want)
		}
	})
}
