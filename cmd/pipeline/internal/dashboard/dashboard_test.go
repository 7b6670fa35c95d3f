package dashboard

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/engine/spec"
	"pipeline/tests/promtest"
)

// sample is a pipeline of n subscriptions.
func sample(n int) *spec.Pipeline {
	in, dead := &spec.Stream{Label: "in", Name: "payments"}, &spec.Stream{Label: "dead", Name: "payments.dead"}
	p := &spec.Pipeline{Name: "p", Streams: []*spec.Stream{in, dead}}
	for i := range n {
		g := &spec.Group{Label: fmt.Sprint("g", i), Name: fmt.Sprint("ledger", i), Stream: in, DeadLetter: dead}
		g.Subscriptions = []*spec.Subscription{{Label: fmt.Sprint("post", i), Group: g, Handler: &spec.Handler{Label: "h"}}}
		p.Groups = append(p.Groups, g)
	}
	return p
}

// hostile is a pipeline whose names mean something to every language on the way.
func hostile() *spec.Pipeline {
	p := sample(1)
	const name = "a\"}\\ $instance ${datasource} {{x}} </script> \n é"
	p.Name, p.Streams[0].Name, p.Groups[0].Name = name, name, name
	p.Groups[0].Subscriptions[0].Label, p.Groups[0].Subscriptions[0].Handler.Label = name, name
	return p
}

// panels are all that show something, those of folded rows too.
func panels(d *Dashboard) (all []Panel) {
	for _, p := range d.Panels {
		if p.Type != "row" {
			all = append(all, p)
		}
		all = append(all, p.Panels...)
	}
	return all
}

// TestPrometheusTakesEveryQuery puts in what Grafana does for its variables.
func TestPrometheusTakesEveryQuery(t *testing.T) {
	for name, p := range map[string]*spec.Pipeline{"plain": sample(2), "hostile": hostile(), "no subscription": sample(0)} {
		t.Run(name, func(t *testing.T) {
			expressions := map[string]string{}
			for _, panel := range panels(Of(p)) {
				for _, target := range panel.Targets {
					expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
					expr = strings.ReplaceAll(expr, `=~"$instance"`, `=~".*"`)
					if strings.Contains(expr, "$") {
						t.Errorf("Grafana would put something else into %s", expr)
					}
					expressions[fmt.Sprintf("%d %s", panel.ID, target.RefID)] = expr
				}
			}
			promtest.Parses(t, expressions)
		})
	}
}

var metricName = regexp.MustCompile(`\b(?:pipeline|messaging)_[a-z_]+\b`)

// TestTheDashboardShowsEveryMetric compares the names with those that a process has,
// both ways. Labels that look like names of metrics are left out.
func TestTheDashboardShowsEveryMetric(t *testing.T) {
	known, shown := map[string]string{}, map[string]bool{}
	labels := map[string]bool{}
	for _, f := range metrics.Families() {
		known[f.Name] = f.Name
		if f.Kind == metrics.Histogram {
			known[f.Name+"_bucket"] = f.Name
		}
		for _, l := range f.Labels {
			labels[l] = true
		}
	}
	for _, panel := range panels(Of(sample(1))) {
		for _, target := range panel.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				if labels[name] {
					continue
				}
				if known[name] == "" {
					t.Errorf("%s asks for %s, which there is not", panel.Title, name)
				}
				shown[known[name]] = true
			}
		}
	}
	for _, f := range metrics.Families() {
		if !shown[f.Name] {
			t.Errorf("%s is shown nowhere", f.Name)
		}
	}
}

// TestTheDashboardIsWhatGrafanaImports checks what it needs of its JSON.
func TestTheDashboardIsWhatGrafanaImports(t *testing.T) {
	for _, n := range []int{0, 1, open, open + 1, 50} {
		d := Of(sample(n))
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var top map[string]any
		if err := json.Unmarshal(text, &top); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"uid", "title", "schemaVersion", "time", "templating", "panels"} {
			if top[key] == nil {
				t.Errorf("no %s", key)
			}
		}
		if len(d.UID) > 40 || strings.Contains(string(text), `"id":null`) {
			t.Errorf("uid %q", d.UID)
		}
		if rows := len(d.Panels) - len(panels(d)); n <= open && rows != n+2 {
			t.Errorf("%d subscriptions have %d rows", n, rows)
		}
		folded := 0
		for _, p := range d.Panels {
			if p.folded() {
				folded++
			}
		}
		if want := map[bool]int{true: n}[n > open]; folded != want {
			t.Errorf("%d rows of %d subscriptions are folded, want %d", folded, n, want)
		}
		checkPanels(t, d)
	}
}

func checkPanels(t *testing.T, d *Dashboard) {
	t.Helper()
	ids := map[int]bool{}
	for _, p := range append(panels(d), d.Panels...) {
		if p.Type == "row" {
			if ids[p.ID] {
				t.Errorf("two panels are %d", p.ID)
			}
			ids[p.ID] = true
			continue
		}
		if p.Grid.X < 0 || p.Grid.X+p.Grid.W > 24 || p.Grid.W < 1 || p.Grid.H < 1 || p.Title == "" || len(p.Targets) == 0 || p.Datasource == nil {
			t.Errorf("%+v", p)
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if target.Expr == "" || target.Datasource == nil || refs[target.RefID] {
				t.Errorf("%s: %+v", p.Title, target)
			}
			refs[target.RefID] = true
		}
	}
	// What lies on the page at the same time must not overlap.
	taken := map[[2]int]int{}
	for _, p := range d.Panels {
		for x := p.Grid.X; x < p.Grid.X+p.Grid.W; x++ {
			for y := p.Grid.Y; y < p.Grid.Y+p.Grid.H; y++ {
				if other, is := taken[[2]int{x, y}]; is {
					t.Fatalf("panels %d and %d overlap", other, p.ID)
				}
				taken[[2]int{x, y}] = p.ID
			}
		}
	}
}

// TestALaterDashboardTakesThePlace of one of the same pipeline, and of no other.
func TestALaterDashboardTakesThePlace(t *testing.T) {
	one, changed, other := Of(sample(1)), Of(sample(3)), sample(1)
	other.Name = "q"
	if one.UID != changed.UID || one.UID == Of(other).UID {
		t.Error(one.UID, changed.UID, Of(other).UID)
	}
}
