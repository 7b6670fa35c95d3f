// Package browser looks at the page as people do: in a browser, on a process that
// works on a server.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

const file = `
pipeline "shop" {
  version  = "7"
  language = 1
}
broker "redis" {
  url = "URL"
}
stream "payments" {
  codec     = "json"
  sensitive = ["card"]
}
stream "screened" {}
stream "dead" {}
handler "post" {
  source = "h.lua"
}
handler "screen" {
  source   = "h.lua"
  function = "screen"
}
group "ledger" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "post_payment" {
    handler    = handler.post
    claim {
      min_idle = "60s"
    }
    workers {
      count = 4
    }
  }
}
group "fraud" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "screen_payment" {
    handler = handler.screen
    claim {
      min_idle = "60s"
    }
    reply {
      to = stream.screened
    }
  }
}
`

const script = `
function handle(e)
  if e.act == "dead" then return dead(e.text) end
  if e.act == "retry" then return retry{ after = "1h", reason = e.text } end
  return ack()
end
function screen(e) return { id = e.id } end
`

// patience is how long something that comes by itself is waited for: a look of the
// poller comes within five seconds.
const patience = time.Minute

// chromium finds the browser. In CI its absence is a failure.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("there is no chromium; apt-get install chromium")
	}
	t.Skip("there is no chromium; apt-get install chromium")
	return ""
}

// binary is the command, built once for all tests.
var binary string

func TestMain(m *testing.M) { program.Main(m, &binary) }

// shop is a process that works on a server, and serves its page.
type shop struct {
	*testing.T
	redis   *redis.Client
	address string
	process *os.Process
}

var pageAt = regexp.MustCompile(`"page":"([^"]+)"`)

// mode is what people may do on the page.
type mode bool

const (
	// writes lets them put letters back.
	writes mode = true
	// readOnly is what a page is that was not asked to be more.
	readOnly mode = false
)

func newShop(t *testing.T, server *redistest.Server, m mode) *shop {
	t.Helper()
	return serve(t, server, file, "run", "p.hcl", "--ops-listen", "off", "--ui-listen", "127.0.0.1:0", "--ui-write="+strconv.FormatBool(bool(m)), "--json")
}

// newMonitor is a process that only looks at that many groups, which do not exist.
func newMonitor(t *testing.T, server *redistest.Server, groups int) *shop {
	t.Helper()
	var b strings.Builder
	b.WriteString("pipeline \"many\" {\n  language = 1\n}\nbroker \"redis\" {\n  url = \"URL\"\n}\nstream \"in\" {}\nstream \"dead\" {}\nhandler \"h\" {\n  source = \"h.lua\"\n}\n")
	for i := range groups {
		fmt.Fprintf(&b, "group \"g%d\" {\n  stream = stream.in\n  dead_letter {\n    to = stream.dead\n  }\n  subscription \"s%d\" {\n"+
			"    handler = handler.h\n    claim {\n      min_idle = \"60s\"\n    }\n  }\n}\n", i, i)
	}
	return serve(t, server, b.String(), "monitor", "p.hcl", "--ops-listen", "off", "--ui-listen", "127.0.0.1:0", "--json")
}

// serve starts the command with a pipeline of the server, and waits for its page.
func serve(t *testing.T, server *redistest.Server, file string, words ...string) *shop {
	t.Helper()
	server.Record(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"p.hcl": strings.ReplaceAll(file, "URL", server.URL()), "h.lua": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, words...)
	out := &program.Output{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT) // a test may have stopped it
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	s := &shop{T: t, redis: server.Client(), process: cmd.Process}
	s.until("the page is served", func() bool {
		found := pageAt.FindStringSubmatch(out.String())
		if found != nil {
			s.address = "http://" + found[1]
		}
		return found != nil
	})
	return s
}

func (s *shop) until(what string, done func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("waited in vain until %s", what)
		}
	}
}

// add adds an entry.
func (s *shop) add(body string) {
	s.Helper()
	if err := s.redis.XAdd(s.Context(), &redis.XAddArgs{Stream: "payments", Values: []string{"_payload", body}}).Err(); err != nil {
		s.Fatal(err)
	}
}

// buried waits until that many letters stand in the stream.
func (s *shop) buried(n int64) {
	s.Helper()
	s.until("the letters are written", func() bool { return s.redis.XLen(s.Context(), "dead").Val() == n })
}

// tab is a page in the browser.
type tab struct {
	*shop
	ctx context.Context //nolint:containedctx // which is what a tab is to chromedp

	mu sync.Mutex
	// faults are dialogs, and what the browser complains of.
	faults []string
}

// browse opens a tab of a browser of its own.
func (s *shop) browse() *tab {
	s.Helper()
	// Not a folder of the test: the browser's last processes may still write to it.
	dir, err := os.MkdirTemp("", "pipeline-browser-")
	if err != nil {
		s.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(s.T)), chromedp.UserDataDir(dir),
		chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	s.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it is ended in any case
		cancel()
		stop()
		end()
		s.until("the browser is gone", func() bool { return os.RemoveAll(dir) == nil })
	})
	b := &tab{shop: s, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *page.EventJavascriptDialogOpening:
			b.fault("a dialog opened: " + e.Message)
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(false)) }()
		case *log.EventEntryAdded:
			b.fault(string(e.Entry.Source) + ": " + e.Entry.Text)
		case *runtime.EventExceptionThrown:
			b.fault("an exception: " + e.ExceptionDetails.Error())
		}
	})
	b.do(log.Enable(), runtime.Enable())
	return b
}

func (b *tab) fault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, text)
}

// faultless fails if the browser complained.
func (b *tab) faultless() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.Errorf("the browser says: %s", f)
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// open goes to a page.
func (b *tab) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.address+path), chromedp.WaitReady("#main", chromedp.ByQuery))
}

// says is the value of an expression.
func says[T any](b *tab, expression string) T {
	b.Helper()
	var v T
	b.do(chromedp.Evaluate(expression, &v))
	return v
}

// shows waits until an expression holds. A page that follows something goes to another
// document by itself: between the two, nothing can be asked.
func (b *tab) shows(what, expression string) {
	b.Helper()
	b.until(what, func() (holds bool) {
		return chromedp.Run(b.ctx, chromedp.Evaluate(expression, &holds)) == nil && holds
	})
}

// picture keeps what the browser shows, for a person to look at: in the folder that
// PIPELINE_TEST_SCREENSHOTS names, or one that is gone after the test.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("PIPELINE_TEST_SCREENSHOTS")
	if dir == "" {
		dir = b.TempDir()
	}
	var png []byte
	b.until("there is a picture of "+name, func() bool {
		// Between two documents the browser refuses: it has nothing to show.
		return chromedp.Run(b.ctx, chromedp.FullScreenshot(&png, 100)) == nil
	})
	if len(png) < 5000 {
		b.Errorf("%s: a picture of %d bytes shows nothing", name, len(png))
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		b.Error(err)
	}
}
