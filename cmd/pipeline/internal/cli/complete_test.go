package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipeline/cmd/pipeline/internal/view"
)

// testRoot is the root command of an app that prints into a buffer.
func testRoot(t *testing.T) *cobra.Command {
	t.Helper()
	a, _ := fakeApp(t, view.Options{})
	a.process.Env = func(string) (string, bool) { return "", false }
	return a.root()
}

// completed runs what a shell runs for a completion, and returns the words and
// the directive.
func completed(t *testing.T, args ...string) (words []string, directive string) {
	t.Helper()
	root := testRoot(t)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(append([]string{"__complete"}, args...))
	if err := root.Execute(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if d, ok := strings.CutPrefix(line, ":"); ok {
			return words, d
		}
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	t.Fatalf("%v: no directive in %q", args, out.String())
	return nil, ""
}

// The directives of cobra, as they are printed.
const (
	noFiles  = "4"
	extOnly  = "8"
	dirsOnly = "16"
	noSpace  = "6"
	anyFiles = "0"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	payments := filepath.Join(examples, "payments.hcl")
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.hcl")
	text := "stream \"in\" {\n  codec = = \n}\nstream \"out\" {\n  name = \"shop.out\"\n}\ngroup \"g\" {\n  subscription \"s\" {\n    consumer = \"c\"\n  }\n  subscription \"u\" {}\n  handler \"h\" {\n"
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args      []string
		want      []string
		directive string
	}{
		"a path":                {[]string{"validate", ""}, []string{"hcl"}, extOnly},
		"no second path":        {[]string{"run", payments, ""}, nil, noFiles},
		"a path after a flag":   {[]string{"dev", "--follow", ""}, []string{"hcl"}, extOnly},
		"a stream":              {[]string{"publish", payments, "--to", ""}, []string{"payments", "payments_screened", "payments_dead"}, noFiles},
		"a stream with =":       {[]string{"publish", payments, "--to=payments_s"}, []string{"payments_screened"}, noFiles},
		"the flag before":       {[]string{"dry-run", "--stream", ""}, nil, noFiles},
		"a directory":           {[]string{"dev", filepath.Join(examples, "orders"), "--stream", "c"}, []string{"customs"}, noFiles},
		"a group":               {[]string{"pending", "list", payments, "--group", ""}, []string{"ledger", "fraud"}, noFiles},
		"a variable":            {[]string{"validate", payments, "--var", "re"}, []string{"redis_url="}, noSpace},
		"its value":             {[]string{"validate", payments, "--var", "redis_url="}, nil, noSpace},
		"a file of variables":   {[]string{"validate", payments, "--var-file", ""}, []string{"hcl", "json"}, extOnly},
		"a file of entries":     {[]string{"dev", payments, "--input", ""}, nil, anyFiles},
		"a level":               {[]string{"run", payments, "--log-level", ""}, []string{"debug", "info", "warn", "error"}, noFiles},
		"a format":              {[]string{"schema", "--format", ""}, []string{"json", "jsonschema", "markdown"}, noFiles},
		"a number":              {[]string{"pending", "list", payments, "--limit", ""}, nil, noFiles},
		"a shell":               {[]string{"completion", ""}, []string{"bash", "zsh", "fish", "powershell"}, noFiles},
		"a folder":              {[]string{"man", "--dir", ""}, nil, dirsOnly},
		"nothing for version":   {[]string{"version", ""}, nil, noFiles},
		"a command":             {[]string{"publ"}, []string{"publish"}, noFiles},
		"a command to explain":  {[]string{"help", "pending", ""}, []string{"list", "show"}, noFiles},
		"in an invalid file":    {[]string{"publish", broken, "--to", ""}, []string{"in", "out"}, noFiles},
		"where there is none":   {[]string{"publish", filepath.Join(dir, "nowhere.hcl"), "--to", ""}, nil, noFiles},
		"in what is no file":    {[]string{"publish", os.DevNull, "--to", ""}, nil, noFiles},
		"after an unknown flag": {[]string{"publish", payments, "--nope", ""}, nil, anyFiles},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, directive := completed(t, c.args...)
			if !slices.Equal(got, c.want) || directive != c.directive {
				t.Errorf("%v gives %q, %s; want %q, %s", c.args, got, directive, c.want, c.directive)
			}
		})
	}
}

// Names that later commands will complete.
func TestLabelCompletions(t *testing.T) {
	t.Parallel()
	args := []string{filepath.Join(examples, "payments.hcl")}
	for flag, want := range map[string]string{
		"subscription": "post_payment post_new_payment recover_payment screen_payment",
		"consumer":     "post_payment post_new_payment recover_payment screen_payment",
		"handler":      "post_payment screen_payment",
		"seek":         "ledger= fraud=",
	} {
		got, directive := flagCompletions[flag](nil, args, "")
		if strings.Join(got, " ") != want || directive&cobra.ShellCompDirectiveNoFileComp == 0 {
			t.Errorf("--%s: %q, %d", flag, got, directive)
		}
	}
}

// Every command and every flag with a value is completed, and every command
// says what it does, with an example.
func TestEveryCommand(t *testing.T) {
	t.Parallel()
	root := testRoot(t)
	eachCommand(root, func(c *cobra.Command) {
		if c == root {
			return
		}
		if c.ValidArgsFunction == nil {
			t.Errorf("%s: its arguments are not completed", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, ok := c.GetFlagCompletionFunc(f.Name); !ok && f.Value.Type() != "bool" {
				t.Errorf("%s: --%s is not completed", c.CommandPath(), f.Name)
			}
		})
		checkHelp(t, c)
	})
}

// checkHelp checks the texts of a command.
func checkHelp(t *testing.T, c *cobra.Command) {
	t.Helper()
	if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Short[0] < 'A' || c.Short[0] > 'Z' {
		t.Errorf("%s: the short text is a line without a full stop: %q", c.CommandPath(), c.Short)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
			t.Errorf("%s --%s: %q", c.CommandPath(), f.Name, f.Usage)
		}
	})
	for line := range strings.Lines(c.Long + "\n") {
		if len([]rune(line)) > 121 {
			t.Errorf("%s: a line of the long text is over 120 columns: %s", c.CommandPath(), line)
		}
	}
	if c.HasSubCommands() {
		return
	}
	if c.Long == "" || c.Example == "" {
		t.Errorf("%s: no long text or no example", c.CommandPath())
	}
	for line := range strings.Lines(c.Example) {
		if !strings.HasPrefix(line, "  ") {
			t.Errorf("%s: the example is not indented: %q", c.CommandPath(), line)
		}
	}
}
