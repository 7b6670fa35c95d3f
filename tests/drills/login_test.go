package drills

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// workerRule is the rule of a worker's login that the command prints.
func (d *drill) workerRule() []string {
	d.t.Helper()
	out := d.command("export", "acl", "drill.hcl", "--json")
	for line := range strings.Lines(out.out) {
		var login struct {
			User string   `json:"user"`
			Rule []string `json:"rule"`
		}
		if err := json.Unmarshal([]byte(line), &login); err == nil && login.User == "worker" {
			return login.Rule
		}
	}
	d.t.Fatalf("no rule of a worker:\n%s", out.text)
	return nil
}

func withoutKey(rule []string, key string) []string {
	return slices.DeleteFunc(slices.Clone(rule), func(word string) bool { return word == key })
}

// login gives the worker's login a rule, and returns the address with it.
func (d *drill) login(rule []string) string {
	d.t.Helper()
	args := []any{"ACL", "SETUSER", "worker", "on", ">drill"}
	for _, word := range rule {
		args = append(args, word)
	}
	if err := d.Client().Do(d.t.Context(), args...).Err(); err != nil {
		d.t.Fatal(err)
	}
	u, err := url.Parse(d.URL())
	if err != nil {
		d.t.Fatal(err)
	}
	u.User = url.UserPassword("worker", "drill")
	return u.String()
}
