package lua

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
)

// reference finds the reference implementation. Where CI runs it has to be
// there.
func reference(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("lua5.1")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI needs the lua5.1 command: ", err)
		}
		t.Skip("no lua5.1 on this machine; Debian and Ubuntu have a package of that name")
	}
	return path
}

// runReference is what the reference implementation makes of a program that
// returns a text.
func runReference(t interface{ Fatalf(string, ...any) }, path, program string) string {
	cmd := exec.Command(path, "-") //nolint:noctx // the programs end
	cmd.Stdin = strings.NewReader("local function run()\n" + program + "\nend\nio.write(tostring(run()))")
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the reference implementation: %v: %s\n%s", err, wrong.String(), program)
	}
	return string(out)
}

// runOurs is what a handler makes of it.
func runOurs(t interface{ Fatalf(string, ...any) }, program string) string {
	h, err := Compile(sandbox.Spec{
		Label: "h", Function: "handle", Limits: sandbox.Limits{Instructions: 5_000_000},
		Source: sandbox.Source{Name: "h.lua", Code: []byte("local function run()\n" + program + "\nend\nfunction handle() return { text = run() } end")},
	})
	if err != nil {
		return "refused: " + err.Error()
	}
	defer func() { _ = h.Close() }()
	in, err := h.NewInstance(context.Background())
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer in.Close()
	out, _ := in.Call(context.Background(), sandboxtest.Delivery(""))
	if out.Kind != outcome.Reply {
		return sandboxtest.Show(out)
	}
	return out.Replies[0].Body.Get("text").Text()
}

// TestProgramsAgainstTheReference runs random programs here and there.
func TestProgramsAgainstTheReference(t *testing.T) {
	path := reference(t)
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		if got, want := runOurs(t, p), runReference(t, path, p); got != want {
			t.Fatalf("%s\ngot  %s\nwant %s", strings.TrimPrefix(p, preamble), got, want)
		}
	})
}
