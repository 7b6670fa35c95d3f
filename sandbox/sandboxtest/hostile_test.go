package sandboxtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// feeble is an engine that defends against nothing: what a handler's code
// names is done to the process. It shows that each kind of harm is seen.
type feeble struct{ deed string }

var harm = Suite{
	Engine: Engine{Name: "feeble", File: "feeble", Compile: func(s sandbox.Spec) (sandbox.Handler, error) {
		if deed, refused := strings.CutPrefix(string(s.Source.Code), "refuse "); refused {
			return nil, fmt.Errorf("refused: %s", deed)
		}
		return &feeble{deed: string(s.Source.Code)}, nil
	}},
	Healthy: []byte("answer"),
	Limits:  sandbox.Limits{Timeout: 50 * time.Millisecond, Memory: 1 << 20, Instructions: 1000},
	Attacks: []Attack{
		{Name: "none", Code: []byte("answer"), Ends: []string{"reply"}, Probed: true},
		{Name: "refused", Code: []byte("refuse it"), Ends: []string{"load"}, Loads: true},
		{Name: "exit", Code: []byte("exit"), Ends: []string{"reply"}},
		{Name: "panic", Code: []byte("panic"), Ends: []string{"reply"}},
		{Name: "file", Code: []byte("file"), Ends: []string{"reply"}},
		{Name: "socket", Code: []byte("socket"), Ends: []string{"reply"}},
		{Name: "command", Code: []byte("command"), Ends: []string{"reply"}},
		{Name: "too much memory", Code: []byte("flood"), Ends: []string{"reply"}},
		{Name: "much memory", Code: []byte("much"), Ends: []string{"reply"}},
		{Name: "slow", Code: []byte("slow"), Ends: []string{"reply"}},
		{Name: "address", Code: []byte("address"), Ends: []string{"reply"}},
		{Name: "environment", Code: []byte("environment"), Ends: []string{"reply"}},
		{Name: "left behind", Code: []byte("later"), Ends: []string{"reply"}},
		{Name: "another end", Code: []byte("answer"), Ends: []string{"ack"}},
		{Name: "memory of entries", Code: []byte("count"), Ends: []string{"reply"}, Probed: true},
		{Name: "none again", Code: []byte("answer"), Ends: []string{"reply"}, Probed: true},
	},
}

func TestMain(m *testing.M) {
	tooSlow = harm.bound(&Attack{}) + 10*time.Millisecond
	Main(m, harm)
}

// tooSlow is a little longer than an attack may take.
var tooSlow time.Duration

func TestHarmIsSeen(t *testing.T) {
	seen := harm.collect(t)
	fenced := seen["none"].Fenced
	for _, a := range harm.Attacks {
		want, ok := map[string]string{
			"none": "", "refused": "", "none again": "",
			"exit": "killed the process", "panic": "killed the process", "too much memory": "killed the process",
			"file": "killed the process", "socket": "killed the process", "command": "killed the process",
			"much memory": "the process used", "slow": "took", "left behind": "died after it", "another end": "want one of",
			"address": "the handler said", "environment": "the handler said", "memory of entries": "a later entry sees",
		}[a.Name]
		if !ok {
			t.Fatal(a.Name)
		}
		outside := a.Name == "file" || a.Name == "socket" || a.Name == "command"
		if outside && !fenced || slowness > 1 && strings.Contains(a.Name, "memory") && a.Name != "memory of entries" {
			continue
		}
		wrong := strings.Join(harm.judge(&a, seen[a.Name]), "; ")
		if want == "" && wrong != "" || !strings.Contains(wrong, want) {
			t.Errorf("%s: %q, want %q", a.Name, wrong, want)
		}
	}
	if !fenced && slowness == 1 {
		t.Log("this kernel offers no fence around system calls")
	}
}

func (f *feeble) NewInstance(context.Context) (sandbox.Instance, error) {
	return &victim{deed: f.deed}, nil
}
func (f *feeble) Hash() string { return f.deed }
func (f *feeble) Close() error { return nil }

// victim is an instance of feeble.
type victim struct {
	deed  string
	calls int
}

func (v *victim) Close() {}

// sink keeps what is allocated.
var sink []byte

func (v *victim) Call(_ context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	v.calls++
	body := *d.Body
	switch v.deed {
	case "exit":
		os.Exit(0)
	case "panic":
		go func() { panic("now") }()
		select {}
	case "file":
		_, _ = os.ReadFile("/etc/passwd")
	case "socket":
		_, _ = net.Dial("tcp", "127.0.0.1:1")
	case "command":
		_ = exec.Command("/bin/true").Run() //nolint:noctx // it must not get that far
	case "flood":
		sink = make([]byte, 3<<30)
	case "much":
		runtime.GC() // what an earlier call took may still be there, and there is not room for it three times over
		sink = make([]byte, 300<<20)
		for i := 0; i < len(sink); i += 4096 {
			sink[i] = 1
		}
		sink = nil
	case "later":
		runtime.AddCleanup(v, os.Exit, 1) // the collector runs between two attacks
	case "slow":
		_ = clock.Sleep(context.Background(), clock.Real(), tooSlow)
	case "address":
		body = value.NewString(fmt.Sprintf("%p", v))
	case "environment":
		body = value.NewString(strings.Join(os.Environ(), " "))
	case "count":
		body = value.FromInt(int64(v.calls))
	}
	return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: body}}}, sandbox.Usage{}
}
