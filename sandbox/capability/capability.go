// Package capability holds what a handler can be granted beyond its own
// computation. Each kind is one file here: its schema, its bounds and its
// functions, the same for every engine that runs handlers. A handler has
// none unless its block in the pipeline file grants it; nothing a script does
// can grant it.
package capability

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Capability is one kind of grant. It is immutable.
type Capability struct {
	// Kind is the label of the grant block and the name under which a script
	// finds the functions.
	Kind string
	// Doc is one sentence for reference pages.
	Doc string
	// Settings are the arguments of the grant block.
	Settings []Setting
	// Functions are what the handler can call, by their index.
	Functions []Function
	// Open makes the part that belongs to one instance. It is called with
	// settings that Resolve has completed.
	Open func(g sandbox.Grant, host sandbox.Host) Session
}

// Setting is one argument of a grant block.
type Setting struct {
	Name string
	Type value.Kind
	// Default applies when the argument is absent, unless Required.
	Default  value.Value
	Required bool
	Doc      string
}

// Function is one function of a capability.
type Function struct {
	Name string
	// Usage is how a call is written, for messages.
	Usage string
	Doc   string
}

// Session is a capability as one instance uses it. It is used by one goroutine.
// One that waits for something outside is a Waiter as well, one that holds
// something open a Closer.
type Session interface {
	// Begin starts a call: bounds that are per call start anew. d is nil while
	// a script is loaded.
	Begin(d *sandbox.Delivery)
	// Call runs function fn. The arguments are valid until it returns. An error
	// is raised in the script, so it says what to do.
	Call(fn int, args []value.Value) (value.Value, error)
}

// Waiter is a Session whose functions may wait for something outside. The
// engine gives it a context before each Begin, which ends when the call does,
// runs out of its time, or is called off: no function may wait longer.
type Waiter interface {
	Session
	Within(ctx context.Context)
}

// Closer is a Session that holds something open. It is closed once, when the
// instance is, or when the state of a script that it belongs to is given up.
type Closer interface {
	Session
	Close()
}

// all is every kind of this version, by name.
var all = []*Capability{Log}

// Lookup returns the capability of that kind.
func Lookup(kind string) (*Capability, bool) {
	for _, c := range all {
		if c.Kind == kind {
			return c, true
		}
	}
	return nil, false
}

// All returns every capability, ordered by kind.
func All() []*Capability { return slices.Clone(all) }

// Replace makes these the capabilities of the whole process until restore is
// called. It is for tests of engines and of what is built on them; nothing that
// uses capabilities may run meanwhile.
func Replace(kinds ...*Capability) (restore func()) {
	before := all
	all = kinds
	return func() { all = before }
}

// Resolve is Check, and returns the grant with the default of each argument
// that is absent and has one.
func Resolve(g sandbox.Grant) (sandbox.Grant, error) {
	if err := Check(g); err != nil {
		return g, err
	}
	c, _ := Lookup(g.Kind)
	settings := make(map[string]value.Value, len(c.Settings))
	maps.Copy(settings, g.Settings)
	for _, s := range c.Settings {
		if _, given := settings[s.Name]; !given && s.Default.Kind() != value.Null {
			settings[s.Name] = s.Default
		}
	}
	return sandbox.Grant{Kind: g.Kind, Settings: settings}, nil
}

// Check finds what is wrong with a grant.
func Check(g sandbox.Grant) error {
	c, ok := Lookup(g.Kind)
	if !ok {
		return fmt.Errorf("grant %q: there is no such capability; this version has %s", g.Kind, kinds())
	}
	for name, v := range g.Settings {
		i := slices.IndexFunc(c.Settings, func(s Setting) bool { return s.Name == name })
		if i < 0 {
			return fmt.Errorf("grant %q: there is no argument %q", g.Kind, name)
		}
		if v.Kind() != c.Settings[i].Type {
			return fmt.Errorf("grant %q: %s must be a %s", g.Kind, name, c.Settings[i].Type)
		}
	}
	for _, s := range c.Settings {
		if _, given := g.Settings[s.Name]; s.Required && !given {
			return fmt.Errorf("grant %q: %s is required", g.Kind, s.Name)
		}
	}
	return nil
}

// Missing is the message for a handler that uses what it was not granted. use
// is what it called, "log.info".
func Missing(kind, use, handler string) string {
	return fmt.Sprintf("%s needs a grant: add `grant %q {}` to handler %q in the pipeline file", use, kind, handler)
}

func kinds() string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Kind
	}
	return strings.Join(names, ", ")
}
