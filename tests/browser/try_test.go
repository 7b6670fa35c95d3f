package browser

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pipeline/tests/redistest"
)

// writeText types a text as an input method does, quotes and all.
func (b *tab) writeText(text string) {
	b.Helper()
	b.do(input.InsertText(text))
}

// tabTo presses the tab key until what has the keyboard matches a selector, and fails
// where it cannot be seen on the way that it has it.
func (b *tab) tabTo(selector string) {
	b.Helper()
	for range 80 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if !says[bool](b, `document.activeElement === document.body || document.activeElement.matches(":focus-visible") && getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
			b.Errorf("it cannot be seen that the keyboard is at %s", says[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		}
		if says[bool](b, `document.activeElement.matches(`+strconv.Quote(selector)+`)`) {
			return
		}
	}
	b.Fatalf("the keyboard does not come to %s", selector)
}

// harmless fails if something of an attack is markup, or runs.
func (b *tab) harmless(where string) {
	b.Helper()
	if says[bool](b, `"pwned" in window`) || says[int](b, `document.scripts.length`) != 1 || says[int](b, `document.images.length`) != 0 {
		b.Errorf("%s: something that was typed is markup", where)
	}
}

// A handler is tried with the keyboard alone, on a page that changes nothing: what comes
// of the entry is shown where one looks, as text whatever it is, what was typed stays, and
// the server is as it was.
func TestAHandlerIsTriedByHand(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), readOnly)
	b := s.browse()
	b.open("/handler/post")
	b.tabTo("textarea[name=body]")
	body := fmt.Sprintf(`{"act":"dead","card":"4111222233334444","text":"%s card 4111222233334444"}`, attack)
	b.writeText(body)
	b.tabTo("textarea[name=headers]")
	b.writeText("note: " + attack)
	b.tabTo("button.go")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#tried", chromedp.ByQuery))
	if shown := says[string](b, `document.querySelector("#tried").textContent`); !strings.Contains(shown, "<script>window.pwned=1") || !strings.Contains(shown, "dead") || strings.Contains(shown, "4111222233334444") {
		t.Errorf("what came of it is not shown, or shows what is sensitive:\n%s", shown)
	}
	b.harmless("the outcome")
	if typed := says[string](b, `document.querySelector("textarea[name=body]").value`); typed != body {
		t.Errorf("what was typed is now\n%s", typed)
	}
	if !says[bool](b, `(pill => { const r = pill.getBoundingClientRect(); return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) === pill; })(document.querySelector("#tried .pill"))`) {
		t.Error("one has to look for what came of it: it is not in the window, or behind something")
	}
	for _, scheme := range []string{"light", "dark"} {
		b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		if worst := says[string](b, contrast); worst != "" {
			t.Errorf("%s: too little contrast: %s", scheme, worst)
		}
		b.picture("tried-" + scheme)
	}
	b.do(emulation.SetDeviceMetricsOverride(390, 844, 2, true))
	if wide := says[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("it is %d pixels wide on a phone", wide)
	}
	b.picture("tried-phone")
	if n := s.redis.Exists(t.Context(), "dead").Val() + s.redis.XLen(t.Context(), "payments").Val(); n != 0 {
		t.Error("trying wrote something")
	}
	b.faultless()
}

// Without --ui-write handlers are tried, and entries of the server run, but nothing
// offers to put a letter back.
func TestAPageThatChangesNothing(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), readOnly)
	s.fill()
	before := s.redis.XLen(t.Context(), "dead").Val()
	b := s.browse()
	letter := s.redis.XRevRangeN(t.Context(), "dead", "+", "-", 1).Val()[0].ID
	for _, path := range []string{"/dead-letters", "/dead-letters/letter?stream=dead&id=" + letter} {
		b.open(path)
		if said := says[string](b, `document.body.textContent`); !strings.Contains(said, "--ui-write") {
			t.Errorf("%s does not say how letters are put back:\n%s", path, said)
		}
		if says[bool](b, `[...document.querySelectorAll("form")].some(f => f.action.includes("replay") || f.action.includes("preview"))`) {
			t.Errorf("%s offers to put letters back", path)
		}
	}
	b.picture("read-only-letter")
	b.tabTo(`form[action="/entry/try"] button`)
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#tried", chromedp.ByQuery))
	if shown := says[string](b, `document.body.textContent`); !strings.Contains(shown, "<script>window.pwned=1") || strings.Contains(shown, "4111222233334444") {
		t.Errorf("what came of the letter's entry is not shown, or shows what is sensitive:\n%s", shown)
	}
	b.harmless("a letter's entry, run here")
	b.picture("read-only-tried")
	if n := s.redis.XLen(t.Context(), "dead").Val(); n != before {
		t.Errorf("%d letters, and there were %d", n, before)
	}
	b.faultless()
}
