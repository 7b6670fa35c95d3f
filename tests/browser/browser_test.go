package browser

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pipeline/tests/redistest"
)

// attack is what somebody might write into an entry to have it run in a browser.
const attack = `</pre></bdi>\"'><script>window.pwned=1;alert(1)</script><img src=x onerror='window.pwned=1;alert(2)'>`

// paths are all pages.
func (s *shop) paths() []string {
	letter := s.redis.XRevRangeN(s.Context(), "dead", "+", "-", 1).Val()[0].ID
	entry := s.redis.XRangeN(s.Context(), "payments", "-", "+", 1).Val()[0].ID
	return []string{
		"/", "/group/ledger", "/group/ledger/pending", "/dead-letters", "/dead-letters?reason=rejected&error=script", "/dead-letters/letter?stream=dead&id=" + letter,
		"/entry?stream=payments&id=" + entry, "/handler/post", "/health", "/events", "/nowhere",
	}
}

// fill gives every page something to show.
func (s *shop) fill() {
	s.Helper()
	for i := range 40 {
		act := []string{"ack", "dead", "retry", "ack"}[i%4]
		s.add(fmt.Sprintf(`{"id":%d,"act":%q,"card":"4111222233334444","text":"%s"}`, i, act, attack))
	}
	s.buried(10)
}

// A page that is open shows what comes, without being loaded again and without taking
// the keyboard from where it is.
func TestAPageStaysUpToDate(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), writes)
	b := s.browse()
	b.open("/")
	b.shows("the server was looked at", `document.getElementById("state").textContent.trim() === "running"`)
	b.do(chromedp.Evaluate(`window.mark = 1; document.getElementById("group-ledger").focus()`, nil))
	for i := range 7 {
		s.add(fmt.Sprintf(`{"id":%d,"act":"dead","text":"no such account"}`, i))
	}
	s.buried(7)
	b.shows("the letters are shown", `document.getElementById("letters").textContent.includes("7") && document.getElementById("letters-count").textContent.trim() === "7"`)
	if !says[bool](b, `window.mark === 1`) {
		t.Error("the page was loaded again")
	}
	if at := says[string](b, `document.activeElement.id`); at != "group-ledger" {
		t.Errorf("the keyboard is at %q", at)
	}
	if text := says[string](b, `document.getElementById("live").textContent`); text != "live" {
		t.Errorf("it says %q", text)
	}
	b.faultless()
}

// A connection that leads nowhere, as after a sleep, gives no error: a page that hears
// nothing says that it is not live, and goes on by itself when the server is there again.
func TestAPageThatHearsNothingSaysSo(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), readOnly)
	b := s.browse()
	b.open("/")
	live := `document.getElementById("live").textContent === "live"`
	b.shows("the page is live", live)
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.shows("the page says that it is not live", `document.getElementById("live").textContent.startsWith("not live: what is shown is of ")`)
	if icon := says[string](b, `document.getElementById("icon").getAttribute("href")`); icon != "/static/unknown.svg" {
		t.Errorf("the tab has the icon %s", icon)
	}
	if err := s.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.shows("the page is live again", live+` && document.getElementById("icon").getAttribute("href") === "/static/well.svg"`)
	s.add(`{"id":1,"act":"dead","text":"no such account"}`)
	s.buried(1)
	b.shows("what came is shown", `document.getElementById("letters-count").textContent.trim() === "1"`)
}

// Whatever entries and errors hold is text: no script of theirs runs on any page, the
// browser has nothing to complain of, and nothing that is sensitive is sent.
func TestScriptsInEntriesDoNotRun(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), writes)
	s.fill()
	b := s.browse()
	for _, path := range s.paths() {
		b.open(path)
		if says[bool](b, `"pwned" in window`) || says[int](b, `document.scripts.length`) != 1 || says[int](b, `document.images.length`) != 0 {
			t.Errorf("%s: something of an entry is markup", path)
		}
		if strings.Contains(says[string](b, `document.documentElement.outerHTML`), "4111222233334444") {
			t.Errorf("%s: what is sensitive is shown", path)
		}
	}
	b.open("/dead-letters")
	if !says[bool](b, `document.body.textContent.includes("<script>window.pwned=1")`) {
		t.Error("the attack did not reach the page, so that nothing was tried")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		if !strings.Contains(f, "404") { // which is what /nowhere is
			t.Errorf("the browser says: %s", f)
		}
	}
}

// Every page can be read in light and in the dark, with enough contrast, and at the
// width of a phone nothing but tables and drawings is wider than that.
func TestEveryPageCanBeRead(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), writes)
	s.fill()
	b := s.browse()
	grounds := map[string]string{}
	for i, path := range s.paths() {
		for _, scheme := range []string{"light", "dark"} {
			b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				emulation.SetDeviceMetricsOverride(1280, 900, 1, false))
			b.open(path)
			grounds[scheme] = says[string](b, `getComputedStyle(document.body).backgroundColor`)
			if worst := says[string](b, contrast); worst != "" {
				t.Errorf("%s, %s: too little contrast: %s", path, scheme, worst)
			}
			if scheme == "dark" || i == 0 {
				b.picture(fmt.Sprintf("%02d-%s", i, scheme))
			}
			b.do(emulation.SetDeviceMetricsOverride(390, 844, 2, true))
			b.open(path)
			if wide := says[int](b, `document.documentElement.scrollWidth`); wide > 390 {
				t.Errorf("%s is %d pixels wide on a phone", path, wide)
			}
			if scheme == "light" {
				b.picture(fmt.Sprintf("%02d-%s-phone", i, scheme))
			}
		}
		for _, c := range []struct{ what, expression string }{
			{"a heading of the first order", `document.querySelectorAll("h1").length === 1`},
			{"a language", `document.documentElement.lang === "en"`},
			{"a caption on each table", `[...document.querySelectorAll("table")].every(t => t.caption && t.caption.textContent)`},
			{"a scope on each heading of a table", `[...document.querySelectorAll("th")].every(t => t.scope)`},
			{"a label on each field", `[...document.querySelectorAll("input:not([type=hidden]),select")].every(i => i.labels.length)`},
			{"ids that are given once", `(ids => new Set(ids).size === ids.length)([...document.querySelectorAll("[id]")].map(e => e.id))`},
			{"words for each picture", `[...document.querySelectorAll("svg[role=img]")].every(s => s.getAttribute("aria-label") || s.querySelector("title"))`},
		} {
			if !says[bool](b, c.expression) {
				t.Errorf("%s lacks %s", path, c.what)
			}
		}
	}
	if grounds["light"] == grounds["dark"] {
		t.Errorf("light and dark have the same ground, %s", grounds["light"])
	}
}

// contrast finds the text that stands out least from its ground, "" where everything
// has the 4.5 to 1 of WCAG 2.2, 1.4.3.
const contrast = `(() => {
  const parts = c => (c.match(/[\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = parts(c).map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor, p = parts(c); if (p.length === 3 || p[3] === 1) return c; } return "rgb(255, 255, 255)"; };
  let worst = 4.5, found = "";
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("svg") || e.closest(".hidden") || e.closest(".skip") || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const a = light(getComputedStyle(e).color), b = light(ground(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < worst) { worst = ratio; found = e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 40) + " " + ratio.toFixed(2); }
  }
  return found;
})()`

// Everything can be reached and done with the keyboard alone, and what has it can be
// seen.
func TestTheKeyboardIsEnough(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), writes)
	s.fill()
	b := s.browse()
	b.open("/")
	b.shows("the server was looked at", `document.getElementById("groups").textContent.includes("ledger")`)
	tab := func() { b.do(chromedp.KeyEvent(kb.Tab)) }
	tab()
	if !says[bool](b, `document.activeElement.className === "skip" && document.activeElement.getBoundingClientRect().left >= 0`) {
		t.Error("the first thing is not the way past the menu")
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	if at := says[string](b, `document.activeElement.id`); at != "main" {
		t.Errorf("the way past the menu leads to %q", at)
	}
	reached := false
	for range 60 {
		tab()
		if says[string](b, `document.activeElement.tagName`) == "BODY" {
			break
		}
		if !says[bool](b, `document.activeElement.matches(":focus-visible") && getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
			t.Errorf("it cannot be seen that the keyboard is at %s", says[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		}
		if says[string](b, `document.activeElement.id`) == "group-ledger" {
			reached = true
			break
		}
	}
	if !reached {
		t.Fatal("the link to a group is not reached")
	}
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#consumers", chromedp.ByQuery))
	b.faultless()
}

// Dead letters go back by two buttons, and the page says when they are.
func TestALetterGoesBack(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), writes)
	s.fill()
	b := s.browse()
	b.open("/dead-letters")
	b.do(chromedp.Click(`form.act input[type=checkbox]`, chromedp.ByQuery), chromedp.Click(`form.act button`, chromedp.ByQuery), chromedp.WaitVisible(`button.go`, chromedp.ByQuery))
	if title := says[string](b, `document.querySelector("h1").textContent`); title != "Replay 10 letters?" {
		t.Errorf("%q", title)
	}
	b.picture("replay-preview")
	if n := s.redis.XLen(t.Context(), "payments").Val(); n != 40 {
		t.Errorf("the preview added entries: %d", n)
	}
	// Slow enough that the page has to follow it.
	b.do(chromedp.SetValue(`input[name=rate]`, "5", chromedp.ByQuery), chromedp.Click(`button.go`, chromedp.ByQuery), chromedp.WaitVisible(`#progress`, chromedp.ByQuery))
	b.shows("it is done", `document.querySelector("h1")?.textContent === "Replayed"`)
	b.picture("replay-done")
	if n := s.redis.XLen(t.Context(), "payments").Val(); n != 50 {
		t.Errorf("%d entries", n)
	}
	b.faultless()
}

// Without scripts every page says the same, and letters can be put back.
func TestThePageNeedsNoScripts(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := newShop(t, redistest.Start(t, "8.6"), writes)
	s.fill()
	b := s.browse()
	b.do(emulation.SetScriptExecutionDisabled(true))
	// text is what the page has; "" while another one is loaded.
	text := func() (html string) {
		_ = chromedp.Run(b.ctx, chromedp.ActionFunc(func(ctx context.Context) error {
			root, err := dom.GetDocument().Do(ctx)
			if err == nil {
				html, err = dom.GetOuterHTML().WithNodeID(root.NodeID).Do(ctx)
			}
			return err
		}))
		return html
	}
	for path, want := range map[string]string{
		"/": "group-ledger", "/group/ledger": "post_payment", "/group/ledger/pending": "on this page", "/dead-letters": "rejected",
		"/handler/post": "Limits and grants", "/health": "Checks", "/events": "group.created",
	} {
		b.do(chromedp.Navigate(b.address + path))
		s.until(path+" is shown", func() bool { return strings.Contains(text(), want) })
	}
	if strings.Contains(text(), `role="status">live`) {
		t.Fatal("scripts run, so that nothing was tried")
	}
	b.picture("no-script")
	b.do(chromedp.Navigate(b.address + "/dead-letters"))
	press := func(selector string) {
		b.Helper()
		b.do(chromedp.ActionFunc(func(ctx context.Context) error {
			root, err := dom.GetDocument().Do(ctx)
			if err != nil {
				return err
			}
			id, err := dom.QuerySelector(root.NodeID, selector).Do(ctx)
			if err != nil {
				return err
			}
			if err := dom.ScrollIntoViewIfNeeded().WithNodeID(id).Do(ctx); err != nil {
				return err
			}
			quads, err := dom.GetContentQuads().WithNodeID(id).Do(ctx)
			if err != nil {
				return err
			}
			q := quads[0]
			return chromedp.MouseClickXY((q[0]+q[4])/2, (q[1]+q[5])/2).Do(ctx)
		}))
	}
	s.until("the letters are shown", func() bool { return strings.Contains(text(), "Preview the replay") })
	press(`form.act input[type=checkbox]`)
	press(`form.act button`)
	s.until("the preview is shown", func() bool { return strings.Contains(text(), "Replay 10 letters?") })
	press(`button.go`)
	s.until("it is done", func() bool { return strings.Contains(text(), "<h1>Replayed</h1>") })
	if n := s.redis.XLen(t.Context(), "payments").Val(); n != 50 {
		t.Errorf("%d entries", n)
	}
}
