package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// leasesEnd is how long the lease of a consumer that was killed may go on, with
// some patience for a machine that is busy.
const leasesEnd = time.Minute

// Leftovers compares what stands beside a stream with its groups, once everything
// that ran is gone: where nothing is pending there are no records, and when all
// leases have run out nobody counts as alive. It fails the test for what does not
// agree.
func Leftovers(t testing.TB, s *Server, stream string) {
	t.Helper()
	groups, err := s.Client().XInfoGroups(t.Context(), stream).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		beside := fmt.Sprintf("{%s}:pipeline:%s:", stream, g.Name)
		records, err := s.Client().HGetAll(t.Context(), beside+"records").Result()
		if err != nil {
			t.Fatal(err)
		}
		if g.Pending == 0 && len(records) > 0 {
			t.Errorf("group %s: nothing is pending, and there are %d records: %v", g.Name, len(records), records)
		}
		limit := time.Now().Add(leasesEnd)
		for held := s.leases(t, beside); len(held) > 0; held = s.leases(t, beside) {
			if time.Now().After(limit) {
				t.Errorf("group %s: everybody is gone, and these are held: %v", g.Name, held)
				break
			}
			<-time.After(100 * time.Millisecond)
		}
	}
}

// leases are the slots that are held beside a group, and who counts as alive.
func (s *Server) leases(t testing.TB, beside string) []string {
	t.Helper()
	var held []string
	keys, err := s.Client().Keys(t.Context(), escape(beside)+"slot:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	held = append(held, keys...)
	now, err := s.Client().Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	alive, err := s.Client().ZRangeWithScores(t.Context(), beside+"alive", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alive {
		if name := fmt.Sprint(a.Member); strings.HasPrefix(name, "u:") && a.Score > float64(now.UnixMilli()) {
			held = append(held, name+" until "+strconv.FormatFloat(a.Score, 'f', 0, 64))
		}
	}
	return held
}

// escape keeps a pattern from meaning anything but itself.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}
