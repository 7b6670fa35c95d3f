package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/clock"
	"pipeline/lang/diag"
)

// From when on something is told.
const (
	// skewed is a difference of clocks that is more than their drift and a round trip.
	skewed = 2 * time.Second
	// wrong is one that makes times useless.
	wrong = time.Minute
	// full and overfull are parts of a bound, in percent.
	full, overfull = 85, 95
	// ending is how long a certificate still lasts.
	ending = 14 * 24 * time.Hour
)

// settings judges what the plan leaves out of how the server is.
func (e *examination) settings() {
	s := e.plan.Settings
	if !s.Known {
		e.add(Finding{
			Code: CodeUnknown, Severity: diag.Notice, Found: "the login may not ask how the server is configured (INFO)",
			Do: "Examine it with a login that may, or give this one the rule.", Command: e.command(CodeUnknown, nil),
		})
		return
	}
	tell := func(code diag.Code, severity diag.Severity, do, format string, args ...any) {
		e.add(Finding{
			Code: code, Severity: severity, Found: fmt.Sprintf(format, args...), Do: do, Command: e.command(code, nil),
			Stops: code == CodeReplica || code == CodeFewReplicas,
		})
	}
	if s.Replica {
		tell(CodeReplica, diag.Error, "Name its master in the broker block, or the sentinels that know it.", "the server is a replica of another")
	}
	if severity, part, near := nearly(s.UsedMemory, s.MaxMemory); near {
		tell(CodeMemory, severity, "Raise maxmemory, or trim streams with a retention block.",
			"%s of maxmemory %s are used, %d %%", view.Size(s.UsedMemory), view.Size(s.MaxMemory), part)
	}
	if severity, part, near := nearly(s.Clients, s.MaxClients); near {
		tell(CodeClients, severity, "Find out who holds them, or raise maxclients.", "%d of %d connections are taken, %d %%", s.Clients, s.MaxClients, part)
	}
	if failed := failedSaves(s.AppendFailed, s.SnapshotFailed); failed != "" {
		tell(CodeSaving, diag.Error, "Read the server's log, and see whether its disk is full.", "%s failed", failed)
	}
	switch {
	case s.Replica:
	case s.MinReplicas > 0 && s.GoodReplicas < s.MinReplicas:
		tell(CodeFewReplicas, diag.Error, "Bring the replicas back, or lower min-replicas-to-write.",
			"%d replicas are well, and min-replicas-to-write demands %d", s.GoodReplicas, s.MinReplicas)
	case s.Lagging > 0:
		tell(CodeLagging, diag.Warning, "See why they are behind: the network between, or their disks.", "%d of %d replicas are not online or lag by 10 seconds or more", s.Lagging, s.Replicas)
	}
	if s.Replicas > 0 && s.MinReplicasKnown && s.MinReplicas == 0 {
		tell(CodeUnheeded, diag.Notice, "Have the server demand a replica for each write, if it may then refuse writes without one.",
			"%d replicas follow the server, and it confirms writes without waiting for any", s.Replicas)
	}
}

// nearly reports how much of a bound is used, where that is nearly all of it.
func nearly(used, bound int64) (severity diag.Severity, percent int64, near bool) {
	if bound <= 0 {
		return 0, 0, false
	}
	percent = int64(float64(used) / float64(bound) * 100)
	if percent >= overfull {
		return diag.Error, percent, true
	}
	return diag.Warning, percent, percent >= full
}

func failedSaves(appending, snapshot bool) string {
	var all []string
	if appending {
		all = append(all, "the last write of the append-only file")
	}
	if snapshot {
		all = append(all, "the last snapshot")
	}
	return strings.Join(all, " and ")
}

// certificates judges how long those last by which the server was reached.
func (e *examination) certificates() {
	for _, c := range e.server.Certificates() {
		left := c.Ends.Sub(e.clock.Now())
		if left >= ending {
			continue
		}
		whose, do := "of the server", "Give the server another one in time; a new connection takes it up."
		if c.Client {
			whose, do = "that this side shows", "Write another one to the files of the tls block in time; a new connection takes it up."
		}
		severity := diag.Warning
		if left < 0 {
			severity = diag.Error
		}
		e.add(Finding{
			Code: CodeCertificate, Severity: severity, Do: do,
			Found: fmt.Sprintf("the certificate %s, %s, is valid until %s, for %s", whose, c.Subject, c.Ends.UTC().Format(time.RFC3339), view.Duration(max(0, left))),
		})
	}
}

// clocks compares the clock of this machine with the server's, which is read between
// two looks at the own one.
func (e *examination) clocks(ctx context.Context) {
	before := e.clock.Now()
	server, err := e.server.Now(ctx)
	if err != nil {
		return // the right is told with the others, a server that is gone by what follows
	}
	trip := clock.Since(e.clock, before)
	skew := before.Add(trip / 2).Sub(server)
	severity, which := diag.Warning, "ahead of"
	apart := skew
	if skew < 0 {
		apart, which = -skew, "behind"
	}
	if apart-trip/2 < skewed {
		return
	}
	if apart >= wrong {
		severity = diag.Error
	}
	e.add(Finding{
		Code: CodeClock, Severity: severity, Do: "Have both machines keep time by NTP, and see which one is off.", Command: "timedatectl timesync-status",
		Found: fmt.Sprintf("the clock of this machine is %s %s the server's, give or take %s", view.Duration(apart), which, view.Duration(trip/2)),
	})
}
