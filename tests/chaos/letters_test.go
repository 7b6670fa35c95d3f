package chaos

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pipeline/tests/redistest"
)

// letters is how many dead letters are replayed and dropped.
var letters = flag.Int("chaos.letters", 3000, "how many dead letters are replayed, and dropped, by processes that are killed")

// buryScript adds dead letters of the payments example.
const buryScript = `
redis.call('DEL', KEYS[1])
for i = 1, ARGV[1] do
  redis.call('XADD', KEYS[1], i .. '-0', '_payload', '{"id":' .. i .. ',"account":"a","amount_cents":1}', 'h:dead-letter-reason', 'failed',
    'h:dead-letter-error', 'no account', 'h:dead-letter-stream', 'payments', 'h:dead-letter-id', i .. '-0', 'h:dead-letter-group', 'ledger',
    'h:dead-letter-subscription', 'post_payment')
end
return redis.call('XLEN', KEYS[1])`

// onceScript counts the different bodies of a stream.
const onceScript = `
local seen, n, from = {}, 0, '-'
while true do
  local page = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 1000)
  if #page == 0 then return n end
  for _, e in ipairs(page) do
    if not seen[e[2][2]] then n = n + 1 end
    seen[e[2][2]], from = true, '(' .. e[1]
  end
end`

// buried has a server with dead letters and the groups that they go back to.
func buried(t *testing.T, s *redistest.Server) {
	t.Helper()
	for _, group := range []string{"ledger", "fraud"} {
		s.CLI("XGROUP", "CREATE", "payments", group, "0", "MKSTREAM")
	}
	if n, err := s.Client().Eval(t.Context(), buryScript, []string{"payments.dead"}, *letters).Int(); err != nil || n != *letters {
		t.Fatal(n, err)
	}
}

// killedTwice has a command act on a selection, kills its process when a third and
// when two thirds of the letters are done, and lets the third go on to the end.
func killedTwice(t *testing.T, s *redistest.Server, action string) {
	t.Helper()
	selection := filepath.Join(t.TempDir(), "selection.jsonl")
	args := []string{"dlq", action, pipelineFile, "--var", "redis_url=" + s.URL(), "--selection", selection, "--yes"}
	paced := append(slices.Clip(args), "--rate", fmt.Sprint(*letters/6+1))
	for i, more := range [][]string{{"--all"}, nil} {
		p := command(t, append(slices.Clip(paced), more...)...)
		eventually(t, "a part is done", func() bool {
			return s.Client().XLen(t.Context(), "payments.dead").Val() < int64(*letters*(2-i)/3)
		})
		p.signal(syscall.SIGKILL)
		p.exit()
		t.Logf("killed with %d of %d letters left", s.Client().XLen(t.Context(), "payments.dead").Val(), *letters)
	}
	p := command(t, args...)
	if code := p.exit(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, p.output())
	}
	if n := s.Client().XLen(t.Context(), "payments.dead").Val(); n != 0 {
		t.Errorf("%d letters are left", n)
	}
}

// A replay that is killed, twice, and gone on with adds each entry once.
func TestAReplayThatIsKilledLosesAndDoublesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		buried(t, s)
		killedTwice(t, s, "replay")
		once, err := s.Client().Eval(t.Context(), onceScript, []string{"payments"}).Int()
		if all := s.Client().XLen(t.Context(), "payments").Val(); err != nil || once != *letters || all != int64(*letters) {
			t.Errorf("%d entries of %d letters, %d different ones, %v", all, *letters, once, err)
		}
	})
}

// A drop that is killed and gone on with deletes what was chosen, and adds nothing
// anywhere.
func TestADropThatIsKilledGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		buried(t, s)
		killedTwice(t, s, "drop")
		if n := s.Client().XLen(t.Context(), "payments").Val(); n != 0 {
			t.Errorf("%d entries were added", n)
		}
	})
}

// Without a filter neither acts, nor shows anything, unless all are asked for.
func TestAllLettersHaveToBeAskedFor(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		buried(t, s)
		for _, action := range []string{"replay", "drop"} {
			for _, more := range [][]string{nil, {"--yes"}, {"ledger", "--yes"}, {"payments.dead", "--yes"}} {
				p := command(t, append([]string{"dlq", action, pipelineFile, "--var", "redis_url=" + s.URL()}, more...)...)
				if code := p.exit(); code != 2 || !strings.Contains(p.output(), "or --all") {
					t.Errorf("dlq %s %v: exit code %d:\n%s", action, more, code, p.output())
				}
			}
		}
		if n := s.Client().XLen(t.Context(), "payments.dead").Val(); n != int64(*letters) {
			t.Errorf("%d letters are left of %d", n, *letters)
		}
	})
}
