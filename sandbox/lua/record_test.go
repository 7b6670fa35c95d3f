package lua

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
)

// records is how many tables a handler's function returns as records.
func records(t *testing.T, code string) int {
	t.Helper()
	h, err := newHandler(spec(code, "handle"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.compile(); err != nil {
		t.Fatal(err)
	}
	return len(h.records)
}

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		name, code, want string
		records          int
	}{
		{"fields in the order of bytes", `function handle(e) return { b = 1, a = { 2, { c = 3 } }, ["0"] = "x" } end`, `{"0":"x","a":[2,{"c":3}],"b":1}`, 1},
		{"nil is no field", `function handle(e) return { a = nil, b = e.none, c = false } end`, `{"c":false}`, 1},
		{"nothing but nil", `function handle(e) return { a = nil } end`, `{}`, 1},
		{"the body inside", `function handle(e) return { e = e, id = e.id, n = json.null } end`, `{"e":{"id":18446744073709551615,"l":[]},"id":18446744073709551615,"n":null}`, 1},
		{"one value of a call", `local function f() return 1, 2 end function handle(e) return { a = f(), b = f() } end`, `{"a":1,"b":1}`, 1},
		{"one value of varargs", `function handle(...) return { a = select("#", ...), b = ... } end`, `{"a":2,"b":{"id":18446744073709551615,"l":[]}}`, 1},
		{"a place in the message", `function handle(e) return { a = { { b = 0/0 } } } end`, `result: h.lua:1: the value that handle returned: a[1].b is nan, which JSON cannot hold (function handle, entry 1700000000000-0)`, 1},
		{"a function as a field", `function handle(e) return { a = ack } end`, `result: h.lua:1: the value that handle returned: a is a function, which cannot be sent (function handle, entry 1700000000000-0)`, 1},
		{"several of them", `function handle(e) if e.id then return { a = 1 } else return { b = 2 } end end`, `{"a":1}`, 2},
		{"inside a function", `function handle(e) local function f() return { a = 1 } end local t = f() t.b = 2 return t end`, `{"a":1,"b":2}`, 0},
		{"a function that calls itself", `function handle(e, deep) if deep == 1 then return { a = 1 } end local t = handle(e, 1) t.b = 2 return t end`, `{"a":1,"b":2}`, 0},
		{"a function that is called by another", `function handle(e) return { a = 1 } end local h = handle`, `{"a":1}`, 0},
		{"a list", `function handle(e) return { 1, a = 2 }, nil end`, `result: h.lua:1: the value that handle returned: it has both list items and the key 'a': a table is sent as a list or as an object, not both (function handle, entry 1700000000000-0)`, 0},
		{"a key twice", `function handle(e) return { a = 1, a = 2 } end`, `{"a":2}`, 0},
		{"a computed key", `function handle(e) return { ["a" .. 1] = 1 } end`, `{"a1":1}`, 0},
		{"a list alone", `function handle(e) return { 1, 2 } end`, `[1,2]`, 0},
		{"nothing in it", `function handle(e) return {} end`, `{}`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := records(t, c.code); got != c.records {
				t.Errorf("%d records, want %d", got, c.records)
			}
			in := compile(t, spec(c.code, "handle"))
			for range 2 {
				out, _ := in.Call(context.Background(), delivery(t, `{"id":18446744073709551615,"l":[]}`))
				if got := show(t, out); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

// TestRecordsCostWhatTablesCost: a limit must not depend on how a reply is
// written.
func TestRecordsCostWhatTablesCost(t *testing.T) {
	usage := func(code string) sandbox.Usage {
		_, used := compile(t, spec(code, "handle")).Call(context.Background(), delivery(t, `{}`))
		return used
	}
	record := usage(`function handle(e) return { a = ("x"):rep(1000), b = { 1, 2, 3 } } end`)
	table := usage(`function handle(e) local t = { a = ("x"):rep(1000), b = { 1, 2, 3 } } return t end`)
	if diff := record.Bytes - table.Bytes; diff < -200 || diff > 200 {
		t.Errorf("%+v as a record, %+v as a table", record, table)
	}
}

// TestRecordsAreTables compares the replies of drawn tables, written into the
// return statement and kept in a local first.
func TestRecordsAreTables(t *testing.T) {
	values := []string{"1", "nil", `"x"`, "e", "e.l", "{}", "{ 1, 2 }", "json.null", "0/0", "ack", "(e.id)", "e.id and 1 or 2"}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "id", "x1", "Z", "_"}), 1, 5, rapid.ID[string]).Draw(t, "names")
		fields := make([]string, len(names))
		for i, name := range names {
			fields[i] = name + " = " + rapid.SampledFrom(values).Draw(t, name)
		}
		if rapid.Bool().Draw(t, "reversed") {
			slices.Reverse(fields)
		}
		table := "{ " + strings.Join(fields, ", ") + " }"
		run := func(body string) string {
			h, err := Compile(spec("function handle(e)\n"+body+"\nend", "handle"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close() }()
			in, err := h.NewInstance(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, _ := in.Call(context.Background(), sandboxtest.Delivery(`{"id":18446744073709551615,"l":[]}`))
			return sandboxtest.Show(out)
		}
		record, whole := run("return "+table), run("local t = "+table+" return t")
		// Which of several faults is told first is left open.
		if record != whole && (!strings.HasPrefix(record, "result") || !strings.HasPrefix(whole, "result")) {
			t.Fatalf("%s gives %s, and %s as a table", table, record, whole)
		}
	})
}
