package redis_test

import (
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

//go:embed scripts/*.lua
var scripts embed.FS

// scriptUses are the uses for which each script is called; none where no worker
// calls it but a command of an operator.
var scriptUses = map[string][]redis.Use{
	"ackwide.lua":     {redis.Consume, redis.Publish, redis.Records},
	"add.lua":         {redis.Publish},
	"admit.lua":       {redis.Consume, redis.Records},
	"begin.lua":       {redis.Consume, redis.Records},
	"beginreplay.lua": nil,
	"claimidle.lua":   {redis.Consume},
	"create.lua":      {redis.Create, redis.Floors},
	"endreplay.lua":   nil,
	"floor.lua":       {redis.Consume, redis.Records, redis.Floors},
	"marked.lua":      {redis.Marks},
	"move.lua":        nil,
	"movemarked.lua":  nil,
	"once.lua":        {redis.PublishApart, redis.PublishOnce},
	"prune.lua":       nil,
	"readto.lua":      nil,
	"release.lua":     {redis.Consume},
	"remove.lua":      {redis.Consume},
	"renew.lua":       {redis.Consume},
	"renewslot.lua":   {redis.Slots},
	"seek.lua":        {redis.Seek, redis.Records, redis.Floors, redis.Slots},
	"settle.lua":      {redis.Consume, redis.Publish, redis.Records, redis.Marks},
	"slot.lua":        {redis.Slots},
	"takeover.lua":    {redis.Consume},
	"trim.lua":        {redis.TrimProtected},
	"wait.lua":        {redis.Consume, redis.Records},
}

// directly are the commands that are sent for a use without a script.
var directly = map[redis.Use][]string{
	// xinfo|stream is what plan shows of it.
	redis.Consume:      {"xreadgroup", "xack", "xpending", "xinfo|consumers", "xinfo|stream"},
	redis.Publish:      {"xadd"},
	redis.Trim:         {"xtrim"},
	redis.Measure:      {"xinfo|groups", "xinfo|stream", "xrange"},
	redis.Records:      {"hmget"},
	redis.Floors:       {"get"},
	redis.PublishApart: {"xadd"},
}

// called are the commands that a script calls, in the words of a rule.
var called = regexp.MustCompile(`(?:\bcall\(|\btry\(|\bpcall\(|= \{ )'([A-Z]+)'(?:, '([A-Z]+)')?`)

func callsOf(t *testing.T, script string) []string {
	t.Helper()
	text, err := fs.ReadFile(scripts, "scripts/"+script)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, call := range called.FindAllStringSubmatch(string(text), -1) {
		command := strings.ToLower(call[1])
		if command == "xinfo" || command == "xgroup" {
			command += "|" + strings.ToLower(call[2])
		}
		calls = append(calls, command)
	}
	slices.Sort(calls)
	return slices.Compact(calls)
}

// What is granted for a use and what is sent for it are the same: no script calls
// what its uses do not grant, and no use grants what nothing calls.
func TestWhatIsGrantedIsWhatIsCalled(t *testing.T) {
	t.Parallel()
	sent := map[redis.Use][]string{}
	for use, commands := range directly {
		sent[use] = slices.Clone(commands)
	}
	files, err := fs.ReadDir(scripts, "scripts")
	if err != nil || len(files) != len(scriptUses) {
		t.Fatalf("%d scripts, want the %d of the table: %v", len(files), len(scriptUses), err)
	}
	for _, file := range files {
		uses, known := scriptUses[file.Name()]
		if !known {
			t.Errorf("for what is %s called?", file.Name())
		}
		calls := callsOf(t, file.Name())
		granted := append(redis.Rights()[:0:0], "time")
		for _, use := range uses {
			granted = append(granted, use.Commands()...)
			sent[use] = append(sent[use], calls...)
			sent[use] = append(sent[use], "eval", "evalsha")
		}
		for _, command := range calls {
			if len(uses) > 0 && command != "xgroup|delconsumer" && !slices.Contains(granted, command) {
				t.Errorf("%s calls %s, which none of its uses grants", file.Name(), command)
			}
		}
	}
	for use := redis.Consume; use <= redis.PublishOnce; use++ {
		for _, command := range use.Commands() {
			if !slices.Contains(sent[use], command) {
				t.Errorf("use %d grants %s, which nothing calls", use, command)
			}
		}
	}
}

// Every way to claim takes no more than what is granted for reading, whatever is
// done with the stream besides: nobody keeps this one within a retention.
func TestClaimingNeedsNoOtherUse(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			admin := open(t, s)
			ids := fill(t, admin, 3)
			read(t, admin, "gone", 3)
			if err := s.Client().XDel(t.Context(), stream, ids[0].String()).Err(); err != nil {
				t.Fatal(err)
			}
			b := asWorker(t, s, "reader", redis.Consume.Commands()...)
			page, err := b.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: owner("c"), Count: 10, JustDeleted: true})
			if err != nil || len(page.Deleted) != 1 {
				t.Errorf("what has no body: %+v, %v", page, err)
			}
			page, err = b.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: owner("c"), Count: 10})
			if err != nil || len(page.Deliveries) != 2 {
				t.Errorf("what is idle: %+v, %v", page, err)
			}
			if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Millisecond}); err != nil {
				t.Error(err)
			}
		})
	}
}
