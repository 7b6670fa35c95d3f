package alerts

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipeline/tests/promtest"
)

// allMutants has every mutant tried, and not only one of every third rule: that takes
// minutes.
var allMutants = flag.Bool("mutants", false, "TestARuleThatIsWrongIsNoticed: try all mutants")

// some is the part of the rules of which a mutant is tried in any case.
const some = 3

// compared are the comparisons of a rule.
var compared = regexp.MustCompile(` (>=|>|==|<=|<) (\d+(?:\.\d+)?)`)

// mutant is a rule that is wrong in one place.
type mutant struct {
	name string
	rule Rule
}

// mutantsOf are the ways in which a rule is made wrong: each comparison turned round,
// each threshold moved far in both directions, and another time to wait.
func mutantsOf(r Rule) (all []mutant) {
	with := func(what, expr string, wait time.Duration) {
		m := r
		m.Expr, m.For = expr, wait
		all = append(all, mutant{r.Alert + ": " + what, m})
	}
	opposite := map[string]string{">": "<=", ">=": "<", "==": "!=", "<": ">=", "<=": ">"}
	for _, at := range compared.FindAllStringSubmatchIndex(r.Expr, -1) {
		before, after := r.Expr[:at[2]], r.Expr[at[5]:]
		sign, text := r.Expr[at[2]:at[3]], r.Expr[at[4]:at[5]]
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		with(sign+" "+text+" turned round", before+opposite[sign]+" "+text+after, r.For)
		if sign == "==" {
			continue
		}
		with(sign+" "+text+" doubled", fmt.Sprint(before, sign, " ", 2*value+1, after), r.For)
		with(sign+" "+text+" lowered", fmt.Sprint(before, sign, " ", value/2-1, after), r.For)
	}
	with("waits for half a minute more", r.Expr, r.For+30*time.Second)
	if r.For > 0 {
		with("does not wait", r.Expr, 0)
	}
	return all
}

// TestARuleThatIsWrongIsNoticed breaks every rule, and has the cases of
// TestTheAlertsFire notice each time.
func TestARuleThatIsWrongIsNoticed(t *testing.T) {
	path := promtest.Program(t, "promtool")
	p, dir := sample(), t.TempDir()
	rules := Of(p, defaults())
	all, files := map[string]string{}, []string{}
	for i := range rules {
		mutants := mutantsOf(rules[i])
		if len(mutants) < 2 {
			t.Errorf("%s: only %d mutants", rules[i].Alert, len(mutants))
		}
		if !*allMutants && i%some > 0 {
			continue
		} else if !*allMutants {
			mutants = mutants[:1]
		}
		for j, m := range mutants {
			name := fmt.Sprintf("%d-%d", i, j)
			test, _ := played(name+".rules.yml", m.rule.Alert)
			for file, text := range map[string]string{name + ".rules.yml": seldom(YAML(p.Name, []Rule{m.rule})), name + ".yml": test} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			all[name+".yml"] = m.name
			files = append(files, name+".yml")
		}
	}
	for _, file := range files {
		cmd := exec.CommandContext(t.Context(), path, "test", "rules", file)
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		switch {
		case err == nil:
			t.Errorf("nobody notices: %s", all[file])
		case !strings.Contains(string(output), "FAILED:") || strings.Contains(string(output), "parse error"):
			t.Errorf("%s: %s", all[file], output)
		}
	}
	t.Logf("%d mutants", len(files))
}
