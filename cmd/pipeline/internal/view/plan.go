package view

import (
	"strings"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker/redis"
	"pipeline/lang/diag"
)

// Plan prints what was found on the server: tables to stdout, the problems as
// diagnostics, and last whether run could run.
func (v *View) Plan(p *plan.Plan, exit int) {
	if v.o.JSON {
		v.planJSON(p, exit)
		return
	}
	c := paint(v.o.Color)
	var b []byte
	if p.Reached {
		b = append(v.planServer(c, p), '\n')
		b = append(v.planStreams(b, c, p), '\n')
		b = append(v.planGroups(b, c, p), '\n')
		b = append(v.planSubscriptions(b, c, p), '\n')
		b = append(planRule(b, c, p.Rights), '\n')
	}
	v.write(b)
	for _, q := range p.Problems {
		v.Diagnostic(q.Diagnostic)
	}
	v.write(planSummary(c, p))
}

func (v *View) planServer(c paint, p *plan.Plan) []byte {
	tab := &table{head: []string{"", ""}}
	how := "without claiming reads"
	if p.Server.Features.ClaimingRead {
		how = "with claiming reads"
	}
	tab.row(cell{"server", dim}, cell{p.Server.Software + " " + p.Server.Version + ", " + how, bold})
	tab.row(cell{"memory", dim}, cell{memoryWords(p.Settings), plain})
	tab.row(cell{"persistence", dim}, cell{persistenceWords(p.Settings), plain})
	tab.row(cell{"login", dim}, loginCell(p))
	for i, lines := 0, tab.append(nil, c, v.o.Width); ; i++ { // without the heads, which are empty
		if lines[i] == '\n' {
			return lines[i+1:]
		}
	}
}

// notKnown stands where the login may not ask.
const notKnown = "not known: the login may not run info"

func memoryWords(s redis.Settings) string {
	switch {
	case !s.Known:
		return notKnown
	case s.MaxMemory == 0:
		return "unbounded, policy " + s.Eviction
	}
	return "at most " + size(s.MaxMemory) + ", policy " + s.Eviction
}

func persistenceWords(s redis.Settings) string {
	switch {
	case !s.Known:
		return notKnown
	case s.AppendOnly:
		return "append-only file"
	case !s.SnapshotsKnown:
		return "no append-only file; snapshots not known: the login may not run config get"
	case s.Snapshots == "":
		return "none"
	}
	return "snapshots (save " + s.Snapshots + "), no append-only file"
}

func loginCell(p *plan.Plan) cell {
	switch {
	case !p.Complete:
		return cell{"not known: the server stopped answering", yellow}
	case !p.Rights.Known:
		return cell{"not known: the login may not run multi", red}
	case len(p.Rights.Denied) > 0:
		return cell{"lacks rights that run needs here", red}
	case len(p.Rights.Lacking) > 0:
		return cell{"may do all that run needs here; it can do without " + strings.Join(p.Rights.Lacking, ", "), green}
	}
	return cell{"may do all that run needs here", green}
}

func (v *View) planStreams(b []byte, c paint, p *plan.Plan) []byte {
	tab := &table{
		head:  []string{"", "stream", "length", "oldest", "retention now", "used"},
		right: map[int]bool{2: true, 3: true},
	}
	for _, s := range p.Streams {
		length, oldest, uses := "", "", strings.Join(s.Uses, ", ")
		if s.State == plan.Exists {
			length = number(s.Info.Length)
		}
		if s.State == plan.Exists && s.Info.Length > 0 {
			oldest = Duration(s.Trim.Age)
		}
		tab.row(streamCell(s), cell{s.Spec.Name, plain}, cell{length, plain}, cell{oldest, plain}, cell{trimWords(s), plain}, cell{uses, dim})
	}
	return tab.append(b, c, v.o.Width)
}

func streamCell(s *plan.Stream) cell {
	switch s.State {
	case plan.Exists:
		return cell{"exists", plain}
	case plan.Wrong:
		return cell{"refused", red}
	case plan.Absent:
		if s.Creates == "" {
			return cell{"absent", dim}
		}
		return cell{"create", green}
	}
	return cell{"not known", yellow}
}

// trimWords says what retention would remove, and from whom.
func trimWords(s *plan.Stream) string {
	words := removes(s)
	switch unread := s.Trim.Unread; len(unread) {
	case 0:
		return words
	case 1:
		return words + ", some of it not read by " + unread[0]
	default:
		return words + ", some of it not read by " + unread[0] + " and " + number(int64(len(unread)-1)) + " more"
	}
}

func removes(s *plan.Stream) string {
	r := s.Spec.Retention
	switch {
	case s.State == plan.Wrong && s.Type != "":
		return "the key holds a " + s.Type
	case s.State == plan.Absent:
		return s.Creates
	case s.State != plan.Exists:
		return ""
	case r == nil:
		return "kept for ever"
	case s.Trim.Over > 0 && s.Trim.Protected:
		return "removes up to " + count(s.Trim.Over, "entry", "entries") + ", those that every group has acknowledged"
	case s.Trim.Over > 0:
		return "removes " + count(s.Trim.Over, "entry", "entries")
	case s.Trim.Expired && s.Trim.Protected:
		return "removes what is older than " + Duration(r.MaxAge) + " and acknowledged"
	case s.Trim.Expired:
		return "removes what is older than " + Duration(r.MaxAge)
	}
	return "removes nothing"
}

func (v *View) planGroups(b []byte, c paint, p *plan.Plan) []byte {
	tab := &table{
		head:  []string{"", "group", "stream", "position", "lag", "pending", "consumers", ""},
		right: map[int]bool{4: true, 5: true},
	}
	for _, g := range p.Groups {
		at, lag, pending, consumers := "", "", "", ""
		if g.Exists {
			at, lag, pending, consumers = g.At.String(), "not known", number(g.Info.Pending), consumerWords(g.Consumers)
		}
		if g.Exists && g.Info.LagKnown {
			lag = number(g.Info.Lag)
		}
		tab.row(actionCell(g.Action), cell{g.Name, plain}, cell{g.Stream.Spec.Name, plain}, cell{at, plain},
			cell{lag, plain}, cell{pending, plain}, cell{consumers, plain}, cell{groupWords(g), plain})
	}
	return tab.append(b, c, v.o.Width)
}

func actionCell(a plan.Action) cell {
	styles := map[plan.Action]style{
		plan.Create: green, plan.Restore: yellow, plan.Refuse: red, plan.Foreign: yellow, plan.Unseen: yellow, plan.Idle: dim,
	}
	text := string(a)
	if a == plan.Unseen {
		text = "not known"
	}
	return cell{text, styles[a]}
}

func consumerWords(c plan.Consumers) string {
	if c.Count == 0 {
		return "none"
	}
	words := number(c.Count) + ", seen " + Duration(c.Seen) + " ago"
	if c.Idle > 0 {
		words += ", " + number(c.Idle) + " idle"
	}
	if c.Stale > 0 {
		words += " (" + number(c.Stale) + " with entries)"
	}
	return words
}

// groupWords say what creating the group, or leaving it, means.
func groupWords(g *plan.Group) string {
	switch g.Action {
	case plan.Restore:
		return "was lost: from " + g.At.String() + ", the position written down: " + willRead(g)
	case plan.Create:
		return startWords(g)
	case plan.Keep:
		return "stays where it is"
	case plan.Idle:
		if g.Exists {
			return "all its subscriptions are disabled"
		}
		return "not created: all its subscriptions are disabled"
	case plan.Foreign:
		return "declared by no file"
	}
	return ""
}

func startWords(g *plan.Group) string {
	switch {
	case g.Spec.Start == "$" && g.Stream.Info.Length == 0:
		return "new: every entry from now on is read"
	case g.Spec.Start == "$" && g.Before == 1:
		return "new: the 1 entry there now is never read by it"
	case g.Spec.Start == "$":
		return "new: the " + number(g.Before) + " entries there now are never read by it"
	case g.Spec.Start == "0" && g.Stream.Info.Length == 0:
		return "beginning: the stream is empty"
	case g.Spec.Start == "0":
		return "beginning: " + willRead(g)
	}
	return "from " + g.Spec.Start + ": " + willRead(g)
}

func willRead(g *plan.Group) string {
	if !g.Counted {
		return "the entries after it will be read"
	}
	return count(g.After, "entry", "entries") + " will be read"
}

func (v *View) planSubscriptions(b []byte, c paint, p *plan.Plan) []byte {
	words := map[plan.Claiming]string{
		plan.ClaimsRead: "claims with its reads", plan.ClaimsAuto: "claims with XAUTOCLAIM",
		plan.ClaimsOnly: "takes over pending entries only", plan.ClaimsNever: "never claims",
	}
	tab := &table{head: []string{"", "subscription", "group", ""}}
	for _, s := range p.Subscriptions {
		state, how := cell{"ready", green}, words[s.Claims]
		switch {
		case s.Refused:
			state, how = cell{"refused", red}, "the server does not suit it"
		case !p.Rights.Known:
			state = cell{"not known", plain}
		}
		tab.row(state, cell{s.Spec.Label, plain}, cell{s.Spec.Group.Label, plain}, cell{how, plain})
	}
	return tab.append(b, c, v.o.Width)
}

// planRule is the rule for a worker's login, on one line so that it can be
// copied.
func planRule(b []byte, c paint, r plan.Rights) []byte {
	if len(r.Rule) == 0 {
		return b
	}
	b = c.append(b, dim, "A worker's login, once the groups exist (add >PASSWORD):")
	b = append(b, "\n  "+ruleText("worker", r.Rule)+"\n"...)
	b = c.append(b, dim, "It can do without, but stops and tidies up better with:")
	return append(b, "\n  +"+strings.Join(r.Optional, " +")+"\n"...)
}

// ruleText is the command as redis-cli takes it.
func ruleText(user string, rule []string) string {
	words := make([]string, len(rule))
	for i, word := range rule {
		words[i] = ruleWord(word)
	}
	return "ACL SETUSER " + user + " " + strings.Join(words, " ")
}

// ruleWord quotes a word as redis-cli does.
func ruleWord(word string) string {
	if !strings.ContainsAny(word, `"'\`) && isClean(word) {
		return word
	}
	const hex = "0123456789abcdef"
	b := []byte{'"'}
	for i := range len(word) {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c >= 0x7f:
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

func planSummary(c paint, p *plan.Plan) []byte {
	var b []byte
	if p.Runs() {
		b = c.append(b, green, "run could run here")
	} else {
		b = c.append(b, red, "run could not run here")
	}
	var parts []string
	for _, t := range []struct {
		n         int
		one, many string
	}{
		{p.Actions(plan.Create), "group to create", "groups to create"},
		{p.Actions(plan.Restore), "group to restore", "groups to restore"},
		{p.Actions(plan.Keep), "group exists", "groups exist"},
		{p.Actions(plan.Foreign), "foreign group", "foreign groups"},
		{p.Count(diag.Error), "error", "errors"},
		{p.Count(diag.Warning), "warning", "warnings"},
		{p.Count(diag.Notice), "notice", "notices"},
	} {
		if t.n > 0 {
			parts = append(parts, count(int64(t.n), t.one, t.many))
		}
	}
	if len(parts) > 0 {
		b = append(b, ": "+strings.Join(parts, ", ")...)
	}
	if p.Reached && p.Rights.Known && !p.Runs() && p.Applies() {
		b = append(b, "; apply could"...)
	}
	return append(b, '\n')
}
