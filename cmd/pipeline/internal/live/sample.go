package live

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"

	"pipeline/engine/broker"
)

// Sample is a part of all entries, chosen by their ids alone: every run chooses
// the same ones, and a smaller part lies within each larger one. The zero Sample
// is all of them.
type Sample struct {
	// limit is what the hash of a chosen id is below; 0 chooses all.
	limit uint64
}

// ParseSample reads a part as "1/100", "1%" or "0.5%": more than nothing and at
// most everything.
func ParseSample(text string) (Sample, error) {
	wrong := fmt.Errorf("%q is no part of the entries: want 1/100, 1%% or 0.5%%", text)
	number, percent := strings.CutSuffix(text, "%")
	if percent == strings.Contains(number, "/") || len(number) > 32 || strings.Trim(number, "0123456789./") != "" {
		return Sample{}, wrong
	}
	part, ok := new(big.Rat).SetString(number)
	if !ok {
		return Sample{}, wrong
	}
	if percent {
		part.Quo(part, big.NewRat(100, 1))
	}
	switch c := part.Cmp(big.NewRat(1, 1)); {
	case part.Sign() <= 0 || c > 0:
		return Sample{}, wrong
	case c == 0:
		return Sample{}, nil
	}
	limit := new(big.Int).Lsh(part.Num(), 64)
	limit.Quo(limit, part.Denom())
	return Sample{max(1, limit.Uint64())}, nil
}

func (s Sample) all() bool { return s.limit == 0 }

// Share is the part, of 1.
func (s Sample) Share() float64 {
	if s.all() {
		return 1
	}
	return float64(s.limit) / math.MaxUint64
}

// Takes reports whether the entry with the id is chosen.
func (s Sample) Takes(id broker.ID) bool { return s.all() || hash(id) < s.limit }

// hash spreads ids evenly over 64 bits, neighbours too: the finalizer of
// splitmix64, applied to both halves.
func hash(id broker.ID) uint64 { return mix(mix(id.Ms) ^ bits.RotateLeft64(id.Seq, 32)) }

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
