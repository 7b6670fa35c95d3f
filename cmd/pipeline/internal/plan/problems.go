package plan

import (
	"errors"
	"fmt"
	"strings"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// The codes of what a plan finds. That a server does not suit a subscription has
// the code of the engine's own refusal.
const (
	// CodeUnavailable: the server cannot be reached, is loading, or is a replica.
	CodeUnavailable diag.Code = "server_unavailable"
	// CodeRefuses: the server refuses the login.
	CodeRefuses diag.Code = "server_refuses"
	// CodeUnexpected: the server gave an answer that no server should.
	CodeUnexpected diag.Code = "server_answer"
	// CodeWrongType: a key that the pipeline uses holds no stream.
	CodeWrongType diag.Code = "server_wrong_type"
	// CodeRights: the login lacks commands or keys that are needed.
	CodeRights diag.Code = "rights_missing"
	// CodeCreateRight: a group is absent and the login may not create it.
	CodeCreateRight diag.Code = "right_to_create_missing"
	// CodeRightsUnknown: what the login may do cannot be found out.
	CodeRightsUnknown diag.Code = "rights_unknown"
	// CodeForeign: a group on a stream of the pipeline is declared by nobody.
	CodeForeign diag.Code = "group_foreign"
	// CodeDisabled: a group exists whose subscriptions are all disabled.
	CodeDisabled diag.Code = "group_disabled"
	// CodeLost: a group was there before and is gone.
	CodeLost diag.Code = "group_lost"
	// CodeFloor: the position that was written down for a group is none.
	CodeFloor diag.Code = "floor_invalid"
	// CodeEviction: a full server removes keys that the pipeline needs.
	CodeEviction diag.Code = "eviction_policy"
	// CodePersistence: a restart of the server loses what it holds.
	CodePersistence diag.Code = "persistence_off"
	// CodeCluster: the server is one of a cluster and the file does not say so.
	CodeCluster diag.Code = "cluster_undeclared"
	// CodeNoCluster: the file says that the server is one of a cluster, and it is
	// not.
	CodeNoCluster diag.Code = "cluster_absent"
)

func atPos(pos spec.Pos, s diag.Severity, code diag.Code, summary, detail string) diag.Diagnostic {
	d := diag.Diagnostic{Severity: s, Code: code, Summary: summary, Detail: detail}
	if pos.File != "" {
		line := diag.Pos{Line: pos.Line}
		d.Range = diag.Range{File: pos.File, Start: line, End: line}
	}
	return d
}

func (k *collector) add(d diag.Diagnostic, apply bool, rules ...string) {
	k.plan.Problems = append(k.plan.Problems, Problem{d, apply, rules})
}

// unreachable tells why nothing more could be found out.
func (k *collector) unreachable(err error) { k.add(Unreachable(err), true) }

// noDatabase is what to do where NoDatabase.
const noDatabase = "The number of the database, at the end of the url in the broker block or its variable, is one that the server " +
	"does not have: take a lower one, or raise databases in the server's configuration."

// NoDatabase reports whether an error says that the server has no database of the number in the url.
func NoDatabase(err error) bool { return strings.Contains(err.Error(), "DB index is out of range") }

// Unreachable is an error of the server, with what to do about it.
func Unreachable(err error) diag.Diagnostic {
	code, detail := CodeUnexpected, ""
	switch {
	case errors.Is(err, broker.ErrUnavailable):
		code, detail = CodeUnavailable, "Check the address in the broker block and that the server runs; run would wait for it."
	case errors.Is(err, broker.ErrAuth):
		code, detail = CodeRefuses, "Check the user and the password in the broker block, its url or its variables."
	case errors.Is(err, broker.ErrNoPermission):
		code = CodeRefuses
	case strings.Contains(err.Error(), "cluster support disabled"):
		code, detail = CodeNoCluster, "Remove cluster = true from the broker block, or name a server of the cluster."
	case NoDatabase(err):
		detail = noDatabase
	}
	return diag.Diagnostic{Severity: diag.Error, Code: code, Summary: err.Error(), Detail: detail}
}

// wrongType tells of a key that is in the way. A stream that nothing uses may
// hold what it likes.
func (k *collector) wrongType(s *Stream, kind string) {
	s.State, s.Type = Wrong, kind
	d := WrongType(s.Spec, kind)
	if len(s.uses) == 0 {
		d.Severity = diag.Warning
	}
	k.add(d, true)
}

// WrongType is the error of a stream whose key holds something else: kind, in
// the server's word, where that is known.
func WrongType(s *spec.Stream, kind string) diag.Diagnostic {
	holds := "holds no stream"
	if kind != "" {
		holds = "holds a " + kind + ", not a stream"
	}
	return atPos(s.Pos, diag.Error, CodeWrongType, fmt.Sprintf("the key %s %s", s.Name, holds),
		"Rename or remove the key, or give the stream another name.")
}

// Undeclared is the error of a server that is one of a cluster while the file
// does not say so.
func Undeclared() diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: CodeCluster, Summary: "the server is one of a cluster, and the broker block does not say so",
		Detail: "Set cluster = true in the broker block.",
	}
}

// settings judges how the server is configured.
func (k *collector) settings() {
	s := k.plan.Settings
	if !s.Known {
		return
	}
	if s.Cluster && !k.pipeline.Broker.Cluster {
		k.add(Undeclared(), true)
	}
	if what := engine.Evicts(k.pipeline, s.Eviction); what != "" {
		k.evicts("maxmemory-policy is "+s.Eviction+": a full server removes "+what, s.MaxMemory)
	}
	if !s.AppendOnly && s.SnapshotsKnown && s.Snapshots == "" {
		k.add(diag.Diagnostic{
			Severity: diag.Warning, Code: CodePersistence,
			Summary: "persistence is off: a restart of the server loses its streams and groups",
			Detail:  "Set appendonly yes, in the server's file too, unless losing them is accepted.",
		}, false)
	}
}

// slots tells of destinations that no atomic step can reach in a cluster, and
// refuses those of replies that are to be written with the mark of a key: the
// engine would hold every entry with such an outcome, unsettled.
func (k *collector) slots() {
	if !k.pipeline.Broker.Cluster {
		return
	}
	for _, g := range k.pipeline.Groups {
		if len(g.Subscriptions) > 0 {
			k.slot(g, g.Pos, g.DeadLetter, "Dead letters of group "+g.Label, false)
		}
		for _, s := range g.Subscriptions {
			for _, r := range routes(s) {
				k.slot(g, r.Pos, r.To, "Replies of "+s.Label, s.Idempotency != nil)
			}
		}
	}
}

func (k *collector) slot(g *spec.Group, pos spec.Pos, target *spec.Stream, what string, marks bool) {
	from, to := g.Stream.Name, target.Name
	if redis.Slot(from) == redis.Slot(to) {
		return
	}
	const tag = " Give both names the same {tag}."
	severity, summary := diag.Warning, fmt.Sprintf("%s and %s lie in different slots of the cluster", from, to)
	var detail string
	switch {
	case marks:
		severity, summary = diag.Error, summary+", and run refuses to write a reply and the mark of its key in one step"
		detail = what + " could never be written." + tag
	case k.plan.Server.Features.IdempotentAdd:
		severity = diag.Notice
		detail = what + " are written, and then their entries acknowledged. The server recognises what it added before for up to a day, and adds it once." + tag
		k.stream(target).uses[redis.PublishApart], k.stream(target).uses[redis.PublishOnce] = true, true
	default:
		detail = what + " are written, and then their entries acknowledged: after a crash between the two they are written again. " +
			"From Redis 8.6 on the server recognises them." + tag
		k.stream(target).uses[redis.PublishApart] = true
	}
	k.add(atPos(pos, severity, diag.SlotsDiffer, summary, detail), severity == diag.Error)
}

func (k *collector) evicts(summary string, most int64) {
	severity := diag.Warning
	if most == 0 {
		severity, summary = diag.Notice, summary+"; maxmemory is unbounded, so it does not come to that now"
	}
	k.add(diag.Diagnostic{
		Severity: severity, Code: CodeEviction, Summary: summary, Detail: "Set maxmemory-policy noeviction on a server that holds streams.",
	}, false)
}
