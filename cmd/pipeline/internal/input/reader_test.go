package input_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

var pipeline = &spec.Pipeline{Streams: []*spec.Stream{
	{Label: "payments", Name: "payments"},
	{Label: "screened", Name: "payments.screened"},
}}

// readAll reads to the end and returns a line of text for each record and each
// bad line.
func readAll(t *testing.T, r *input.Reader) []string {
	t.Helper()
	var got []string
	var rec input.Record
	for {
		err := r.Next(&rec)
		bad, isBad := errors.AsType[*input.LineError](err)
		switch {
		case errors.Is(err, io.EOF):
			return got
		case isBad:
			got = append(got, fmt.Sprintf("%d bad: %s [%s]", bad.Line, bad.Problem, bad.Suggestion))
		case err != nil:
			return append(got, "failed: "+err.Error())
		default:
			body, err := value.AppendJSON(nil, &rec.Body)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s %s key=%q,%v headers=%v", rec.Line, rec.Stream.Label, body, rec.Key, rec.HasKey, rec.Headers))
			if rec.Fields != nil {
				got[len(got)-1] += fmt.Sprintf(" fields=%v", rec.Fields)
			}
		}
	}
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":            {`{"stream":"payments","entry":{"id":18446744073709551615}}`, `1 payments {"id":18446744073709551615} key="",false headers=[]`},
		"by key of server": {`{"stream":"payments.screened","entry":1}`, `1 screened 1 key="",false headers=[]`},
		"entry null":       {`{"entry":null,"stream":"payments"}`, `1 payments null key="",false headers=[]`},
		"key and headers": {
			`{"stream":"payments","entry":1,"key":"","headers":{"b":"2","a":"1"}}`,
			`1 payments 1 key="",true headers=[{b 2} {a 1}]`,
		},
		"no line break":   {"\n\n" + `{"stream":"payments","entry":1}`, `3 payments 1 key="",false headers=[]`},
		"crlf and a mark": {"\xef\xbb\xbf" + `{"stream":"payments","entry":1}` + "\r\n", `1 payments 1 key="",false headers=[]`},
		"empty":           {"", ""},
		"only white":      {" \n\t\n\r\n", ""},
		"not an object":   {`"payments"`, `1 bad: the line is a string, not an envelope {"stream":…,"entry":…}; to read bodies, name their stream on the command line []`},
		"no stream":       {`{"entry":1}`, `1 bad: the envelope does not name its stream []`},
		"no entry":        {`{"stream":"payments"}`, `1 bad: the envelope has no entry []`},
		"unknown stream":  {`{"stream":"paymnts","entry":1}`, `1 bad: the pipeline has no stream "paymnts" [payments]`},
		"stream a number": {`{"stream":1,"entry":1}`, `1 bad: stream is a number, not a string []`},
		"unknown member":  {`{"stream":"payments","entrie":1}`, `1 bad: an envelope has no member "entrie"; it has stream, entry, key and headers, or stream and fields [entry]`},
		"fields": {
			`{"stream":"payments","fields":[["_payload","{\"id\":1}"],["h:x",{"base64":"AP8="}],["",""],["a","1"],["a","2"]]}`,
			"1 payments null key=\"\",false headers=[] fields=[{_payload {\"id\":1}} {h:x \x00\xff} { } {a 1} {a 2}]",
		},
		"fields of a letter": {`{"dead_letter":{"id":"1-0"},"fields":[["a","1"]],"stream":"payments"}`, `1 payments null key="",false headers=[] fields=[{a 1}]`},
		"no field":           {`{"stream":"payments","fields":[]}`, `1 bad: fields is empty; an entry needs at least one field []`},
		"fields no list":     {`{"stream":"payments","fields":{}}`, `1 bad: fields is an object, not an array of [name, value] []`},
		"half a field":       {`{"stream":"payments","fields":[["a"]]}`, `1 bad: field 1 is no pair [name, value] []`},
		"field of a number":  {`{"stream":"payments","fields":[["a",1]]}`, `1 bad: a field's name or value is a string or {"base64":"…"}, here is a number []`},
		"field of more":      {`{"stream":"payments","fields":[["a",{"base64":"","x":1}]]}`, `1 bad: a field's name or value is a string or {"base64":"…"}, here is an object []`},
		"no base64":          {`{"stream":"payments","fields":[["a",{"base64":"%"}]]}`, `1 bad: a field's base64 cannot be decoded: illegal base64 data at input byte 0 []`},
		"fields and entry": {
			`{"stream":"payments","fields":[["a","1"]],"entry":1}`,
			`1 bad: the envelope has fields, which are the whole entry, and entry, key or headers beside them []`,
		},
		"key a number":   {`{"stream":"payments","entry":1,"key":7}`, `1 bad: key is a number, not a string []`},
		"headers a list": {`{"stream":"payments","entry":1,"headers":[]}`, `1 bad: headers is an array, not an object of strings []`},
		"header a bool":  {`{"stream":"payments","entry":1,"headers":{"x":true}}`, `1 bad: header "x" is a bool, not a string []`},
		"twice":          {`{"stream":"payments","entry":1,"entry":2}`, `1 bad: not JSON: expected each member name once, found "entry" again []`},
		"broken":         {`{"stream":"payments","entry":}`, `1 bad: not JSON: expected a JSON value, found '}' []`},
		"not utf8":       {"\"\xff\"", `1 bad: not JSON: expected UTF-8, found the byte 0xFF, which is not UTF-8 []`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(readAll(t, input.NewReader(strings.NewReader(c.in), pipeline, nil)), "\n")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	in := "{\"id\":1}\n[1, 2]\n\n}\n\"text\"\n"
	got := readAll(t, input.NewReader(strings.NewReader(in), pipeline, pipeline.Streams[0]))
	want := []string{
		`1 payments {"id":1} key="",false headers=[]`,
		`2 payments [1,2] key="",false headers=[]`,
		`4 bad: not JSON: expected a JSON value, found '}' []`,
		`5 payments "text" key="",false headers=[]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLineTooLong(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", input.MaxLine) + `"`
	fits := `"` + strings.Repeat("x", input.MaxLine-3) + `"`
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"skipped":     {"1\n" + long + "\n2\n", []string{"1", "bad 2", "3"}},
		"at the end":  {"1\n" + long, []string{"1", "bad 2"}},
		"just fits":   {fits + "\n2\n", []string{"1", "2"}},
		"two of them": {long + "\n" + long + "\n3", []string{"bad 1", "bad 2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := input.NewReader(strings.NewReader(c.in), pipeline, pipeline.Streams[0])
			var got []string
			var rec input.Record
			for {
				err := r.Next(&rec)
				if errors.Is(err, io.EOF) {
					break
				}
				if bad, ok := errors.AsType[*input.LineError](err); ok {
					got = append(got, fmt.Sprint("bad ", bad.Line))
				} else if err != nil {
					t.Fatal(err)
				} else {
					got = append(got, fmt.Sprint(rec.Line))
				}
			}
			if strings.Join(got, ",") != strings.Join(c.want, ",") {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if r.Offset() != int64(len(c.in)) {
				t.Errorf("consumed %d of %d bytes", r.Offset(), len(c.in))
			}
		})
	}
}

func TestReadError(t *testing.T) {
	t.Parallel()
	in := io.MultiReader(strings.NewReader("1\n2"), iotest.ErrReader(errors.New("the disk broke")))
	got := readAll(t, input.NewReader(in, pipeline, pipeline.Streams[0]))
	if want := "failed: the disk broke"; got[len(got)-1] != want || len(got) != 2 {
		t.Errorf("got %q, want a record and then %q: the last line may be cut short", got, want)
	}
}

// What was read is not held back while a reader waits, whatever the lines that
// it passes over.
func TestBeforeWait(t *testing.T) {
	t.Parallel()
	var parts []io.Reader
	for _, p := range []string{"1\n2\n", "3", "\n\n", "nope\n4\n\n", "5"} {
		parts = append(parts, strings.NewReader(p))
	}
	r := input.NewReader(io.MultiReader(parts...), pipeline, pipeline.Streams[0])
	var rec input.Record
	var batch, got []string
	flush := func() {
		if len(batch) > 0 {
			got = append(got, strings.Join(batch, "+"))
			batch = nil
		}
	}
	r.BeforeWait(flush)
	for {
		err := r.Next(&rec)
		if _, ok := errors.AsType[*input.LineError](err); ok {
			continue
		} else if err != nil {
			break
		}
		batch = append(batch, rec.Raw)
	}
	flush()
	if strings.Join(got, " ") != "1+2 3 4 5" {
		t.Errorf("batches %q", got)
	}
}

// Whatever the pieces in which a file arrives, it is read the same.
func TestPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var b bytes.Buffer
		want := 0
		for range rapid.IntRange(0, 8).Draw(rt, "lines") {
			size := rapid.SampledFrom([]int{0, 1, 2, 3, 10, 100, 1000, 300 << 10}).Draw(rt, "size")
			if size == 0 {
				b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "  \n"}).Draw(rt, "blank"))
				continue
			}
			fmt.Fprintf(&b, "%q%s", strings.Repeat("a", size), rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end"))
			want++
		}
		got := readAll(t, input.NewReader(iotest.HalfReader(bytes.NewReader(b.Bytes())), pipeline, pipeline.Streams[0]))
		if len(got) != want {
			rt.Fatalf("%d records, want %d", len(got), want)
		}
	})
}

// FuzzReader: no input panics, every record names its stream, and the reader
// always comes to the end.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"stream":"payments","entry":{"id":1},"key":"k","headers":{"a":"b"}}`), false)
	f.Add([]byte("\xef\xbb\xbf{}\r\n[[[[\n\"\\u0000\"\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, bodies bool) {
		var target *spec.Stream
		if bodies {
			target = pipeline.Streams[0]
		}
		r := input.NewReader(bytes.NewReader(data), pipeline, target)
		var rec input.Record
		for range bytes.Count(data, []byte("\n")) + 2 {
			err := r.Next(&rec)
			if errors.Is(err, io.EOF) {
				return
			}
			if bad, ok := errors.AsType[*input.LineError](err); ok {
				if bad.Line < 1 || bad.Problem == "" {
					t.Fatalf("a bad line without place or problem: %+v", bad)
				}
			} else if err != nil || rec.Stream == nil {
				t.Fatalf("record %+v, error %v", rec, err)
			}
		}
		t.Fatal("the reader does not end")
	})
}
