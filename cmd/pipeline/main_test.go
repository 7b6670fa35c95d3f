package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pipeline/plugins"
	"pipeline/tests/redistest"
)

// The scripts are in tests/cli. They run this very binary under the name
// pipeline, or under one with which it panics in the midst of its work.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pipeline": main, "pipeline-panics": panics})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("..", "..", "tests", "cli"),
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "await": await, "signal": sendSignal, "redis": startRedis, "redis-cli": redisCLI,
			"json": checkJSON, "repeat": repeat,
		},
		RequireUniqueNames: true,
	})
}

// script is what the commands of one script share.
type script struct {
	t      testing.TB
	server *redistest.Server
}

type scriptKey struct{}

// setup gives every script a copy of the examples, the built guests and no variables of the
// machine.
func setup(env *testscript.Env) error {
	t, ok := env.T().(testing.TB)
	if !ok {
		return errors.New("the scripts need testing.TB")
	}
	env.Values[scriptKey{}] = &script{t: t}
	env.Setenv("TZ", "UTC")
	if err := os.CopyFS(filepath.Join(env.WorkDir, "examples"), os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		return err
	}
	return modules(filepath.Join(env.WorkDir, "modules"))
}

// modules copies the built guests, which are not text: c.wasm and so on.
func modules(directory string) error {
	if err := os.Mkdir(directory, 0o700); err != nil {
		return err
	}
	for _, language := range plugins.Languages {
		code, err := os.ReadFile(filepath.Join("..", "..", "plugins", language, "payments.wasm"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, language+".wasm"), code, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// code N COMMAND…: the command exits with N.
func code(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND ARGUMENTS")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, not %s", got, args[0])
	}
}

// patience bounds every wait of the scripts.
const patience = time.Minute

// await FILE PATTERN [N]: waits until the file has N (1) lines that match.
func await(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: await FILE PATTERN [N]")
	}
	want := 1
	if len(args) > 2 {
		want = mustInt(ts, args[2])
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	name := ts.MkAbs(args[0])
	poll(ts, func() (bool, string) {
		text, err := os.ReadFile(name)
		return err == nil && len(pattern.FindAllIndex(text, -1)) >= want, string(text)
	})
}

// repeat COMMAND…: runs the command until it succeeds.
func repeat(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, func() (bool, string) {
		err := ts.Exec(args[0], args[1:]...)
		return err == nil, fmt.Sprint(err)
	})
}

func poll(ts *testscript.TestScript, done func() (bool, string)) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience)
	for {
		ok, state := done()
		if ok {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			ts.Fatalf("not within %v; last:\n%s", patience, state)
		}
	}
}

// signal NAME PIDFILE: sends a signal to the process whose number is in the
// file.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	if len(args) != 2 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal INT|TERM|KILL PIDFILE")
	}
	ts.Check(syscall.Kill(mustInt(ts, strings.TrimSpace(ts.ReadFile(args[1]))), signals[args[0]]))
}

// redis stop, redis restart: the server that is the script's own.
//
// redis VERSION [own]: an empty database of a real server; its address is in
// REDIS_URL. "own" is a server for this script alone, with the password in
// PASSWORD, if that is set.
func startRedis(ts *testscript.TestScript, _ bool, args []string) {
	s, ok := ts.Value(scriptKey{}).(*script)
	if !ok || len(args) == 0 {
		ts.Fatalf("usage: redis VERSION [own]")
	}
	switch {
	case args[0] == "stop":
		s.server.Stop()
		return
	case args[0] == "restart":
		s.server.Restart()
		return
	case len(args) > 1 && args[1] == "own":
		var options []redistest.Option
		if password := ts.Getenv("PASSWORD"); password != "" {
			options = append(options, redistest.Password(password))
		}
		s.server = redistest.Start(s.t, args[0], options...)
	default:
		s.server = redistest.Shared(s.t, args[0])
	}
	ts.Setenv("REDIS_URL", s.server.URL())
	ts.Setenv("HOST", s.server.Addr)
}

// redis-cli ARGUMENTS…: runs redis-cli on the script's database.
func redisCLI(ts *testscript.TestScript, _ bool, args []string) {
	s, ok := ts.Value(scriptKey{}).(*script)
	if !ok || s.server == nil {
		ts.Fatalf("redis-cli: no server; write redis VERSION first")
	}
	fmt.Fprintln(ts.Stdout(), s.server.CLI(args...))
}

// json: every line of the last command's stdout is a JSON object with an
// event, and nothing stands on stderr.
func checkJSON(ts *testscript.TestScript, _ bool, _ []string) {
	if text := ts.ReadFile("stderr"); text != "" {
		ts.Fatalf("stderr is not empty:\n%s", text)
	}
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("not a JSON object: %v\n%s", err, line)
		}
		if name, ok := object["event"].(string); !ok || name == "" {
			ts.Fatalf("no event: %s", line)
		}
	}
}

func mustInt(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}
