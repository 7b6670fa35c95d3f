package codec

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestRetryCopy(t *testing.T) {
	original := fields("a", "1", "h:x-retry-count", "1", "a", "\xff", "", "", "h:x-retry-group", "old", "h:k", "v", "h:x-retry-group", "again", "x-retry-count", "a field")
	got := RetryCopy(original, 2, "ledger")
	want := fields("a", "1", "a", "\xff", "", "", "h:k", "v", "x-retry-count", "a field", "h:x-retry-count", "2", "h:x-retry-group", "ledger")
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if count, foreign := Retries(AppendHeaders(nil, got), "ledger"); count != 2 || foreign {
		t.Errorf("got %d, %v", count, foreign)
	}
}

func TestRetries(t *testing.T) {
	cases := map[string]struct {
		headers []Field
		count   int
		foreign bool
	}{
		"none":            {nil, 0, false},
		"count alone":     {fields("x-retry-count", "4"), 0, false},
		"ours":            {fields("x-retry-count", "4", "x-retry-group", "g"), 4, false},
		"another group's": {fields("x-retry-count", "4", "x-retry-group", "h"), 0, true},
		"no count":        {fields("x-retry-group", "g"), 0, false},
		"no number":       {fields("x-retry-count", "4x", "x-retry-group", "g"), 0, false},
		"negative":        {fields("x-retry-count", "-4", "x-retry-group", "g"), 0, false},
		"out of range":    {fields("x-retry-count", "99999999999999999999", "x-retry-group", "g"), 0, false},
	}
	for name, c := range cases {
		if count, foreign := Retries(c.headers, "g"); count != c.count || foreign != c.foreign {
			t.Errorf("%s: got %d, %v", name, count, foreign)
		}
	}
}

func TestDeadLetter(t *testing.T) {
	at := time.Date(2026, 11, 29, 18, 4, 5, 678_900_000, time.FixedZone("", 3600))
	d := DeadLetter{
		Reason: ReasonFailed, Error: "line one\nline two\x1b[31m", Stream: "payments", ID: "1-0", Group: "ledger",
		Subscription: "post_payment", Consumer: "post_payment-host-0.abc", Attempts: 5,
		FirstDelivery: at, LastDelivery: at.Add(time.Minute), PipelineVersion: "0.1.0",
	}
	original := fields("_payload", "\xff{", "a", "1", "a", "2", "", "", "h:dead-letter-reason", "older")
	got := d.Fields(original)
	want := append(slices.Clone(original), fields(
		"h:dead-letter-reason", "failed", "h:dead-letter-error", "line one line two [31m",
		"h:dead-letter-stream", "payments", "h:dead-letter-id", "1-0", "h:dead-letter-group", "ledger",
		"h:dead-letter-subscription", "post_payment", "h:dead-letter-consumer", "post_payment-host-0.abc",
		"h:dead-letter-attempts", "5",
		"h:dead-letter-first-delivery", "2026-11-29T17:04:05.678Z", "h:dead-letter-last-delivery", "2026-11-29T17:05:05.678Z",
		"h:dead-letter-pipeline-version", "0.1.0")...)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	back, ok := ParseDeadLetter(got)
	d.Error, d.FirstDelivery, d.LastDelivery = "line one line two [31m", at.UTC().Truncate(time.Millisecond), at.Add(time.Minute).UTC().Truncate(time.Millisecond)
	if !ok || back != d {
		t.Errorf("got  %+v, %v\nwant %+v", back, ok, d)
	}
	if replayed := Replay(got); !slices.Equal(replayed, original[:4]) {
		t.Errorf("replay: got %q", replayed)
	}
}

func TestSecondDeathHidesTheFirst(t *testing.T) {
	first := DeadLetter{Reason: ReasonFailed, FirstDelivery: time.Unix(1, 0)}
	second := DeadLetter{Reason: ReasonInvalid, Stream: "s", Attempts: 1}
	got, ok := ParseDeadLetter(second.Fields(first.Fields(payload("x"))))
	if !ok || got != second {
		t.Errorf("got %+v, %v", got, ok)
	}
	if _, ok := ParseDeadLetter(payload("x")); ok {
		t.Error("an entry without a reason is a dead letter")
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<20), strings.Repeat("é", 5000), strings.Repeat("\xff", 5000), strings.Repeat("\u202e", 5000), "a" + strings.Repeat("日", 5000)} {
		got := oneLine(text)
		if len(got) > MaxErrorText || len(got) < MaxErrorText-8 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") && len(got) == MaxErrorText {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	}
}

func anyFields() *rapid.Generator[[]Field] {
	name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"_payload", "a", "h:a", "h:x-retry-count", "h:x-retry-group", "h:dead-letter-reason", "h:dead-letter-", "x-retry-count", "h:", ""}))
	field := rapid.Custom(func(t *rapid.T) Field {
		return Field{Name: name.Draw(t, "name"), Value: string(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))}
	})
	return rapid.SliceOf(field)
}

// Whatever an entry holds, what copies add can be taken away again, and
// nothing else changes.
func TestCopiesKeepTheEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original := anyFields().Draw(t, "fields")
		kept := slices.Clone(original)
		clean := Replay(original)
		d := DeadLetter{Reason: ReasonFailed, Error: rapid.String().Draw(t, "error")}
		letter := d.Fields(original)
		if !slices.Equal(letter[:len(original)], original) {
			t.Fatal("a dead letter changes the entry's fields")
		}
		if !slices.Equal(Replay(letter), clean) {
			t.Fatal("a replayed letter is not the entry")
		}
		again := RetryCopy(RetryCopy(original, 1, "g"), 2, "g")
		if count, foreign := Retries(AppendHeaders(nil, again), "g"); count != 2 || foreign {
			t.Fatalf("got %d, %v", count, foreign)
		}
		if !slices.Equal(Replay(again), clean) || !slices.Equal(original, kept) {
			t.Fatal("a copy changes the entry")
		}
	})
}
