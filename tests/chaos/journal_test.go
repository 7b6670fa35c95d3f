package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
)

// accounts is how many accounts payments go to in turn: payment n to account n
// modulo accounts.
const accounts = 7

// journal is what a process prints: what it says of single payments is counted,
// the rest is kept. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	rest []byte // the beginning of a line
	kept bytes.Buffer
	// posted are the payments that were posted, redelivered those of them that had
	// been delivered before.
	posted, redelivered int
	// last is the last new payment of each account in each subscription, violations
	// what came in the wrong order.
	last       map[string]*[accounts]int
	violations []string
	// handedBack is how many entries were handed back without being started.
	handedBack int
}

// takesOver is the subscription before Redis 8.4 that runs nothing new.
const takesOver = "recover_payment"

// line is what is read of a line of the log.
type line struct {
	Event, Subscription string
	Message             string `json:"msg"`
	Count               int
	Attrs               struct {
		Payment, Deliveries, Idle string
	}
}

// Write takes what is printed.
func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rest = append(j.rest, b...)
	for {
		i := bytes.IndexByte(j.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		j.take(j.rest[:i+1])
		j.rest = j.rest[i+1:]
	}
}

// take takes one line.
func (j *journal) take(text []byte) {
	var l line
	if json.Unmarshal(text, &l) != nil || l.Message != "payment posted" {
		if l.Event == "entry.handed_back" {
			j.handedBack += max(1, l.Count)
		}
		j.kept.Write(text)
		return
	}
	payment, err := strconv.Atoi(l.Attrs.Payment)
	if err != nil {
		j.kept.Write(text)
		return
	}
	j.posted++
	// A claim or a hand-back may bring a payment when later ones have run already:
	// it was delivered before, or has been idle. New ones are read in order.
	if l.Attrs.Deliveries != "0" || l.Attrs.Idle != "0" || l.Subscription == takesOver {
		j.redelivered++
		return
	}
	if j.last == nil {
		j.last = map[string]*[accounts]int{}
	}
	if j.last[l.Subscription] == nil {
		j.last[l.Subscription] = new([accounts]int)
	}
	last := &j.last[l.Subscription][payment%accounts]
	if payment < *last {
		j.violations = append(j.violations, fmt.Sprintf("%s: payment %d was posted after %d", l.Subscription, payment, *last))
	}
	*last = max(*last, payment)
}

// String is what was kept.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.kept.String()
}

// figures are what was counted.
func (j *journal) figures() (posted, redelivered, handedBack int, violations []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.posted, j.redelivered, j.handedBack, j.violations
}
