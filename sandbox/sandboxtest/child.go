package sandboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

// aloneFor is how long the neighbour is measured before each attack.
const aloneFor = 15 * time.Millisecond

func (s Suite) limits() sandbox.Limits {
	l := s.Limits
	if l == (sandbox.Limits{}) {
		l = DefaultLimits
	}
	if slowness > 1 {
		l.Timeout *= 4
	}
	return l
}

// child runs attacks beside a healthy neighbour and reports each on stdout.
func (s Suite) child(attacks []Attack) {
	runtime.LockOSThread() // the attacks are measured by their thread
	queue, n := openQueue(), s.startNeighbour()
	defer n.stop()
	out := json.NewEncoder(os.Stdout)
	memory := openMemory()
	limitAddressSpace(memory)
	c := clock.Real()
	_ = clock.Sleep(context.Background(), c, 10*aloneFor)
	fenced := !s.Unfenced && fence()
	for _, a := range attacks {
		// What the attack before has used must not be put down to this one.
		debug.FreeOSMemory()
		before := n.pace()
		_ = clock.Sleep(context.Background(), c, aloneFor)
		alone := n.pace().since(before)
		_ = out.Encode(report{Attack: a.Name, Fenced: fenced})
		memory.reset()
		before = n.pace()
		r := s.attack(&a, queue)
		// A busy machine can hold up any process; three times in a row it is
		// the attack.
		for tries := 1; tries < 3 && s.heldUp(&a, &r); tries++ {
			r = s.attack(&a, queue)
		}
		r.Beside, r.Alone = n.pace().since(before), alone
		r.Resident, r.Fenced = memory.peak(), fenced
		_ = out.Encode(r)
	}
}

// heldUp reports whether an attack, or an honest call after it, ran out of time
// where it should not.
func (s Suite) heldUp(a *Attack, r *report) bool {
	late := string(outcome.FailTimeout)
	return r.Took > s.bound(a) || r.End == late && !slices.Contains(a.Ends, late) ||
		strings.Contains(r.Changed, late) || strings.Contains(r.Broken, late)
}

// attacked is one attack while it runs.
type attacked struct {
	suite  Suite
	attack *Attack
	queue  *queue
	report report
	said   strings.Builder
}

// say keeps what a handler has said; the beginning of much is enough.
func (x *attacked) say(texts ...string) {
	for _, text := range texts {
		x.said.WriteString(text[:min(len(text), max(0, 1<<20-x.said.Len()))])
	}
	x.said.WriteByte('\n')
}

// Log implements sandbox.Host: what a handler logs, it has said.
func (x *attacked) Log(_ *sandbox.Delivery, line sandbox.LogLine) {
	x.say(line.Message)
	for _, a := range line.Attrs {
		x.say(a.Name, "=", a.Value)
	}
}

// attack runs one attack, and then honest entries.
func (s Suite) attack(a *Attack, q *queue) report {
	x := &attacked{suite: s, attack: a, queue: q, report: report{Attack: a.Name, Ended: true}}
	watch := newStopwatch(q)
	h, err := s.Engine.Compile(sandbox.Spec{
		Label: "attack", Source: sandbox.Source{Name: s.Engine.File, Code: a.Code}, Function: "handle",
		Modules: a.Modules, Grants: a.Grants, RawInput: a.Raw, Limits: s.limits(), Host: x,
	})
	if err == nil {
		defer func() { _ = h.Close() }()
		err = x.run(h)
	}
	if err != nil {
		x.report.End, x.report.Message, x.report.Took = "load", err.Error(), watch.took()
		x.say(err.Error())
	}
	x.report.Message = fmt.Sprintf("%.2000s", x.report.Message)
	x.report.Leak = leak(x.said.String(), string(a.Code))
	return x.report
}

// run attacks twice on one instance, with another beside it, and looks what
// entries see before and after.
func (x *attacked) run(h sandbox.Handler) error {
	in, err := h.NewInstance(context.Background())
	if err != nil {
		return err
	}
	defer in.Close()
	other, err := h.NewInstance(context.Background())
	if err != nil {
		return err
	}
	defer other.Close()
	before := x.probe(other)

	watch := newStopwatch(x.queue)
	out, used := in.Call(context.Background(), x.delivery())
	r := &x.report
	r.Took = watch.took()
	r.End, r.Message = x.ending(out)
	if used.Instructions > x.suite.limits().Instructions || used.Instructions < 0 || used.Bytes < 0 {
		r.Broken = fmt.Sprintf("it is said to have used %+v", used)
	}
	for _, i := range []sandbox.Instance{in, other} {
		if after := x.probe(i); after != before {
			r.Changed = "before " + before + "; after " + after
		}
	}
	// A second time it has to end in the same way, which a spoilt state would
	// not. Those that ran into a limit have been given a new one.
	if r.Broken == "" && r.Took < x.suite.limits().Timeout/4 {
		out, _ := in.Call(context.Background(), x.delivery())
		if end, message := x.ending(out); !slices.Contains(x.attack.Ends, end) {
			r.Broken = "a second time it ended as " + end + ": " + message
		}
	}
	return nil
}

func (x *attacked) delivery() *sandbox.Delivery {
	a := x.attack
	if a.Kind == sandbox.BodyValue {
		return Delivery(a.Body)
	}
	d := Delivery("")
	d.Kind, d.Raw, d.Body = a.Kind, a.Body, nil
	return d
}

// probe is all that a probed handler sees, as one line.
func (x *attacked) probe(in sandbox.Instance) string {
	if !x.attack.Probed {
		return ""
	}
	out, _ := in.Call(context.Background(), Delivery(ProbeBody))
	if out.Kind != outcome.Reply {
		return "the probe failed: " + Show(out)
	}
	return Show(out)
}

// ending is the name of an outcome and its text.
func (x *attacked) ending(out outcome.Outcome) (end, message string) {
	x.say(Show(out), out.Reason)
	for i := range out.Replies {
		m := &out.Replies[i]
		x.say(m.To, m.Key)
		for _, h := range m.Headers {
			x.say(h.Name, "=", h.Value)
		}
	}
	if out.Kind == outcome.Failed {
		return string(out.Failure.Kind), out.Failure.Message
	}
	return out.Kind.String(), out.Reason
}

// leaks are texts that no handler may ever see or cause: addresses, the host's
// language, its files and its environment.
var leaks = regexp.MustCompile(`0x[0-9a-f]{6,}|\bc0[0-9a-f]{8}\b|goroutine|runtime error|\.go:|root:x|interface conversion|nil pointer|` + secret)

// leak finds what stands in a text and not in the attack itself.
func leak(said, code string) string {
	for _, found := range leaks.FindAllString(said, -1) {
		if !strings.Contains(code, found) {
			at := strings.Index(said, found)
			return said[max(0, at-80):min(len(said), at+80)]
		}
	}
	return ""
}
