package view

import (
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/lang/diag"
)

// Applied prints what became of the groups of a pipeline.
func (v *View) Applied(done []plan.Applied) {
	if v.o.JSON {
		v.appliedJSON(done)
		return
	}
	tab := &table{head: []string{"", "group", "stream", "position", ""}}
	tally := map[plan.Action]int64{}
	for _, a := range done {
		tally[a.Done]++
		at := a.At.String()
		if a.Done == plan.Idle {
			at = ""
		}
		tab.row(cell{appliedWord(a.Done), actionCell(a.Done).style}, cell{a.Spec.Name, plain}, cell{a.Spec.Stream.Name, plain},
			cell{at, plain}, cell{appliedMeaning(a), plain})
	}
	c := paint(v.o.Color)
	var b []byte
	if len(done) > 0 {
		b = append(tab.append(b, c, v.o.Width), '\n')
	}
	b = append(b, "created "+count(tally[plan.Create], "group", "groups")+", restored "+number(tally[plan.Restore])+
		", "+number(tally[plan.Keep])+" existed\n"...)
	v.write(b)
}

// appliedWord is what was done to a group.
func appliedWord(a plan.Action) string {
	return map[plan.Action]string{
		plan.Create: "created", plan.Restore: "restored", plan.Keep: "exists", plan.Idle: "disabled",
	}[a]
}

func appliedMeaning(a plan.Applied) string {
	start := startName(a.Spec.Start)
	switch {
	case a.Done == plan.Create:
		return "at its start, " + start
	case a.Done == plan.Restore:
		return "was lost: created again at the position written down"
	case a.Done == plan.Idle:
		return "not created: all its subscriptions are disabled"
	case a.Moved:
		return "left where it is; start = \"" + start + "\" holds only for a group that is created"
	}
	return "left where it is"
}

func (v *View) appliedJSON(done []plan.Applied) {
	tally := map[plan.Action]int{}
	for _, a := range done {
		tally[a.Done]++
		v.event(struct {
			Event    string  `json:"event"`
			Group    string  `json:"group"`
			Label    string  `json:"label"`
			Stream   string  `json:"stream"`
			Done     string  `json:"done"`
			Start    string  `json:"start"`
			Position *string `json:"position"`
			Differs  bool    `json:"differs_from_start"`
		}{
			"group", a.Spec.Name, a.Spec.Label, a.Spec.Stream.Name, appliedWord(a.Done), startName(a.Spec.Start),
			idOf(a.At, a.Done != plan.Idle), a.Moved,
		})
	}
	v.event(applySummary{"summary", tally[plan.Create], tally[plan.Restore], tally[plan.Keep], 0, 0})
}

type applySummary struct {
	Event    string `json:"event"`
	Created  int    `json:"created"`
	Restored int    `json:"restored"`
	Existed  int    `json:"existed"`
	Errors   int    `json:"errors"`
	Exit     int    `json:"exit"`
}

// NotApplied prints why nothing was created.
func (v *View) NotApplied(p *plan.Plan, exit int) {
	errors := 0
	for _, q := range p.Problems {
		if q.Severity == diag.Error && q.Apply {
			errors++
			v.Diagnostic(q.Diagnostic)
		}
	}
	if v.o.JSON {
		v.event(applySummary{"summary", 0, 0, 0, errors, exit})
		return
	}
	v.write(paint(v.o.Color).append(nil, red, "nothing was created"))
	v.write([]byte(": " + count(int64(errors), "error", "errors") + "\n"))
}
