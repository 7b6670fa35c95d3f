package view_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/sandbox"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with testdata/NAME.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update if that is right\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// pipeline is the worked example in small: one subscription that claims, one
// that does not, and a stream with a sensitive field.
func pipeline() *spec.Pipeline {
	payments := &spec.Stream{Label: "payments", Name: "payments", Codec: spec.CodecJSON}
	dead := &spec.Stream{Label: "payments_dead", Name: "payments.dead"}
	screened := &spec.Stream{Label: "payments_screened", Name: "payments.screened", Sensitive: []string{"card.number"}}
	ledger := &spec.Group{Label: "ledger", Name: "ledger", Stream: payments, DeadLetter: dead}
	fraud := &spec.Group{Label: "fraud", Name: "fraud", Stream: payments, DeadLetter: dead}
	handlers := []*spec.Handler{{Label: "a", Limits: spec.Limits{Timeout: 2 * time.Second, Instructions: 5000}}, {Label: "b"}}
	post := &spec.Subscription{
		Handler: handlers[0],
		Label:   "post_payment", Group: ledger, Retry: spec.DefaultRetry(), Claim: &spec.Claim{MinIdle: 30 * time.Second},
		Workers: spec.Workers{Count: 8, Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "account"}}}},
	}
	screen := &spec.Subscription{Label: "screen", Handler: handlers[1], Group: fraud, Retry: spec.DefaultRetry(), Reply: &spec.Route{To: screened}}
	ledger.Subscriptions, fraud.Subscriptions = []*spec.Subscription{post}, []*spec.Subscription{screen}
	return &spec.Pipeline{
		Name: "payments", Version: "0.1.0",
		Streams: []*spec.Stream{payments, dead, screened}, Groups: []*spec.Group{ledger, fraud},
		Handlers: handlers,
	}
}

// outcomes are one of each kind, some with hostile texts.
func outcomes() []observe.Outcome {
	id := func(n uint64) broker.ID { return broker.ID{Ms: n} }
	return []observe.Outcome{
		{ID: id(1), Result: observe.ResultAck, Key: "acct-1", Attempt: 1, Elapsed: 41 * time.Microsecond, Logs: []sandbox.LogLine{
			{Level: sandbox.Info, Message: "payment posted", Attrs: []outcome.Header{{Name: "payment", Value: "1"}}},
			{Level: sandbox.Warn, Message: "bell\a and\x1b[31m colour\nsecond line"},
		}},
		{ID: id(2), Result: observe.ResultReply, Key: "acct-2", Attempt: 1, Replies: []observe.Reply{
			{Stream: "payments.screened", Body: `{"card":{"number":"4242"},"suspicious":false}`, Codec: spec.CodecJSON, Key: "acct-2", Headers: []outcome.Header{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}},
			{Stream: "texts", Body: "a \"text\"\n", Codec: spec.CodecText},
			{Stream: "blobs", Body: "\x00\xff", Codec: spec.CodecBytes},
		}},
		{ID: id(3), Result: observe.ResultRetry, Key: "migrating-9", Attempt: 1, Deliveries: 2},
		{ID: id(4), Result: observe.ResultRetry, After: 1500 * time.Millisecond, HasAfter: true, Reason: "account locked", Attempt: 1},
		{ID: id(5), Result: observe.ResultDead, Dead: true, Reason: "no such account", Attempt: 1},
		{ID: id(6), Result: observe.ResultDrop, Reason: "seen before", Attempt: 1},
		{
			ID: id(7), Result: observe.ResultFailed, Error: "handlers/p.lua:7: boom", Kind: outcome.FailError, Attempt: 2, Deliveries: 1,
			After: 4 * time.Second, HasAfter: true, Usage: sandbox.Usage{Instructions: 12345, Bytes: 2048}, Elapsed: 2 * time.Millisecond,
		},
		{ID: id(8), Result: observe.ResultFailed, Error: "handlers/p.lua:7: boom", Attempt: 5, Dead: true},
		{ID: id(9), Result: observe.ResultInvalid, Error: "account: expected a string, found nothing", Reason: "invalid", Dead: true, Attempt: 1},
		{ID: id(1000000), Result: observe.ResultForeignRetry, Key: strings.Repeat("long-", 9)},
		{ID: id(11), Result: observe.ResultStale, Key: "账户-7", Attempt: 1},
		{ID: id(12), Result: observe.ResultAck, Key: "bidi \u202e and \xff", Attempt: 1},
	}
}

// captured is a view that prints into buffers.
type captured struct {
	*view.View
	out, err bytes.Buffer
}

func capture(o view.Options) *captured {
	c := &captured{}
	o.Out, o.Err = &c.out, &c.err
	c.View = view.New(o)
	return c
}

// text is everything printed, first stdout, then stderr.
func (c *captured) text(t *testing.T) string {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return c.out.String() + "--- stderr\n" + c.err.String()
}

// modes are the ways in which everything is printed.
var modes = map[string]view.Options{
	"txt":      {},
	"terminal": {Color: true, ErrColor: true, Width: 100, ErrTerminal: true},
	"json":     {JSON: true},
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	for mode, o := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p, c := pipeline(), capture(o)
			d := c.DryRun(p)
			for i := range outcomes() {
				sub := p.Subscriptions()[min(i%3, 1)]
				if err := d.Outcome(sub, nil, &outcomes()[i]); err != nil {
					t.Fatal(err)
				}
			}
			d.NotRun(p.Subscriptions()[0], `takes over "pending" entries only`)
			d.Summary(view.DrySummary{Entries: 12})
			golden(t, "dryrun."+mode, c.text(t))
		})
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	for mode, o := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p, c := pipeline(), capture(o)
			l := c.Observer(p)
			at := time.Date(2026, 1, 2, 17, 30, 5, 0, time.UTC)
			l.Event(observe.Event{Time: at, Name: observe.EventGroupCreated, Message: "created the group", Group: "ledger"})
			l.Settled(p.Subscriptions()[0], outcomes())
			l.Event(observe.Event{
				Time: at, Name: observe.EventBodyMissing, Level: sandbox.Error, Subscription: "screen",
				Message: "an entry is gone", Err: errors.New("trimmed"), Count: 1,
			})
			c.Remark("handler.refused", sandbox.Error, "handler a runs on with the code before")
			l.Summary(12, []view.Waiting{
				{Group: "ledger", Stream: "payments", Entries: 6, Until: at, In: 29812 * time.Millisecond, Why: "account locked"},
				{Group: "fraud", Stream: "payments", Entries: 1, Until: at, In: time.Second},
				{Group: "other", Stream: "payments", Entries: 1},
			})
			golden(t, "live."+mode, c.text(t))
		})
	}
}

func TestWhyAnEntryWaits(t *testing.T) {
	t.Parallel()
	p, c := pipeline(), capture(view.Options{})
	sub := p.Subscriptions()[0]
	l := c.Observer(p)
	id := broker.ID{Ms: 1}
	settle := func(o observe.Outcome) string {
		o.ID = id
		l.Settled(sub, []observe.Outcome{o})
		return l.Why(sub.Group, id)
	}
	logs := []sandbox.LogLine{{Message: "first"}, {Message: "account locked"}}
	for _, step := range []struct {
		outcome observe.Outcome
		want    string
	}{
		{observe.Outcome{Result: observe.ResultRetry, Logs: logs}, "account locked"},
		{observe.Outcome{Result: observe.ResultRetry, Reason: "later", Logs: logs}, "later"},
		{observe.Outcome{Result: observe.ResultFailed, Error: "boom", Logs: logs}, "boom"},
		{observe.Outcome{Result: observe.ResultFailed, Error: "boom", Dead: true}, ""},
	} {
		if got := settle(step.outcome); got != step.want {
			t.Errorf("after %s: %q, want %q", step.outcome.Result, got, step.want)
		}
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 17, 30, 5, 123e6, time.UTC)
	entries := []view.PendingEntry{
		{
			Group: "ledger", Stream: "payments", Due: at, In: 12340 * time.Millisecond, Attempts: 2, Error: "handlers/p.lua:7: no such\naccount",
			Pending: broker.Pending{ID: broker.ID{Ms: 1700000000000, Seq: 3}, Consumer: "post-host-0.ab12", Idle: 90 * time.Second, Deliveries: 3},
		},
		{
			Group: "ledger", Stream: "payments", Due: at, In: -time.Second,
			Pending: broker.Pending{ID: broker.ID{Ms: 1700000000000, Seq: 4}, Consumer: "c", Idle: 26 * time.Hour, Deliveries: 12345},
		},
		{Group: "ledger", Stream: "payments", Pending: broker.Pending{ID: broker.ID{Ms: 5}, Consumer: "c", Deliveries: 1}},
	}
	groups := []view.PendingGroup{
		{Group: "ledger", Stream: "payments", Total: 1200, Shown: 3, After: broker.ID{Ms: 5}},
		{Group: "fraud", Stream: "payments"},
		{Group: "late", Stream: "payments", Missing: true},
	}
	for mode, o := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := capture(o)
			list := c.PendingList()
			for _, e := range entries {
				list.Row(e)
			}
			for _, g := range groups {
				list.Group(g)
			}
			list.End()
			golden(t, "pending."+mode, c.text(t))
		})
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	for mode, o := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := capture(o)
			report := &diag.Report{}
			report.AddSource(diag.NewSource("p.hcl", []byte("group \"g\" {\n}\n")))
			report.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.NoClaim, Summary: "no claim", Range: report.At("p.hcl", 0, 5)})
			report.Add(diag.Diagnostic{Severity: diag.Notice, Code: diag.Unused, Summary: "unused", Range: report.At("p.hcl", 6, 9)})
			c.Report(report)
			c.Warnings(report)
			c.Valid(pipeline(), report)
			c.Valid(pipeline(), &diag.Report{})
			c.Version(view.Version{Version: "0.1.0", Language: 1, Revision: "commit abc", Go: "go1.26", Platform: "linux/amd64"})
			c.Published(view.Published{})
			c.Published(view.Published{Entries: 3, Rejected: 1, Millis: 12, Streams: []view.StreamCount{
				{Stream: "a", Entries: 1, FirstID: "1-0", LastID: "1-0"}, {Stream: "b", Entries: 12345, FirstID: "1-1", LastID: "2-0"},
			}})
			c.Diagnostic(diag.Diagnostic{
				Severity: diag.Error, Code: "input_line", Summary: "the pipeline has no stream \"x\"", Suggestion: "y",
				Range: diag.Range{File: "in.jsonl", Start: diag.Pos{Line: 12345, Column: 3}},
			})
			c.Failure(view.Failure{Exit: 4, Code: "server_unavailable", Message: "no\x1b[2J server"})
			c.Note("a remark")
			golden(t, "facts."+mode, c.text(t))
		})
	}
}

// Every line of JSON is an object with an event, whatever is printed.
func TestJSONLines(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) < 4 {
		t.Fatalf("golden files: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, stderr, _ := strings.Cut(string(text), "--- stderr\n")
		if stderr != "" {
			t.Errorf("%s: with JSON nothing goes to stderr: %q", file, stderr)
		}
		for line := range strings.Lines(out) {
			var object struct{ Event string }
			if err := json.Unmarshal([]byte(line), &object); err != nil || object.Event == "" {
				t.Errorf("%s: %v: %s", file, err, line)
			}
		}
	}
}

// No output of any mode moves the cursor, rings, or reorders text.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for mode := range modes {
		for _, name := range []string{"dryrun.", "live.", "pending.", "facts."} {
			text, err := os.ReadFile(filepath.Join("testdata", name+mode))
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"\a", "\x1b[2J", "\u202e"} {
				if mode != "json" && strings.Contains(string(text), bad) {
					t.Errorf("%s%s holds %q", name, mode, bad)
				}
			}
			if mode == "txt" && strings.Contains(string(text), "\x1b") {
				t.Errorf("%s%s holds colours", name, mode)
			}
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	for mode, o := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := capture(o)
			log := c.Logger(slog.LevelInfo)
			log.Debug("not written")
			log.With("a", 1).WithGroup("g").Warn("the server\x1b is away", "event", "redis.lost", "wait", 1500*time.Millisecond,
				slog.Group("in", "b", "c"), "empty", "")
			text := c.text(t)
			if strings.Contains(text, "not written") {
				t.Error("a line below the level was written")
			}
			want := map[string]string{
				"txt":      `"level":"warn","msg":"the server\u001b is away","a":1,"g":{"event":"redis.lost"`,
				"json":     `"level":"warn","msg":"the server\u001b is away","a":1,"g":{"event":"redis.lost"`,
				"terminal": "\x1b[33mwarn\x1b[0m  the server\uFFFD is away  \x1b[2ma=\x1b[0m1  \x1b[2mg.event=\x1b[0mredis.lost  \x1b[2mg.wait=\x1b[0m1.5s  \x1b[2mg.in.b=\x1b[0mc\n",
			}[mode]
			if !strings.Contains(text, want) {
				t.Errorf("got %q, want %q in it", text, want)
			}
			out, _, _ := strings.Cut(text, "--- stderr")
			if (out != "") != (mode == "json") {
				t.Errorf("stdout has %q", out)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	c := capture(view.Options{ErrTerminal: true})
	c.Progress(view.Progress{What: "published", Entries: 1500, Bytes: 1 << 19, Total: 1 << 20, Elapsed: time.Second})
	c.Progress(view.Progress{What: "published", Entries: 3000, Bytes: 2 << 20, Elapsed: 2 * time.Second})
	c.Progress(view.Progress{What: "tried", Entries: 1000, About: 4000, At: time.UnixMilli(1_700_000_000_000), Elapsed: time.Second})
	c.Note("done")
	want := "--- stderr\npublished 1,500 entries, 50 % of 1 MiB, 1,500 a second\r\x1b[K" +
		"published 3,000 entries, 2 MiB, 1,500 a second\r\x1b[K" +
		"tried 1,000 entries of about 4,000, 25 %, at 2023-11-14T22:13:20Z, 1,000 a second\r\x1b[Kdone\n"
	if got := c.text(t); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for name, o := range map[string]view.Options{"a file": {}, "JSON": {JSON: true, ErrTerminal: true}} {
		c := capture(o)
		c.Progress(view.Progress{What: "published", Entries: 1})
		if got := c.text(t); got != "--- stderr\n" {
			t.Errorf("to %s: %q", name, got)
		}
	}
}

// A result that could not be written is an error in the end.
func TestWriteError(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	if err := reader.CloseWithError(errors.New("disk full")); err != nil {
		t.Fatal(err)
	}
	v := view.New(view.Options{Out: writer, Err: io.Discard})
	v.Version(view.Version{})
	if err := v.Close(); err == nil || err.Error() != "disk full" {
		t.Errorf("Close: %v", err)
	}
	p := pipeline()
	v = view.New(view.Options{Out: writer, Err: io.Discard, Width: 80})
	o := outcomes()[0]
	if err := v.DryRun(p).Outcome(p.Subscriptions()[0], nil, &o); err == nil {
		t.Error("a dry-run goes on although nobody can see it")
	}
}

func TestTerminalOptions(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	o := view.Terminal(file, file, func(string) string { return "" })
	if o.Color || o.ErrColor || o.Width != 0 || o.ErrTerminal {
		t.Errorf("a file is taken for a terminal: %+v", o)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s": 0, "999ns": 999, "1µs": time.Microsecond, "41.5µs": 41500, "1.2ms": 1234567, "29.8s": 29812 * time.Millisecond,
		"1m": time.Minute, "3m20s": 200 * time.Second, "2h5m": 125 * time.Minute, "1d": 24 * time.Hour, "2d4h": 52 * time.Hour,
		"-1s": -time.Second,
	} {
		if got := view.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func BenchmarkDryRunJSON(b *testing.B) {
	p := pipeline()
	v := view.New(view.Options{Out: io.Discard, Err: io.Discard, JSON: true})
	d, all := v.DryRun(p), outcomes()
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Outcome(p.Subscriptions()[0], nil, &all[0]); err != nil {
			b.Fatal(err)
		}
	}
}
