package view

import (
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
)

// LetterStats prints the numbers of each dead-letter stream: at most top values of
// each kind.
func (v *View) LetterStats(all []*deadletters.Stats, top int, now time.Time, elapsed time.Duration) {
	var letters int64
	for _, s := range all {
		letters += s.Letters
		if v.o.JSON {
			v.event(statsJSON(s, top))
		} else {
			v.write(statsText(s, top, now, paint(v.o.Color)))
		}
	}
	perSecond := int64(0)
	if elapsed > 0 {
		perSecond = int64(float64(letters) / elapsed.Seconds())
	}
	if v.o.JSON {
		v.event(struct {
			Event     string `json:"event"`
			Letters   int64  `json:"letters"`
			Millis    int64  `json:"elapsed_ms"`
			PerSecond int64  `json:"per_second"`
		}{"summary", letters, elapsed.Milliseconds(), perSecond})
		return
	}
	v.write([]byte(count(letters, "letter", "letters") + " read in " + Duration(elapsed) + ", " + number(perSecond) + " a second\n"))
}

// kinds of values that are counted.
func kindsOf(s *deadletters.Stats) []struct {
	name   string
	counts *deadletters.Counts
} {
	return []struct {
		name   string
		counts *deadletters.Counts
	}{
		{"reason", &s.Reasons}, {"group", &s.Groups}, {"subscription", &s.Subscriptions},
		{"pipeline version", &s.Versions}, {"error", &s.Errors},
	}
}

func statsText(s *deadletters.Stats, top int, now time.Time, p paint) []byte {
	b := p.append(nil, bold, clean(s.Source.Stream.Name))
	b = append(b, ": "+count(s.Letters, "letter", "letters")...)
	if s.Letters == 0 {
		return append(b, '\n')
	}
	if s.Foreign > 0 {
		b = append(b, ", "+number(s.Foreign)+" of them no dead letters of a pipeline"...)
	}
	oldest, newest := deadletters.At(s.Oldest), deadletters.At(s.Newest)
	b = append(b, "\n  oldest "+s.Oldest.String()+", "+ago(now, oldest)+"; newest "+s.Newest.String()+", "+ago(now, newest)+"\n"...)
	tab := &table{head: []string{"", "", ""}, right: map[int]bool{0: true}}
	for _, kind := range kindsOf(s) {
		values, rest := kind.counts.Top(top)
		for _, c := range values {
			text := c.Value
			if text == "" {
				text = "(none)"
			}
			tab.row(cell{"  " + number(c.Count), plain}, cell{kind.name, dim}, cell{text, plain})
		}
		if rest > 0 {
			tab.row(cell{"  " + number(rest), plain}, cell{kind.name, dim}, cell{"(others)", dim})
		}
	}
	tab.headless = true
	return append(tab.append(b, p, 0), '\n')
}

// ago is how long before now something was.
func ago(now, at time.Time) string {
	if at.After(now) {
		return "in the future"
	}
	return Duration(now.Sub(at).Round(time.Second)) + " ago"
}

func statsJSON(s *deadletters.Stats, top int) any {
	list := func(c *deadletters.Counts) []deadletters.Count {
		values, rest := c.Top(top)
		if values == nil {
			values = []deadletters.Count{}
		}
		if rest > 0 {
			values = append(values, deadletters.Count{Value: "(others)", Count: rest})
		}
		return values
	}
	id := func(id interface{ String() string }) string {
		if s.Letters == 0 {
			return ""
		}
		return id.String()
	}
	return struct {
		Event         string              `json:"event"`
		Letters       string              `json:"letters"`
		Count         int64               `json:"count"`
		Foreign       int64               `json:"foreign"`
		Oldest        string              `json:"oldest"`
		Newest        string              `json:"newest"`
		Reasons       []deadletters.Count `json:"reasons"`
		Groups        []deadletters.Count `json:"groups"`
		Subscriptions []deadletters.Count `json:"subscriptions"`
		Versions      []deadletters.Count `json:"pipeline_versions"`
		Errors        []deadletters.Count `json:"errors"`
	}{
		"dead_letter_stats", s.Source.Stream.Name, s.Letters, s.Foreign, id(s.Oldest), id(s.Newest),
		list(&s.Reasons), list(&s.Groups), list(&s.Subscriptions), list(&s.Versions), list(&s.Errors),
	}
}
