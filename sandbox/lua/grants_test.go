package lua

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/sandbox/capability"
)

// shelf is a capability as later ones will be: it has settings, holds something
// open, waits for the outside, and bounds what one call may do.
type shelf struct {
	t       *testing.T
	grant   sandbox.Grant
	ctx     context.Context //nolint:containedctx // it is that of a call, as the interface says
	used    int
	open    *int
	waiting chan struct{}
}

func (s *shelf) Within(ctx context.Context) { s.ctx = ctx }
func (s *shelf) Begin(*sandbox.Delivery)    { s.used = 0 }
func (s *shelf) Close()                     { *s.open-- }

func (s *shelf) Call(fn int, args []value.Value) (value.Value, error) {
	if s.used++; s.used > 3 {
		return value.Value{}, errors.New("a call may reach the shelf 3 times: raise `calls` of grant \"shelf\"")
	}
	switch fn {
	case 0:
		if len(args) != 1 {
			return value.Value{}, errors.New("write shelf.get(name)")
		}
		text, err := value.AppendJSON(nil, &args[0])
		if err != nil {
			return value.Value{}, err
		}
		size := s.grant.Settings["size"]
		return value.NewObject([]value.Value{value.NewString(string(text)).Named("got"), value.NewNumber(size.Text()).Named("size")}), nil
	default:
		close(s.waiting)
		<-s.ctx.Done()
		return value.Value{}, fmt.Errorf("the shelf did not answer: %w", s.ctx.Err())
	}
}

// withShelf adds the capability for one test and counts what is open.
func withShelf(t *testing.T) (open *int, waiting chan struct{}) {
	open, waiting = new(int), make(chan struct{})
	t.Cleanup(capability.Replace(capability.Log, &capability.Capability{
		Kind: "shelf", Doc: "A test.",
		Settings: []capability.Setting{
			{Name: "host", Type: value.String, Required: true},
			{Name: "size", Type: value.Number, Default: value.NewNumber("5")},
		},
		Functions: []capability.Function{{Name: "get", Usage: "shelf.get(name)"}, {Name: "wait", Usage: "shelf.wait()"}},
		Open: func(g sandbox.Grant, _ sandbox.Host) capability.Session {
			*open++
			return &shelf{t: t, grant: g, open: open, waiting: waiting}
		},
	}))
	return open, waiting
}

func shelfGrant(settings map[string]value.Value) []sandbox.Grant {
	if settings == nil {
		settings = map[string]value.Value{"host": value.NewString("h")}
	}
	return []sandbox.Grant{{Kind: "shelf", Settings: settings}}
}

func TestGrants(t *testing.T) {
	withShelf(t)
	for _, c := range []struct {
		name, code string
		grants     []sandbox.Grant
		want       string
	}{
		{"denied by default", `return shelf.get("a")`, nil, "error: h.lua:1: shelf.get needs a grant: add `grant \"shelf\" {}` to handler \"h\" in the pipeline file"},
		{"another grant does not do", `return shelf.get("a")`, []sandbox.Grant{{Kind: "log"}}, "error: h.lua:1: shelf.get needs a grant"},
		{"denied to those that look", `return { type(shelf), pcall(function() return shelf.get end) }`, nil, `["table",false,"h.lua:1: shelf.get needs a grant`},
		{"denied to those that set", `shelf.get = print`, nil, "error: h.lua:1: shelf.get needs a grant"},
		{"granted", `return shelf.get("a")`, shelfGrant(nil), `{"got":"\"a\"","size":5}`},
		{"a setting of the file", `return shelf.get({ 1, { a = json.null } }).size`, shelfGrant(map[string]value.Value{"host": value.NewString("h"), "size": value.NewNumber("7")}), `7`},
		{"what cannot cross", `return shelf.get({ a = ack })`, shelfGrant(nil), "error: h.lua:1: argument 1 of shelf.get: a is a function, which cannot be sent"},
		{"its own error", `return shelf.get()`, shelfGrant(nil), "error: h.lua:1: write shelf.get(name)"},
		{"a bound of each call", `for i = 1, 4 do shelf.get(i) end`, shelfGrant(nil), "error: h.lua:1: a call may reach the shelf 3 times"},
		{"an error that is caught", `return { pcall(shelf.get) }`, shelfGrant(nil), `[false,"h.lua:1: write shelf.get(name)"]`},
		{"it cannot be changed", `shelf.get = nil`, shelfGrant(nil), "error: h.lua:1: shelf.get cannot be set: 'shelf' is built in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec("function handle(e) "+c.code+" end", "handle")
			s.Grants = c.grants
			in := compile(t, s)
			for range 2 {
				out, _ := in.Call(context.Background(), delivery(t, `{}`))
				if got := show(t, out); !strings.HasPrefix(got, c.want) {
					t.Fatalf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

func TestGrantsOfTheFile(t *testing.T) {
	withShelf(t)
	for want, settings := range map[string]map[string]value.Value{
		`handler "h": grant "shelf": host is required`:                  {},
		`handler "h": grant "shelf": host must be a string`:             {"host": value.NewNumber("1")},
		`handler "h": grant "shelf": there is no argument "hots"`:       {"host": value.NewString("h"), "hots": value.NewString("h")},
		`handler "h": grant "shelves": there is no such capability; th`: nil,
	} {
		s := spec("function handle() end", "handle")
		s.Grants = shelfGrant(settings)
		if settings == nil {
			s.Grants[0].Kind = "shelves"
		}
		if _, err := Compile(s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestGrantsAreClosed counts what is open when states come and go.
func TestGrantsAreClosed(t *testing.T) {
	open, _ := withShelf(t)
	s := spec("function handle(e) if e.big then return #(('x'):rep(20000000)) end return shelf.get(1) end", "handle")
	s.Grants = shelfGrant(nil)
	h, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	if *open != 1 {
		t.Errorf("%d are open after compiling", *open)
	}
	var all []sandbox.Instance
	for range 3 {
		in, err := h.NewInstance(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in)
	}
	for _, body := range []string{`{}`, `{"big":true}`, `{}`} {
		if out, _ := all[0].Call(context.Background(), delivery(t, body)); out.Kind != outcome.Reply {
			t.Fatal(show(t, out))
		}
		if *open > 3 {
			t.Errorf("%d are open for 3 instances", *open)
		}
	}
	for _, in := range all {
		in.Close()
		in.Close()
	}
	if err := h.Close(); err != nil || *open != 0 {
		t.Errorf("%v, %d are open after all", err, *open)
	}
	s.Source.Code = []byte("nothing()")
	if _, err := Compile(s); err == nil || *open != 0 {
		t.Errorf("%v, %d are open after a script that does not load", err, *open)
	}
}

// TestWaitingEnds has a capability wait for what never comes.
func TestWaitingEnds(t *testing.T) {
	for _, c := range []struct {
		name, want string
		timeout    time.Duration
		cancel     bool
	}{
		{"at the time limit", "timeout: h.lua:1: stopped after its time limit of 40ms", 40 * time.Millisecond, false},
		{"when the delivery is called off", "canceled: h.lua:1: the delivery was called off", time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, waiting := withShelf(t)
			s := spec("function handle(e) return shelf.wait() end", "handle")
			s.Grants, s.Limits.Timeout = shelfGrant(nil), c.timeout
			in := compile(t, s)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.cancel {
				go func() { <-waiting; cancel() }()
			}
			out, _ := in.Call(ctx, delivery(t, `{}`))
			if got := show(t, out); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
