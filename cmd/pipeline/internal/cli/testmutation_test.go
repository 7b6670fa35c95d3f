package cli

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// copyPayments copies the worked example with its tests into a directory of its
// own, with one text of the script replaced by another, and returns its file.
func copyPayments(t *testing.T, old, fresh string) string {
	t.Helper()
	examples := filepath.Join("..", "..", "..", "..", "examples")
	dir := t.TempDir()
	for _, name := range []string{"payments.hcl", "payments_test.hcl", "handlers/payments.lua"} {
		text, err := os.ReadFile(filepath.Join(examples, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		out := string(text)
		if strings.HasSuffix(name, ".lua") {
			if strings.Count(out, old) != 1 {
				t.Fatalf("%q is in the script %d times", old, strings.Count(out, old))
			}
			out = strings.Replace(out, old, fresh, 1)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "payments.hcl")
}

// mutations are mistakes that people make in a handler, with what the output
// must say for its reader to find each without a look at the test.
var mutations = map[string]struct {
	old, fresh string
	says       []string
}{
	"> becomes >=":       {"> 1000000", ">= 1000000", []string{"suspicious is true", `"amount_cents":1000000`}},
	"a wrong constant":   {"> 1000000", "> 10000000", []string{"suspicious is false", `"amount_cents":1000001`}},
	"a wrong comparison": {"> 1000000", "< 1000000", []string{"they differ at [0].suspicious: true, not false", `"amount_cents":12500`}},
	"a forgotten return of a value": {
		"return { payment_id = payment.id, suspicious = payment.amount_cents > 1000000 }",
		"local result = { payment_id = payment.id, suspicious = payment.amount_cents > 1000000 }",
		[]string{"handlers/payments.lua:11: screen_payment returned nothing", `they differ at [0]: "failed", not "reply"`},
	},
	"a forgotten return of an outcome": {"return retry()", "retry()", []string{
		`they differ at [0]: "ack", not "retry"`, "warn  account locked", "info  payment posted", "payments.lua:5",
	}},
	"a wrong field": {"payment_id = payment.id", "payment_id = payment.account", []string{
		"payment_id: expected a number, found a string",
	}},
	"a field that is not there": {"payment.amount_cents >", "payment.amount >", []string{"handlers/payments.lua:12: "}},
	"ack for retry":             {"return retry()", "return ack()", []string{`they differ at [0]: "ack", not "retry"`, `"migrating-9"`}},
	"retry for ack":             {"return ack()", "return retry()", []string{`they differ at [0]: "retry", not "ack"`, `"acct-7"`}},
	"an error for a retry": {"return retry()", `error("the account is locked")`, []string{
		"handlers/payments.lua:5: the account is locked", `they differ at [0]: "failed", not "retry"`,
	}},
	"dead for retry":              {"return retry()", `return dead("locked")`, []string{"to payments_dead: locked"}},
	"a retry that waits too long": {"return retry()", `return retry{ after = "1h" }`, []string{"again in 1h", "pending at 30s", "not before 1h"}},
	"a prefix of the wrong length": {":sub(1, 10)", ":sub(1, 9)", []string{
		`they differ at [0]: "ack", not "retry"`, `"account":"migrating-9"`,
	}},
	"the condition upside down": {`== "migrating-"`, `~= "migrating-"`, []string{
		`they differ at [0]: "retry", not "ack"`, `"account":"acct-7"`, "warn  account locked",
	}},
	"a log line that is missing": {
		`log.info("payment posted", { payment = payment.id, deliveries = ctx.deliveries })`, "",
		[]string{"subscription.post_payment.calls[0].logs is empty"},
	},
	"a call of nothing": {`payment.account:sub(1, 10)`, `payment.acount:sub(1, 10)`, []string{
		"handlers/payments.lua:3: attempt to index a nil value",
	}},
}

// TestMutations makes one mistake after the other in the worked example. Its
// tests must find each. Run it with -v to read what they print.
func TestMutations(t *testing.T) {
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			exit, out, stderr := runMain(t, []string{"test", copyPayments(t, m.old, m.fresh)}, nil)
			t.Logf("%s → %s\n%s%s", m.old, m.fresh, out, stderr)
			if exit != exitFailed {
				t.Errorf("exit code %d", exit)
			}
			for _, text := range m.says {
				if !strings.Contains(out+stderr, text) {
					t.Errorf("the output does not say %q", text)
				}
			}
		})
	}
}

// rounds is how often TestSameOutput runs the tests. It has been run 100 times;
// a few runs in between find what changes break.
var rounds = flag.Int("rounds", 3, "how often to run the tests whose output has to be the same")

// TestSameOutput runs tests that pass and that fail again and again, one at a
// time and many at once: what is printed must be the same to the byte.
func TestSameOutput(t *testing.T) {
	path := copyPayments(t, "return ack()", "return retry()")
	for _, form := range []string{"text", "json"} {
		args := []string{"test", path}
		if form == "json" {
			args = append(args, "--json")
		}
		var first string
		for i := range *rounds {
			for _, parallel := range []string{"1", "8"} {
				exit, out, stderr := runMain(t, append(slices.Clone(args), "--parallel", parallel), nil)
				if exit != exitFailed {
					t.Fatalf("exit code %d: %s", exit, stderr)
				}
				if first == "" {
					first = out + stderr
				}
				if out+stderr != first {
					t.Fatalf("round %d with --parallel %s prints\n%s\nand before\n%s", i, parallel, out+stderr, first)
				}
			}
		}
		if len(first) < 1000 {
			t.Errorf("only this was printed:\n%s", first)
		}
	}
}

// TestExamplesPass runs the tests of the examples.
func TestExamplesPass(t *testing.T) {
	for _, path := range []string{"payments.hcl", "orders"} {
		exit, out, stderr := runMain(t, []string{"test", filepath.Join("..", "..", "..", "..", "examples", path)}, nil)
		if exit != exitDone || stderr != "" {
			t.Errorf("%s: exit code %d\n%s%s", path, exit, out, stderr)
		}
	}
}
