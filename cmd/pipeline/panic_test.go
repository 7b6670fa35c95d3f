package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

// bomb is randomness that panics.
type bomb struct{}

func (bomb) Read([]byte) (int, error) { panic("the bomb went off") }

// panics is main, where a goroutine of the engine panics when it has reached the server
// and makes a token for the name of its consumer.
func panics() {
	rand.Reader = bomb{}
	main()
}

// A goroutine of the engine that panics ends the process with all that its goroutines
// are about: nothing of it, nor of what was printed before, is the password, wherever it
// stands.
func TestNoPanicPrintsThePassword(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6", redistest.Password("hunter2-right"),
		redistest.Config("user", "worker", "on", ">p@ss/hunter2", "~*", "&*", "+@all"))
	for _, p := range places {
		if !p.works {
			continue
		}
		for _, form := range []string{"text", "json"} {
			t.Run(p.name+"/"+form, func(t *testing.T) {
				t.Parallel()
				d := p.at(t, s.Addr)
				args := []string{"run", "FILE", "--log-level", "debug"}
				if form == "json" {
					args = append(args, "--json")
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				cmd, output := d.command(ctx, s.Addr, args...)
				path, err := exec.LookPath("pipeline-panics")
				if err != nil {
					t.Fatal(err)
				}
				cmd.Path, cmd.Args[0] = path, path
				cmd.Env = append(cmd.Env, "OTEL_SDK_DISABLED=true") // it draws randomness, too, and earlier
				err = cmd.Run()
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || ctx.Err() != nil {
					t.Errorf("it ended with %v, want a panic", err)
				}
				for _, want := range []string{"the bomb went off", "goroutine ", "pipeline/engine."} {
					if !strings.Contains(output.String(), want) {
						t.Errorf("no %q in the output:\n%s", want, output)
					}
				}
				expectNoSecret(t, args, output.String())
			})
		}
	}
}
