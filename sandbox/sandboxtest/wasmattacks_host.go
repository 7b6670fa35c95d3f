package sandboxtest

import (
	"strings"

	"pipeline/sandbox/sandboxtest/wat"
)

// wasmPointers give the host places that are not theirs.
func wasmPointers() []Attack {
	pipeline := func(name, sig string) []wat.Import {
		return []wat.Import{{Module: "pipeline", Name: name, Sig: sig}}
	}
	wasi := func(name, sig string) []wat.Import {
		return []wat.Import{{Module: "wasi_snapshot_preview1", Name: name, Sig: sig}}
	}
	random, meta := pipeline("random", "i32 i32->"), pipeline("meta", "i32 i32 i32 i32->i32")
	write := wasi("fd_write", "i32 i32 i32 i32->i32")
	abort := []wat.Import{{Module: "env", Name: "abort", Sig: "i32 i32 i32 i32->"}}
	exit := wasi("proc_exit", "i32->")
	poll := wasi("poll_oneoff", "i32 i32 i32 i32->i32")
	return []Attack{
		wasm("random beyond the memory", "", "i32.const 2097151 i32.const 2 call $random", wat.Module{Imports: random}, crashed),
		wasm("random of 4 GiB", "", "i32.const 0 i32.const -1 call $random", wat.Module{Imports: random}, append([]string{"crash"}, stopped...)),
		wasm("random around the end of all memories", "", "i32.const -1 i32.const 2 call $random", wat.Module{Imports: random}, crashed),
		wasm("meta with a name from nowhere", "", "i32.const -1 i32.const 2 i32.const 0 i32.const 0 call $meta drop", wat.Module{Imports: meta}, crashed),
		wasm("meta to nowhere", "", "i32.const 0 i32.const 2 i32.const -1 i32.const 100 call $meta drop", wat.Module{Imports: meta, Data: []wat.Data{{At: 0, Bytes: "id"}}}, crashed),
		wasm("meta with a name of 4 GiB", "", "i32.const 0 i32.const -1 i32.const 0 i32.const 0 call $meta drop unreachable", wat.Module{Imports: meta}, crashed),
		wasm("write of pieces from nowhere", "", "i32.const 1 i32.const -8 i32.const 100 i32.const 0 call $fd_write drop", wat.Module{Imports: write}, crashed),
		wasm("write of a piece from nowhere", "", "i32.const 1 i32.const 0 i32.const 1 i32.const 64 call $fd_write drop", wat.Module{Imports: write, Data: []wat.Data{{At: 0, Bytes: "\xff\xff\xff\xff\xff\xff\xff\xff"}}}, append([]string{"crash"}, stopped...)),
		wasm("write of 4 billion pieces", "", "i32.const 1 i32.const 0 i32.const -1 i32.const 64 call $fd_write i32.const 28 i32.ne if unreachable end", wat.Module{Imports: write}, done),
		wasm("write to a file", "", "i32.const 3 i32.const 0 i32.const 0 i32.const 64 call $fd_write i32.const 8 i32.ne if unreachable end", wat.Module{Imports: write}, done),
		wasm("the count of a write to nowhere", "", "i32.const 1 i32.const 0 i32.const 0 i32.const -1 call $fd_write drop", wat.Module{Imports: write}, crashed),
		wasm("clock to nowhere", "", "i32.const 0 i64.const 0 i32.const -1 call $clock_time_get drop", wat.Module{Imports: wasi("clock_time_get", "i32 i64 i32->i32")}, crashed),
		wasm("environment to nowhere", "", "i32.const -1 i32.const -1 call $environ_sizes_get drop", wat.Module{Imports: wasi("environ_sizes_get", "i32 i32->i32")}, crashed),
		wasm("waiting", "", "i32.const 0 i32.const 64 i32.const 1 i32.const 128 call $poll_oneoff i32.const 58 i32.ne if unreachable end", wat.Module{Imports: poll, Data: []wat.Data{{At: 24, Bytes: "\x00\xca\x9a\x3b"}}}, done),
		wasm("waiting for a file", "", "i32.const 0 i32.const 64 i32.const 1 i32.const 128 call $poll_oneoff i32.const 58 i32.ne if unreachable end", wat.Module{Imports: poll, Data: []wat.Data{{At: 8, Bytes: "\x01"}}}, done),
		wasm("waiting for 4 billion events", "", "i32.const 0 i32.const 0 i32.const -1 i32.const 0 call $poll_oneoff i32.const 58 i32.ne if unreachable end", wat.Module{Imports: poll}, done),
		wasm("waiting with events to nowhere", "", "i32.const 0 i32.const -8 i32.const 1 i32.const 128 call $poll_oneoff drop", wat.Module{Imports: poll}, crashed),
		wasm("waiting from nowhere", "", "i32.const -8 i32.const 0 i32.const 1 i32.const 128 call $poll_oneoff drop", wat.Module{Imports: poll}, crashed),
		wasm("many short waits", "", "loop i32.const 0 i32.const 64 i32.const 1 i32.const 128 call $poll_oneoff drop br 0 end", wat.Module{Imports: poll}, stopped),
		wasm("exit", "", "i32.const 0 call $proc_exit", wat.Module{Imports: exit}, failed),
		wasm("exit with a code", "", "i32.const -1 call $proc_exit", wat.Module{Imports: exit}, failed),
		wasm("abort with texts from nowhere", "", "i32.const -1 i32.const 2 i32.const 1 i32.const 1 call $abort", wat.Module{Imports: abort}, failed),
		wasm("abort with a text of 4 GiB", "", "i32.const 4 i32.const 0 i32.const 1 i32.const 1 call $abort", wat.Module{Imports: abort, Data: []wat.Data{{At: 0, Bytes: "\xff\xff\xff\xff"}}}, failed),
		wasm("abort with the text of an address", "", "i32.const 4 i32.const 4 i32.const -1 i32.const -1 call $abort", wat.Module{Imports: abort, Data: []wat.Data{{At: 0, Bytes: "\x06\x00\x00\x00\x00\xd8\x0a\x00a\x00"}}}, failed),
	}
}

// wasmResults return what is no result.
func wasmResults() []Attack {
	says := func(name, text string, ends []string) Attack {
		code, data := wat.Returns(64, text)
		return Attack{Name: "result: " + name, Code: wat.Handler("", code, wat.Module{Data: []wat.Data{data}}), Ends: ends}
	}
	word := func(name, code string, ends []string) Attack {
		return Attack{Name: "result: " + name, Code: wat.Handler("i32", code, wat.Module{}), Ends: ends}
	}
	// writes fills the memory from 64 on with a pair of bytes and returns it.
	writes := func(name, pair string, length string, ends []string) Attack {
		return word(name, `i32.const 64 local.set 2 i32.const 480 memory.grow drop
			loop
				local.get 2 i32.const `+pair+` i32.store16 0
				local.get 2 i32.const 2 i32.add local.tee 2
				i32.const `+length+` i32.lt_u br_if 0
			end
			i64.const 0x4000000000 i64.const `+length+` i64.or`, ends)
	}
	deep := strings.Repeat("[", 10_000)
	return []Attack{
		word("a code that is none", "i64.const 4", misspoken),
		word("a code of all bits", "i64.const 0xffffffff", misspoken),
		word("from nowhere", "i64.const -1", misspoken),
		word("of no length", "i64.const 0x4000000000", misspoken),
		word("longer than the memory", "i64.const 0x40ffffffff", misspoken),
		writes("many empty lists", "0x2c5b", "33554000", append([]string{"result", "memory"}, stopped...)), // "[,"
		writes("many numbers", "0x2c30", "16000000", append([]string{"result", "memory"}, stopped...)),     // "0,"
		says("no JSON", "payments", misspoken),
		says("no object", `["ack"]`, misspoken),
		says("no action", `{}`, misspoken),
		says("an action that is none", `{"action":"commit"}`, misspoken),
		says("an action that is no text", `{"action":0}`, misspoken),
		says("a key that is none", `{"action":"ack","reply":[]}`, misspoken),
		says("a misspelt key", `{"action":"ack","replys":[{"body":1}]}`, misspoken),
		says("a key twice", `{"action":"ack","action":"dead"}`, misspoken),
		says("replies with an ack", `{"action":"ack","replies":[{"body":1}]}`, misspoken),
		says("no replies", `{"action":"reply","replies":[]}`, misspoken),
		says("a reply without a body", `{"action":"reply","replies":[{"to":"a"}]}`, misspoken),
		says("a reply with two bodies", `{"action":"reply","replies":[{"body":1,"body_base64":"aGk="}]}`, misspoken),
		says("a reply with another key", `{"action":"reply","replies":[{"body":1,"topic":"a"}]}`, misspoken),
		says("bytes that are not base64", `{"action":"reply","replies":[{"body_base64":"a"}]}`, misspoken),
		says("a header that is no text", `{"action":"reply","replies":[{"body":1,"headers":{"a":1}}]}`, misspoken),
		says("a wait below zero", `{"action":"retry","after_ms":-1}`, misspoken),
		says("a wait for ever", `{"action":"retry","after_ms":1e300}`, misspoken),
		says("a wait of no number", `{"action":"retry","after_ms":"5s"}`, misspoken),
		says("text that is not UTF-8", "{\"action\":\"dead\",\"reason\":\"\xff\"}", misspoken),
		says("a body too deep", `{"action":"reply","replies":[{"body":`+deep+`1`+strings.ReplaceAll(deep, "[", "]")+`}]}`, misspoken),
		says("more after its end", `{"action":"ack"}{"action":"dead"}`, misspoken),
		says("a very long reason", `{"action":"dead","reason":"`+strings.Repeat("x", 500_000)+`"}`, []string{"dead"}),
	}
}
