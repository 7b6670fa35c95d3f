package web

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// eventsData is a page of events, the newest first.
type eventsData struct {
	Rows         []eventRow
	Level, Text  string
	Levels       []string
	Next, Newest string
	Total        int
	Works        bool
}

// eventRow is an event.
type eventRow struct {
	At                                 time.Time
	Level, Name, Where, Message, Error string
	Count                              int
}

// levelName is a level as logs name it.
func levelName(l sandbox.Level) string { return strings.ToLower(slog.Level(l).String()) }

var levels = []string{"debug", "info", "warn", "error"}

func (s *Site) events(r *http.Request) (*content, error) {
	d := &eventsData{Level: r.FormValue("level"), Text: r.FormValue("text"), Levels: levels, Works: s.Journal != nil}
	least := 0
	if d.Level != "" {
		if least = slices.Index(levels, d.Level); least < 0 {
			return nil, wrong("There is no such level. The levels are " + strings.Join(levels, ", ") + ".")
		}
	}
	skip, err := skipped(r)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(s.journal(), func(e eventRow) bool {
		return slices.Index(levels, e.Level) < least || !e.holds(strings.ToLower(d.Text))
	})
	d.Total = len(rows)
	rows = rows[min(skip, len(rows)):]
	if len(rows) > perPage {
		rows = rows[:perPage]
		d.Next = link("/events", "level", d.Level, "text", d.Text, "skip", strconv.Itoa(skip+perPage))
	}
	if skip > 0 {
		d.Newest = link("/events", "level", d.Level, "text", d.Text)
	}
	d.Rows = rows
	return &content{Name: "events", Title: "Events", Here: "events", Data: d, Live: skip == 0}, nil
}

func (e *eventRow) holds(text string) bool {
	return text == "" || slices.ContainsFunc([]string{e.Name, e.Where, e.Message, e.Error}, func(s string) bool {
		return strings.Contains(strings.ToLower(s), text)
	})
}

// journal is what is known of the last hour, the newest first.
func (s *Site) journal() []eventRow {
	var rows []eventRow
	if s.Journal == nil {
		for _, t := range turns(s.Poller.History()) {
			row := eventRow{At: t.at, Level: "warn", Name: string(observe.EventServerLost), Message: "Redis does not answer"}
			if t.up {
				row.Level, row.Name, row.Message = "info", string(observe.EventServerBack), "Redis answers again"
			}
			rows = append(rows, row)
		}
		return rows
	}
	for _, e := range s.Journal.newest() {
		row := eventRow{
			At: e.Time, Level: levelName(e.Level), Name: string(e.Name), Message: told(view.Clean(e.Message)), Count: e.Count,
			Where: view.Clean(strings.Join(slices.DeleteFunc([]string{e.Subscription, e.Group, e.Stream}, func(s string) bool { return s == "" }), " · ")),
		}
		if e.Err != nil {
			row.Error = view.Fit(told(view.Clean(e.Err.Error())), longError)
		}
		rows = append(rows, row)
	}
	return rows
}
