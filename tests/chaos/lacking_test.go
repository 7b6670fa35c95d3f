package chaos

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

// sidesFile is two subscriptions on streams of their own: the left one
// acknowledges, the right one replies.
const sidesFile = `
pipeline "sides" {
  language = 1
}
variable "url" {
  type      = string
  default   = env("REDIS_URL")
  sensitive = true
}
broker "redis" {
  url = var.url
}
stream "left" {
  entry = object({ n = number })
}
stream "right" {
  entry = object({ n = number })
}
stream "out" {
  name = "right.out"
}
handler "take" {
  source   = "h.lua"
  function = "take"
}
handler "answer" {
  source   = "h.lua"
  function = "answer"
}
group "lefts" {
  stream = stream.left
  start  = "beginning"
  subscription "left" {
    handler = handler.take
    block   = "100ms"
    claim {
      min_idle = "1s"
    }
  }
}
group "rights" {
  stream = stream.right
  start  = "beginning"
  subscription "right" {
    handler = handler.answer
    block   = "100ms"
    claim {
      min_idle = "1s"
    }
    reply {
      to = stream.out
    }
  }
}
`

const sidesScript = `
function take(e, ctx) return ack() end
function answer(e, ctx) return { n = e.n } end
`

// sides is a server on which a worker of both subscriptions has the rights that
// plan prints and no more.
type sides struct {
	*logins
	rule []string
	url  string
	// added is how many entries each of the streams was given.
	added int
}

func newSides(t *testing.T, version string) *sides {
	t.Helper()
	dir := folder(t, map[string]string{"sides.hcl": sidesFile, "h.lua": sidesScript})
	s := &sides{logins: &logins{Server: redistest.Start(t, version), t: t, file: filepath.Join(dir, "sides.hcl")}}
	s.rule = s.printedRule()
	s.do(s.URL(), 0, "apply", s.file)
	s.url = s.user("worker", s.rule...)
	return s
}

// without gives the worker its rule without some words of it.
func (s *sides) without(words ...string) {
	s.t.Helper()
	for _, word := range words {
		if !slices.Contains(s.rule, word) {
			s.t.Fatalf("%s is not in the rule %q", word, s.rule)
		}
	}
	s.user("worker", append([]string{"resetkeys", "-@all"}, without(slices.Clone(s.rule), words)...)...)
}

// put adds some entries to both streams.
func (s *sides) put() {
	s.t.Helper()
	for range 3 {
		for _, stream := range []string{"left", "right"} {
			s.CLI("XADD", stream, "*", "n", fmt.Sprint(s.added))
		}
		s.added++
	}
}

// putLeft adds as many to the left stream alone as put does.
func (s *sides) putLeft() {
	s.t.Helper()
	for n := range 3 {
		s.CLI("XADD", "left", "*", "n", fmt.Sprint(1000+n))
	}
}

// done reports whether a group has acknowledged all that its stream holds.
func (s *sides) done(stream string) bool {
	info, err := s.Client().XInfoStream(s.t.Context(), stream).Result()
	groups, err2 := s.Client().XInfoGroups(s.t.Context(), stream).Result()
	return err == nil && err2 == nil && len(groups) == 1 && groups[0].Pending == 0 && groups[0].LastDeliveredID == info.LastGeneratedID
}

// lack is something that the right subscription cannot do without.
type lack struct {
	name        string
	begin, mend func(s *sides)
	// says is what the error has to name.
	says []string
}

func (s *sides) whole() { s.user("worker", s.rule...) }

// aside puts a value of another type in the place of a key, in one step, until back.
func (s *sides) aside(key string, command ...any) {
	s.t.Helper()
	const script = "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end return redis.call(unpack(ARGV))"
	if err := s.Client().Eval(s.t.Context(), script, []string{key, "aside"}, command...).Err(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sides) back(key string) {
	s.t.Helper()
	s.CLI("DEL", key)
	if s.Client().Exists(s.t.Context(), "aside").Val() == 1 {
		s.CLI("RENAME", "aside", key)
	}
}

var lacks = []lack{
	{
		name: "a command", says: []string{"+xadd"},
		begin: func(s *sides) { s.without("+xadd") }, mend: (*sides).whole,
	},
	{
		name: "its stream", says: []string{"~right", "right/rights"},
		begin: func(s *sides) { s.without("~right") }, mend: (*sides).whole,
	},
	{
		name: "the keys beside its stream", says: []string{"~{right}:pipeline:*", "right/rights"},
		begin: func(s *sides) { s.without("~{right}:pipeline:*") }, mend: (*sides).whole,
	},
	{
		name: "the stream it replies to", says: []string{"~right.out"},
		begin: func(s *sides) { s.without("~right.out") }, mend: (*sides).whole,
	},
	{
		name: "a stream of another type", says: []string{"WRONGTYPE", "the key right holds a string, not a stream"},
		begin: func(s *sides) { s.aside("right", "SET", "right", "x") }, mend: func(s *sides) { s.back("right") },
	},
	{
		name: "a key beside its stream of another type", says: []string{"WRONGTYPE", "the key {right}:pipeline:rights:alive holds a string, not a zset"},
		begin: func(s *sides) { s.aside("{right}:pipeline:rights:alive", "SET", "{right}:pipeline:rights:alive", "x") },
		mend:  func(s *sides) { s.back("{right}:pipeline:rights:alive") },
	},
	{
		name: "replies to a key of another type", says: []string{"WRONGTYPE", "the key right.out holds a hash, not a stream"},
		begin: func(s *sides) { s.aside("right.out", "HSET", "right.out", "f", "v") }, mend: func(s *sides) { s.back("right.out") },
	},
}

// failures are the lines about subscriptions that have failed, by their label.
func failures(p *process) map[string][]string {
	all := map[string][]string{}
	for text := range strings.Lines(p.output()) {
		if _, after, found := strings.Cut(text, `"event":"subscription.failed","subscription":"`); found {
			label, _, _ := strings.Cut(after, `"`)
			all[label] = append(all[label], text)
		}
	}
	return all
}

// ends waits until the right subscription has failed, and looks at what is told and
// at the left one, which goes on.
func (s *sides) ends(p *process, c lack) {
	s.t.Helper()
	eventually(s.t, "the subscription that lacks something fails", func() bool { return len(failures(p)["right"]) > 0 })
	s.putLeft()
	eventually(s.t, "the other one goes on", func() bool { return s.done("left") })
	told := failures(p)
	if labels := slices.Collect(maps.Keys(told)); len(labels) != 1 || len(told["right"]) != 1 {
		s.t.Errorf("told of %q, want once of the right subscription:\n%s", labels, p.output())
	}
	for _, word := range c.says {
		if !strings.Contains(told["right"][0], word) {
			s.t.Errorf("it does not say %s: %s", word, told["right"][0])
		}
	}
	select {
	case <-p.done:
		s.t.Fatalf("the process ended:\n%s", p.output())
	default:
	}
}

// allAnswered has another process do what is left when what was lacking is there
// again: every entry has one reply.
func (s *sides) allAnswered() {
	s.t.Helper()
	p := command(s.t, "run", s.file, "--var", "url="+s.url)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("groups: %s\nlog of the next process:\n%s", s.CLI("XINFO", "GROUPS", "right"), p.output())
		}
	})
	eventually(s.t, "nothing is left to do", func() bool { return s.done("left") && s.done("right") })
	p.ready()
	s.stop(p)
	seen := map[string]int{}
	each(s.t, s.Server, "right.out", func(values map[string]any) { seen[fmt.Sprint(values["_payload"])]++ })
	for n := range s.added {
		if times := seen[fmt.Sprintf(`{"n":%d}`, n)]; times != 1 {
			s.t.Errorf("entry %d has %d replies", n, times)
		}
	}
	if len(seen) != s.added {
		s.t.Errorf("there are replies to %d entries, want %d", len(seen), s.added)
	}
}

// eachLack runs a test for every lack on every version.
func eachLack(t *testing.T, test func(s *sides, c lack)) {
	for _, version := range redistest.Versions {
		for _, c := range lacks {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				test(newSides(t, version), c)
			})
		}
	}
}

// What a subscription lacks ends it alone: it says what, its entries wait, and the
// other one of the process goes on.
func TestWhatASubscriptionLacksAtTheStartEndsItAlone(t *testing.T) {
	eachLack(t, func(s *sides, c lack) {
		s.put()
		c.begin(s)
		p := command(s.t, "run", s.file, "--var", "url="+s.url)
		s.ends(p, c)
		c.mend(s)
		s.allAnswered()
	})
}

// The same when it is taken away from a subscription at work.
func TestWhatIsTakenFromASubscriptionAtWorkEndsItAlone(t *testing.T) {
	eachLack(t, func(s *sides, c lack) {
		p := command(s.t, "run", s.file, "--var", "url="+s.url)
		s.put()
		eventually(s.t, "both work", func() bool { return s.done("left") && s.done("right") })
		c.begin(s)
		if !strings.Contains(c.name, "a stream of another type") {
			s.put()
		}
		s.ends(p, c)
		c.mend(s)
		s.allAnswered()
	})
}
