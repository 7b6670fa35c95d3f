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
		began := time.Now()
		d.worker.end(syscall.SIGKILL)
		d.publish(5, "a", "ack")
		d.fires("PipelineWorkersGone", began)
		d.fires("PipelineTargetDown", began)
		d.told("group_unattended", "nobody reads the group ledger on in", "nobody reads the group audit on in")
		d.asTheRunbookShows("PipelineWorkersGone", d.stats)
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
		began := time.Now()
		d.publish(12, "7", "fail")
		d.publish(20, "8", "ack")
		d.fires("PipelineHandlerFailing", began)
		d.told("pending_retried", "12 entries of the group ledger on in were delivered before")
		if list := d.command("pending", "list", "drill.hcl", "--group", "ledger").text; !strings.Contains(list, "account 7 is closed") {
			t.Errorf("pending list does not say why:\n%s", list)
		}
		// Correct the handler, which run --watch takes.
		d.write("h.lua", mended)
		d.settled()
		d.over("pending_retried")
		if n := d.Client().XLen(t.Context(), "dead").Val(); n != 0 {
			t.Errorf("%d dead letters", n)
		}
	})
}

func TestAPoisonEntry(t *testing.T) {
	each(t, func(t *testing.T, d *drill) {
		began := time.Now()
		if err := d.Client().Do(t.Context(), "XADD", "in", "*", "_payload", "no JSON").Err(); err != nil {
			t.Fatal(err)
		}
		d.fires("PipelinePoisonEntries", began)
		d.told("dead_letters_waiting", "dead holds 2 dead letters") // one of each group
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
		began := time.Now()
		d.publish(200, "a", "reply") // of which three find room
		d.fires("PipelineGroupBehind", began)
		d.fires("PipelineBacklogNearLimit", began)
		d.told("group_behind", "the group ledger on in is behind")
		d.asTheRunbookShows("PipelineGroupBehind", d.stats)
		// Mend what its replies wait for: here nobody reads them, and they are taken out.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for t.Context().Err() == nil {
				d.Client().XTrimMaxLen(t.Context(), "out", 0)
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
		began := time.Now()
		d.publish(12, "a", "dead")
		d.fires("PipelineDeadLettersGrowing", began)
		d.told("dead_letters_waiting", "dead holds 12 dead letters")
		// Correct the handler, and put them back.
		d.write("h.lua", mended)
		d.eventually("the new handler is taken", func() bool { return strings.Contains(d.worker.output(), "handler.changed") })
		d.done("dlq", "replay", "drill.hcl", "--all", "--yes")
		d.settled()
		d.over("dead_letters_waiting")
		d.ends("PipelineDeadLettersGrowing")
		if n := d.Client().XLen(t.Context(), "dead").Val(); n != 0 {
			t.Errorf("%d dead letters", n)
		}
	})
}

func TestRedisIsDown(t *testing.T) {
	each(t, func(_ *testing.T, d *drill) {
		began := time.Now()
		d.Kill()
		d.fires("PipelineRedisDown", began)
		d.told("server_unavailable")
		d.asTheRunbookShows("PipelineRedisDown", d.stats)
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
		d.publish(4, "7", "fail")
		d.told("pending_retried")
		d.worker.end(syscall.SIGKILL) // one that lives would find out within a second
		began := time.Now()
		if err := d.Client().XTrimMaxLen(t.Context(), "in", 0).Err(); err != nil {
			t.Fatal(err)
		}
		d.fires("PipelineTrimGap", began)
		d.told("trim_gap", "4 pending entries of the group ledger on in have lost their bodies to a trim")
		d.asTheRunbookShows("PipelineTrimGap", d.stats)
		// What is lost is lost. The alert ends once a worker has claimed the entries. That is the first thing that a
		// new one does, before it was ever scraped, and is told all the same.
		began = time.Now()
		d.work(d.URL())
		d.settled()
		d.over("trim_gap")
		d.fires("PipelineBodiesMissing", began)
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
			url := d.login(withoutKey(rule, "~out"))
			d.work(url)
			d.healthy()
			began := time.Now()
			d.publish(3, "a", "reply")
			d.fires("PipelineSubscriptionFailed", began)
			d.told("group_unattended", "nobody reads the group ledger on in")
			d.asTheRunbookShows("PipelineSubscriptionFailed", d.ready)
			if s := d.commandAs(url, "plan", "drill.hcl"); s.code != 4 || !strings.Contains(s.text, "rights_missing") || !strings.Contains(s.text, "out") {
				t.Errorf("plan ends with %d and does not name the right:\n%s", s.code, s.text)
			}
			// Grant it, and start the process again.
			d.login(rule)
			d.worker.end(syscall.SIGTERM)
			d.work(url)
			d.settled()
			d.over("group_unattended")
			d.ends("PipelineSubscriptionFailed")
			if n := d.Client().XLen(t.Context(), "out").Val(); n != 3 {
				t.Errorf("%d replies to three entries", n)
			}
		})
	}
}
