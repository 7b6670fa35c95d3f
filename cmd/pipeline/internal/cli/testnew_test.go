package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewPassesItsTests writes a pipeline, a handler and a test, as `new` does,
// and runs the tests after each.
func TestNewPassesItsTests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	pass := func(want string) {
		t.Helper()
		exit, out, stderr := runMain(t, []string{"test", dir}, nil)
		if exit != exitDone || stderr != "" || !strings.HasSuffix(out, "\n"+want+"\n") {
			t.Fatalf("exit code %d, want %q:\n%s%s", exit, want, out, stderr)
		}
	}
	create := func(args ...string) (events string) {
		t.Helper()
		exit, out, stderr := runMain(t, append([]string{"new"}, append(args, "--dir", dir, "--json")...), nil)
		if exit != exitDone {
			t.Fatalf("new %v: exit code %d: %s%s", args, exit, out, stderr)
		}
		return out
	}
	create("pipeline", "shop")
	pass("3 tests: 3 passed")
	paste(t, create("handler", "audit"))
	pass("4 tests: 4 passed")
	create("test", "more")
	pass("6 tests: 6 passed")
}

// paste adds what `new handler` prints to the file that it names.
func paste(t *testing.T, events string) {
	t.Helper()
	for line := range strings.Lines(events) {
		var e struct{ Event, File, Text string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event != "paste" {
			continue
		}
		text, err := os.ReadFile(e.File)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(e.File, append(text, "\n"+e.Text...), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("there is nothing to paste in %s", events)
}
