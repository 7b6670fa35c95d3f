package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/topology"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
)

//go:embed pages static
var files embed.FS

// templates are the pages by the names of their files, each with the frame around it.
var templates = parse()

func parse() map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(functions).ParseFS(files, "pages/frame.html", "pages/parts.html"))
	all := map[string]*template.Template{}
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		panic(err) // only a pattern that is none could fail
	}
	for _, name := range names {
		if base := path.Base(name); base != "frame.html" && base != "parts.html" {
			all[strings.TrimSuffix(base, ".html")] = template.Must(template.Must(frame.Clone()).ParseFS(files, name))
		}
	}
	return all
}

// functions are those of the templates. All text that they give is escaped by the
// template, unless it is of type template.HTML: such is put together here from
// numbers and escaped text.
var functions = template.FuncMap{
	"number": view.Number, "size": view.Size, "clean": view.Clean, "prose": prose, "rate": rate, "percent": percent,
	"age":    func(d time.Duration) string { return view.Duration(max(0, d.Round(time.Millisecond))) },
	"took":   view.Duration,
	"moment": moment, "clock": func(t time.Time) string { return t.UTC().Format(time.TimeOnly) },
	"long": func(d time.Duration) bool { return d > 0 },
}

// moment is a time as a person reads it, in UTC; "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

// prose is a text whose `words` are code.
func prose(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(view.Clean(text), "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // every part was escaped
}

// link is an address of the site; arguments are names and values.
func link(path string, arguments ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(arguments); i += 2 {
		if arguments[i+1] != "" {
			q.Add(arguments[i], arguments[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// content is what a page gives to its template.
type content struct {
	// Name is the template's, Title the page's; Here is the place in the menu.
	Name, Title, Here string
	Data              any
	// Status is 200 unless it is set.
	Status int
	// Live: the page changes with every look of the poller. Again is how many
	// seconds a browser without scripts waits before it asks again; 0 for never.
	Live  bool
	Again int
}

// framed is what the frame around a page is given.
type framed struct {
	content

	Pipeline, Version, Mode, State string
	Write                          bool
	Letters                        int64
	// Icon is the name of the icon, Trouble how many errors and warnings there are.
	Icon     string
	Trouble  int64
	Now      time.Time
	Fresh    bool
	Answered time.Duration
	Asked    bool
}

// page makes the content of a page. An error is shown in its place.
type page func(r *http.Request) (*content, error)

// fault is an error that says with which status it is told.
type fault struct {
	status         int
	title, message string
}

func (f *fault) Error() string { return f.message }

func wrong(message string) error {
	return &fault{http.StatusBadRequest, "That cannot be asked for", message}
}
func absent(message string) error { return &fault{http.StatusNotFound, "Not found", message} }

// redirect is a page that stands elsewhere.
type redirect struct{ to string }

func (r *redirect) Error() string { return "see " + r.to }

// serve serves a page.
func (s *Site) serve(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := p(r)
		if to, ok := errors.AsType[*redirect](err); ok {
			http.Redirect(w, r, to.to, http.StatusSeeOther)
			return
		}
		if err != nil {
			c = faulty(r, err)
		}
		var b bytes.Buffer
		if err := templates[c.Name].Execute(&b, s.frame(c)); err != nil {
			s.Log.Error("a page could not be rendered", slog.String("event", "ui.broken"), slog.String("page", c.Name), slog.String("error", err.Error()))
			http.Error(w, "this page could not be rendered; the log says why", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if c.Status != 0 {
			w.WriteHeader(c.Status)
		}
		_, _ = w.Write(b.Bytes()) // who asked is gone
	})
}

// faultData is an error as people are told. Again: the same may be asked for again.
type faultData struct {
	Message string
	Again   bool
}

// faulty is the page of an error. What the server says is told without logins.
func faulty(r *http.Request, err error) *content {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = serverFault(err)
	}
	return &content{Name: "fault", Title: f.title, Status: f.status, Data: faultData{told(f.message), f.status == http.StatusServiceUnavailable && r.Method == http.MethodGet}}
}

func serverFault(err error) *fault {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &fault{http.StatusServiceUnavailable, "The server did not answer in time", "Redis took longer than a page waits for it. Narrow what is asked for, or try again."}
	case errors.Is(err, broker.ErrNoPermission):
		return &fault{
			http.StatusForbidden, "The login may not read this",
			err.Error() + ". `pipeline export acl` prints the rule of a login that may.",
		}
	}
	return &fault{http.StatusServiceUnavailable, "Redis cannot be asked", err.Error()}
}

func (s *Site) nowhere(*http.Request) (*content, error) {
	return nil, absent("There is no such page. The menu above leads to those that there are.")
}

func (s *Site) frame(c *content) *framed {
	found, now := s.Poller.Latest(), s.Clock.Now()
	f := &framed{
		content: *c, Pipeline: view.Clean(s.Pipeline.Name), Version: view.Clean(s.Pipeline.Version), Mode: s.Mode, State: string(s.Metrics.State()),
		Write: s.Writer != nil, Now: now, Fresh: found.Fresh(now), Asked: !found.Answered.IsZero(),
	}
	if f.Asked {
		f.Answered = now.Sub(found.Answered)
	}
	f.Icon, f.Trouble = s.trouble(s.look(), f.Fresh)
	for i := range found.Streams {
		if stream := &found.Streams[i]; stream.DeadLetters && stream.Known {
			f.Letters += stream.Length
		}
	}
	return f
}

// static serves the style sheets and the script.
func static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, err := files.ReadFile("static/" + name)
	if name == "topology.css" {
		text, err = []byte(topology.Style()), nil
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	_, _ = w.Write(text) // who asked is gone
}

// patience is how long a page waits for the server.
const patience = 10 * time.Second

// ask lets a page ask the server: few at once, and not for long. done is called
// when the page is made.
func (s *Site) ask(r *http.Request) (ctx context.Context, done func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	select {
	case s.asking <- struct{}{}:
		return ctx, func() { <-s.asking; cancel() }, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, ctx.Err()
	}
}
