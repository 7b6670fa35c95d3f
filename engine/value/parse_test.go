package value

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestParseAccepts(t *testing.T) {
	cases := map[string]struct {
		src  string
		want string // as AppendJSON writes it; the source when empty
	}{
		"null":                  {src: `null`},
		"true":                  {src: `true`},
		"false":                 {src: `false`},
		"space around":          {src: " \t\r\n1 \n", want: `1`},
		"empty object":          {src: `{ }`, want: `{}`},
		"empty array":           {src: `[ ]`, want: `[]`},
		"empty string":          {src: `""`},
		"empty name":            {src: `{"":1}`},
		"digits kept":           {src: `[18446744073709551615,-0,1.50,1E+02,0.10e-7]`},
		"huge exponent":         {src: `1e999999999`},
		"nested":                {src: `{"a":[{"b":[[],{}]}],"c":{"d":null}}`},
		"order of names":        {src: `{"b":1,"a":2,"B":3}`, want: `{"B":3,"a":2,"b":1}`},
		"same name elsewhere":   {src: `{"a":{"a":1},"b":[{"a":1},{"a":2}]}`},
		"escapes":               {src: `"\"\\\/\b\f\n\r\t\u0041\u00e9\u2028"`, want: "\"\\\"\\\\/\\b\\f\\n\\r\\tAé\u2028\""},
		"surrogate pair":        {src: `"\ud83d\ude00"`, want: `"😀"`},
		"surrogates upper case": {src: `"\uD83D\uDE00"`, want: `"😀"`},
		"escaped nul":           {src: `"a\u0000b"`},
		"delete is no control":  {src: "\"\x7f\""},
		"raw unicode":           {src: `{"naïve":"日本語😀"}`},
		"replacement character": {src: "\"\uFFFD\\ufffd\"", want: "\"\uFFFD\uFFFD\""},
		"html is left alone":    {src: `"<a href='x'>&</a>"`},
		"escape in a name":      {src: `{"a\nb":1}`},
		"deepest":               {src: strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)},
		"quote after 8 bytes":   {src: `"12345678"`},
		"escape after 7 bytes":  {src: `"1234567\n89abcdef0"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v, err := ParseJSON(c.src, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := AppendJSON(nil, &v)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.src
			}
			if string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct{ src, want string }{
		"nothing":            {``, `json line 1 column 1: expected a JSON value, found the end of the input`},
		"only space":         {" \n ", `json line 2 column 2: expected a JSON value, found the end of the input`},
		"two values":         {`1 2`, `json line 1 column 3: expected nothing after the JSON value, found '2'`},
		"byte order mark":    {"\uFEFF{}", `json line 1 column 1: expected a JSON value, found '\ufeff'`},
		"nan":                {`NaN`, `json line 1 column 1: expected a JSON value, found NaN`},
		"cut word":           {`{"a":tru}`, `json line 1 column 6: expected true, found 't'`},
		"long word":          {`nulls`, `json line 1 column 5: expected nothing after the JSON value, found 's'`},
		"single quotes":      {`{'a':1}`, `json line 1 column 2: expected a member name in double quotes, found '\''`},
		"no colon":           {`{"a" 1}`, `json line 1 column 6: expected ":", found '1'`},
		"no comma":           {"{\"a\":1\n \"b\":2}", `json line 2 column 2: expected "," or "}", found '"'`},
		"no comma in array":  {`[1 2]`, `json line 1 column 4: expected "," or "]", found '2'`},
		"comma at the end":   {`{"a":1,}`, `json line 1 column 8: expected a member name in double quotes, found '}'`},
		"array comma at end": {`[1,]`, `json line 1 column 4: expected a JSON value, found ']'`},
		"open object":        {`{"a":1`, `json line 1 column 7: expected "," or "}", found the end of the input`},
		"open array":         {`[`, `json line 1 column 2: expected a JSON value, found the end of the input`},
		"wrong bracket":      {`[1}`, `json line 1 column 3: expected "," or "]", found '}'`},
		"leading zero":       {`[007]`, `json line 1 column 2: expected a number without leading zeros, found '0'`},
		"negative zeros":     {`-00`, `json line 1 column 1: expected a number without leading zeros, found '-'`},
		"plus":               {`+1`, `json line 1 column 1: expected a JSON value, found '+'`},
		"point first":        {`.5`, `json line 1 column 1: expected a JSON value, found '.'`},
		"point last":         {`5.`, `json line 1 column 3: expected a digit, found the end of the input`},
		"no exponent":        {`5e`, `json line 1 column 3: expected a digit, found the end of the input`},
		"minus alone":        {`[-]`, `json line 1 column 3: expected a digit, found ']'`},
		"hexadecimal":        {`0x10`, `json line 1 column 2: expected nothing after the JSON value, found 'x'`},
		"comment":            {"/* */1", `json line 1 column 1: expected a JSON value, found '/'`},
		"open string":        {`{"a":"b`, `json line 1 column 8: expected the closing '"' of a string, found the end of the input`},
		"line end in string": {"\"a\nb\"", `json line 1 column 3: expected an escape such as \n, found the control character '\n'`},
		"nul in string":      {"\"a\x00b\"", `json line 1 column 3: expected an escape such as \n, found the control character '\x00'`},
		"nul outside":        {"1\x00", `json line 1 column 2: expected nothing after the JSON value, found '\x00'`},
		"nul as value":       {"\x00", `json line 1 column 1: expected a JSON value, found '\x00'`},
		"wrong escape":       {`"\x41"`, `json line 1 column 3: expected one of "\/bfnrtu after a backslash, found 'x'`},
		"escape at the end":  {`"\`, `json line 1 column 3: expected the rest of an escape, found the end of the input`},
		"short unicode":      {`"\u12"`, `json line 1 column 4: expected four hexadecimal digits after \u, found '1'`},
		"wrong unicode":      {`"\u12g4"`, `json line 1 column 4: expected four hexadecimal digits after \u, found '1'`},
		"high half":          {`"é\ud800"`, `json line 1 column 3: expected a whole surrogate pair, found half of one: \ud800`},
		"low half":           {`"\udc00"`, `json line 1 column 2: expected a whole surrogate pair, found half of one: \udc00`},
		"two high halves":    {`"\ud800\ud800"`, `json line 1 column 2: expected a whole surrogate pair, found half of one: \ud800`},
		"invalid utf-8":      {"{\"a\":\"é\xff\"}", `json line 1 column 8: expected UTF-8, found the byte 0xFF, which is not UTF-8`},
		"surrogate as bytes": {"\"\xed\xa0\x80\"", `json line 1 column 2: expected UTF-8, found the byte 0xED, which is not UTF-8`},
		"overlong":           {"\"\xc0\xaf\"", `json line 1 column 2: expected UTF-8, found the byte 0xC0, which is not UTF-8`},
		"twice":              {`{"a":1, "b":[{"x":",}"},2],"a":2}`, `json line 1 column 28: expected each member name once, found "a" again`},
		"twice by escape":    {`{"a":1,"\u0061":2}`, `json line 1 column 8: expected each member name once, found "a" again`},
		"twice inside":       {`[0,{"k":{"z":1,"z":2}}]`, `json line 1 column 16: expected each member name once, found "z" again`},
		"too deep":           {strings.Repeat("[", MaxDepth+1), `json line 1 column 129: expected at most 128 levels of arrays and objects, found one more`},
		"too deep objects":   {strings.Repeat(`{"a":`, 1<<17), `json line 1 column 641: expected at most 128 levels of arrays and objects, found one more`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ParseJSON(c.src, nil)
			syntax, ok := errors.AsType[*SyntaxError](err)
			if !ok {
				t.Fatalf("got %v, want a syntax error", err)
			}
			if syntax.Error() != c.want {
				t.Errorf("got  %s\nwant %s", syntax.Error(), c.want)
			}
		})
	}
}

func TestParseManyMembers(t *testing.T) {
	for _, n := range []int{fewNames, fewNames + 1, 1000} {
		var b strings.Builder
		for i := range n {
			b.WriteString(`{,`[min(i, 1):][:1] + `"name` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + FromInt(int64(i)).text + `":0`)
		}
		if v, err := ParseJSON(b.String()+"}", nil); err != nil || v.Len() != n {
			t.Errorf("%d members: got %d, %v", n, v.Len(), err)
		}
		doubled := b.String() + `,"name` + strings.Repeat("x", 3) + `d3":1}`
		_, err := ParseJSON(doubled, nil)
		syntax, ok := errors.AsType[*SyntaxError](err)
		if !ok || syntax.Offset != b.Len()+1 {
			t.Errorf("%d members and one again: got %v, want it at offset %d", n, err, b.Len()+1)
		}
	}
}

func TestParseSharesTheSource(t *testing.T) {
	src := strings.Clone(paymentJSON)
	var a Arena
	allocs := testing.AllocsPerRun(100, func() {
		a.Reset()
		if _, err := ParseJSON(src, &a); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

func TestArenaAfterAnError(t *testing.T) {
	var a Arena
	if _, err := ParseJSON(`[1,2,{"a":[3,4`, &a); err == nil {
		t.Fatal("no error")
	}
	v, err := ParseJSON(`[5]`, &a)
	if err != nil || v.Len() != 1 || v.At(0).Text() != "5" {
		t.Fatalf("got %v, %v", v, err)
	}
	a.Reset()
	for _, kept := range a.stack[:cap(a.stack)] {
		if kept.text != "" || kept.name != "" || kept.first != nil || kept.count != 0 {
			t.Errorf("the arena still holds %+v", kept)
		}
	}
}

func TestArenaGivesMemoryBack(t *testing.T) {
	var a Arena
	if _, err := ParseJSON("["+strings.Repeat("0,", 2*maxBlock)+"0]", &a); err != nil {
		t.Fatal(err)
	}
	a.Reset()
	if len(a.block) > maxBlock || cap(a.stack) > maxBlock {
		t.Errorf("kept %d and %d values", len(a.block), cap(a.stack))
	}
}

func TestValuesOfOneArenaAreApart(t *testing.T) {
	var a Arena
	first, err := ParseJSON(`{"a":[1,2,3]}`, &a)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := ParseJSON(`{"b":["x","y",{"z":null}]}`, &a); err != nil {
			t.Fatal(err)
		}
	}
	got, err := AppendJSON(nil, &first)
	if err != nil || string(got) != `{"a":[1,2,3]}` {
		t.Errorf("got %s, %v", got, err)
	}
}

const paymentJSON = `{"id":123,"account":"acct-000123","amount_cents":4200,"currency":"EUR","memo":"invoice 2026-11 payment ref 00000123"}`

func BenchmarkParseJSON(b *testing.B) {
	b.Run("value", func(b *testing.B) {
		var a Arena
		b.SetBytes(int64(len(paymentJSON)))
		b.ReportAllocs()
		for b.Loop() {
			a.Reset()
			if _, err := ParseJSON(paymentJSON, &a); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		src := []byte(paymentJSON)
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(src, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
