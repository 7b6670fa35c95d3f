package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"pipeline/engine/clock"
)

// discard is where the logs of a measured process go: a line of them would cost
// what is measured. What goes wrong is told by the round that fails.
var discard = slog.New(slog.DiscardHandler)

// child is the process of one side.
type child struct {
	clock  clock.Clock
	job    Job
	tally  *tally
	meter  *meter
	orders <-chan string
	gate   gate

	mu  sync.Mutex
	out io.Writer
}

// Serve does the job that in begins with, by the orders that follow, and says on
// out how it goes. It returns the exit code. When in ends it calls exit: whoever
// started this process is gone.
func Serve(in io.Reader, out io.Writer, c clock.Clock, exit func(int)) int {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // a job may name a thousand streams
	k := &child{clock: c, tally: newTally(), meter: newMeter(c), out: out}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &k.job) != nil {
		k.say(Message{Said: saidFailed, Error: "standard input holds no job; this command is for pipeline bench itself"})
		return 2
	}
	orders := make(chan string, 8) // room for all, so that the end is seen whatever is done
	k.orders = orders
	go func() {
		for lines.Scan() {
			orders <- lines.Text()
		}
		exit(1)
	}()
	if err := k.run(); err != nil {
		k.say(Message{Said: saidFailed, Error: err.Error()})
		return 1
	}
	return 0
}

func (k *child) say(m Message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m.Settled = k.tally.n.Load()
	// When nobody reads any more, standard input ends, too.
	_, _ = k.out.Write(line(m))
}

// run is the life of the process after it has its job.
func (k *child) run() error {
	s, err := newSide(&k.job, k.tally, &k.gate)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	begin := func() { go func() { ended <- s.run(ctx, func() { close(ready) }) }() }
	if !k.job.Cold {
		begin()
		err = k.warm(s, ready, ended)
	}
	if err == nil {
		err = k.measure(s, begin, ended)
	}
	cancel()
	k.gate.open()
	if err != nil {
		return err // the process ends, and what it holds with it
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return s.close()
}

// warm waits until the side is connected and has settled what it warms up with.
func (k *child) warm(s *side, ready <-chan struct{}, ended <-chan error) error {
	warmed := make(chan struct{})
	k.tally.when(k.job.Warm, func() { close(warmed) })
	alive := k.clock.NewTimer(time.Second)
	defer alive.Stop()
	if k.job.Held {
		defer k.pulse(s)()
	}
	for ready != nil || warmed != nil {
		select {
		case <-ready:
			ready = nil
		case <-warmed:
			warmed = nil
		case <-alive.C():
			k.say(Message{Said: saidAlive})
			alive.Reset(time.Second)
		case err := <-ended:
			return endedEarly(err)
		case <-k.tally.failed:
			return k.tally.why()
		}
	}
	return nil
}

func endedEarly(err error) error {
	if err == nil {
		return fmt.Errorf("the consumer ended by itself")
	}
	return err
}

// measure waits for the go, and measures until all is settled or the stop.
func (k *child) measure(s *side, begin func(), ended <-chan error) error {
	k.say(Message{Said: saidReady})
	if order := <-k.orders; order != orderGo {
		return fmt.Errorf("%q instead of %q", order, orderGo)
	}
	profiled, err := startProfile(k.job.Profile)
	if err != nil {
		return err
	}
	if k.job.Held {
		k.gate.close()
	}
	k.meter.begin()
	k.say(Message{Said: saidGoing, Use: Use{RSS: residentMemory()}})
	if k.job.Held {
		return k.hold(s, ended)
	}
	end := make(chan reading, 1)
	if k.job.Total > 0 {
		k.tally.when(k.job.Warm+k.job.Total, func() { end <- k.meter.read() })
	}
	if k.job.Cold {
		begin()
	}
	last, err := k.until(end, ended)
	if err != nil {
		return err
	}
	use := k.meter.use(last)
	if err := profiled(); err != nil {
		return err
	}
	k.say(Message{Said: saidDone, Use: use, Events: k.tally.events()})
	return nil
}

// until answers orders until the measurement ends, and returns the state of the
// counters then.
func (k *child) until(end <-chan reading, ended <-chan error) (reading, error) {
	look := k.clock.NewTimer(time.Second)
	defer look.Stop()
	for {
		select {
		case at := <-end:
			return at, k.tally.why()
		case order := <-k.orders:
			now := k.meter.read()
			if order == orderStop {
				return now, k.tally.why()
			}
			k.say(Message{Said: saidSample, Use: k.meter.use(now)})
		case <-look.C():
			k.say(Message{Said: saidAlive})
			look.Reset(time.Second)
		case err := <-ended:
			return reading{}, endedEarly(err)
		case <-k.tally.failed:
			return reading{}, k.tally.why()
		}
	}
}
