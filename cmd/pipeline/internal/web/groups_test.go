package web_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

// groupRows are the labels of the groups on a page, in their order.
var groupRows = regexp.MustCompile(`id="group-(g\d+)"`)

// Groups are found by a part of a name, in the order of any column, a hundred a page, and
// an address says which.
func TestGroupsAreFoundAndSorted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		const groups = 130
		w := &world{TB: t}
		w.load(manyGroups(groups), s.URL())
		b, err := build.OpenRedis(w.pipeline.Broker, clock.Real(), nil)
		w.ok(err)
		w.on(b)
		for i := range groups - 1 { // the last one does not exist
			w.ok(s.Client().XGroupCreateMkStream(t.Context(), fmt.Sprintf("in%d", i/2), fmt.Sprintf("g%d", i), "0").Err())
		}
		for range 3 {
			w.ok(s.Client().XAdd(t.Context(), addTo("in21")).Err()) // that g42 and g43 read
		}
		w.ok(s.Client().XAdd(t.Context(), addTo("in4")).Err()) // g8 and g9
		w.ok(s.Client().Do(t.Context(), "XREADGROUP", "GROUP", "g43", "c", "COUNT", "2", "STREAMS", "in21", ">").Err())
		w.poller.Once(context.Background())
		shown := func(address string) (labels []string, text string) {
			t.Helper()
			text = w.page(address)
			for _, m := range groupRows.FindAllStringSubmatch(text, -1) {
				labels = append(labels, m[1])
			}
			return labels, text
		}
		first, text := shown("/")
		if len(first) != 100 || first[0] != "g0" || first[99] != "g99" || !strings.Contains(text, "130 in all.") {
			t.Errorf("the first page has %v", first)
		}
		next, text := shown(between(t, text, `rel="next" href="`, `#`))
		if len(next) != 30 || next[0] != "g100" || !strings.Contains(text, "The first ones") || strings.Contains(text, `rel="next"`) {
			t.Errorf("the second page has %v", next)
		}
		for order, want := range map[string][]string{
			"lag":     {"g129", "g42", "g8", "g9", "g43"}, // that of one that is not there may be any
			"pending": {"g129", "g43", "g0"},
			"name":    {"g0", "g1", "g10"},
			"stream":  {"g0", "g1", "g2", "g3", "g20"},
		} {
			labels, text := shown("/?sort=" + order)
			if !slices.Equal(labels[:len(want)], want) {
				t.Errorf("sorted by %s: %v, want %v", order, labels[:len(want)], want)
			}
			if n := strings.Count(text, "aria-sort="); n != 1 || !strings.Contains(text, `id="by-`+order+`" href="/#groups-title"`) {
				t.Errorf("sorted by %s, %d columns say so", order, n)
			}
		}
		for find, want := range map[string][]string{"G42": {"g42"}, "in21": {"g42", "g43"}, "s129": {"g129"}, "nothing": nil} {
			labels, text := shown("/?find=" + find)
			if !slices.Equal(labels, want) || !strings.Contains(text, `name="find" value="`+find+`"`) || !strings.Contains(text, "All of them") {
				t.Errorf("%s finds %v, want %v", find, labels, want)
			}
		}
		w.page("/?find=nothing", "No group is of that name.")
		w.page("/?sort=lag&find=g4", `href="/?find=g4&amp;sort=pending#groups-title"`, `<input type="hidden" name="sort" value="lag">`)
		for _, bad := range []string{"/?sort=size", "/?skip=-1", "/?skip=x", "/events?skip=x"} {
			if a := w.get(bad); a.status != http.StatusBadRequest {
				t.Errorf("%s: %d", bad, a.status)
			}
		}
		if labels, _ := shown("/?skip=1000"); len(labels) != 0 {
			t.Errorf("beyond the last: %v", labels)
		}
	})
	// Few need no filter.
	w := inMemory(t)
	w.page("/", "!name=\"find\"", `id="by-lag"`, "!in all.")
}
