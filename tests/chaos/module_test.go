package chaos

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pipeline/sandbox/sandboxtest/wat"
	"pipeline/tests/redistest"
)

const modulePipeline = `
pipeline "modules" {
  language = 1
}
variable "redis_url" {
  type = string
}
broker "redis" {
  url = var.redis_url
}
stream "in" {
  codec = "bytes"
}
stream "dead" {}
stream "done" {}
handler "h" {
  source = "h.wasm"
  input  = "raw"
  limits {
    instructions = 1000000
  }
}
retry "r" {
  max_attempts = 3
  delay        = "50ms"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    retry   = retry.r
    block   = "50ms"
    claim {
      min_idle = "300ms"
    }
    reply {
      to = stream.done
    }
  }
}
`

// obedient is a module that does what the first letter of its input says. It
// counts its calls, and a reply is the letter that is as far behind "0".
func obedient() []byte {
	text := []wat.Data{
		{At: 100, Bytes: "deliveries"},
		{At: 200, Bytes: `{"action":"reply","replies":[{"body":"0"}]}`},
		{At: 300, Bytes: `{"action":"dead","reason":"no such account"}`},
		{At: 400, Bytes: `{"action":"retry","after_ms":200}`},
		{At: 500, Bytes: `{"action":"reply","replys":[{"body":1}]}`},
	}
	returns := func(i int) string {
		return fmt.Sprintf("i64.const %d return", int64(text[i].At)<<32|int64(len(text[i].Bytes)))
	}
	// Further deliveries of what was to be retried are done.
	again := "i32.const 100 i32.const 10 i32.const 1000 i32.const 20 call $meta drop i32.const 1000 i32.load8_u 0 i32.const 48 i32.ne if i64.const 0 return end "
	code := "local.get 0 i32.load8_u 0 local.set 2 global.get 0 i32.const 1 i32.add global.set 0 "
	for letter, does := range map[byte]string{
		'a': "i64.const 0 return",
		'r': again + "i64.const 1 return",
		'l': again + returns(3),
		'd': "i64.const 2 return",
		'D': returns(2),
		'x': "i64.const 3 return",
		'p': fmt.Sprintf("i32.const %d global.get 0 i32.const 48 i32.add i32.store8 0 ", int(text[1].At)+strings.Index(text[1].Bytes, `"0"`)+1) + returns(1),
		'm': returns(4),
		't': "unreachable",
		'e': "loop br 0 end",
	} {
		code += fmt.Sprintf("local.get 2 i32.const %d i32.eq if %s end ", letter, does)
	}
	return wat.Handler("i32", code+"i64.const 9", wat.Module{
		Imports: []wat.Import{{Module: "pipeline", Name: "meta", Sig: "i32 i32 i32 i32->i32"}},
		Globals: []wat.Global{{Type: "i32", Mutable: true}},
		Data:    text,
	})
}

// moduleFolder is a folder with the pipeline above and a module.
func moduleFolder(t *testing.T, module []byte) string {
	t.Helper()
	return folder(t, map[string]string{"p.hcl": modulePipeline, "h.wasm": string(module)})
}

// moduleRun is a process with the module, and the server that it reads.
type moduleRun struct {
	t *testing.T
	s *redistest.Server
}

// tell adds an entry for each letter and waits until all have their outcome.
func (m *moduleRun) tell(letters string) {
	m.t.Helper()
	for _, letter := range letters {
		if err := m.s.Client().Do(m.t.Context(), "XADD", "in", "*", "_payload", string(letter)).Err(); err != nil {
			m.t.Fatal(err)
		}
	}
	eventually(m.t, "what "+letters+" say is done", func() bool {
		groups, err := m.s.Client().XInfoGroups(m.t.Context(), "in").Result()
		last := m.s.Client().XInfoStream(m.t.Context(), "in").Val().LastGeneratedID
		return err == nil && len(groups) == 1 && groups[0].Pending == 0 && groups[0].LastDeliveredID == last
	})
}

// replies are all bodies that were published so far.
func (m *moduleRun) replies() string {
	m.t.Helper()
	var all []string
	each(m.t, m.s, "done", func(values map[string]any) { all = append(all, fmt.Sprint(values["_payload"])) })
	return strings.Join(all, " ")
}

// dead are the reasons and errors of the dead letters, by the letter that the
// entry was.
func (m *moduleRun) dead() map[string]string {
	m.t.Helper()
	all := map[string]string{}
	each(m.t, m.s, "dead", func(values map[string]any) {
		all[fmt.Sprint(values["_payload"])] = fmt.Sprint(values["h:dead-letter-reason"], ": ", values["h:dead-letter-error"])
	})
	return all
}

// A module's outcomes on real servers: each letter of what it returns, what it
// does wrong, and that a trap or an endless loop costs the entry its attempts
// and the worker its instance, and nothing else.
func TestModuleOutcomes(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		p := command(t, "run", filepath.Join(moduleFolder(t, obedient()), "p.hcl"), "--var", "redis_url="+s.URL())
		m := moduleRun{t, s}
		m.tell("pp")
		m.tell("axdDrlm")
		m.tell("p")
		got := m.replies()
		if !strings.HasPrefix(got, `"1" "2" "`) || got[9] <= '2' {
			t.Errorf("the replies are %s; an instance lives as long as nothing stops it", got)
		}
		m.tell("t")
		m.tell("pp")
		m.tell("e")
		m.tell("p")
		if got := strings.TrimPrefix(m.replies(), got); got != ` "1" "2" "1"` {
			t.Errorf("the replies after a trap and an endless loop are %s; each replaces the instance", got)
		}
		dead := m.dead()
		for letter, want := range map[string][]string{
			"d": {"rejected"},
			"D": {"rejected", "no such account"},
			"m": {"failed", `has the key "replys"`},
			"t": {"failed", "unreachable"},
			"e": {"failed", "1000000 instructions", "limits.instructions"},
		} {
			for _, w := range want {
				if !strings.Contains(dead[letter], w) {
					t.Errorf("the dead letter of %s is %q, want %q in it", letter, dead[letter], w)
				}
			}
			delete(dead, letter)
		}
		for letter := range maps.Keys(dead) {
			t.Errorf("a dead letter of %s", letter)
		}
		p.signal(syscall.SIGTERM)
		p.left()
		if !strings.Contains(p.output(), `"settled":{"ack":3,"reply":6,"retry":2,"drop":1,"dead":2,"failed":9}`) {
			t.Errorf("the counts of the subscription are others:\n%s", p.output())
		}
		redistest.Leftovers(t, s, "in")
	})
}

// A module that is put in place of another is taken, one that is none is not.
func TestModuleReplaced(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		dir := moduleFolder(t, obedient())
		p := command(t, "run", filepath.Join(dir, "p.hcl"), "--watch", "--var", "redis_url="+s.URL())
		m := moduleRun{t, s}
		m.tell("p")
		put := func(module []byte, event string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, "new"), module, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "h.wasm")); err != nil {
				t.Fatal(err)
			}
			eventually(t, event, func() bool { return strings.Contains(p.output(), `"event":"`+event+`"`) })
		}
		put([]byte("no module"), "handler.refused")
		m.tell("p")
		code, text := wat.Returns(64, `{"action":"reply","replies":[{"body":"other"}]}`)
		put(wat.Handler("", code, wat.Module{Data: []wat.Data{text}}), "handler.changed")
		m.tell("p")
		if got := m.replies(); got != `"1" "2" "other"` {
			t.Errorf("the replies are %s", got)
		}
		p.signal(syscall.SIGTERM)
		p.left()
	})
}

// A module that wants what the file does not grant, or what nobody is given, is
// refused before anything is read, with the block to add or the names.
func TestModuleRefused(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		for says, imports := range map[string][]wat.Import{
			"add `grant \"log\" {}` to handler": {{Module: "pipeline", Name: "log", Sig: "i32 i32 i32 i32 i32->"}},
			"env.fopen, pipeline.http":          {{Module: "pipeline", Name: "http", Sig: "->"}, {Module: "env", Name: "fopen", Sig: "->"}},
		} {
			dir := moduleFolder(t, wat.Handler("", "i64.const 0", wat.Module{Imports: imports}))
			p := command(t, "run", filepath.Join(dir, "p.hcl"), "--var", "redis_url="+s.URL())
			if code := p.exit(); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if !strings.Contains(p.output(), says) {
				t.Errorf("nothing says %s:\n%s", says, p.output())
			}
		}
		if n := s.Client().DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("%d keys were made", n)
		}
	})
}
