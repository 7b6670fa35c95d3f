package brokertest

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"pipeline/engine/clock"
)

// most is how many times as long a case's times become, at most.
const most = 16

// inTime is a case in which something has to be done before a time is over. On a machine
// that is busy it may come too late, and then it fails for nothing: where a failure came
// with more than room lost, the case is tried anew, with keys of its own and all its times
// twice as long, which are given to span. What fails in time has failed.
func inTime(room time.Duration, run func(*kit)) func(*kit) {
	return func(k *kit) {
		k.Helper()
		for k.slower = 1; ; k.slower *= 2 {
			failure, late := k.try(run)
			switch {
			case failure == "" || k.Failed():
				return
			case late <= k.span(room) || k.slower == most:
				k.T.Fatalf("%s (%v were lost, of a room of %v)", failure, late, k.span(room))
			}
			k.Logf("tried again, since %v were lost of a room of %v: %s", late, k.span(room), failure)
		}
	}
}

// span is one of the times of a case, which are longer where it is tried again.
func (k *kit) span(d time.Duration) time.Duration { return d * time.Duration(max(1, k.slower)) }

// attempt is one run of a case that may be tried again.
type attempt struct {
	//nolint:containedctx // that of the case, as testing.T has it
	ctx     context.Context
	failure string
}

// try runs the case with other keys than before, and says why it failed, and how much
// later than it meant to it was.
func (k *kit) try(run func(*kit)) (failure string, late time.Duration) {
	ctx, cancel := context.WithCancel(k.T.Context())
	defer cancel()
	again, env := *k, *k.Env
	again.Env, again.attempt = &env, &attempt{ctx: ctx}
	if k.slower > 1 {
		env.Prefix += fmt.Sprintf("slower%d-", k.slower)
		again.stream = env.Prefix + k.stream[len(k.Prefix):]
	}
	began, meant := clock.Real().Now(), time.Duration(0)
	if env.Now != nil { // its time is not that of this machine, which it loses from its beginning
		began = k.began
	} else {
		env.Advance = func(d time.Duration) { meant += d; k.Advance(d) }
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(&again)
	}()
	<-ended
	late = clock.Since(clock.Real(), began) - meant
	if failure = again.attempt.failure; failure != "" {
		cancel()
		k.awaitBlocked(0, nil)
	}
	return failure, late
}

// Context is that of the case.
func (k *kit) Context() context.Context {
	if k.attempt != nil {
		return k.attempt.ctx
	}
	return k.T.Context()
}

// Fatal fails the case.
func (k *kit) Fatal(args ...any) {
	k.Helper()
	if k.attempt != nil {
		k.attempt.fail(fmt.Sprint(args...))
	}
	k.T.Fatal(args...)
}

// Fatalf fails the case.
func (k *kit) Fatalf(format string, args ...any) {
	k.Helper()
	if k.attempt != nil {
		k.attempt.fail(fmt.Sprintf(format, args...))
	}
	k.T.Fatalf(format, args...)
}

// fail ends the attempt, and says where in the case it was.
func (a *attempt) fail(text string) {
	a.failure = text
	callers := make([]uintptr, 20)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.File, "_cases.go") {
			a.failure = fmt.Sprintf("%s:%d: %s", filepath.Base(f.File), f.Line, a.failure)
		}
	}
	runtime.Goexit()
}
