package drills

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

// each runs a drill on every server version, with a worker that has all rights.
func each(t *testing.T, run func(*testing.T, *drill)) {
	t.Helper()
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			d := newDrill(t, version)
			d.work(d.URL())
			d.publish(3, "well", "ack")
			d.settled()
			d.healthy()
			run(t, d)
		})
	}
}

func TestAWorkerIsKilled(t *testing.T) {
	each(t, func(_ *testing.T, d *drill) {
		d.breaks(func() {
			d.worker.end(syscall.SIGKILL)
			d.publish(5, "a", "ack")
		},
			fires("PipelineWorkersGone"), fires("PipelineTargetDown"),
			tells("group_unattended", "nobody reads the group ledger on payments", "nobody reads the group fraud on payments"),
			asTheRunbookShows("PipelineWorkersGone"))
		// Start a worker.
		d.work(d.URL())
		d.settled()
		d.over("group_unattended")
		d.ends("PipelineWorkersGone")
		d.ends("PipelineTargetDown")
	})
}

func TestTheHandlerFailsForOneAccount(t *testing.T) {
	each(t, func(t *testing.T, d *drill) {
		d.breaks(func() { d.publish(1, "acc-7", "fail") },
			asTheRunbookShows("PipelineHandlerFailing"), asTheRunbookShows("PipelinePendingStuck"))
		d.breaks(func() {
			d.publish(11, "acc-7", "fail")
			d.publish(20, "acc-8", "ack")
		},
			fires("PipelineHandlerFailing"),
			tells("pending_retried", "12 entries of the group ledger on payments were delivered before"))
		// Correct the handler, which run --watch takes.
		d.write("handlers/payments.lua", mended)
		d.settled()
		d.over("pending_retried")
		if n := d.Client().XLen(t.Context(), "payments.dead").Val(); n != 0 {
			t.Errorf("%d dead letters", n)
		}
	})
}

func TestAPoisonEntry(t *testing.T) {
	each(t, func(t *testing.T, d *drill) {
		d.breaks(func() { d.publish(1, "a", "dead") },
			fires("PipelinePoisonEntries"),
			tells("dead_letters_waiting", "payments.dead holds 1 dead letter"),
			asTheRunbookShows("PipelinePoisonEntries"))
		// One that no group can read.
		if err := d.Client().Do(t.Context(), "XADD", "payments", "*", "_payload", "no JSON").Err(); err != nil {
			t.Fatal(err)
		}
		for _, s := range tells("dead_letters_waiting", "payments.dead holds 3 dead letters") {
			d.comes(s, time.Now())
		}
		if text := d.command("dlq", "stats", "drill.hcl").text; !strings.Contains(text, "invalid") {
			t.Errorf("dlq stats does not say why:\n%s", text)
		}
		// It is worth nothing.
		d.done("dlq", "drop", "drill.hcl", "--all", "--yes")
		d.over("dead_letters_waiting")
	})
}

func TestAGroupLags(t *testing.T) {
	each(t, func(t *testing.T, d *drill) {
		d.breaks(func() { d.publish(200, "a", "reply") }, // of which three find room
			fires("PipelineGroupBehind"), fires("PipelineBacklogNearLimit"),
			tells("group_behind", "the group ledger on payments is behind"),
			asTheRunbookShows("PipelineGroupBehind"))
		// Mend what its replies wait for: here nobody reads them, and they are taken out.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for t.Context().Err() == nil {
				d.Client().XTrimMaxLen(t.Context(), "posted", 0)
				if idle, _ := d.idle(); idle {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		d.settled()
		<-ended
		d.over("group_behind")
		d.ends("PipelineGroupBehind")
	})
}

func TestDeadLettersGrow(t *testing.T) {
	each(t, func(t *testing.T, d *drill) {
		d.breaks(func() { d.publish(12, "a", "dead") },
			fires("PipelineDeadLettersGrowing"),
			tells("dead_letters_waiting", "payments.dead holds 12 dead letters"))
		// Correct the handler, and put them back.
		d.write("handlers/payments.lua", mended)
		d.eventually("the new handler is taken", func() bool { return strings.Contains(d.worker.output(), "handler.changed") })
		d.done("dlq", "replay", "drill.hcl", "--all", "--yes")
		d.settled()
		d.over("dead_letters_waiting")
		d.ends("PipelineDeadLettersGrowing")
		if n := d.Client().XLen(t.Context(), "payments.dead").Val(); n != 0 {
			t.Errorf("%d dead letters", n)
		}
	})
}

func TestRedisIsDown(t *testing.T) {
	each(t, func(_ *testing.T, d *drill) {
		d.breaks(d.Kill,
			fires("PipelineRedisDown"),
			tells("server_unavailable"),
			asTheRunbookShows("PipelineRedisDown"))
		// Start the server. The workers are left alone.
		d.Restart()
		d.publish(5, "a", "ack")
		d.settled()
		d.over("server_unavailable")
		d.over("group_behind")
		d.eventually("no lag is told", func() bool { return d.prom.Query("pipeline_group_lag == 0") == 4 })
		d.ends("PipelineRedisDown")
	})
}

func TestBodiesAreTrimmedWhilePending(t *testing.T) {
	each(t, func(t *testing.T, d *drill) {
		d.breaks(func() { d.publish(4, "acc-7", "fail") }, tells("pending_retried"))
		d.worker.end(syscall.SIGKILL) // one that lives would find out within a second
		d.breaks(func() {
			if err := d.Client().XTrimMaxLen(t.Context(), "payments", 0).Err(); err != nil {
				t.Fatal(err)
			}
		},
			fires("PipelineTrimGap"),
			tells("trim_gap", "4 pending entries of the group ledger on payments have lost their bodies to a trim"),
			asTheRunbookShows("PipelineTrimGap"))
		// What is lost is lost. The alert ends once a worker has claimed the entries. That is the first thing that a
		// new one does, before it was ever scraped, and is told all the same.
		began := time.Now()
		d.work(d.URL())
		d.settled()
		d.over("trim_gap")
		for _, s := range fires("PipelineBodiesMissing") {
			d.comes(s, began)
		}
		d.ends("PipelineTrimGap")
		if log := d.worker.output(); !strings.Contains(log, "entry.body_missing") {
			t.Errorf("the log does not name the entries:\n%s", log)
		}
	})
}

func TestAWorkerLacksARight(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			d := newDrill(t, version)
			d.done("apply", "drill.hcl")
			rule := d.workerRule()
			url := d.login(withoutKey(rule, "~posted"))
			d.work(url)
			d.healthy()
			d.breaks(func() { d.publish(3, "a", "reply") },
				fires("PipelineSubscriptionFailed"),
				tells("group_unattended", "nobody reads the group ledger on payments"),
				asTheRunbookShows("PipelineSubscriptionFailed"))
			if s := d.commandAs(url, "plan", "drill.hcl"); s.code != 4 || !strings.Contains(s.text, "rights_missing") || !strings.Contains(s.text, "posted") {
				t.Errorf("plan ends with %d and does not name the right:\n%s", s.code, s.text)
			}
			// Grant it, and start the process again.
			d.login(rule)
			d.worker.end(syscall.SIGTERM)
			d.work(url)
			d.settled()
			d.over("group_unattended")
			d.ends("PipelineSubscriptionFailed")
			if n := d.Client().XLen(t.Context(), "posted").Val(); n != 3 {
				t.Errorf("%d replies to three entries", n)
			}
		})
	}
}

// A worker creates the groups that are missing, so that this happens where none ever ran,
// or where none has run since somebody removed one.
func TestAGroupIsMissing(t *testing.T) {
	each(t, func(t *testing.T, d *drill) {
		d.worker.end(syscall.SIGTERM)
		d.breaks(func() {
			if err := d.Client().XGroupDestroy(t.Context(), "payments", "fraud").Err(); err != nil {
				t.Fatal(err)
			}
		},
			fires("PipelineGroupUnseen"),
			tells("group_missing", "the group fraud on payments does not exist"),
			asTheRunbookShows("PipelineGroupUnseen"))
		d.done("apply", "drill.hcl")
		d.over("group_missing")
		d.ends("PipelineGroupUnseen")
	})
}
