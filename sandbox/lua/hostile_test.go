package lua

import (
	"testing"

	"pipeline/sandbox/sandboxtest"
)

var engine = sandboxtest.Engine{Name: "lua", File: "h.lua", Compile: Compile}

var hostile = sandboxtest.Suite{Engine: engine, Attacks: sandboxtest.LuaAttacks(), Healthy: []byte(healthy)}

const healthy = `
local ids = {}
function handle(e)
  ids[e.id] = (ids[e.id] or 0) + 1
  assert(("x"):rep(3, ",") == "x,x,x" and #ids == 0 and tostring(e.id) == "18446744073709551615")
  return { id = e.id, suspicious = e.amount_cents > 1000000 }
end`

func TestMain(m *testing.M) { sandboxtest.Main(m, hostile) }

func TestHostile(t *testing.T) { sandboxtest.Hostile(t, hostile) }

func TestPrograms(t *testing.T) { sandboxtest.Programs(t, engine, sandboxtest.LuaPrograms) }

func TestConformance(t *testing.T) { sandboxtest.Cases(t, engine, sandboxtest.LuaCases()) }

func TestContract(t *testing.T) { sandboxtest.Obey(t, engine, []byte(sandboxtest.LuaContract)) }
