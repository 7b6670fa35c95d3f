package lua

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"pipeline/engine/outcome"
)

// meter bounds one call at a time. It is the context of a Lua state: the
// engine asks Done before every instruction, so that counting there counts
// instructions exactly, and setting a limit costs a few assignments. Once it
// has stopped a call it stays stopped until the next: a script cannot catch
// its way out.
//
// All fields but seq, kill and waiting belong to the goroutine that runs the call.
type meter struct {
	used, maxUsed   int64
	bytes, maxBytes int64
	// next is the count at which Done looks at more than the kill flag.
	next int64

	ctx  context.Context
	kind outcome.FailureKind
	err  error

	// seq is odd while a call runs; the watchdog tells calls apart by it.
	seq atomic.Uint64
	// kill is zero, or the number of the call to stop and why.
	kill atomic.Uint64
	// waiting is nil when the call cannot wait.
	waiting atomic.Pointer[waiting]
	timeout time.Duration
}

// Reasons in the low bits of meter.kill.
const (
	killTimeout = 1
	killHeap    = 2
	killBits    = 2
)

// checkEvery is how many instructions pass between looks at the call's
// context.
const checkEvery = 4096

var (
	closed          = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	errTimeout      = errors.New("the time limit was reached")
	errInstructions = errors.New("the instruction limit was reached")
	errMemory       = errors.New("the memory limit was reached")
	errHeap         = errors.New("stopped because the memory of the whole process grew too much while it ran")
	errCanceled     = errors.New("the delivery was called off")
	errCrash        = errors.New("the script broke its engine")
)

// begin starts a call.
func (m *meter) begin(ctx context.Context) {
	m.used, m.bytes, m.kind, m.err = 0, 0, "", nil
	m.next = min(checkEvery, m.maxUsed+1)
	m.ctx = ctx
	m.seq.Add(1)
	theWatchdog.started()
}

// end ends the call.
func (m *meter) end() {
	m.seq.Add(1)
	m.ctx = nil
	if w := m.waiting.Swap(nil); w != nil {
		w.cancel()
	}
}

// waiting is what a call may wait for outside.
type waiting struct {
	seq    uint64
	cancel context.CancelFunc
}

// callOff ends what the call with that number waits for.
func (m *meter) callOff(seq uint64) {
	if w := m.waiting.Load(); w != nil && w.seq == seq {
		w.cancel()
	}
}

// Done implements context.Context. The engine calls it before each
// instruction.
func (m *meter) Done() <-chan struct{} {
	m.used++
	if m.used < m.next && m.kill.Load() == 0 {
		return nil
	}
	m.check()
	if m.err != nil {
		return closed
	}
	return nil
}

// charge adds to what the call has used and returns why it has to stop, if it
// has to.
func (m *meter) charge(instructions, bytes int64) error {
	m.used += instructions
	m.bytes += bytes
	if m.used >= m.next || m.bytes > m.maxBytes || m.kill.Load() != 0 {
		m.check()
	}
	return m.err
}

// check is the slow part of Done and charge.
func (m *meter) check() {
	if m.err != nil {
		return
	}
	switch {
	case m.bytes > m.maxBytes:
		m.stop(outcome.FailMemory, errMemory)
	case m.used > m.maxUsed:
		m.stop(outcome.FailInstructions, errInstructions)
	case m.killed():
	case m.used >= m.next:
		if m.ctx.Err() != nil {
			m.stop(outcome.FailCanceled, errCanceled)
			return
		}
		m.next = min(m.used+checkEvery, m.maxUsed+1)
	}
}

// killed obeys the watchdog, unless it meant an earlier call.
func (m *meter) killed() bool {
	k := m.kill.Load()
	if k == 0 {
		return false
	}
	m.kill.CompareAndSwap(k, 0)
	if k>>killBits != m.seq.Load() {
		return false
	}
	if k&(1<<killBits-1) == killHeap {
		m.stop(outcome.FailMemory, errHeap)
	} else {
		m.stop(outcome.FailTimeout, errTimeout)
	}
	return true
}

// stop ends the call; the first reason counts.
func (m *meter) stop(kind outcome.FailureKind, err error) {
	if m.err == nil {
		m.kind, m.err, m.next = kind, err, 0
	}
}

// Err, Deadline and Value complete context.Context.
func (m *meter) Err() error                  { return m.err }
func (m *meter) Deadline() (time.Time, bool) { return time.Time{}, false }
func (m *meter) Value(any) any               { return nil }
