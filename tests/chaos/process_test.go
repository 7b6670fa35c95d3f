// Package chaos kills, stops and starts real processes of the command on real
// servers while payments arrive, and then asks the server: has every payment
// exactly one reply, and is nothing left pending?
package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

// patience bounds every wait; nothing here measures time.
const patience = 60 * time.Second

// binary is the command, built once for all tests; pipelineFile what it runs: the
// payments example, whose handler also logs how long an entry had been idle, which
// tells one that was handed back unstarted from a new one, and whose replies are
// all kept, for they are counted at the end of a run of any length.
var binary, pipelineFile string

func TestMain(m *testing.M) {
	program.Main(m, &binary, func(folder string) (err error) {
		if pipelineFile, err = example(folder); err != nil {
			return fmt.Errorf("copy the example: %w", err)
		}
		return nil
	})
}

// example copies the payments example into a folder.
func example(dir string) (string, error) {
	const log, more = "deliveries = ctx.deliveries }", "deliveries = ctx.deliveries, idle = ctx.idle_ms }"
	const replies, all = "  retention {\n    max_length = 1000000\n  }\n", ""
	changed := strings.NewReplacer(log, more, replies, all)
	if err := os.Mkdir(filepath.Join(dir, "handlers"), 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"payments.hcl", "handlers/payments.lua"} {
		text, err := os.ReadFile(filepath.Join("../../examples", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed.Replace(string(text))), 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "payments.hcl"), nil
}

// variant is the payments example with more in its broker block, in a folder of
// its own.
func variant(t *testing.T, broker string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(pipelineFile))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "payments.hcl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const url = "  url = var.redis_url\n"
	if strings.Count(string(text), url) != 1 {
		t.Fatal("the example's broker block is another one")
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), url, url+broker+"\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder is a folder of the test's own with these files, by their names.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// process is one `pipeline run`.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	log  journal
}

func (p *process) output() string { return p.log.String() }

// run starts `pipeline run` on the payments example.
func run(t *testing.T, s *redistest.Server, vars ...string) *process {
	t.Helper()
	return runOn(t, s, s.URL(), vars...)
}

// runOn is run for a process that reaches the server at a URL of its own.
func runOn(t *testing.T, s *redistest.Server, url string, vars ...string) *process {
	t.Helper()
	return runFile(t, s, pipelineFile, url, vars...)
}

// runFile is runOn for another file.
func runFile(t *testing.T, s *redistest.Server, file, url string, vars ...string) *process {
	t.Helper()
	args := []string{"run", file, "--var", "redis_url=" + url}
	for _, v := range vars {
		args = append(args, "--var", v)
	}
	if s.Version == "7.0" {
		args = append(args, "--var", "before_8_4=true")
	}
	return command(t, args...)
}

// command starts the command with arguments.
func command(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGKILL)
		<-p.done
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// ready waits until both subscriptions read.
func (p *process) ready() {
	p.t.Helper()
	eventually(p.t, "the process reads\n", func() bool {
		return strings.Count(p.output(), "subscription.reading") >= 2
	})
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("the process does not end:\n%s", p.output())
		return -1
	}
}

// drain ends the process as a deployment does and expects that it leaves
// nothing behind. A process that has only just been started does not listen to
// signals yet.
func (p *process) drain() {
	p.t.Helper()
	p.ready()
	p.signal(syscall.SIGTERM)
	p.left()
}

// left expects that the process ends having left nothing behind.
func (p *process) left() {
	p.t.Helper()
	if code := p.exit(); code != 0 {
		p.t.Errorf("exit code %d, want 0:\n%s", code, p.output())
	}
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	wait(t, patience, what, holds)
}

// wait is eventually with a patience of its own.
func wait(t *testing.T, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// pay adds payments with ids from first on.
func pay(t *testing.T, s *redistest.Server, first, n int) {
	t.Helper()
	pipe := s.Client().Pipeline()
	for i := first; i < first+n; i++ {
		pipe.Do(t.Context(), "XADD", "payments", "*", "id", i, "account", fmt.Sprintf("acct-%d", i%accounts), "amount_cents", i)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// settled reports whether both groups have read and acknowledged everything. A
// group's lag would say less: Redis 7.0 counts it wrongly once it has loaded its
// append-only file.
func settled(t *testing.T, s *redistest.Server) bool {
	t.Helper()
	groups, err := s.Client().XInfoGroups(t.Context(), "payments").Result()
	if err != nil {
		return false
	}
	stream, err := s.Client().XInfoStream(t.Context(), "payments").Result()
	if err != nil {
		return false
	}
	for _, g := range groups {
		if g.Pending != 0 || g.LastDeliveredID != stream.LastGeneratedID {
			return false
		}
	}
	return len(groups) == 2
}

// pending is how many entries both groups together have handed out and not had
// acknowledged.
func pending(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	groups, err := s.Client().XInfoGroups(t.Context(), "payments").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, g := range groups {
		n += g.Pending
	}
	return n
}

// expectOneReplyEach is the oracle: no gap, no duplicate.
func expectOneReplyEach(t *testing.T, s *redistest.Server, n int) {
	t.Helper()
	if v := count(t, s, n); v.lost+v.duplicates > 0 || v.dead > 0 {
		t.Errorf("%d payments without a reply, %d replies too many, %d dead letters; %s", v.lost, v.duplicates, v.dead, v.examples)
	}
	redistest.Leftovers(t, s, "payments")
}

// verdict is what came of payments in the group that screens them.
type verdict struct {
	// lost have neither a reply nor a dead letter; duplicates are what is beyond
	// one of them; dead are the dead letters of both groups.
	lost, duplicates, dead int
	// examples name some that are wrong, missing are all that are lost.
	examples string
	missing  []int
}

// count looks at everything that was published for payments 0 to n-1.
func count(t *testing.T, s *redistest.Server, n int) verdict {
	t.Helper()
	seen := make([]int, n)
	var v verdict
	wrong := 0
	example := func(format string, args ...any) {
		if wrong++; wrong <= 10 {
			v.examples += fmt.Sprintf(format+"; ", args...)
		}
	}
	each(t, s, "payments.screened", func(values map[string]any) {
		body, _ := values["_payload"].(string)
		text, _, _ := strings.Cut(strings.TrimPrefix(body, `{"payment_id":`), ",")
		id, err := strconv.Atoi(text)
		if err != nil || id < 0 || id >= n {
			example("a reply to nothing that was paid: %s", body)
			v.duplicates++
			return
		}
		seen[id]++
	})
	each(t, s, "payments.dead", func(values map[string]any) {
		v.dead++
		if id, err := strconv.Atoi(fmt.Sprint(values["id"])); err == nil && values["h:dead-letter-group"] == "fraud" {
			seen[id]++
		}
	})
	for id, times := range seen {
		switch {
		case times == 0:
			v.lost++
			v.missing = append(v.missing, id)
			example("payment %d has no reply", id)
		case times > 1:
			v.duplicates += times - 1
			example("payment %d has %d replies", id, times)
		}
	}
	return v
}

// each calls f for every entry of a stream, a page at a time.
func each(t *testing.T, s *redistest.Server, stream string, f func(values map[string]any)) {
	t.Helper()
	for from := "-"; ; {
		page, err := s.Client().XRangeN(t.Context(), stream, from, "+", 5000).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			f(e.Values)
			from = "(" + e.ID
		}
		if len(page) == 0 {
			return
		}
	}
}
