package reader

import (
	"context"
	"runtime"
	"testing"
	"time"

	"pipeline/engine/clock"
)

func TestAnAlarmNoLongerSleepsFromTheMomentItIsDue(t *testing.T) {
	c := clock.NewVirtual(time.Unix(0, 0))
	a := newAlarm(c)
	defer a.stop()
	rounds := make(chan struct{})
	for _, wake := range []func(){func() { c.Advance(time.Second) }, a.poke} {
		go func() {
			a.sleep(t.Context(), time.Second)
			rounds <- struct{}{}
		}()
		for !a.asleep() {
			runtime.Gosched()
		}
		wake()
		if a.asleep() {
			t.Fatal("it is taken for asleep after it was woken")
		}
		<-rounds
	}
}

func TestAPokeBeforeSleepIsNotLost(t *testing.T) {
	a := newAlarm(clock.NewVirtual(time.Unix(0, 0)))
	defer a.stop()
	a.poke()
	a.poke()
	a.sleep(t.Context(), time.Hour)
}

func TestAnAlarmEndsWithItsContext(t *testing.T) {
	a := newAlarm(clock.NewVirtual(time.Unix(0, 0)))
	defer a.stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.sleep(ctx, time.Hour)
	if a.asleep() {
		t.Fatal("it sleeps on")
	}
	a.poke()
	a.sleep(t.Context(), time.Hour) // the poke after the end counts
}
