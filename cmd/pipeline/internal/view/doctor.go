package view

import "pipeline/lang/diag"

// Finding is one thing that is wrong with a pipeline's server, streams or groups.
type Finding struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	// Found is what was found, with its value; Why it matters; Do what is to be done.
	Found string `json:"found"`
	Why   string `json:"why"`
	Do    string `json:"do"`
	// Command is what to type for it, "" where there is nothing to type: a command of
	// this program, of a shell, or, for rights, of the server.
	Command string `json:"command"`
	// Stops: run could not run, or not all of it.
	Stops bool `json:"stops_run"`
}

// Findings prints what is wrong, and last how much that is.
func (v *View) Findings(found []Finding, exit int) {
	counts := map[diag.Severity]int{}
	for _, f := range found {
		counts[f.Severity]++
		for _, text := range []*string{&f.Found, &f.Do, &f.Command} {
			*text = hideLogins(*text)
		}
		if v.o.JSON {
			v.event(struct {
				Event string `json:"event"`
				Finding
			}{"finding", f})
			continue
		}
		v.write(findingText(paint(v.o.Color), &f))
	}
	if v.o.JSON {
		v.event(struct {
			Event    string `json:"event"`
			Errors   int    `json:"errors"`
			Warnings int    `json:"warnings"`
			Notices  int    `json:"notices"`
			Exit     int    `json:"exit"`
		}{"summary", counts[diag.Error], counts[diag.Warning], counts[diag.Notice], exit})
		return
	}
	p := paint(v.o.Color)
	if len(found) == 0 {
		v.write(append(p.append(nil, green, "well"), ": nothing is wrong\n"...))
		return
	}
	v.write([]byte(count(int64(counts[diag.Error]), "error", "errors") + ", " + count(int64(counts[diag.Warning]), "warning", "warnings") + ", " +
		count(int64(counts[diag.Notice]), "notice", "notices") + "\n"))
}

var severityStyle = map[diag.Severity]style{diag.Error: red, diag.Warning: yellow, diag.Notice: blue}

func findingText(p paint, f *Finding) []byte {
	b := p.append(nil, severityStyle[f.Severity], f.Severity.String()+"["+string(f.Code)+"]")
	b = append(append(append(b, ": "...), clean(f.Found)...), '\n')
	for _, text := range []string{f.Why, f.Do} {
		if text != "" {
			b = append(append(append(b, "  "...), clean(text)...), '\n')
		}
	}
	if f.Command != "" {
		b = append(p.append(append(b, "  $ "...), cyan, clean(f.Command)), '\n')
	}
	return append(b, '\n')
}
