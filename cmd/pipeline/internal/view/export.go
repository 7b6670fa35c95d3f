package view

import (
	"strings"

	"pipeline/cmd/pipeline/internal/plan"
)

// Rules prints the rules of logins as commands for redis-cli, each with what it is
// for. No rule holds a password.
func (v *View) Rules(r plan.Rules) {
	type login struct {
		user, about string
		rule        []string
		optional    []string
	}
	logins := []login{
		{"worker", "A worker, once the groups exist (add >PASSWORD):", r.Worker, r.Optional},
		{"viewer", "A viewer, for stats, tail, graph --live and dry-run --live; it changes nothing (add >PASSWORD):", r.Viewer, nil},
	}
	if v.o.JSON {
		for _, l := range logins {
			v.event(struct {
				Event    string   `json:"event"`
				User     string   `json:"user"`
				Rule     []string `json:"rule"`
				Optional []string `json:"optional"`
			}{"login", l.user, l.rule, append([]string{}, l.optional...)})
		}
		return
	}
	p := paint(v.o.Color)
	var b []byte
	for _, l := range logins {
		b = p.append(b, dim, "# "+l.about)
		b = append(b, "\n"+ruleText(l.user, l.rule)+"\n"...)
		if len(l.optional) > 0 {
			b = p.append(b, dim, "# It can do without, but stops and tidies up better with:")
			b = append(b, "\n# "+ruleText(l.user, plus(l.optional))+"\n"...)
		}
	}
	v.write(b)
}

func plus(commands []string) []string { return strings.Fields("+" + strings.Join(commands, " +")) }
