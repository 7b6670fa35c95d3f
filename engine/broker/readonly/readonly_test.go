package readonly_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	stream = "payments"
	group  = "ledger"
)

var owner = broker.Owner{Stream: stream, Group: group, Consumer: "a"}

// call is one operation on a broker; what it brings is compared.
type call func(context.Context, broker.Broker) (any, error)

// reads are the operations that pass, by their method.
var reads = map[string]call{
	"Probe": func(ctx context.Context, b broker.Broker) (any, error) { return b.Probe(ctx) },
	"Floor": func(ctx context.Context, b broker.Broker) (any, error) {
		at, found, err := b.Floor(ctx, stream, group)
		return []any{at, found}, err
	},
	"Range": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Range(ctx, stream, broker.ID{}, broker.MaxID, 2)
	},
	"RangeBack": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.RangeBack(ctx, stream, broker.ID{}, broker.MaxID, 2)
	},
	"StreamInfo": func(ctx context.Context, b broker.Broker) (any, error) { return b.StreamInfo(ctx, stream) },
	"Survey": func(ctx context.Context, b broker.Broker) (any, error) {
		s, err := b.Survey(ctx, []broker.Ask{{Stream: stream, Groups: []string{group}}})
		s.Time = time.Time{} // goes on by itself
		for i := range s.Streams {
			for j := range s.Streams[i].Groups {
				group := &s.Streams[i].Groups[j]
				for c := range group.Consumers {
					group.Consumers[c].Idle = 0
				}
				for p := range group.Oldest {
					group.Oldest[p].Idle = 0
				}
			}
		}
		return s, err
	},
	"GroupInfos": func(ctx context.Context, b broker.Broker) (any, error) { return b.GroupInfos(ctx, stream) },
	"ConsumerInfos": func(ctx context.Context, b broker.Broker) (any, error) {
		infos, err := b.ConsumerInfos(ctx, stream, group)
		for i := range infos {
			infos[i].Idle = 0 // goes on by itself
		}
		return infos, err
	},
	"Pending": func(ctx context.Context, b broker.Broker) (any, error) {
		list, err := b.Pending(ctx, stream, group, "", broker.ID{}, 10)
		for i := range list {
			list[i].Idle = 0
		}
		return list, err
	},
	"Marked": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Marked(ctx, broker.MarkedRequest{Stream: stream, Group: "ledger", Marks: broker.Marks{Set: "s", Window: time.Hour}, Keys: []string{"k"}})
	},
	"Records": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Records(ctx, stream, group, []broker.ID{{Ms: 1}})
	},
}

// writes are the operations that are refused, by their method.
var writes = map[string]call{
	"CreateGroup": func(ctx context.Context, b broker.Broker) (any, error) { return b.CreateGroup(ctx, stream, "new", "0") },
	"SaveFloor":   func(ctx context.Context, b broker.Broker) (any, error) { return nil, b.SaveFloor(ctx, stream, group) },
	"RestoreGroup": func(ctx context.Context, b broker.Broker) (any, error) {
		_, restored, err := b.RestoreGroup(ctx, stream, "lost")
		return restored, err
	},
	"Seek": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Seek(ctx, broker.SeekRequest{Stream: stream, Group: group, Seen: broker.MaxID})
	},
	"Read": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Read(ctx, broker.ReadRequest{Owner: owner, Count: 1})
	},
	"AutoClaim": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.AutoClaim(ctx, broker.AutoClaimRequest{Owner: owner, MinIdle: time.Millisecond, Count: 1})
	},
	"TakeOver": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.TakeOver(ctx, owner, "a", []broker.ID{{Ms: 1}})
	},
	"Admit": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Admit(ctx, broker.AdmitRequest{Owner: owner, MinIdle: time.Hour, MaxAttempts: 3})
	},
	"Renew": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Renew(ctx, owner, []broker.ID{{Ms: 1}})
	},
	"Release": func(ctx context.Context, b broker.Broker) (any, error) {
		return nil, b.Release(ctx, owner, []broker.ID{{Ms: 1}}, time.Hour)
	},
	"Settle": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Settle(ctx, &broker.Settlement{Owner: owner, Acks: []broker.ID{{Ms: 1}}})
	},
	"Begin": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Begin(ctx, owner, []broker.ID{{Ms: 1}})
	},
	"AcquireSlot": func(ctx context.Context, b broker.Broker) (any, error) { return b.AcquireSlot(ctx, slot) },
	"RenewSlot":   func(ctx context.Context, b broker.Broker) (any, error) { return b.RenewSlot(ctx, slot, 0) },
	"ReleaseSlot": func(ctx context.Context, b broker.Broker) (any, error) { return nil, b.ReleaseSlot(ctx, slot, 0) },
	"RemoveConsumer": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.RemoveConsumer(ctx, broker.Owner{Stream: stream, Group: group, Consumer: "empty"})
	},
	"Add": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Add(ctx, []broker.Add{{Stream: stream, Fields: []broker.Field{{Name: "n", Value: "9"}}}})
	},
	"Move": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Move(ctx, broker.MoveRequest{From: stream, Moves: []broker.Move{
			{ID: broker.ID{Ms: 1}, Publish: broker.Add{Stream: stream, Fields: []broker.Field{{Name: "n", Value: "9"}}}},
		}})
	},
	"Remove": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Remove(ctx, stream, []broker.ID{{Ms: 1}})
	},
	"Trim": func(ctx context.Context, b broker.Broker) (any, error) {
		return b.Trim(ctx, broker.TrimRequest{Stream: stream, MaxLen: 1})
	},
}

var slot = broker.SlotRequest{Stream: stream, Group: group, Base: "base", Token: "token", TTL: time.Minute}

// TestEveryOperationIsDecided: a method that the interface gains has to be put
// on one of the two sides.
func TestEveryOperationIsDecided(t *testing.T) {
	methods := reflect.TypeFor[broker.Broker]()
	for method := range methods.Methods() {
		name := method.Name
		_, read := reads[name]
		_, write := writes[name]
		if name != "Close" && read == write {
			t.Errorf("%s is neither tested as read nor as write", name)
		}
	}
}

// everyBroker runs a test on a filled broker in memory and on each server.
// commands are those that the server has run, nil in memory.
func everyBroker(t *testing.T, test func(t *testing.T, b broker.Broker, commands func() []string)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		b := memory.New(clock.NewVirtual(time.UnixMilli(1_700_000_000_000)), memory.Options{})
		fill(t, b)
		test(t, b, func() []string { return nil })
	})
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b, err := redis.Open(redis.Options{URL: s.URL()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			fill(t, b)
			if err := s.Client().ConfigResetStat(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			test(t, b, func() []string {
				var names []string
				for line := range strings.Lines(s.Client().Info(t.Context(), "commandstats").Val()) {
					if name, ok := strings.CutPrefix(line, "cmdstat_"); ok {
						name, _, _ = strings.Cut(name, ":")
						names = append(names, name)
					}
				}
				return names
			})
		})
	}
}

// fill adds entries, some of which are pending.
func fill(t *testing.T, b broker.Broker) {
	t.Helper()
	_, err := b.CreateGroup(t.Context(), stream, group, "0")
	for _, n := range []string{"1", "2", "3"} {
		if err == nil {
			_, err = b.Add(t.Context(), []broker.Add{{Stream: stream, Fields: []broker.Field{{Name: "n", Value: n}}}})
		}
	}
	if err == nil {
		_, err = b.Read(t.Context(), broker.ReadRequest{Owner: owner, Count: 2})
	}
	if err == nil {
		err = b.SaveFloor(t.Context(), stream, group)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// look is everything that the reads tell.
func look(t *testing.T, b broker.Broker) map[string]any {
	t.Helper()
	seen := map[string]any{}
	for name, read := range reads {
		got, err := read(t.Context(), b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		seen[name] = got
	}
	return seen
}

func TestReadsPass(t *testing.T) {
	everyBroker(t, func(t *testing.T, b broker.Broker, _ func() []string) {
		guarded := readonly.New(b)
		want, got := look(t, b), look(t, guarded)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if entries, ok := got["Range"].([]broker.Entry); !ok || len(entries) != 2 {
			t.Errorf("range brought %v", got["Range"])
		}
		if refused := guarded.Refused(); len(refused) != 0 {
			t.Errorf("reads are counted as refused: %v", refused)
		}
	})
}

func TestWritesAreRefusedAndNothingChanges(t *testing.T) {
	everyBroker(t, func(t *testing.T, b broker.Broker, commands func() []string) {
		guarded := readonly.New(b)
		for name, write := range writes {
			got, err := write(t.Context(), guarded)
			e, ok := errors.AsType[*broker.Error](err)
			if !ok || !errors.Is(err, readonly.ErrReadOnly) || e.Op == "" || e.Stream != stream {
				t.Errorf("%s: the error is %v", name, err)
			}
			if broker.Transient(err) {
				t.Errorf("%s: %v looks as if it were worth repeating", name, err)
			}
			if v := reflect.ValueOf(got); got != nil && !v.IsZero() {
				t.Errorf("%s brought %v", name, got)
			}
		}
		for _, name := range commands() {
			if name != "config|resetstat" && name != "info" {
				t.Errorf("the server has run %s", name)
			}
		}
		if refused := guarded.Refused(); len(refused) != len(writes) {
			t.Errorf("%d refusals of %d writes: %v", len(refused), len(writes), refused)
		}
		info, err := b.StreamInfo(t.Context(), stream)
		if err != nil || info.Length != 3 || info.Groups != 1 {
			t.Errorf("the stream is %+v, %v", info, err)
		}
		consumers, err := b.ConsumerInfos(t.Context(), stream, group)
		if err != nil || len(consumers) != 1 || consumers[0].Pending != 2 {
			t.Errorf("the consumers are %+v, %v", consumers, err)
		}
	})
}

func TestRefusalsAreCountedByObject(t *testing.T) {
	guarded := readonly.New(memory.New(clock.Real(), memory.Options{}))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			_, _ = guarded.Trim(t.Context(), broker.TrimRequest{Stream: "b"})
			_, _ = guarded.Trim(t.Context(), broker.TrimRequest{Stream: "a"})
			_, _ = guarded.Add(t.Context(), nil)
		})
	}
	all.Wait()
	want := []readonly.Refusal{{Op: "add to", Times: 10}, {Op: "trim", Stream: "a", Times: 10}, {Op: "trim", Stream: "b", Times: 10}}
	if got := guarded.Refused(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestErrorsNameTheOperationAndItsObject(t *testing.T) {
	_, err := readonly.New(memory.New(clock.Real(), memory.Options{})).Read(t.Context(), broker.ReadRequest{Owner: owner, Count: 1})
	if got, want := err.Error(), "read payments/ledger: the broker is read-only here"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCloseClosesTheBrokerBehindIt(t *testing.T) {
	b := memory.New(clock.Real(), memory.Options{})
	if err := readonly.New(b).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Probe(t.Context()); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("the broker behind it is still open: %v", err)
	}
}
