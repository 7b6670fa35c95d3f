package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
)

// cards is a pipeline whose stream has a sensitive field.
func cards() *spec.Pipeline {
	s := &spec.Stream{
		Label: "cards", Name: "cards", Codec: spec.CodecJSON, Body: spec.DefaultBody, Sensitive: []string{"card", "owner.name"},
		Entry: &spec.Type{Kind: spec.TypeObject, Attrs: []spec.Attr{
			{Name: "card", Type: &spec.Type{Kind: spec.TypeString}},
			{Name: "id", Type: &spec.Type{Kind: spec.TypeNumber}, Optional: true},
			{Name: "note", Type: &spec.Type{Kind: spec.TypeString}, Optional: true},
			{Name: "owner", Optional: true, Type: &spec.Type{Kind: spec.TypeObject, Attrs: []spec.Attr{{Name: "name", Type: &spec.Type{Kind: spec.TypeString}}}}},
			{Name: "seen", Type: &spec.Type{Kind: spec.TypeList, Elem: &spec.Type{Kind: spec.TypeBool}}, Optional: true},
			{Name: "tags", Type: &spec.Type{Kind: spec.TypeMap, Elem: &spec.Type{Kind: spec.TypeString}}, Optional: true},
		}},
	}
	g := &spec.Group{Label: "g", Name: "g", Stream: s, DeadLetter: &spec.Stream{Name: "cards.dead", Codec: spec.CodecJSON, Body: spec.DefaultBody}}
	return &spec.Pipeline{Name: "cards", Streams: []*spec.Stream{s}, Groups: []*spec.Group{g}}
}

// Whatever a letter holds, nothing of it moves a cursor, JSON stays JSON, and what
// is sensitive in a body is seen nowhere.
func TestLettersOfAnyContent(t *testing.T) {
	t.Parallel()
	const secret = "4111-1111"
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", secret, "pan " + secret, "\x1b[31mred", "\x00\xff", "a\tb\r\nc", "\u202eback", "h:x", "{}", strings.Repeat("é", 3000)}),
		rapid.String(),
	)
	p := cards()
	source := deadletters.Sources(p)[0]
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.SampledFrom([]string{
			`{"card":"` + secret + `"}`, `{"card":"` + secret + `","x":["` + secret + `"]}`, `{"owner":{"name":"` + secret + `"}}`,
			`{"card":["` + secret + `"],"note":"of ` + secret + `"}`, `{"card":"` + secret, secret, // what cannot be read
		}).Draw(rt, "body")
		fields := []broker.Field{{Name: "_payload", Value: body}}
		for range rapid.IntRange(0, 4).Draw(rt, "fields") {
			name := text.Draw(rt, "name")
			if strings.Contains(name, secret) || name == spec.DefaultBody {
				continue // the names of fields are not masked, and a body that comes twice is none
			}
			fields = append(fields, broker.Field{Name: "h:" + name, Value: text.Draw(rt, "value")})
		}
		d := codec.DeadLetter{
			Reason: "failed", Error: text.Draw(rt, "error"), Stream: "cards", ID: "1-0", Group: rapid.SampledFrom([]string{"g", "other"}).Draw(rt, "group"),
		}
		entry := broker.Entry{ID: broker.ID{Ms: rapid.Uint64().Draw(rt, "ms")}, Fields: d.Fields(fields)}
		letter := deadletters.Letter{Source: source, Entry: entry}
		letter.Facts, letter.Known = codec.ParseDeadLetter(entry.Fields)
		for _, o := range []view.Options{{}, {JSON: true}, {Color: false, Width: 80}} {
			var out bytes.Buffer
			o.Out, o.Err = &out, &out
			v := view.New(o)
			printed := v.Letters(p, false)
			printed.Row(&letter)
			printed.One(&letter, rapid.Bool().Draw(rt, "full"), []view.NextStep{{Does: "x", Command: "y"}})
			printed.Shown(nil)
			if err := v.Close(); err != nil {
				rt.Fatal(err)
			}
			check(rt, out.String(), o.JSON, secret)
		}
	})
}

// What a producer wrote in another place than is declared is not shown: nothing tells where in it
// the sensitive values are. What stands in its declared place is, and what is wrong.
func TestSensitiveValuesInAnotherPlace(t *testing.T) {
	t.Parallel()
	const secret = "4111-1111"
	p := cards()
	source := deadletters.Sources(p)[0]
	for name, c := range map[string]struct {
		fields []broker.Field
		shown  string
	}{
		"a field of another name": {[]broker.Field{{Name: "data", Value: `{"card":"` + secret + `"}`}}, ""},
		"JSON within a string":    {[]broker.Field{{Name: "_payload", Value: `"{\"card\":\"` + secret + `\"}"`}}, ""},
		"one object deeper":       {[]broker.Field{{Name: "_payload", Value: `{"data":{"card":"` + secret + `"}}`}}, ""},
		"in its place":            {[]broker.Field{{Name: "_payload", Value: `{"card":["` + secret + `"],"note":"to be seen","owner":{"name":"n"}}`}}, "to be seen"},
		"one of two":              {[]broker.Field{{Name: "_payload", Value: `{"card":"x","holder":"` + secret + `","id":"7"}`}}, ""},
		"beside what is declared": {[]broker.Field{{Name: "_payload", Value: `{"Card":"` + secret + `","note":"to be seen","id":77}`}}, "to be seen"},
		"the name of a member":    {[]broker.Field{{Name: "_payload", Value: `{"` + secret + `":true,"note":"to be seen"}`}}, "to be seen"},
		"the name of an entry":    {[]broker.Field{{Name: "_payload", Value: `{"tags":{"` + secret + `":"a"},"note":"to be seen"}`}}, "to be seen"},
		"a list of another kind":  {[]broker.Field{{Name: "_payload", Value: `{"seen":[true,"` + secret + `"],"note":"to be seen"}`}}, "to be seen"},
		"another kind":            {[]broker.Field{{Name: "_payload", Value: `{"id":"` + secret + `","note":"to be seen"}`}}, "to be seen"},
		"a list of all":           {[]broker.Field{{Name: "_payload", Value: `[{"note":"` + secret + `"}]`}}, ""},
	} {
		for _, asJSON := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, JSON %t", name, asJSON), func(t *testing.T) {
				t.Parallel()
				d := codec.DeadLetter{Reason: "invalid", Error: "card: expected a string", Stream: "cards", ID: "1-0", Group: "g"}
				entry := broker.Entry{ID: broker.ID{Ms: 1}, Fields: d.Fields(c.fields)}
				letter := deadletters.Letter{Source: source, Entry: entry}
				letter.Facts, letter.Known = codec.ParseDeadLetter(entry.Fields)
				var out bytes.Buffer
				v := view.New(view.Options{Out: &out, Err: &out, JSON: asJSON})
				v.Letters(p, false).One(&letter, true, nil)
				v.Entries(p, false).Entry(p.Streams[0], broker.Entry{ID: entry.ID, Fields: c.fields}, "")
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
				got := out.String()
				if strings.Contains(got, secret) || strings.Count(got, "(masked)") < 2 || !strings.Contains(got, "card: expected a string") || !strings.Contains(got, c.shown) {
					t.Errorf("shown is\n%s", got)
				}
			})
		}
	}
}

// What an entry does not have is not shown as masked, where its body cannot be read either.
func TestNoKeyIsNotMasked(t *testing.T) {
	t.Parallel()
	p := cards()
	var out bytes.Buffer
	v := view.New(view.Options{Out: &out, Err: &out})
	v.Entries(p, false).Entry(p.Streams[0], broker.Entry{Fields: []broker.Field{{Name: "_payload", Value: "no JSON"}}}, "")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "key=") || !strings.Contains(got, "(masked)") {
		t.Errorf("shown is %q", got)
	}
}

func check(rt *rapid.T, out string, isJSON bool, secret string) {
	if strings.Contains(out, secret) {
		rt.Fatalf("the secret is shown:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if isJSON && !json.Valid([]byte(line)) {
			rt.Fatalf("no JSON: %q", line)
		}
		bad := func(r rune) bool { return r != '\n' && (r < ' ' || !isJSON && (unicode.IsControl(r) || r == '\u202e')) }
		if strings.ContainsFunc(line, bad) {
			rt.Fatalf("a control character: %q", line)
		}
	}
}
