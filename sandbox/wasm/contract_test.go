package wasm

import (
	"os"
	"testing"

	"pipeline/sandbox/sandboxtest"
)

// TestContract holds the engine to what every engine promises, with a guest in
// C that testdata/build.sh builds.
func TestContract(t *testing.T) {
	guest, err := os.ReadFile("testdata/contract.wasm")
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Obey(t, engine, guest)
}
