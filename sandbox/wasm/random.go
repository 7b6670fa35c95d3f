package wasm

import (
	"crypto/sha256"
	"math/rand/v2"
	"time"
)

// random is the source of pipeline.random and of WASI's random_get. It is
// seeded from the entry, so that an entry that runs again gives the same
// result: a retry, a dry-run and the takeover by another process agree.
type random struct {
	seeded bool
	source *rand.ChaCha8
}

func (r *random) fill(p []byte) { _, _ = r.source.Read(p) } // it never fails

// rng is the seeded source of the current call.
func (in *instance) rng() *random {
	r := &in.random
	if r.seeded {
		return r
	}
	r.seeded = true
	seed := []byte(in.h.spec.Label + "\x00" + in.h.spec.Function + "\x00")
	if in.d != nil {
		seed = append(seed, in.d.Stream+"\x00"+in.d.ID...)
	}
	r.source = rand.NewChaCha8(sha256.Sum256(seed))
	return r
}

// loadedAt is the time while a module is loaded: some start with an error when
// the clock stands at zero.
var loadedAt = time.Unix(1, 0)

// now is the time of the delivery, which stands still during a call.
func (in *instance) now() time.Time {
	if in.d == nil {
		return loadedAt
	}
	return in.d.Now
}
