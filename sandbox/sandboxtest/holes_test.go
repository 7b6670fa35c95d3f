package sandboxtest

import (
	"slices"
	"testing"
)

// TestHolesAreAttacked sees that every hole has attacks, and that those exist.
func TestHolesAreAttacked(t *testing.T) {
	for engine, test := range map[string]struct {
		holes   []Hole
		attacks []Attack
	}{"lua": {LuaHoles, LuaAttacks()}, "wasm": {WASMHoles, WASMAttacks()}} {
		named := map[string]int{}
		for _, a := range test.attacks {
			named[a.Name]++
		}
		for _, h := range test.holes {
			if len(h.Attacks) == 0 {
				t.Errorf("%s: nothing attacks: %s", engine, h.Hole)
			}
			for _, name := range h.Attacks {
				if named[name] != 1 {
					t.Errorf("%s: %s: %d attacks are called %q", engine, h.Hole, named[name], name)
				}
			}
			for _, name := range h.Programs {
				if !slices.ContainsFunc(LuaPrograms, func(p Program) bool { return p.Name == name }) {
					t.Errorf("%s: %s: there is no program %q", engine, h.Hole, name)
				}
			}
		}
	}
}
