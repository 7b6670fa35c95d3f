package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"pipeline/tests/redistest"
)

// What a tab shows of a page tells how bad things are, as they change; what somebody
// has opened on the page stays open meanwhile.
func TestATabTellsOfTrouble(t *testing.T) {
	t.Parallel()
	chromium(t)
	const groups = 6
	s := newMonitor(t, redistest.Start(t, "8.6"), groups)
	b := s.browse()
	b.open("/")
	marked := func(title, icon string) string {
		return `document.title === "` + title + `" && document.getElementById("icon").getAttribute("href") === "/static/` + icon + `.svg"`
	}
	b.shows("the title has the number of problems", marked("(6) Overview · many", "error"))
	b.do(chromedp.Evaluate(`window.drawn = 0; for (const name of ["well", "warning", "error", "unknown"]) {
		const image = new Image(); image.onload = () => { window.drawn++; }; image.src = "/static/" + name + ".svg"; }`, nil))
	b.shows("every icon can be drawn", `window.drawn === 4`)
	b.do(chromedp.Evaluate(`window.mark = 1; document.querySelector("#problems summary").focus()`, nil), chromedp.KeyEvent("\r"))
	open := `document.querySelector("#problems details").open`
	if !says[bool](b, open) {
		t.Fatal("the keyboard does not open a fold")
	}
	b.picture("folded")
	if err := s.redis.XGroupCreateMkStream(t.Context(), "in", "g0", "0").Err(); err != nil {
		t.Fatal(err)
	}
	b.shows("the title follows", marked("(5) Overview · many", "error"))
	if text := says[string](b, `document.querySelector("#problems summary").textContent`); !strings.HasPrefix(text, "2 more") {
		t.Errorf("the fold says %q", text)
	}
	if !says[bool](b, open+` && document.activeElement === document.querySelector("#problems summary") && window.mark === 1`) {
		t.Error("the fold was closed, lost the keyboard, or the page was loaded again")
	}
	for _, g := range []string{"g1", "g2", "g3", "g4", "g5"} {
		if err := s.redis.XGroupCreateMkStream(t.Context(), "in", g, "0").Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.shows("all is well", marked("Overview · many", "well"))
	b.faultless()
}
