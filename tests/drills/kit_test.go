// Package drills breaks real pipelines on real servers, as it happens, and asks
// whether those who are on call would know: `stats` and the page have to tell what is
// wrong, a real Prometheus with the exported rules has to fire the alert for it, and what the
// runbook says has to mend it.
package drills

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/program"
	"pipeline/tests/promtest"
	"pipeline/tests/redistest"
)

// patience bounds every wait; nothing here measures time.
const patience = 2 * time.Minute

// behind is what the rules are exported with: how long an entry may wait.
const behind = "5s"

// binary is the command, built once for all drills.
var binary string

func TestMain(m *testing.M) { program.Main(m, &binary) }

// file is the pipeline of all drills, with the names that the runbook's examples have: a
// group whose handler does what its entries say and replies to a stream that may fill
// up, and one beside it with which nothing is ever wrong.
const file = `
pipeline "payments" {
  version  = "0.1.0"
  language = 1
}
variable "redis_url" {
  type      = string
  default   = env("REDIS_URL")
  sensitive = true
}
broker "redis" {
  url = var.redis_url
}
stream "payments" {
  entry = object({ account = string, does = string })
}
stream "posted" {
  max_backlog = 3
}
stream "payments_dead" {
  name = "payments.dead"
}
handler "post_payment" {
  source   = "handlers/payments.lua"
  function = "post_payment"
}
handler "screen_payment" {
  source = "handlers/screen.lua"
}
retry "often" {
  max_attempts = 60
  delay        = "1s"
  multiplier   = 1
}
group "ledger" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.payments_dead
  }
  subscription "post_payment" {
    handler = handler.post_payment
    retry   = retry.often
    claim {
      min_idle = "2s"
    }
    workers {
      count = 4
      key   = entry.account
    }
    reply {
      to = stream.posted
    }
  }
}
group "fraud" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.payments_dead
  }
  subscription "screen_payment" {
    handler = handler.screen_payment
    claim {
      min_idle = "2s"
    }
  }
}
`

// The handlers as they are, and the one that fails as it is corrected.
const (
	broken = `
function post_payment(e)
  if e.does == "fail" then error("account " .. e.account .. " is closed") end
  if e.does == "dead" then return dead("negative amount") end
  if e.does == "reply" then return { account = e.account, does = "" } end
  return ack()
end
`
	mended = "function post_payment(e) return ack() end\n"
	quiet  = "function handle(e) return ack() end\n"
)

// drill is a pipeline with a worker, a monitor and a Prometheus.
type drill struct {
	*redistest.Server

	t           *testing.T
	version     string
	dir         string
	worker, mon *process
	// address is where the worker serves its metrics, each time that it is started, page
	// where the monitor serves its page.
	address, page string
	prom          *promtest.Server
}

// newDrill starts everything but the worker.
func newDrill(t *testing.T, version string) *drill {
	t.Helper()
	d := &drill{Server: redistest.Start(t, version, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always")), t: t, version: version, dir: t.TempDir()}
	for name, text := range map[string]string{"drill.hcl": file, "handlers/payments.lua": broken, "handlers/screen.lua": quiet} {
		d.write(name, text)
	}
	rules := d.command("export", "alerts", "drill.hcl", "--behind", behind)
	if rules.code != 0 {
		t.Fatal(rules.text)
	}
	d.address = redistest.FreeAddress(t)
	monitor := redistest.FreeAddress(t)
	d.page = redistest.FreeAddress(t)
	d.mon = d.start(d.URL(), "monitor", "drill.hcl", "--ops-listen", monitor, "--ui-listen", d.page)
	d.prom = promtest.Start(t, "pipeline", rules.out, d.address, monitor)
	return d
}

// work starts the worker with a login and waits until it reads.
func (d *drill) work(url string) {
	d.t.Helper()
	d.worker = d.start(url, "run", "drill.hcl", "--watch", "--ops-listen", d.address)
	d.eventually("the worker reads", func() bool { return strings.Count(d.worker.output(), "subscription.reading") >= 2 })
}

// healthy waits until everything is seen, and nothing fires.
func (d *drill) healthy() {
	d.t.Helper()
	state := ""
	d.eventuallySaying("Prometheus sees the worker and the monitor, and is content", func() bool {
		up, redis, groups := d.prom.Query("up == 1"), d.prom.Query("pipeline_redis_up == 1"), d.prom.Query("pipeline_group_pending")
		state = fmt.Sprintf("%d processes of 2, %d of them with Redis, %d groups of 4, alerts %v\nThe monitor says\n%s",
			up, redis, groups, d.prom.Alerts(), d.mon.output())
		return up == 2 && redis == 2 && groups == 4 && d.prom.Query(`ALERTS`) == 0
	}, func() string { return state })
}

func (d *drill) write(name, text string) {
	d.t.Helper()
	// By a rename, so that nobody reads half of it.
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		d.t.Fatal(err)
	}
}

// publish adds n entries of an account.
func (d *drill) publish(n int, account, does string) {
	d.t.Helper()
	for range n {
		body := fmt.Sprintf(`{"account":%q,"does":%q}`, account, does)
		if err := d.Client().Do(d.t.Context(), "XADD", "payments", "*", "_payload", body).Err(); err != nil {
			d.t.Fatal(err)
		}
	}
}

// said is what a command printed, to stdout and in all, and how it ended.
type said struct {
	out, text string
	code      int
}

func (d *drill) command(args ...string) said { return d.commandAs(d.URL(), args...) }

func (d *drill) commandAs(url string, args ...string) said {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), binary, args...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "REDIS_URL="+url)
	var out bytes.Buffer
	text := &process{} // both streams are written to it at the same time
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, text), text
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return said{out.String(), text.output(), cmd.ProcessState.ExitCode()}
}

// done runs a command that has to succeed.
func (d *drill) done(args ...string) {
	d.t.Helper()
	if s := d.command(args...); s.code != 0 {
		d.t.Fatalf("%v ends with %d: %s", args, s.code, s.text)
	}
}

// get is what the monitor's page has at a path.
func (d *drill) get(path string) string {
	d.t.Helper()
	return d.fetch("http://" + d.page + path)
}

// fetch is what stands at an address, whatever its status but that of a page that is
// not there.
func (d *drill) fetch(address string) string {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
		d.t.Fatalf("%s: %s, %v", address, response.Status, err)
	}
	return string(text)
}

// settled waits until nothing waits any more in either group.
func (d *drill) settled() {
	d.t.Helper()
	state := ""
	d.eventuallySaying("all is settled", func() (idle bool) {
		idle, state = d.idle()
		return idle
	}, func() string { return state })
}

// idle reports whether both groups were given all entries and have acknowledged them.
// The lag is no help: 7.0 counts wrongly after it has loaded its append-only file.
func (d *drill) idle() (idle bool, state string) {
	stream, err := d.Client().XInfoStream(d.t.Context(), "payments").Result()
	if err != nil {
		return false, err.Error()
	}
	groups, err := d.Client().XInfoGroups(d.t.Context(), "payments").Result()
	idle = err == nil && len(groups) == 2
	for _, g := range groups {
		idle = idle && g.Pending == 0 && g.LastDeliveredID == stream.LastGeneratedID
	}
	return idle, fmt.Sprintf("%+v %v", groups, err)
}

func (d *drill) eventually(what string, holds func() bool) {
	d.t.Helper()
	d.eventuallySaying(what, holds, func() string { return "" })
}

func (d *drill) eventuallySaying(what string, holds func() bool, otherwise func() string) {
	d.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("waited in vain until %s:\n%s\nThe worker says\n%s", what, otherwise(), d.worker.output())
		}
	}
}

// process is one of the command.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	program.Output
}

func (p *process) output() string {
	if p == nil {
		return ""
	}
	return p.String()
}

// start starts the command and ends it with the test.
func (d *drill) start(url string, args ...string) *process {
	d.t.Helper()
	p := &process{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = d.dir, append(os.Environ(), "REDIS_URL="+url), p, p
	if err := p.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	d.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

// end sends a signal and waits until the process is gone.
func (p *process) end(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s)
	<-p.done
}
