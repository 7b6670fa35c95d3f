package testspec

import (
	"fmt"
	"strings"
)

// Lines says, a line each, why an assert does not hold: its own message, then
// each part that decided with the values that it saw. A result that passed has
// none. The condition and its place are not among them.
func (r *Result) Lines() []string {
	if r.Passed {
		return nil
	}
	var lines []string
	if r.Message != "" {
		lines = append(lines, r.Message)
	}
	if r.Problem != "" {
		lines = append(lines, r.Problem)
	}
	for i := range r.Reasons {
		lines = append(lines, r.Reasons[i].lines()...)
	}
	for _, v := range r.Values {
		lines = append(lines, fmt.Sprintf("%s is %s", v.Name, v.Value))
	}
	return lines
}

// lines describes one part. Of a comparison with a constant the constant is what
// was wanted.
func (r *Reason) lines() []string {
	var lines []string
	if r.Left == nil {
		lines = append(lines, fmt.Sprintf("%s is %s", r.Text, r.Value))
	} else {
		lines = append(lines, r.comparison()...)
	}
	if d := r.Difference; d != nil && d.Path != "" {
		lines = append(lines, fmt.Sprintf("they differ at %s: %s, not %s", strings.TrimPrefix(d.Path, "."), d.Got, d.Want))
	}
	if r.Note != "" {
		lines = append(lines, r.Note)
	}
	for _, v := range r.Values {
		lines = append(lines, fmt.Sprintf("%s is %s", v.Name, v.Value))
	}
	return lines
}

func (r *Reason) comparison() []string {
	var lines []string
	for _, side := range []*Side{r.Left, r.Right} {
		if !side.Constant {
			lines = append(lines, fmt.Sprintf("%s is %s", side.Text, side.Value))
		}
	}
	failed := r.Value == "false"
	switch {
	case len(lines) == 0 || !failed:
		lines = append(lines, fmt.Sprintf("%s is %s", r.Text, r.Value))
	case r.Operator != "==":
		lines = append(lines, fmt.Sprintf("%s does not hold", r.Text))
	case r.Right.Constant:
		lines = append(lines, "it should be "+r.Right.Value)
	case r.Left.Constant:
		lines = append(lines, "it should be "+r.Left.Value)
	}
	return lines
}
