package redis

import (
	"testing"
	"time"

	"pipeline/engine/clock"
)

// TestTheTimeForAnAnswerBeginsAnewWithProgress: with that and with nothing less,
// and not for ever.
func TestTheTimeForAnAnswerBeginsAnewWithProgress(t *testing.T) {
	c := clock.NewVirtual(time.UnixMilli(1_800_000_000_000))
	p := patience{clock: c}
	if _, ok := p.came(10 * progress); ok {
		t.Error("a deadline where there was none")
	}
	p.set(c.Now().Add(3 * time.Second))
	if _, ok := p.came(progress - 1); ok {
		t.Error("moved for too little")
	}
	c.Advance(2 * time.Second)
	if later, ok := p.came(1); !ok || later.Sub(c.Now()) != 3*time.Second {
		t.Errorf("moved to %v from now, %v", later.Sub(c.Now()), ok)
	}
	if _, ok := p.came(progress - 1); ok {
		t.Error("counts twice what came before")
	}
	c.Advance(mostPatience)
	if _, ok := p.came(progress); ok {
		t.Error("moved for ever")
	}
	p.set(c.Now().Add(time.Second))
	if later, ok := p.came(progress); !ok || later.Sub(c.Now()) != time.Second {
		t.Error("not moved for the next answer")
	}
	p.set(time.Time{})
	if _, ok := p.came(progress); ok {
		t.Error("a deadline where it was taken away")
	}
}
