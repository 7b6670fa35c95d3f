package diag

import (
	"encoding/json"
	"io"
)

// event is a diagnostic as a line of JSON.
type event struct {
	Event string `json:"event"`
	Diagnostic
}

// omitted is the last line when not every problem was shown.
type omitted struct {
	Event   string `json:"event"`
	Omitted int    `json:"omitted"`
}

// WriteJSON writes a line per problem:
//
//	{"event":"diagnostic","severity":"error","code":"…","summary":"…",…}
//
// and, when there are more than MaxShown, a last one:
//
//	{"event":"diagnostics_omitted","omitted":7}
func (r *Report) WriteJSON(w io.Writer) error {
	shown, more := r.Shown()
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, d := range shown {
		if d.Edits == nil {
			d.Edits = []Edit{}
		}
		if err := enc.Encode(event{"diagnostic", d}); err != nil {
			return err
		}
	}
	if more == 0 {
		return nil
	}
	return enc.Encode(omitted{"diagnostics_omitted", more})
}
