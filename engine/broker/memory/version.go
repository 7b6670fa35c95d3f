package memory

import (
	"fmt"
	"strconv"
	"strings"

	"pipeline/engine/broker"
)

// DefaultVersion is the server that is played when Options name none.
const DefaultVersion = "8.6.3"

// version is MAJOR.MINOR.PATCH; missing parts are 0.
type version [3]int

func (v version) atLeast(major, minor int) bool {
	return v[0] > major || v[0] == major && v[1] >= minor
}

// CheckVersion says what is wrong with a version that is to be played: it
// must be one, two or three numbers with dots between.
func CheckVersion(s string) error {
	_, err := parseVersion(s)
	return err
}

func parseVersion(s string) (version, error) {
	var v version
	parts := strings.Split(s, ".")
	if len(parts) > len(v) {
		return v, fmt.Errorf("version %q: want up to three numbers, as in %q", s, DefaultVersion)
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return v, fmt.Errorf("version %q: want numbers with dots between, as in %q", s, DefaultVersion)
		}
		v[i] = int(n)
	}
	return v, nil
}

// features are those of Redis at that version. Adding with an idempotency
// key is not part of broker.Broker, but a server that can is said to.
func (v version) features() broker.Features {
	return broker.Features{
		ClaimingRead:     v.atLeast(8, 4),
		AutoClaim:        v.atLeast(6, 2),
		DeletedIDs:       v.atLeast(7, 0),
		TrimAcknowledged: v.atLeast(8, 2),
		Lag:              v.atLeast(7, 0),
		IdempotentAdd:    v.atLeast(8, 6),
	}
}
