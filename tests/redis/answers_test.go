package redis_test

import (
	"crypto/sha1" //nolint:gosec // the server names scripts by it
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// digest is what the server calls one of the broker's scripts.
func digest(t *testing.T, script string) string {
	t.Helper()
	text, err := os.ReadFile("../../engine/broker/redis/scripts/" + script + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(text) //nolint:gosec // the server names scripts by it
	return hex.EncodeToString(sum[:])
}

// copyFile has a retry without a time append a copy: nobody claims.
var copyFile = strings.Replace(replyFile, "    claim {\n      min_idle = var.min_idle\n    }\n    reply {\n      to = stream.out\n    }\n", "", 1)

const copyScript = `
function handle(e, ctx)
  if ctx.attempt == 1 then return retry() end
  return ack()
end
`

// The server settles an entry and its answer is lost: what was written is not
// written twice, is reported as what it was, and no handler runs again for it.
func TestALostAnswerSettlesOnceWhateverItSettles(t *testing.T) {
	// So long that nobody may have claimed what is sent again, however late it is.
	outcomes := [2]string{strings.Replace(outcomesFile, `min_idle = "2s"`, `min_idle = "60s"`, 1), outcomesScript}
	once := [2]string{onceFile, replyScript}
	for _, c := range []struct {
		name   string
		file   [2]string
		fields []string
		script string // "" is XACK
		want   []string
		// lengths are those of streams in the end.
		lengths map[string]int64
	}{
		{"an acknowledgement", outcomes, []string{"do", "ack"}, "", []string{"ack#1"}, nil},
		{"a drop", outcomes, []string{"do", "drop"}, "", []string{"drop#1 (not wanted)"}, nil},
		{"a reply", outcomes, []string{"do", "one"}, "settle", []string{`reply#1 out:{"n":1}`}, map[string]int64{"out": 2}},
		{
			"two replies", outcomes, []string{"do", "both"}, "settle",
			[]string{`reply#1 out:{"n":11} other:{"n":11}`},
			map[string]int64{"out": 2, "other": 2},
		},
		{
			"a dead letter", outcomes, []string{"do", "dead"}, "settle",
			[]string{"dead#1 (stolen card) dead"},
			map[string]int64{"dead": 2},
		},
		{"a retry in place", outcomes, []string{"do", "later"}, "wait", []string{"retry#1 (not yet)", "ack#1"}, map[string]int64{"in": 2}},
		{
			"a failed attempt", outcomes, []string{"do", "error"}, "wait",
			[]string{"failed#1 [error]", "failed#2 [error]", "failed#3 (failed) [error] dead"},
			map[string]int64{"dead": 2},
		},
		{"the copy of a retry", [2]string{copyFile, copyScript}, []string{"n", "1"}, "settle", []string{"retry#1", "ack#2"}, map[string]int64{"in": 4}},
		{"a marked reply", once, []string{"n"}, "settle", []string{`reply#1 out:{"n":N}`}, map[string]int64{"out": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				path := write(t, [2]string{"p.hcl", c.file[0]}, [2]string{"h.lua", c.file[1]})
				vars := map[string]string{"min_idle": "60s"}
				if c.file == outcomes {
					vars = nil
				}
				p := load(t, path, vars)
				net := redistest.Through(t, s)
				v := startAt(t, net.URL(), p, "host-a", compile(t, p))
				v.ready()
				run := func(n string) {
					add := c.fields
					if len(add) == 1 {
						add = []string{"n", n}
					}
					done := len(outcomesOf(v))
					s.CLI(append([]string{"XADD", "in", "*"}, add...)...)
					v.record.wait(t, strings.Join(c.want, ", "), func() bool { return len(v.record.outcomes["s"]) >= done+len(c.want) })
				}
				run("1") // so that the scripts are known
				word := "XACK"
				if c.script != "" {
					word = digest(t, c.script)
				}
				net.Lose(word)
				run("2")
				if n := net.Lost(); n != 1 {
					t.Fatalf("%d answers were lost", n)
				}
				if err := v.drain(); err != nil {
					t.Error(err)
				}
				var want []string
				for _, n := range []string{"1", "2"} {
					for _, w := range c.want {
						want = append(want, strings.ReplaceAll(w, "N", n))
					}
				}
				if got := outcomesOf(v); !slices.Equal(got, want) {
					t.Errorf("outcomes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				for stream, n := range c.lengths {
					if got := s.Client().XLen(t.Context(), stream).Val(); got != n {
						t.Errorf("%s holds %d entries, want %d", stream, got, n)
					}
				}
				expectClean(t, s, 0)
				if n := s.Client().HLen(t.Context(), "{in}:pipeline:g:records").Val(); n != 0 {
					t.Errorf("%d records are left of what is settled", n)
				}
			})
		})
	}
}

func outcomesOf(v *service) []string { return outcomes(v, "s") }

// A read whose answer was lost has delivered entries that nobody has: they are
// found in the own pending list, long before anybody could claim them.
func TestEntriesOfALostReadRunAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		path := write(t, [2]string{"p.hcl", replyFile}, [2]string{"h.lua", replyScript})
		p := load(t, path, map[string]string{"min_idle": "10m"})
		net := redistest.Through(t, s)
		v := startAt(t, net.URL(), p, "host-a", compile(t, p))
		v.ready()
		const n = 20
		for i := range n {
			if i%5 == 0 {
				net.Lose("XREADGROUP")
				eventually(t, "a read is under way whose answer will be lost", func() bool { return net.Lost() == i/5+1 })
			}
			s.CLI("XADD", "in", "*", "n", strings.Repeat("1", i+1))
		}
		v.settled("s", observe.ResultReply, n)
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		if got := s.Client().XLen(t.Context(), "out").Val(); got != n {
			t.Errorf("%d replies to %d entries", got, n)
		}
		if got := net.Lost(); got != n/5 {
			t.Errorf("%d answers were lost", got)
		}
		expectClean(t, s, 0)
	})
}
