package lang_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pipeline/lang"
)

// TestReadsOfManySubscriptionsAreSpread: a thousand subscriptions to which nothing
// comes ask the server no more than 200 times a second, unless the file says how
// often.
func TestReadsOfManySubscriptionsAreSpread(t *testing.T) {
	for _, c := range []struct {
		name     string
		n        int
		pipeline string // arguments of the pipeline block
		sub      string // arguments of each subscription
		want     time.Duration
	}{
		{"few", 10, "", "", time.Second},
		{"as many as a second lasts for", 200, "", "", time.Second},
		{"more", 400, "", "", 2 * time.Second},
		{"a great many", 2000, "", "", 5 * time.Second},
		{"that is set", 500, "", `block = "300ms"`, 300 * time.Millisecond},
		{"set to the default", 500, "", `block = "1s"`, time.Second},
		{"a drain that is short", 2000, `drain_timeout = "3s"`, "", 1500 * time.Millisecond},
		{"a drain as short as can be", 2000, `drain_timeout = "1500ms"`, "", time.Second},
		{"those that are not enabled do not count", 500, "", "enabled = false", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, r := lang.Load(manySubscriptions(c.n, c.pipeline, c.sub), "p.hcl", lang.Options{})
			if p == nil {
				t.Fatalf("it does not load:\n%s", render(t, r))
			}
			subs := p.Subscriptions()
			if strings.Contains(c.sub, "false") {
				if len(subs) != 1 || subs[0].Block != c.want {
					t.Fatalf("%d subscriptions, of which the first reads for %v, want 1 and %v", len(subs), subs[0].Block, c.want)
				}
				return
			}
			if len(subs) != c.n+1 {
				t.Fatalf("%d subscriptions", len(subs))
			}
			for _, s := range subs[1:] {
				if d := s.Block - c.want; d < 0 || d > 5*time.Millisecond {
					t.Fatalf("%s reads for %v, want %v", s.Label, s.Block, c.want)
				}
			}
		})
	}
}

// manySubscriptions is a file with one subscription, and n more.
func manySubscriptions(n int, pipeline, sub string) fstest.MapFS {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline \"p\" {\n  language = 1\n  %s\n}\nbroker \"redis\" {\n  url = \"redis://localhost\"\n}\n", pipeline)
	b.WriteString("handler \"h\" {\n  source   = \"h.lua\"\n  function = \"handle\"\n}\n")
	for i := range n + 1 {
		arguments := sub
		if i == 0 {
			arguments = ""
		}
		fmt.Fprintf(&b, "stream \"s%d\" {\n  name = \"s:%d\"\n}\ngroup \"g%d\" {\n  stream = stream.s%d\n  subscription \"sub%d\" {\n    handler = handler.h\n    %s\n  }\n}\n",
			i, i, i, i, i, arguments)
	}
	return fstest.MapFS{
		"p.hcl": {Data: []byte(b.String())},
		"h.lua": {Data: []byte("function handle(entry) return ack() end\n")},
	}
}
