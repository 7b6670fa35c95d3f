package view

import (
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// Valid prints that a pipeline is valid and what it holds.
func (v *View) Valid(p *spec.Pipeline, r *diag.Report) {
	groups := 0
	for _, g := range p.Groups {
		if len(g.Subscriptions) > 0 {
			groups++
		}
	}
	subs, streams, handlers := len(p.Subscriptions()), len(p.Streams), len(p.Handlers)
	if v.o.JSON {
		v.event(struct {
			Event         string `json:"event"`
			Pipeline      string `json:"pipeline"`
			Version       string `json:"version"`
			Groups        int    `json:"groups"`
			Subscriptions int    `json:"subscriptions"`
			Streams       int    `json:"streams"`
			Handlers      int    `json:"handlers"`
			Warnings      int    `json:"warnings"`
			Notices       int    `json:"notices"`
		}{
			"valid", p.Name, p.Version, groups, subs, streams, handlers,
			r.Count(diag.Warning), r.Count(diag.Notice),
		})
		return
	}
	parts := []string{
		count(int64(groups), "group", "groups"),
		count(int64(subs), "subscription", "subscriptions"),
		count(int64(streams), "stream", "streams"),
		count(int64(handlers), "handler", "handlers"),
	}
	line := paint(v.o.Color).append(nil, green, "valid")
	line = append(line, ": "+clean(p.Name)...)
	if p.Version != "" {
		line = append(line, " "+clean(p.Version)...)
	}
	line = append(line, " has "+strings.Join(parts, ", ")...)
	if tally := r.Tally(); tally != "" {
		line = append(line, "; "+tally...)
	}
	v.write(append(line, '\n'))
}

// Version is what this program is.
type Version struct {
	Version  string `json:"version"`
	Language int    `json:"language"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Version prints what this program is.
func (v *View) Version(version Version) {
	if v.o.JSON {
		v.event(struct {
			Event string `json:"event"`
			Version
		}{"version", version})
		return
	}
	line := "pipeline " + version.Version + " (language edition " + number(int64(version.Language)) + ", " +
		version.Go + ", " + version.Platform
	if version.Revision != "" {
		line += ", " + version.Revision
	}
	v.write([]byte(line + ")\n"))
}

// Published is what became of a file that was published.
type Published struct {
	Event    string `json:"event"`
	Entries  int64  `json:"entries"`
	Rejected int64  `json:"rejected"`
	// Streams are the entries by the stream's key, sorted.
	Streams []StreamCount `json:"streams"`
	Millis  int64         `json:"elapsed_ms"`
}

// StreamCount is a number of entries of a stream.
type StreamCount struct {
	Stream  string `json:"stream"`
	Entries int64  `json:"entries"`
	// FirstID and LastID are the ids that the server gave.
	FirstID string `json:"first_id"`
	LastID  string `json:"last_id"`
}

// Published prints what was published.
func (v *View) Published(p Published) {
	if v.o.JSON {
		p.Event = "published"
		p.Streams = append([]StreamCount{}, p.Streams...)
		v.event(p)
		return
	}
	c := paint(v.o.Color)
	var b []byte
	for _, s := range p.Streams {
		b = c.append(b, green, "published")
		b = append(b, " "+count(s.Entries, "entry", "entries")+" to "+clean(s.Stream)+": "+s.FirstID...)
		if s.LastID != s.FirstID {
			b = append(b, " to "+s.LastID...)
		}
		b = append(b, '\n')
	}
	if len(p.Streams) == 0 {
		b = append(b, "published nothing\n"...)
	}
	v.write(b)
}
