package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// encode writes a reply as a server does: nil, int, string, error or a list.
func encode(v any) string {
	switch v := v.(type) {
	case nil:
		return "*-1\r\n"
	case error:
		return "-" + v.Error() + "\r\n"
	case int:
		return fmt.Sprintf(":%d\r\n", v)
	case string:
		return fmt.Sprintf("$%d\r\n%s\r\n", len(v), v)
	case []any:
		var b strings.Builder
		fmt.Fprintf(&b, "*%d\r\n", len(v))
		for i := range v {
			b.WriteString(encode(v[i]))
		}
		return b.String()
	}
	panic(fmt.Sprintf("%T", v))
}

type list = []any

func TestReadGroupReply(t *testing.T) {
	entry := list{"5-1", list{"a", "1", "a", "2"}}
	claimed := list{"4-0", list{"b", ""}, 1500, 3}
	gone := list{"3-0", nil}
	for _, c := range []struct {
		name, reply string
		want        string
	}{
		{"nothing", "*-1\r\n", "[]"},
		{"nothing of RESP3", "_\r\n", "[]"},
		{"nothing as a nil string", "$-1\r\n", "[]"},
		{"one", encode(list{list{"s", list{entry}}}), "[{{5-1 [{a 1} {a 2}]} 0s 0}]"},
		{"claimed", encode(list{list{"s", list{claimed, entry}}}), "[{{4-0 [{b }]} 1.5s 3} {{5-1 [{a 1} {a 2}]} 0s 0}]"},
		{"no body", encode(list{list{"s", list{gone, nil, entry}}}), "[{{5-1 [{a 1} {a 2}]} 0s 0}]"},
		{"map", "%1\r\n$1\r\ns\r\n" + encode(list{entry}), "[{{5-1 [{a 1} {a 2}]} 0s 0}]"},
		{"no fields", encode(list{list{"s", list{list{"5-1", list{}}}}}), "[{{5-1 []} 0s 0}]"},
		{"largest id", encode(list{list{"s", list{list{broker.MaxID.String(), list{}}}}}), "[{{18446744073709551615-18446744073709551615 []} 0s 0}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readGroupReply(c.reply)
			if err != nil || fmt.Sprint(got) != c.want {
				t.Errorf("%v, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestBrokenReplies(t *testing.T) {
	whole := encode(list{list{"s", list{list{"5-1", list{"a", "1", "b", "22"}, 7, 8}}}})
	for n := range len(whole) {
		if d, err := readGroupReply(whole[:n]); !errors.Is(err, errProtocol) {
			t.Errorf("%q was read as %v, %v", whole[:n], d, err)
		}
	}
	for _, reply := range []string{
		"*1000000000\r\n", "%9223372036854775807\r\n", "*-2\r\n", "*x\r\n", ":1\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n",
		"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n5-1\r\n*99999999\r\n" + strings.Repeat("_\r\n", 5),
		encode(list{list{"s", list{list{"5-1", list{"a"}}}}}),      // a name without a value
		encode(list{list{"s", list{list{"5-x", list{}}}}}),         // no id
		encode(list{list{"s", list{list{nil, list{}}}}}),           // no id at all
		encode(list{list{"s", list{list{"5-1", list{}, 1}}}}),      // three parts
		encode(list{list{"s", list{list{"5-1", list{}, "x", 1}}}}), // an idle time that is none
		"*1\r\n*2\r\n$1\r\nsX\n*0\r\n",
		"*1\r\n*2\r\n$-5\r\n", "*1\r\n*2\r\n$9223372036854775807\r\ns\r\n", "\r\n", "", "*", "$",
	} {
		if d, err := readGroupReply(reply); !errors.Is(err, errProtocol) {
			t.Errorf("%q was read as %v, %v", reply, d, err)
		}
	}
	for _, reply := range []string{"-NOGROUP no\r\n", "!9\r\nNOGROUP x\r\n", encode(list{serverError("NOGROUP no")})} {
		_, err := readGroupReply(reply)
		if said, ok := errors.AsType[serverError](err); !ok || !strings.HasPrefix(string(said), "NOGROUP") {
			t.Errorf("%q is %v", reply, err)
		}
	}
}

func TestRepliesOfAnyEntries(t *testing.T) {
	text := rapid.StringN(-1, -1, 30)
	rapid.Check(t, func(t *rapid.T) {
		var entries list
		var want []broker.Delivery
		for range rapid.IntRange(0, 20).Draw(t, "entries") {
			d := broker.Delivery{Entry: broker.Entry{ID: broker.ID{Ms: rapid.Uint64().Draw(t, "ms"), Seq: rapid.Uint64().Draw(t, "seq")}}}
			fields := list{}
			for range rapid.IntRange(0, 20).Draw(t, "fields") {
				f := broker.Field{Name: text.Draw(t, "name"), Value: text.Draw(t, "value")}
				d.Fields = append(d.Fields, f)
				fields = append(fields, f.Name, f.Value)
			}
			entry := list{d.ID.String(), fields}
			if rapid.Bool().Draw(t, "claimed") {
				d.Idle, d.Deliveries = time.Duration(rapid.IntRange(0, 1<<40).Draw(t, "idle"))*time.Millisecond, rapid.Int64Range(0, 1<<62).Draw(t, "deliveries")
				entry = append(entry, int(d.Idle.Milliseconds()), int(d.Deliveries))
			}
			want = append(want, d)
			entries = append(entries, entry)
		}
		got, err := readGroupReply(encode(list{list{"s", entries}}))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v\n%v\n%v", got, want, err)
		}
		for i := range got {
			if cap(got[i].Fields) != len(got[i].Fields) {
				t.Fatal("appending to one entry's fields would write into the next")
			}
		}
	})
}

func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		encode(list{list{"s", list{list{"5-1", list{"a", "1"}, 7, 8}, list{"6-1", nil}}}}),
		encode(list{"0-0", list{list{"5-1", list{"a", "1"}}}, list{"7-7"}}),
		encode(list{list{"5-1", "c", 10, 1}}),
		encode(list{list{"5-1", 2}, list{list{"5-1", list{"a", "1"}}}}),
		"%1\r\n$1\r\ns\r\n*0\r\n", "-ERR x\r\n", "!3\r\nERR\r\n", "_\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		d, err := readGroupReply(reply)
		total := 0
		for i := range d {
			total += cap(d[i].Fields)
		}
		if err == nil && total*smallestField > 2*len(reply) {
			t.Fatalf("%d fields from %d bytes", total, len(reply))
		}
		_, _ = pendingReply(reply)
		_ = takenOver(new(broker.TakenOver), reply)
		_, _ = parseRecord(reply)
	})
}

func TestParseIDAgreesWithTheBroker(t *testing.T) {
	for _, s := range []string{
		"0-0", "5", "5-", "-5", "-", "", "1-2-3", "18446744073709551615-18446744073709551615", "18446744073709551616-0",
		"1700000000000-0", "0000000000000000000001-1", "1 -1", "+1-1", "1-+1",
	} {
		want, err := broker.ParseID(s)
		if got, ok := parseID(s); ok != (err == nil) || ok && got != want {
			t.Errorf("%q: %v, %v; want %v, %v", s, got, ok, want, err)
		}
	}
}

// benchmarkReply is a reply of 1,000 payments.
func benchmarkReply() string {
	var entries list
	for i := range 1000 {
		entries = append(entries, list{fmt.Sprintf("17000000%05d-%d", i, i%3), list{
			"_payload", fmt.Sprintf(`{"id":%d,"account":"acct-%d","amount_cents":%d}`, i, i%100, i*7),
			"h:redis-partition-key", fmt.Sprintf("acct-%d", i%100),
		}, 0, 0})
	}
	return encode(list{list{"payments", entries}})
}

// BenchmarkParse is the part of a read that is ours: from the reply to the
// entries.
func BenchmarkParse(b *testing.B) {
	reply := benchmarkReply()
	b.SetBytes(int64(len(reply)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		d, err := readGroupReply(reply)
		if err != nil {
			b.Fatal(err)
		}
		n += len(d)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/entry")
}

func TestParseAllocatesPerBatch(t *testing.T) {
	reply := benchmarkReply()
	allocations := testing.AllocsPerRun(10, func() {
		if _, err := readGroupReply(reply); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 4 {
		t.Errorf("%v allocations for a batch of 1,000", allocations)
	}
}
