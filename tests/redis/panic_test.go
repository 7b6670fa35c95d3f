package redis_test

import (
	"fmt"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// crashing is a host whose own code panics.
type crashing struct{}

func (crashing) Log(*sandbox.Delivery, sandbox.LogLine) { panic("the host crashed") }

// Code of the host that panics under a handler is a failed attempt of one entry, like
// any other, and nothing that is told or written of it holds the server's password.
func TestAHostThatPanicsFailsOneEntryAndTellsNoPassword(t *testing.T) {
	const password = "hunter2-right"
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Password(password))
			file := strings.NewReplacer(`source = "h.lua"`, "source = \"h.lua\"\n  grant \"log\" {}",
				"    handler = handler.h", "    handler    = handler.h\n    on_failure = \"dead\"").Replace(replyFile)
			script := "function handle(e)\n  if e.n == 1 then log.info(\"it\") end\n  return { n = e.n }\nend\n"
			p := load(t, write(t, [2]string{"p.hcl", file}, [2]string{"h.lua", script}), map[string]string{"min_idle": "60s"})
			v := startAt(t, s.URL(), p, "host-a", compileFor(t, p, crashing{}))
			v.ready()
			for n := range 3 {
				s.CLI("XADD", "in", "*", "n", fmt.Sprint(n))
			}
			v.settled("s", observe.ResultReply, 2)
			v.settled("s", observe.ResultFailed, 1)
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			if got := fmt.Sprint(outcomes(v, "s")); !strings.Contains(got, "failed#1 (failed) [crash] dead") {
				t.Errorf("outcomes: %s", got)
			}
			expectClean(t, s, 0)
			v.record.mu.Lock()
			defer v.record.mu.Unlock()
			told := fmt.Sprintf("%+v %+v", v.record.events, v.record.outcomes)
			for _, key := range s.Client().Keys(t.Context(), "*").Val() {
				if s.Client().Type(t.Context(), key).Val() == "stream" {
					told += fmt.Sprint(key, fields(t, s.Client(), key))
				}
			}
			if !strings.Contains(told, "h:dead-letter-reason=failed") {
				t.Error("there is no letter")
			}
			if strings.Contains(told, password) {
				t.Errorf("the password is in what was told or written: %s", told)
			}
		})
	}
}
