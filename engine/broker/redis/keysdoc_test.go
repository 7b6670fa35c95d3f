package redis

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pipeline/engine/broker"
)

// Every key that stands beside a stream is in the table of the manual and in the
// documentation of this package, so that nobody finds one on a server and wonders.
func TestEveryKeyIsInTheManual(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../../docs/delivery.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(manual), "## Keys beside a stream")
	if !ok {
		t.Fatal("the manual has no table of keys")
	}
	documentation, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{strings.TrimSuffix(markKey("payments", "", broker.ID{}), "0-0-")}
	of := reflect.ValueOf(newGroupKeys("payments", "ledger")).Elem()
	for _, field := range of.Fields() {
		keys = append(keys, field.String())
	}
	if of = reflect.ValueOf(newGroupKeys("payments", "NEW")).Elem(); !of.FieldByName("replay").IsValid() || len(keys) < 6 {
		t.Fatalf("%q are not all", keys)
	}
	for _, key := range keys {
		if rest, is := strings.CutSuffix(key, ":ledger:replay"); is {
			key = rest + ":NEW:replay" // a group of its own
		}
		if !strings.Contains(table, "`"+key) {
			t.Errorf("the table of docs/delivery.md lacks %s", key)
		}
		if !strings.Contains(string(documentation), "//\t"+key) {
			t.Errorf("doc.go lacks %s", key)
		}
	}
}

// Names of keys are made in one place, which the test above knows; elsewhere there are
// only patterns of them.
func TestKeysAreNamedInOnePlace(t *testing.T) {
	t.Parallel()
	makes := map[string]bool{"keys.go": true, "movemarked.go": true, "doc.go": true}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("scripts/*.lua")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range append(names, scripts...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rest := strings.NewReplacer(`":pipeline:*"`, "", `{stream}:pipeline:*`, "").Replace(string(text))
		if !makes[name] && !strings.HasSuffix(name, "_test.go") && strings.Contains(rest, ":pipeline:") {
			t.Errorf("%s names keys of ours", name)
		}
	}
}
