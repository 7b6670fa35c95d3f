package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFullDiskIsAFailure: a result that could not be written is no success.
func TestAFullDiskIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	for _, args := range [][]string{
		{"--help"}, {"help", "validate"}, {"validate", "--help"}, {"new"}, {"version"}, {"version", "--json"}, {"explain"}, {"explain", "no_claim"},
		{"schema"}, {"completion", "bash"}, {"validate", filepath.Join(examples, "payments.hcl")}, {"validate", "--json", filepath.Join(examples, "orders")},
	} {
		told, err := os.Create(filepath.Join(t.TempDir(), "err"))
		if err != nil {
			t.Fatal(err)
		}
		exit := Main(Process{
			Args: args, Stdin: strings.NewReader(""), Stdout: full, Stderr: told,
			Env: func(string) (string, bool) { return "", false },
		})
		text, err := os.ReadFile(told.Name())
		if err != nil || told.Close() != nil {
			t.Fatal(err)
		}
		if exit != exitFailed || !strings.Contains(string(text), "write the output") {
			t.Errorf("%v: exit code %d, %q", args, exit, text)
		}
	}
}
