package view

import (
	"time"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker"
	"pipeline/lang/diag"
)

// planJSON prints a plan as objects: the server, the rights, each stream, group,
// subscription and problem, and the summary.
func (v *View) planJSON(p *plan.Plan, exit int) {
	if p.Reached {
		v.event(serverEvent(p))
		v.event(rightsEvent(p.Rights))
		for _, s := range p.Streams {
			v.event(streamEvent(s))
		}
		for _, g := range p.Groups {
			v.event(groupEvent(g))
		}
		for _, s := range p.Subscriptions {
			v.event(struct {
				Event        string        `json:"event"`
				Subscription string        `json:"subscription"`
				Group        string        `json:"group"`
				Claims       plan.Claiming `json:"claims"`
				Refused      bool          `json:"refused"`
			}{"subscription", s.Spec.Label, s.Spec.Group.Label, s.Claims, s.Refused})
		}
	}
	for _, q := range p.Problems {
		v.Diagnostic(q.Diagnostic)
	}
	v.event(struct {
		Event    string `json:"event"`
		Reached  bool   `json:"reached"`
		Complete bool   `json:"complete"`
		Run      bool   `json:"run"`
		Apply    bool   `json:"apply"`
		Create   int    `json:"create"`
		Restore  int    `json:"restore"`
		Exist    int    `json:"exist"`
		Foreign  int    `json:"foreign"`
		Errors   int    `json:"errors"`
		Warnings int    `json:"warnings"`
		Notices  int    `json:"notices"`
		Exit     int    `json:"exit"`
	}{
		"summary", p.Reached, p.Complete, p.Runs(), p.Applies(), p.Actions(plan.Create), p.Actions(plan.Restore),
		p.Actions(plan.Keep), p.Actions(plan.Foreign), p.Count(diag.Error), p.Count(diag.Warning), p.Count(diag.Notice), exit,
	})
}

// known is v, or null in JSON where it is not known.
func known[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

func serverEvent(p *plan.Plan) any {
	s := p.Settings
	return struct {
		Event        string  `json:"event"`
		Software     string  `json:"software"`
		Version      string  `json:"version"`
		ClaimingRead bool    `json:"claiming_read"`
		AutoClaim    bool    `json:"autoclaim"`
		Cluster      *bool   `json:"cluster"`
		MaxMemory    *int64  `json:"maxmemory"`
		Eviction     *string `json:"maxmemory_policy"`
		AppendOnly   *bool   `json:"appendonly"`
		Snapshots    *string `json:"save"`
	}{
		"server", p.Server.Software, p.Server.Version, p.Server.Features.ClaimingRead, p.Server.Features.AutoClaim,
		known(s.Cluster, s.Known), known(s.MaxMemory, s.Known), known(s.Eviction, s.Known), known(s.AppendOnly, s.Known),
		known(s.Snapshots, s.SnapshotsKnown),
	}
}

func rightsEvent(r plan.Rights) any {
	type denied struct {
		Command string `json:"command"`
		Key     string `json:"key"`
		ByKey   bool   `json:"by_key"`
	}
	out := struct {
		Event    string   `json:"event"`
		Known    bool     `json:"known"`
		Denied   []denied `json:"denied"`
		Lacking  []string `json:"optional_lacking"`
		Rule     string   `json:"worker_rule"`
		Optional []string `json:"worker_optional"`
	}{"rights", r.Known, []denied{}, append([]string{}, r.Lacking...), "", append([]string{}, r.Optional...)}
	if len(r.Rule) > 0 {
		out.Rule = ruleText("worker", r.Rule)
	}
	for _, d := range r.Denied {
		out.Denied = append(out.Denied, denied{d.Command, d.Key, d.ByKey})
	}
	return out
}

func streamEvent(s *plan.Stream) any {
	has := s.State == plan.Exists
	return struct {
		Event    string     `json:"event"`
		Stream   string     `json:"stream"`
		Label    string     `json:"label"`
		State    plan.State `json:"state"`
		Type     string     `json:"type"`
		Length   *int64     `json:"length"`
		FirstID  *string    `json:"first_id"`
		LastID   *string    `json:"last_id"`
		OldestMS *int64     `json:"oldest_ms"`
		Uses     []string   `json:"uses"`
		Creates  string     `json:"created_by"`
		Over     int64      `json:"trims_now"`
		Expired  bool       `json:"trims_expired"`
		Protect  bool       `json:"trims_acknowledged_only"`
		Unread   []string   `json:"trims_unread_by"`
	}{
		"stream", s.Spec.Name, s.Spec.Label, s.State, s.Type, known(s.Info.Length, has), idOf(s.Info.FirstID, has && s.Info.Length > 0),
		idOf(s.Info.LastID, has), millis(s.Trim.Age, has && s.Info.Length > 0), append([]string{}, s.Uses...), s.Creates,
		s.Trim.Over, s.Trim.Expired, s.Trim.Protected, append([]string{}, s.Trim.Unread...),
	}
}

func groupEvent(g *plan.Group) any {
	label, start := "", ""
	if g.Spec != nil {
		label, start = g.Spec.Label, startName(g.Spec.Start)
	}
	would := g.Action == plan.Create || g.Action == plan.Restore
	return struct {
		Event     string      `json:"event"`
		Group     string      `json:"group"`
		Label     string      `json:"label"`
		Stream    string      `json:"stream"`
		Action    plan.Action `json:"action"`
		Exists    bool        `json:"exists"`
		Start     string      `json:"start"`
		Position  *string     `json:"position"`
		Skips     *int64      `json:"skips"`
		Reads     *int64      `json:"reads"`
		Lag       *int64      `json:"lag"`
		Pending   *int64      `json:"pending"`
		Consumers *int64      `json:"consumers"`
		Idle      *int64      `json:"consumers_idle"`
		Stale     *int64      `json:"consumers_stale"`
		SeenMS    *int64      `json:"last_seen_ms"`
		Meaning   string      `json:"meaning"`
	}{
		"group", g.Name, label, g.Stream.Spec.Name, g.Action, g.Exists, start, idOf(g.At, g.Exists || would),
		known(g.Before, would && g.Counted), known(g.After, would && g.Counted), known(g.Info.Lag, g.Exists && g.Info.LagKnown),
		known(g.Info.Pending, g.Exists), known(g.Consumers.Count, g.Exists), known(g.Consumers.Idle, g.Exists),
		known(g.Consumers.Stale, g.Exists), millis(g.Consumers.Seen, g.Consumers.Count > 0), groupWords(g),
	}
}

// startName is a start as a file has it.
func startName(start string) string {
	switch start {
	case "$":
		return "new"
	case "0":
		return "beginning"
	}
	return start
}

func idOf(id broker.ID, ok bool) *string { return known(id.String(), ok) }

func millis(d time.Duration, ok bool) *int64 { return known(d.Milliseconds(), ok) }
