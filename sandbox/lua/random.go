package lua

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"

	glua "github.com/yuin/gopher-lua"
)

// random is the source of math.random and uuid. It is seeded from the entry,
// so that an entry that runs again gives the same result: a retry, a dry-run
// and the takeover by another process agree.
type random struct {
	seeded bool
	pcg    rand.PCG
	seed   [sha256.Size]byte
	uuids  uint64
}

// rng is the seeded source of the current call.
func (v *vm) rng() *random {
	r := &v.random
	if r.seeded {
		return r
	}
	r.seeded, r.uuids = true, 0
	seed := []byte(v.h.spec.Label + "\x00" + v.h.spec.Function + "\x00")
	if v.d != nil {
		seed = append(seed, v.d.Stream+"\x00"+v.d.ID...)
	}
	r.seed = sha256.Sum256(seed)
	r.pcg.Seed(binary.BigEndian.Uint64(r.seed[:]), binary.BigEndian.Uint64(r.seed[8:]))
	return r
}

// float is uniform in [0, 1).
func (r *random) float() float64 { return float64(r.pcg.Uint64()>>11) / (1 << 53) }

func (v *vm) mathRandom(l *glua.LState) int {
	r := v.rng()
	low := 1.0
	var high float64
	switch l.GetTop() {
	case 0:
		l.Push(glua.LNumber(r.float()))
		return 1
	case 1:
		high = math.Floor(v.argFloat(1))
	default:
		low, high = math.Floor(v.argFloat(1)), math.Floor(v.argFloat(2))
	}
	if !(low <= high) || high-low >= maxSafe || math.Abs(low) > maxSafe || math.Abs(high) > maxSafe {
		v.raise("math.random needs an interval that is not empty and within 2^53")
	}
	l.Push(glua.LNumber(low + math.Floor(r.float()*(high-low+1))))
	return 1
}

// mathRandomSeed gives the generator a seed of the script's choice for the
// rest of the call.
func (v *vm) mathRandomSeed(l *glua.LState) int {
	seed := math.Float64bits(v.argFloat(1))
	v.rng().pcg.Seed(seed, seed)
	return 0
}

// luaUUID is a version 4 UUID whose random bits come from the entry: the n-th
// of an entry is always the same, and those of different entries differ.
func (v *vm) luaUUID(l *glua.LState) int {
	r := v.rng()
	r.uuids++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(r.seed[:len(r.seed):len(r.seed)], r.uuids))
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u)
	v.use(20, 36)
	l.Push(glua.LString(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]))
	return 1
}
