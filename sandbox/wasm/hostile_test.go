package wasm

import (
	"testing"

	"pipeline/sandbox/sandboxtest"
	"pipeline/sandbox/sandboxtest/wat"
)

var engine = sandboxtest.Engine{Name: "wasm", File: "h.wasm", Compile: Compile}

var hostile = sandboxtest.Suite{Engine: engine, Attacks: sandboxtest.WASMAttacks(), Healthy: healthy}

// healthy counts its calls in its memory, traps when anybody else has changed
// it, and replies with the id that the neighbour of an attack is asked for.
var healthy = func() []byte {
	code, reply := wat.Returns(4096, `{"action":"reply","replies":[{"body":{"id":18446744073709551615,"suspicious":true}}]}`)
	return wat.Handler("", `
		i32.const 64 i32.load 0 global.get 0 i32.ne if unreachable end
		global.get 0 i32.const 1 i32.add global.set 0
		i32.const 64 global.get 0 i32.store 0
		local.get 0 i32.load8_u 0 i32.const 123 i32.ne if unreachable end
		`+code, wat.Module{Globals: []wat.Global{{Type: "i32", Mutable: true}}, Data: []wat.Data{reply}})
}()

func TestMain(m *testing.M) { sandboxtest.Main(m, hostile) }

func TestHostile(t *testing.T) { sandboxtest.Hostile(t, hostile) }
