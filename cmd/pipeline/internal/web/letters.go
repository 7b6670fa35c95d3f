package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/live"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
)

// How much of a dead-letter stream one page looks at.
const (
	mostScanned = 10_000
	mostBytes   = 32 << 20
	mostTop     = 8
)

// choice is what letters are asked for: every argument of the address.
type choice struct {
	Stream, Reason, Group, Subscription, Error, Key, Since, Until, Entry, ID string
	// HasKey tells an empty key from none.
	HasKey bool
	Before broker.ID

	source *deadletters.Source
	filter deadletters.Filter
}

// choose reads what is asked for. A stream that is not named is the first.
func (s *Site) choose(r *http.Request) (*choice, error) {
	get := func(name string) string { return strings.TrimSpace(r.FormValue(name)) }
	c := &choice{
		Stream: r.FormValue("stream"), Reason: get("reason"), Group: get("group"), Subscription: get("subscription"), Error: get("error"),
		Key: r.FormValue("key"), Since: get("since"), Until: get("until"), Entry: get("entry"), ID: get("id"),
	}
	c.HasKey = c.Key != ""
	sources := deadletters.Sources(s.Pipeline)
	if len(sources) == 0 {
		return nil, absent("No group of the pipeline has dead letters.")
	}
	at := slices.IndexFunc(sources, func(o *deadletters.Source) bool { return o.Stream.Name == c.Stream })
	if c.Stream == "" {
		at = max(0, slices.IndexFunc(sources, func(o *deadletters.Source) bool {
			found := s.Poller.Latest().Stream(o.Stream.Name)
			return found != nil && found.Length > 0
		}))
	}
	if at < 0 {
		return nil, absent("The pipeline has no dead-letter stream of this name.")
	}
	c.source = sources[at]
	c.Stream = c.source.Stream.Name
	before, err := idOf(r, "before")
	if err != nil {
		return nil, err
	}
	c.Before = before
	return c, c.filtered(r, s.Clock.Now())
}

// filtered makes the filter.
func (c *choice) filtered(r *http.Request, now time.Time) error {
	f := &c.filter
	f.Error = c.Error
	if c.Reason != "" {
		if !slices.Contains(deadletters.Reasons, c.Reason) {
			return wrong("There is no such reason. The reasons are " + strings.Join(deadletters.Reasons, ", ") + ".")
		}
		f.Reasons = []string{c.Reason}
	}
	if c.Subscription != "" {
		f.Subscriptions = []string{c.Subscription}
	}
	if c.HasKey {
		f.Key = &c.Key
	}
	if c.Group != "" {
		for _, g := range c.source.Groups {
			if g.Label == c.Group {
				f.Group, f.GroupStream = g.Name, g.Stream.Name
			}
		}
		if f.Group == "" {
			return absent("No group of this label buries in this stream.")
		}
	}
	for name, into := range map[string]*[]broker.ID{"id": &f.IDs, "entry": &f.Entries} {
		id, err := idOf(r, name)
		if err != nil {
			return err
		}
		if !id.IsZero() {
			*into = []broker.ID{id}
		}
	}
	return c.bounds(now)
}

func (c *choice) bounds(now time.Time) (err error) {
	f := &c.filter
	if c.Since != "" {
		if f.From, err = live.ParseFrom(c.Since, now); err != nil {
			return wrong("Since: " + view.Fit(view.Clean(err.Error()), longError))
		}
	}
	if c.Until != "" {
		if f.To, err = live.ParseTo(c.Until, now); err != nil {
			return wrong("Until: " + view.Fit(view.Clean(err.Error()), longError))
		}
		if f.To.Less(f.From) {
			return wrong("Until is before since, so that nothing could be chosen.")
		}
	}
	return nil
}

// arguments are those of an address that asks for the same, with changes: names and
// values.
func (c *choice) arguments(changes ...string) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"stream": c.Stream, "reason": c.Reason, "group": c.Group, "subscription": c.Subscription, "error": c.Error, "key": c.Key,
		"since": c.Since, "until": c.Until, "entry": c.Entry, "id": c.ID,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for i := 0; i+1 < len(changes); i += 2 {
		q.Del(changes[i])
		if changes[i+1] != "" {
			q.Set(changes[i], changes[i+1])
		}
	}
	return q
}

func (c *choice) link(changes ...string) string {
	return "/dead-letters?" + c.arguments(changes...).Encode()
}

// words are the flags of `pipeline dlq` that choose the same.
func (c *choice) words() []string {
	words := []string{c.Stream}
	if c.Group != "" && c.filter.Group != "" {
		words[0] = c.Group
	}
	flags := [][2]string{
		{"--reason", c.Reason}, {"--subscription", c.Subscription}, {"--error", c.Error}, {"--key", c.Key}, {"--since", c.Since},
		{"--until", c.Until}, {"--entry", c.Entry}, {"--id", c.ID},
	}
	for _, flag := range flags {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	if len(words) == 1 {
		words = append(words, "--all")
	}
	return words
}

// lettersData is a list of dead letters.
type lettersData struct {
	*choice

	Streams                []letterTab
	Groups, Reasons        []string
	Total                  int64
	Filtered, First        bool
	Rows                   []letterOf
	ByReason, ByError      []countOf
	Scanned                int64
	Whole                  bool
	Next, Newest, Export   string
	Write                  bool
	CommandStats, CommandR string
	// Choice is what a form sends to ask for the same.
	Choice url.Values
}

// letterTab is a dead-letter stream to go to.
type letterTab struct {
	Name, Link string
	Length     int64
	Known      bool
	Here       bool
}

// letterOf is a letter in the list.
type letterOf struct {
	ID, Link, Group, Subscription, Entry, Reason, Error string
	Attempts                                            int
	At                                                  time.Time
	Known                                               bool
}

// countOf is how many letters share a reason or an error.
type countOf struct {
	Value, Link string
	Count       int64
	// Part is of all that were counted, in percent.
	Part int64
}

func (s *Site) letters(r *http.Request) (*content, error) {
	c, err := s.choose(r)
	if err != nil {
		return nil, err
	}
	ctx, done, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	defer done()
	d := &lettersData{
		choice: c, Filtered: !c.filter.Empty(), First: c.Before.IsZero(), Reasons: deadletters.Reasons, Write: s.Writer != nil,
		Newest: c.link(), Whole: true, Choice: c.arguments(),
		CommandStats: s.Command("dlq stats", c.Stream), CommandR: s.Command("dlq replay", c.words()...),
	}
	for _, g := range c.source.Groups {
		d.Groups = append(d.Groups, g.Label)
	}
	for _, o := range deadletters.Sources(s.Pipeline) {
		tab := letterTab{Name: view.Clean(o.Stream.Name), Link: link("/dead-letters", "stream", o.Stream.Name), Here: o.Stream.Name == c.Stream}
		if found := s.Poller.Latest().Stream(o.Stream.Name); found != nil {
			tab.Length, tab.Known = found.Length, found.Known
		}
		d.Streams = append(d.Streams, tab)
		if tab.Here {
			d.Total = tab.Length
		}
	}
	if err := s.scan(ctx, d); err != nil {
		return nil, err
	}
	return &content{Name: "letters", Title: "Dead letters", Here: "letters", Data: d}, nil
}

// scan reads letters, the newest first: a page of those that are chosen, and on the
// first page as many as it may to say what they are about.
func (s *Site) scan(ctx context.Context, d *lettersData) error {
	printed := s.view.Letters(s.Pipeline, false)
	stats := deadletters.Stats{Source: d.source}
	bounds := d.filter
	scan := deadletters.Scan{Broker: s.Reader, Newest: true, After: d.Before}
	scan.Filter.IDs, scan.Filter.From, scan.Filter.To = bounds.IDs, bounds.From, bounds.To
	bytes := 0
	var last broker.ID
	for l, err := range scan.Letters(ctx, d.source) {
		if err != nil {
			return err
		}
		full := len(d.Rows) == perPage
		if d.Scanned == mostScanned || bytes > mostBytes || full && !d.First {
			d.Whole = false
			break
		}
		d.Scanned++
		for _, f := range l.Fields {
			bytes += len(f.Name) + len(f.Value)
		}
		text := printed.Error(&l)
		if d.First {
			stats.Add(&l, text)
		}
		if full {
			continue
		}
		if last = l.ID; d.filter.Match(&l) {
			d.Rows = append(d.Rows, rowOf(&l, text))
		}
	}
	if !last.IsZero() && (!d.Whole || len(d.Rows) == perPage) {
		d.Next = d.link("before", last.String())
	}
	d.count(&stats)
	return nil
}

func rowOf(l *deadletters.Letter, text string) letterOf {
	f := &l.Facts
	row := letterOf{
		ID: l.ID.String(), Link: link("/dead-letters/letter", "stream", l.Source.Stream.Name, "id", l.ID.String()), Known: l.Known,
		Group: view.Clean(f.Group), Subscription: view.Clean(f.Subscription), Entry: view.Clean(f.ID), Reason: view.Clean(f.Reason),
		Error: view.Fit(view.Clean(text), longError), Attempts: f.Attempts,
	}
	if at := deadletters.At(l.ID); at.Year() < 10000 {
		row.At = at
	}
	return row
}

// count says what the letters are about.
func (d *lettersData) count(stats *deadletters.Stats) {
	reasons, _ := stats.Reasons.Top(mostTop)
	for _, c := range reasons {
		one := countOf{Value: view.Clean(c.Value), Count: c.Count, Part: percent(c.Count, stats.Letters)}
		if slices.Contains(deadletters.Reasons, c.Value) {
			one.Link = d.link("reason", c.Value)
		}
		d.ByReason = append(d.ByReason, one)
	}
	if stats.Foreign > 0 {
		d.ByReason = append(d.ByReason, countOf{Value: "put there by somebody else", Count: stats.Foreign, Part: percent(stats.Foreign, stats.Letters)})
	}
	errors, _ := stats.Errors.Top(mostTop)
	for _, c := range errors {
		if c.Value == "" {
			continue
		}
		d.ByError = append(d.ByError, countOf{Value: view.Fit(view.Clean(c.Value), longError), Count: c.Count, Part: percent(c.Count, stats.Letters)})
	}
}

// letterData is a letter.
type letterData struct {
	letterOf

	Seen *view.Seen

	Stream, Consumer, EntryStream, EntryLink, Version, Back string
	FirstDelivery, LastDelivery                             time.Time
	// Why it cannot be replayed, "" for nothing; To is the group that it goes back to.
	Why, To string
	Write   bool
	Replay  string
	Export  string
	// Runners may run the entry that it was, here.
	Runners []choiceOf
}

// mostBody is how many bytes of a body a page shows.
const mostBody = 64 << 10

func (s *Site) letter(r *http.Request) (*content, error) {
	c, err := s.choose(r)
	if err != nil {
		return nil, err
	}
	if len(c.filter.IDs) != 1 {
		return nil, wrong("Which letter? The address has no id.")
	}
	ctx, done, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	defer done()
	id := c.filter.IDs[0]
	entries, err := s.Reader.Range(ctx, c.Stream, id, id, 1)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, absent("There is no such letter any more: it was replayed, dropped, or trimmed by the stream's retention.")
	}
	l := deadletters.Read(c.source, entries[0])
	printed := s.view.Letters(s.Pipeline, false)
	d := &letterData{
		letterOf: rowOf(&l, printed.Error(&l)), Seen: printed.See(&l, mostBody), Stream: c.Stream, Consumer: view.Clean(l.Facts.Consumer),
		EntryStream: view.Clean(l.Facts.Stream), Version: view.Clean(l.Facts.PipelineVersion), FirstDelivery: l.Facts.FirstDelivery,
		LastDelivery: l.Facts.LastDelivery, Write: s.Writer != nil, Back: link("/dead-letters", "stream", c.Stream),
		Replay: s.Command("dlq replay", c.Stream, "--id", id.String()), Export: s.Command("dlq export", c.Stream, "--id", id.String()),
	}
	if g := l.Group(); g != nil {
		d.Runners = s.runners(g.Stream.Name, g)
	}
	if l.Stream() != nil {
		d.EntryLink = link("/entry", "stream", l.Facts.Stream, "id", l.Facts.ID)
	}
	stream, group, why := l.Target(false)
	if d.Why = why; why == "" {
		d.To = group.Label + " on " + view.Clean(stream.Name)
	}
	return &content{Name: "letter", Title: "Dead letter " + id.String(), Here: "letters", Data: d}, nil
}
