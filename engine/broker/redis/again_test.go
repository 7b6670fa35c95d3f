package redis_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// world is everything that stands in a database, key by key, but for the idle time
// of what is pending.
func world(t *testing.T, s *redistest.Server) map[string]string {
	t.Helper()
	c := s.Client()
	all := map[string]string{}
	for _, key := range c.Keys(t.Context(), "*").Val() {
		switch kind := c.Type(t.Context(), key).Val(); kind {
		case "stream":
			all[key] = fmt.Sprint(c.Do(t.Context(), "XRANGE", key, "-", "+").Val())
			for _, g := range c.XInfoGroups(t.Context(), key).Val() {
				for _, p := range c.XPendingExt(t.Context(), &goredisXPendingExtArgs{Stream: key, Group: g.Name, Start: "-", End: "+", Count: 10_000}).Val() {
					all[key] += fmt.Sprintf(" %s/%s/%s/%d", g.Name, p.ID, p.Consumer, p.RetryCount)
				}
			}
		case "hash":
			all[key] = fmt.Sprint(c.HGetAll(t.Context(), key).Val())
		case "string":
			all[key] = c.Get(t.Context(), key).Val()
		default:
			t.Fatalf("%s holds a %s", key, kind)
		}
	}
	return all
}

// settlements are what a pipeline settles one entry with, by kind.
var settlements = map[string]func(id broker.ID) broker.Settlement{
	"an acknowledgement": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Acks: []broker.ID{id}}
	},
	"an acknowledgement that drops a record": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Acks: []broker.ID{id}, Forget: []broker.ID{id}}
	},
	"a fenced acknowledgement": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Steps: []broker.Step{{ID: id}}}
	},
	"a reply": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Steps: []broker.Step{reply(id)}, Forget: []broker.ID{id}}
	},
	"several replies": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Steps: []broker.Step{{ID: id, Publish: []broker.Add{
			message(replies, field("a", "1")), message("other", field("a", "2")), message(replies, field("a", "3")),
		}}}}
	},
	"a dead letter": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Steps: []broker.Step{{ID: id, Publish: []broker.Add{
			message("payments.dead", field("n", "0"), field("h:dead-letter-reason", "failed")),
		}}}, Forget: []broker.ID{id}}
	},
	"the copy of a retry": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Steps: []broker.Step{{ID: id, Publish: []broker.Add{
			message(stream, field("n", "0"), field("h:x-retry-count", "1"), field("h:x-retry-group", group)),
		}}}}
	},
	"a reply of very many fields": func(id broker.ID) broker.Settlement {
		var fields []broker.Field
		for i := range 3000 {
			fields = append(fields, field(fmt.Sprint(i), "v"))
		}
		return broker.Settlement{Steps: []broker.Step{{ID: id, Publish: []broker.Add{message(replies, fields...)}}}}
	},
	"a marked acknowledgement": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Marks: day, Steps: []broker.Step{{ID: id, Mark: id.String()}}}
	},
	"a marked reply": func(id broker.ID) broker.Settlement {
		step := reply(id)
		step.Mark = id.String()
		return broker.Settlement{Marks: day, Steps: []broker.Step{step}}
	},
	"a duplicate": func(id broker.ID) broker.Settlement {
		step := reply(id)
		step.Mark = "seen"
		return broker.Settlement{Marks: day, Steps: []broker.Step{step}}
	},
	"an asked retry": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Waits: []broker.Wait{{ID: id, Timed: true, After: time.Minute, MinIdle: time.Hour, Asked: true, Delivery: 1, Error: "locked"}}}
	},
	"a failed attempt": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Waits: []broker.Wait{{ID: id, Timed: true, After: time.Minute, MinIdle: time.Hour, Delivery: 1, Error: "boom"}}}
	},
	"a delivery taken back": func(id broker.ID) broker.Settlement {
		return broker.Settlement{Waits: []broker.Wait{{ID: id, Uncount: true, Delivery: 1}}}
	},
}

var day = broker.Marks{Set: "keys", Window: 24 * time.Hour}

// A settlement whose answer was lost is sent again as it was and changes nothing,
// whatever it settles.
func TestASettlementThatIsSentAgainChangesNothing(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(settlements)) {
		t.Run(name, func(t *testing.T) {
			everyVersion(t, func(t *testing.T, s *redistest.Server, direct *redis.Broker) {
				b, p := openThrough(t, s)
				ids := fill(t, b, 3)
				read(t, b, "c", 3)
				settle(t, b, &broker.Settlement{Owner: owner("c"), Marks: day, Steps: []broker.Step{{ID: ids[0], Mark: "seen"}}})
				build := func(id broker.ID) *broker.Settlement {
					set := settlements[name](id)
					set.Owner = owner("c")
					return &set
				}
				settle(t, b, build(ids[1])) // so that its scripts are known and its rights seen
				before := world(t, s)
				lose(t, p, b, build(ids[2]))
				once := world(t, s)
				if maps.Equal(before, once) {
					t.Fatal("it was not written the first time")
				}
				for range 2 {
					settle(t, b, build(ids[2]))
				}
				if twice := world(t, s); !maps.Equal(once, twice) {
					t.Errorf("once:\n%s\nagain:\n%s", text(once), text(twice))
				}
			})
		})
	}
}

// lose settles and loses the answer; where that takes several steps, that of the
// last one, which writes.
func lose(t *testing.T, p *proxy, b *redis.Broker, set *broker.Settlement) {
	t.Helper()
	word := "EVALSHA"
	switch {
	case len(set.Acks) > 0:
		word = "XACK"
	case len(set.Steps) > 0 && len(set.Steps[0].Publish) > 0 && len(set.Steps[0].Publish[0].Fields) > 1000:
		word = "exec" // of the transaction that carries what no script can
	}
	p.word.Store(&word)
	_, err := b.Settle(t.Context(), set)
	wantKind(t, err, broker.ErrUnavailable)
	p.word.Store(nil)
}

func text(world map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(world)) {
		fmt.Fprintf(&b, "%s: %.300s\n", key, world[key])
	}
	return b.String()
}
