package drills

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"pipeline/tests/redistest"
)

// tellers are those that have to tell a problem by its code to whoever looks.
var tellers = []struct {
	name string
	ask  func(*drill) string
}{
	{"stats", func(d *drill) string { return d.command("stats", "drill.hcl", "--over", "0s").text }},
	{"the page", func(d *drill) string {
		var problems []struct{ Code, Summary, Detail string }
		if err := json.Unmarshal([]byte(d.get("/api/problems")), &problems); err != nil {
			d.t.Fatal(err)
		}
		page, text := html.UnescapeString(d.get("/")), ""
		for _, p := range problems {
			if strings.Contains(page, p.Summary) {
				text += "[" + p.Code + "] " + p.Summary + "\n" + p.Detail + "\n"
			}
		}
		return text
	}},
}

// sign is how somebody gets to know of a trouble.
type sign struct {
	what string
	// seen reports whether it is there, and what was looked at.
	seen func(*drill) (bool, string)
	// alert is set where it is one that fires.
	alert string
	// passes: it need not stay until the trouble is mended.
	passes bool
}

// fires is an alert.
func fires(alert string) []sign {
	return []sign{{what: alert + " fires", alert: alert, seen: func(d *drill) (bool, string) {
		return len(d.prom.Firing(alert)) > 0, fmt.Sprint(d.prom.Alerts())
	}}}
}

// tells is that everyone who is asked tells of the code, with these words.
func tells(code string, words ...string) (all []sign) {
	for _, teller := range tellers {
		all = append(all, sign{what: teller.name + " tells " + code, seen: func(d *drill) (bool, string) {
			text := teller.ask(d)
			return strings.Contains(text, "["+code+"]") && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }), text
		}})
	}
	return all
}

// aLook is longer than the monitor waits between two looks at the server, and
// Prometheus between two at the rules.
const aLook = 6 * time.Second

// breaks makes a trouble and waits for its signs. A drill whose signs are there in any
// case, or that would see the trouble pass without what the runbook says, proves
// nothing: none of them may be there before, and they stay until the trouble is mended.
// The latter takes its time and says nothing about a server, so that the newest one is
// enough.
func (d *drill) breaks(trouble func(), signs ...[]sign) {
	d.t.Helper()
	all := slices.Concat(signs...)
	for _, s := range all {
		if seen, text := s.seen(d); seen {
			d.t.Fatalf("%s before anything is wrong:\n%s", s.what, text)
		}
	}
	began := time.Now()
	trouble()
	for _, s := range all {
		d.comes(s, began)
	}
	if d.version != redistest.Versions[len(redistest.Versions)-1] {
		return
	}
	for end := time.Now().Add(aLook); time.Now().Before(end); time.Sleep(time.Second) {
		for _, s := range all {
			if seen, text := s.seen(d); !seen && !s.passes {
				d.t.Fatalf("%s no more, and nothing was mended:\n%s", s.what, text)
			}
		}
	}
}

// comes waits until a sign is there, and logs how long it took since the trouble began,
// at most, since signs are waited for one after another: on a machine that is not busy
// within 15 seconds, which the rules' own test proves by a clock that it holds.
func (d *drill) comes(s sign, since time.Time) {
	d.t.Helper()
	text := ""
	d.eventuallySaying(s.what, func() (seen bool) {
		seen, text = s.seen(d)
		return seen
	}, func() string { return text })
	d.t.Logf("%s, %.1f s after the trouble began", s.what, time.Since(since).Seconds())
	if s.alert == "" {
		return
	}
	a := d.prom.Firing(s.alert)
	if len(a) == 0 {
		return
	}
	if says := a[0].Annotations; says["summary"] == "" || strings.Contains(says["summary"]+says["description"], "<no value>") || !strings.HasSuffix(says["runbook_url"], "#"+strings.ToLower(s.alert)) {
		d.t.Errorf("%s says %v", s.alert, says)
	}
}

// over waits until nobody tells of the code any more.
func (d *drill) over(code string) {
	d.t.Helper()
	for _, s := range tells(code) {
		d.goes(s)
	}
}

// ends waits until the alert does not fire any more.
func (d *drill) ends(alert string) {
	d.t.Helper()
	for _, s := range fires(alert) {
		d.goes(s)
	}
}

// goes waits until a sign is not there any more.
func (d *drill) goes(s sign) {
	d.t.Helper()
	text := ""
	d.eventuallySaying(s.what+" no more", func() (gone bool) {
		gone, text = s.seen(d)
		return !gone
	}, func() string { return text })
}
