package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// idleReaders is more than there are connections for what does not block.
const idleReaders = 80

// readersFile has one subscription that gets entries, and very many that do not.
func readersFile() string {
	var b strings.Builder
	b.WriteString(`
pipeline "readers" {
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  entry = object({ n = number })
}
stream "out" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "60s"
    }
    reply {
      to = stream.out
    }
  }
}
`)
	for i := range idleReaders {
		fmt.Fprintf(&b, `
stream "idle_%[1]d" {
  entry = object({ n = number })
}
group "g_%[1]d" {
  stream = stream.idle_%[1]d
  subscription "s_%[1]d" {
    handler = handler.h
    reply {
      to = stream.out
    }
  }
}
`, i)
	}
	return b.String()
}

// Connections on which reads block are used for nothing else: what is settled never
// waits for one of them, however many block.
func TestReadersThatBlockHaveConnectionsOfTheirOwn(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			m := watch(t, s)
			p := load(t, write(t, [2]string{"readers.hcl", readersFile()}, [2]string{"h.lua", replyScript}), nil)
			v := start(t, s, p, "host-a")
			v.ready()
			const n = 10
			for i := range n {
				eventually(t, "the others block", func() bool { return blocked(t, s) >= idleReaders })
				s.CLI("XADD", "in", "*", "n", fmt.Sprint(i))
				v.settled("s", observe.ResultReply, i+1)
			}
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			expectOnce(t, s, n)
			block, settle := map[string]bool{}, map[string]bool{}
			for _, c := range m.all() {
				switch {
				case c.name() == "XREADGROUP" && slices.Contains(c.args, "BLOCK"):
					block[c.from] = true
				case c.from != "lua" && slices.Contains([]string{"XACK", "EVALSHA", "EVAL", "XADD", "HDEL"}, c.name()):
					settle[c.from] = true
				}
			}
			if len(block) < idleReaders || len(settle) == 0 {
				t.Errorf("%d connections blocked and %d settled, want at least %d and 1", len(block), len(settle), idleReaders)
			}
			for from := range block {
				if settle[from] {
					t.Errorf("%s is used for reads that block and to settle", from)
				}
			}
		})
	}
}

// blocked is how many clients of the server wait in a read.
func blocked(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "clients").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(info, "blocked_clients:")
	if _, err := fmt.Sscan(line, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
