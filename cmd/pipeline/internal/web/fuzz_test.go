package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
)

// secret is the value of a field that the stream declares sensitive.
const secret = "4111222233334444"

// seeds are texts that have once been trouble somewhere.
var seeds = []string{
	"", attack, `"a":1}`, `"card":"5"}`, `"x":"\u0034111222233334444"}`, `"x":"` + secret + `"}`, `"x":{"card":"` + secret + `"}}`, "\x00\xff\xfe\x1b[31m",
	`"":"\u0014111222233334444"}`, `"a":[[[[[[[]]]]]]]}`, `"a":1e999999}`, "name: value\r\nother: \u202evalue", "{{.}}", "</textarea>" + attack, "`" + attack + "`",
}

// escape is a control character as JSON has it; its digits are none of the text beside it.
var escape = regexp.MustCompile(`\\u[0-9a-f]{4}`)

// leaks reports whether the secret is to be read in a text.
func leaks(text string) bool { return strings.Contains(escape.ReplaceAllString(text, ""), secret) }

// sent is what the page answers to somebody of this machine.
func (w *world) sent(method, path string, form url.Values) (status int, text string) {
	r := httptest.NewRequest(method, "http://localhost/", strings.NewReader(form.Encode()))
	r.URL = &url.URL{Path: path}
	if method == http.MethodGet {
		r.URL.RawQuery = form.Encode()
	} else {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	recorder := httptest.NewRecorder()
	w.site.ServeHTTP(recorder, r)
	return recorder.Code, recorder.Body.String()
}

// sound fails where a page failed, or has markup or a control character that is not
// its own.
func sound(t *testing.T, what string, status int, text string) {
	t.Helper()
	if status >= 500 && status != http.StatusServiceUnavailable {
		t.Fatalf("%s: %d\n%s", what, status, text)
	}
	for _, bad := range []string{"<script>alert", "<img", "<zq", "</textarea>\"", "\x00", "\x1b", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Fatalf("%s has %q:\n%s", what, bad, text)
		}
	}
}

// FuzzForms sends forms with any texts: no page fails, nothing of what was typed becomes
// markup, and what the handler makes of a sensitive field is masked.
func FuzzForms(f *testing.F) {
	w := inMemory(f)
	w.rewrite(tries)
	w.options.Writer = w.broker
	now := clock.NewVirtual(time.Now())
	w.options.Clock = now
	w.open()
	letter, id := w.bury(`{"a":1}`), w.add(`{"a":1}`)
	for _, s := range seeds {
		f.Add(s, s, "post_payment")
		f.Add(`"act":"fail"}`, s, "screen_payment")
		f.Add(s, "who: "+s, s)
	}
	const mark = "<zq\"'`>"
	f.Fuzz(func(t *testing.T, body, headers, word string) {
		send := func(path string, form url.Values) string {
			now.Advance(time.Minute) // so that a handler may run again
			status, text := w.sent(http.MethodPost, path, form)
			text, _, _ = strings.Cut(text, `<form class="card act try"`) // which has what was typed, as it was typed
			sound(t, path, status, text)
			return text
		}
		for handler, subscription := range map[string]string{"post": "post_payment", "screen": "screen_payment"} {
			text := send("/handler/"+handler+"/try", url.Values{"subscription": {subscription}, "body": {`{"card":"` + secret + `",` + body}, "headers": {headers}})
			if leaks(text) {
				t.Fatalf("a secret is shown:\n%s", text)
			}
		}
		send("/handler/post/try", url.Values{"subscription": {word + mark}, "body": {body + mark}, "headers": {headers + mark}})
		send("/handler/post/try", url.Values{"subscription": {"post_payment"}, "body": {body + mark}, "headers": {"x: " + headers + mark}})
		send("/entry/try", url.Values{"subscription": {word + mark}, "stream": {body}, "id": {headers}})
		send("/entry/try", url.Values{"subscription": {"post_payment"}, "stream": {"dead"}, "id": {letter.String()}, body: {headers}})
		send("/entry/try", url.Values{"subscription": {"screen_payment"}, "stream": {"payments"}, "id": {id.String()}, body: {headers}})
		send("/dead-letters/preview", url.Values{"stream": {"dead"}, "error": {body + mark}, "key": {headers}, "reason": {word}})
		send("/dead-letters/replay/"+strings.ToValidUTF8(word, ""), url.Values{"rate": {body + mark}})
		send("/health/examine", url.Values{word: {body}})
	})
}

// plain is a text without its control characters.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// FuzzEntries has any texts in entries and letters: no page fails, nothing of them is
// markup, and nowhere is the value of a sensitive field to be seen.
func FuzzEntries(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "x", s)
		f.Add(`"x":1}`, s, s)
		f.Add(`"x":1}`, "correlation-id", s+secret)
	}
	f.Fuzz(func(t *testing.T, body, name, value string) {
		name = strings.ReplaceAll(name, secret, "") // values are masked, and a name is none
		if !strings.Contains(value, secret) && strings.Contains(plain(value), secret) {
			t.Skip("with something between its digits it is another value, which leaks takes for the secret")
		}
		w := inMemory(t)
		ctx := context.Background()
		fields := []broker.Field{
			{Name: "_payload", Value: `{"card":"` + secret + `",` + body}, {Name: codec.HeaderPrefix + name, Value: value}, {Name: name + "x", Value: value},
		}
		letter := codec.DeadLetter{Reason: name, Error: value, Stream: "payments", ID: "1-1", Group: "ledger", Subscription: name, Consumer: name, Attempts: 1}
		ids, err := w.broker.Add(ctx, []broker.Add{{Stream: "payments", Fields: fields}, {Stream: "dead", Fields: letter.Fields(fields)}})
		if err != nil {
			t.Skip(err)
		}
		if _, err := w.broker.CreateGroup(ctx, "payments", "ledger", "0"); err != nil {
			t.Fatal(err)
		}
		w.poller.Once(ctx)
		for path, query := range map[string]url.Values{
			"/entry": {"stream": {"payments"}, "id": {ids[0].String()}}, "/dead-letters": {}, "/dead-letters/letter": {"stream": {"dead"}, "id": {ids[1].String()}},
			"/": {}, "/group/ledger": {}, "/group/ledger/pending": {}, "/health": {}, "/events": {},
		} {
			status, text := w.sent(http.MethodGet, path, query)
			if sound(t, path, status, text); leaks(text) {
				t.Fatalf("%s shows a secret:\n%s", path, text)
			}
		}
		for _, path := range []string{"/api/overview", "/api/groups", "/api/dead-letters", "/api/problems", "/api/doctor"} {
			status, text := w.sent(http.MethodGet, path, url.Values{})
			if sound(t, path, status, text); !json.Valid([]byte(text)) || leaks(text) {
				t.Fatalf("%s: %s", path, text)
			}
		}
		status, text := w.sent(http.MethodPost, "/entry/try", url.Values{"subscription": {"screen_payment"}, "stream": {"payments"}, "id": {ids[0].String()}})
		if sound(t, "running it", status, text); leaks(text) {
			t.Fatalf("running it shows a secret:\n%s", text)
		}
	})
}
