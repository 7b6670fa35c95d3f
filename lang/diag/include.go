package diag

// Include adds what another report holds: the problems that keep chooses, and
// all that is needed to show them. Secrets of the other one are secrets here
// too, whatever is kept.
func (r *Report) Include(o *Report, keep func(Diagnostic) bool) {
	for _, s := range o.sources {
		r.AddSource(s)
	}
	for file, spans := range o.hidden {
		if r.hidden == nil {
			r.hidden = map[string][]span{}
		}
		r.hidden[file] = append(r.hidden[file], spans...)
	}
	r.secrets.include(&o.secrets)
	for _, d := range o.list {
		if keep(*d) {
			r.Add(*d)
		}
	}
}

// Added is how many problems of a severity were added so far, duplicates
// included.
func (r *Report) Added(s Severity) int {
	n := r.dropped[s]
	for _, d := range r.list {
		if d.Severity == s {
			n++
		}
	}
	return n
}
